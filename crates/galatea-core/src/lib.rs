//! The contract of Galatea: nouns, traits, errors. No SQL, no HTTP, no platform, no runtime.

pub mod action;
mod action_docs;
pub mod breaker;
pub mod character;
pub mod clock;
pub mod command;
pub mod connector;
pub mod content;
pub mod embedding;
pub mod entity;
pub mod error;
pub mod evaluator;
pub mod event;
mod finding;
pub mod gap;
pub mod gateway;
pub mod hint;
pub mod ids;
mod kill_point;
pub mod markdown;
pub mod memory;
pub mod message;
pub mod middleware;
pub mod model;
pub mod people;
pub mod plugin;
pub mod protocol;
pub mod provider;
pub mod relationship;
pub mod rights;
pub mod room;
pub mod secret;
mod send_handler;
mod send_permit;
pub mod service;
pub mod settings;
pub mod shared_breaker;
pub mod speakers;
pub mod split;
pub mod standing;
pub mod state;
pub mod store;
pub mod task;
pub mod tokens;
pub mod turn;
mod variable;
pub mod verdict;
pub mod visible;
pub mod world;
pub mod zone;

pub use action::{Action, ActionDocs, ActionResult, AnyAction};
pub use character::Character;
pub use clock::{Clock, Deadline, SharedClock, Skew, SystemClock, Timestamp};
pub use command::{ADMIN_COMMANDS, COMMANDS, Command};
pub use connector::{
    BrowserLogin, Capabilities, Connector, ConnectorConfig, ConnectorInfo, Finding, Host, Priority,
    ReadBack, SendHandler, Severity, Speak, TextUnit, Variable,
};
pub use content::{Button, Content, Media, MediaKind, Press, Quote, QuoteKind};
pub use embedding::Embedding;
pub use entity::{Entity, Participant, ParticipantState};
pub use error::{Error, ErrorKind, Reach, Result, Retry, Sent};
pub use evaluator::Evaluator;
pub use event::{Event, EventBus};
pub use gap::Gap;
pub use gateway::{Gateway, GatewayBackend, Health};
pub use hint::{Hint, Hints, NoHints};
pub use ids::{
    Account, AgentId, AgentIdentity, DeliveryId, EntityId, MemberId, MemoryId, RelationshipId,
    RemoteId, RoomId, Source, TaskId, TurnId, WorldId,
};
pub use kill_point::{arm_kill_points, kill_point};
pub use memory::{Memory, MemoryKind};
pub use message::{
    Address, Addressed, Batch, Connection, Cursor, Delivery, Encoded, EntityRef, Incoming,
    IncomingEvent, IncomingMessage, Outgoing, OwnStatus, Place, ReadBackContext, ReadBackResult,
    Receipt, Received, RoomRef, WorldRef, WorldSync,
};
pub use middleware::Middleware;
pub use model::{EmbeddingModel, ModelInfo, Models, TextModel};
pub use people::People;
pub use plugin::Plugin;
pub use provider::{Provider, ProviderUse};
pub use relationship::Relationship;
pub use room::{ChannelType, Room};
pub use secret::{ExposeSecret, SecretString};
pub use send_permit::SendPermit;
pub use service::{Service, Services};
pub use settings::Settings;
pub use speakers::Speakers;
pub use state::{Fragment, State};
pub use store::Store;
pub use task::Task;
pub use turn::{AgentView, FinishedTurn, Outbound, Turn};
pub use verdict::{Decision, StepOutcome, Verdict};
pub use world::{Role, World, WorldMetadata};
pub use zone::Zone;
