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

pub mod action;
mod action_docs;
mod agent_view;
mod backoff;
#[doc(hidden)]
pub mod breaker;
pub mod character;
pub mod clock;
pub mod command;
pub mod connector;
pub mod content;
pub mod derived;
pub mod embedding;
pub mod entity;
pub mod error;
pub mod evaluator;
pub mod event;
#[doc(hidden)]
pub mod export;
pub mod fact;
mod file_reader;
mod finding;
#[doc(hidden)]
pub mod fusion;
pub mod gap;
pub mod gateway;
#[doc(hidden)]
pub mod hint;
pub mod ids;
mod kill_point;
mod known_account;
pub mod markdown;
pub mod memory;
#[doc(hidden)]
pub mod mended_json;
pub mod mentioned;
pub mod message;
pub mod middleware;
pub mod model;
pub mod people;
pub mod plugin;
pub mod private_file;
#[doc(hidden)]
pub mod protocol;
pub mod provider;
#[doc(hidden)]
pub mod question_models;
pub mod redact;
pub mod relationship;
pub mod rights;
pub mod room;
mod room_people;
pub mod secret;
pub mod sections;
mod send_handler;
mod send_permit;
pub mod service;
pub mod settings;
#[doc(hidden)]
pub mod shared_breaker;
mod shown_name;
pub mod speakers;
pub mod split;
pub mod standing;
pub mod state;
mod state_keeper;
pub mod store;
pub mod task;
#[doc(hidden)]
pub mod tokens;
pub mod turn;
mod unstored_usage;
mod usage;
mod variable;
pub mod verdict;
pub mod visibility;
pub mod visible;
pub mod whole_file;
pub mod world;
pub mod world_settings;
pub mod zone;

pub use action::{Action, ActionDocs, ActionResult, AnyAction};
pub use agent_view::AgentView;
pub use backoff::Backoff;
pub use character::Character;
pub use clock::{Clock, Deadline, SharedClock, Skew, SystemClock, Timestamp};
pub use command::{ADMIN_COMMANDS, COMMAND_WORDS, COMMANDS, Command};
pub use connector::{
    BrowserLogin, Capabilities, Connector, ConnectorConfig, ConnectorInfo, Finding, Host, Priority,
    ReadBack, SendHandler, Severity, Speak, TextUnit, Variable,
};
pub use content::{Button, Content, Media, MediaKind, Press, Quote, QuoteKind};
pub use derived::{Derived, MemoryScope};
pub use embedding::Embedding;
pub use entity::{Entity, Participant, ParticipantState};
pub use error::{Error, ErrorKind, Overlong, Reach, Result, Retry, Sent};
pub use evaluator::{Evaluator, EvaluatorUse};
pub use event::{Event, EventBus};
pub use file_reader::{FileReader, SentFile};
pub use gap::Gap;
#[doc(hidden)]
pub use gateway::GatewayBackend;
pub use gateway::{Gateway, Health};
#[doc(hidden)]
pub use hint::{Hint, Hints, NoHints};
pub use ids::{
    Account, AgentId, AgentIdentity, DeliveryId, EntityId, MemberId, MemoryId, RelationshipId,
    RemoteId, RoomId, Source, TaskId, TurnId, WorldId,
};
#[doc(hidden)]
pub use kill_point::{arm_kill_points, kill_point};
pub use known_account::{Encode, Encoder, Encoding, KnownAccount};
pub use memory::{Memory, MemoryKind};
pub use message::{
    Address, Addressed, Archive, Batch, Connection, Cursor, Delivery, Encoded, EntityRef, Incoming,
    IncomingEvent, IncomingMessage, Outgoing, OwnStatus, Place, ReadBackContext, ReadBackResult,
    Receipt, Received, RoomRef, WorldRef, WorldSync,
};
pub use middleware::Middleware;
pub use model::{EmbeddingModel, ModelInfo, Models, TextModel};
pub use people::People;
pub use plugin::Plugin;
pub use provider::{Provider, ProviderUse};
pub use relationship::{IdentityLink, Relationship};
pub use room::{ChannelType, Room};
pub use room_people::RoomPeople;
pub use secret::{ExposeSecret, SecretString};
pub use send_permit::SendPermit;
pub use service::{Service, ServiceContext, Services};
pub use settings::Settings;
pub use speakers::Speakers;
pub use state::{Fragment, State};
pub use state_keeper::StateKeeper;
#[doc(hidden)]
pub use store::Store;
pub use task::Task;
pub use turn::{FinishedTurn, Outbound, Turn};
pub use unstored_usage::TurnUsage;
pub use verdict::{Decision, StepOutcome, Verdict};
pub use visibility::Visibility;
pub use world::{Role, World, WorldMetadata};
pub use zone::Zone;
