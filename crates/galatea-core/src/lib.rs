//! The contract of Galatea: what a connector or a plugin implements, and the values they exchange
//! with the runtime. The crate contains no SQL, no HTTP, no platform and no runtime.
//!
//! # What happens to a message
//!
//! 1. A [`Connector`] reads an event of its platform, decodes it into an [`Incoming`] and passes a
//!    [`Batch`] of them with its [`Cursor`] to [`Gateway::receive`].
//! 2. The runtime maps the platform's ids to a [`World`], a [`Room`] and an [`Entity`], and commits
//!    messages, changes and cursor together. `receive` returns after that commit, so the connector
//!    may acknowledge the event to the platform.
//! 3. The gate decides whether the agent answers. Each step is recorded in a [`Verdict`], which
//!    `galatea explain` prints. [`Middleware`] may change it.
//! 4. Every [`Provider`] contributes a [`Fragment`] to the prompt. A [`TextModel`] answers, and may
//!    call an [`Action`].
//! 5. The answer is encoded by [`SendHandler::encode`] and committed as one [`Delivery`] per part,
//!    together with everything the actions asked for. Each [`Evaluator`] then looks at the finished
//!    turn.
//! 6. The runtime calls [`SendHandler::send_with`] for each delivery, retries what may be retried,
//!    and asks [`SendHandler::find`] after a send with an unknown outcome, so that no answer is
//!    sent twice.
//!
//! # A connector
//!
//! The inbound side is a [`Connector`], the outbound side a [`SendHandler`], and a
//! [`ConnectorConfig`] builds both from the settings. The smallest one that works:
//!
//! ```
//! use async_trait::async_trait;
//! use galatea_core::{
//!     Account, Address, Capabilities, Connector, ConnectorInfo, Content, Delivery, Encoded, Error,
//!     Finding, Gateway, Health, Outgoing, ReadBack, ReadBackContext, ReadBackResult, Receipt, Result,
//!     SendHandler, Source, TextUnit,
//! };
//! use std::sync::Arc;
//! use tokio_util::sync::CancellationToken;
//!
//! /// Prints every answer on standard output.
//! struct Printer;
//!
//! #[async_trait]
//! impl SendHandler for Printer {
//!     fn encode(&self, outgoing: &Outgoing) -> Result<Vec<Encoded>> {
//!         match outgoing {
//!             Outgoing::Message { content, .. } => Ok(vec![Encoded(content.text.clone().into())]),
//!             Outgoing::Typing => Ok(Vec::new()),
//!             _ => Err(Error::invalid("a printer cannot change what it printed")),
//!         }
//!     }
//!
//!     async fn send(&self, delivery: &Delivery) -> Result<Receipt> {
//!         println!("{}", delivery.body.0);
//!         Ok(Receipt::default())
//!     }
//!
//!     async fn find(&self, _: &Delivery, _: &ReadBackContext) -> Result<ReadBackResult> {
//!         Ok(ReadBackResult::Unknown)
//!     }
//!
//!     async fn typing(&self, _: &Address) -> Result<()> {
//!         Ok(())
//!     }
//! }
//!
//! struct Paper(ConnectorInfo);
//!
//! #[async_trait]
//! impl Connector for Paper {
//!     fn info(&self) -> &ConnectorInfo {
//!         &self.0
//!     }
//!
//!     async fn check(&self) -> Vec<Finding> {
//!         Vec::new()
//!     }
//!
//!     async fn run(&self, gateway: Gateway, stop: CancellationToken) -> Result<()> {
//!         gateway.register_send_handler(Arc::new(Printer));
//!         gateway.report(Health::Up { detail: "paper is loaded".to_owned() });
//!         stop.cancelled().await;
//!         Ok(())
//!     }
//! }
//!
//! let paper = Paper(ConnectorInfo {
//!     source: Source::new("paper"),
//!     account: Account("tray 1".to_owned()),
//!     capabilities: Capabilities {
//!         max_text: 2_000,
//!         text_unit: TextUnit::CodePoints,
//!         edit: false,
//!         delete: false,
//!         react: false,
//!         typing: false,
//!         buttons: false,
//!         files: false,
//!         threads: false,
//!         read_back: ReadBack::None,
//!         public: false,
//!     },
//! });
//! assert_eq!(paper.info().source.as_str(), "paper");
//! let hello = Outgoing::Message { content: Content::text("hello"), reply_to: None };
//! assert_eq!(Printer.encode(&hello)?, [Encoded("hello".into())]);
//! # Ok::<(), Error>(())
//! ```
//!
//! `galatea connector new NAME` writes a whole one with its tests, and `docs/add-a-connector.md`
//! goes through its files.
//!
//! # A plugin
//!
//! A [`Plugin`] is a value that bundles actions, providers, evaluators, services and middleware.
//! Plugin code sees the [`Turn`] and never the runtime.
//!
//! ```
//! use async_trait::async_trait;
//! use galatea_core::{
//!     Action, ActionDocs, ActionResult, Content, Plugin, Result, Turn, rights::Scope,
//! };
//!
//! #[derive(serde::Deserialize, schemars::JsonSchema)]
//! struct Dice {
//!     /// Number of sides, 6 for an ordinary die.
//!     sides: u32,
//! }
//!
//! struct Roll;
//!
//! #[async_trait]
//! impl Action for Roll {
//!     const NAME: &'static str = "ROLL_DICE";
//!     const SCOPE: Scope = Scope::Conversation;
//!     type Params = Dice;
//!
//!     fn docs(&self) -> ActionDocs {
//!         ActionDocs::of::<Self>("Rolls a die when a person asks for it.", &["THROW_DICE"])
//!     }
//!
//!     async fn validate(&self, _: &Turn<'_>) -> Result<bool> {
//!         Ok(true)
//!     }
//!
//!     async fn run(&self, _: &Turn<'_>, dice: Dice, _: &[ActionResult]) -> Result<ActionResult> {
//!         if dice.sides == 0 {
//!             return Ok(ActionResult::failed("a die has at least one side"));
//!         }
//!         Ok(ActionResult::ok("rolled a 4").say(Content::text("It is a 4.")))
//!     }
//! }
//!
//! let games = Plugin::new("games", "1.0.0", "Games for a group").action(Roll);
//! assert_eq!(games.actions[0].docs().name, "ROLL_DICE");
//! ```
//!
//! A plugin may bring models as well. This one answers before the configured large model, which
//! takes over when it fails:
//!
//! ```
//! use async_trait::async_trait;
//! use galatea_core::{
//!     ModelInfo, Plugin, Result, TextModel,
//!     model::{OnText, PluginModel, TextAnswer, TextRequest, Tier},
//! };
//! use std::sync::Arc;
//!
//! /// Repeats what was said last.
//! struct Parrot(ModelInfo);
//!
//! #[async_trait]
//! impl TextModel for Parrot {
//!     fn info(&self) -> &ModelInfo {
//!         &self.0
//!     }
//!
//!     async fn generate(
//!         &self,
//!         request: &TextRequest,
//!         _: &OnText<'_>,
//!     ) -> Result<TextAnswer> {
//!         let text = request.messages.last().map(|message| message.text()).unwrap_or_default();
//!         Ok(TextAnswer { text, ..TextAnswer::default() })
//!     }
//! }
//!
//! let info = ModelInfo { provider: "parrot".into(), model: "one".into(), ..ModelInfo::default() };
//! let large = PluginModel::Text(Tier::TextLarge, Arc::new(Parrot(info)));
//! let plugin = Plugin::new("parrot", "1.0.0", "Repeats").model(100, large);
//! assert_eq!(plugin.models[0].priority, 100);
//! ```
//!
//! # Failures
//!
//! Every function returns an [`Error`]. It carries a kind, advice for the one layer that retries,
//! and whether a request may have taken effect. See its page for how to make one.
//!
//! # Where to read on
//!
//! - For a connector: [`connector`] (both sides of a platform), [`gateway`] (what it may call),
//!   [`message`] (what goes in and out), [`content`], [`split`] and [`markdown`] (cutting and
//!   rendering text), [`settings`], [`private_file`].
//! - For a plugin: [`plugin`], [`action`] with [`rights`], [`provider`], [`evaluator`],
//!   [`service`], [`middleware`]; [`turn`] is what their code sees, with [`store`] and [`model`].
//! - What all of them exchange: [`ids`], [`world`], [`room`], [`entity`], [`memory`], [`verdict`],
//!   [`event`], [`error`].
//!
//! What only the engine and the stores use (queues, leases, the delivery protocol, circuit
//! breakers) is public and stands in no index; `ARCHITECTURE.md` describes it.

#[doc(hidden)]
pub mod breaker;
pub mod character;
pub mod connector;
pub mod error;
pub mod event;
mod files;
pub mod ids;
mod kill_point;
pub mod memory;
pub mod message;
pub mod model;
pub mod people;
pub mod plugin;
#[doc(hidden)]
pub mod protocol;
pub mod rights;
mod search;
pub mod settings;
pub mod store;
mod text;
mod time;
pub mod verdict;
pub mod world;

pub use character::Character;
pub use connector::gateway::{self, Gateway, Health};
pub use connector::known_account::{Encode, Encoder, Encoding, KnownAccount};
pub use connector::send_permit::SendPermit;
pub use connector::state_keeper::StateKeeper;
pub use connector::{
    BrowserLogin, Capabilities, Connector, ConnectorConfig, ConnectorInfo, Finding, Host, Priority,
    ReadBack, SendHandler, Severity, Speak, TextUnit, Variable,
};
pub use error::{Error, ErrorKind, Overlong, Reach, Result, Retry, Sent};
pub use event::{Event, EventBus};
pub use files::file_reader::{FileReader, SentFile};
pub use files::{private_file, whole_file};
pub use ids::{
    Account, AgentId, AgentIdentity, CredentialId, DeliveryId, EntityId, MemberId, MemoryId,
    RelationshipId, RemoteId, RoomId, Source, TaskId, TurnId, UserId, WorldId,
};
pub use memory::derived::{self, Derived, MemoryScope};
pub use memory::fact;
pub use memory::visibility::{self, Visibility};
pub use memory::{Memory, MemoryKind};
pub use message::command::{self, ADMIN_COMMANDS, COMMAND_WORDS, COMMANDS, Command};
pub use message::content::{self, Button, Content, Media, MediaKind, Press, Quote, QuoteKind};
pub use message::gap::{self, Gap};
pub use message::{
    Address, Addressed, Archive, Batch, Connection, ConnectionIds, Cursor, Delivery, Encoded,
    EntityRef, Incoming, IncomingEvent, IncomingMessage, Outgoing, OwnStatus, ReadBackContext,
    ReadBackResult, Receipt, Received, RoomRef, WorldRef, WorldSync,
};
pub use model::{EmbeddingModel, ModelInfo, Models, TextModel};
pub use people::People;
pub use people::entity::{self, Entity, Participant, ParticipantState};
pub use people::relationship::{self, IdentityLink, Relationship};
pub use people::room_people::RoomPeople;
pub use plugin::Plugin;
pub use plugin::action::{self, Action, ActionDocs, ActionResult, AnyAction};
pub use plugin::agent_view::AgentView;
pub use plugin::context::PluginContext;
pub use plugin::evaluator::{self, Evaluator, EvaluatorUse};
pub use plugin::event_handle::EventHandle;
pub use plugin::event_handler::EventHandler;
pub use plugin::hooks::PluginHooks;
pub use plugin::middleware::{self, Middleware};
pub use plugin::outbound::Outbound;
pub use plugin::provider::{self, Provider, ProviderUse};
pub use plugin::route::{self, Route, RouteHandler};
pub use plugin::service::{self, Service, ServiceContext, ServiceKey, Services};
pub use plugin::setting::{PluginSetting, PluginSettings, SettingForm};
pub use plugin::speakers::{self, Speakers};
pub use plugin::standing;
pub use plugin::state::{self, Fragment, State};
pub use plugin::task_worker::{TaskContext, TaskMessage, TaskOutcome, TaskWorker};
pub use plugin::turn::{self, FinishedTurn, Turn};
pub use plugin::unstored_usage::TurnUsage;
pub use search::embedding::{self, Embedding};
pub use settings::secret::{self, ExposeSecret, SecretString};
pub use settings::{Settings, variable::Declared};
pub use store::mentioned;
pub use store::task::{self, Task};
pub use text::{markdown, redact, sections, split, visible};
pub use time::backoff::Backoff;
pub use time::clock::{self, Clock, Deadline, SharedClock, Skew, SystemClock, Timestamp};
pub use time::quiet_hours::{self, QuietHours};
pub use time::schedule::{self, Missed, Schedule};
pub use time::when;
pub use time::zone::{self, Zone};
pub use verdict::{Decision, StepOutcome, Verdict};
pub use world::room::{self, ChannelType, Room};
pub use world::world_settings;
pub use world::{Role, World, WorldMetadata};

// Used by the engine and the stores only.
#[doc(hidden)]
pub use connector::gateway::GatewayBackend;
#[doc(hidden)]
pub use kill_point::{arm_kill_points, kill_point};
#[doc(hidden)]
pub use model::tokens;
#[doc(hidden)]
pub use search::fusion;
#[doc(hidden)]
pub use store::Store;
#[doc(hidden)]
pub use store::hint::{self, Hint, Hints, NoHints};
#[doc(hidden)]
pub use store::{export, question_models, shared_breaker};
#[doc(hidden)]
pub use text::mended_json;
