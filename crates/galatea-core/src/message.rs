//! Incoming, Outgoing, Delivery, Receipt, Address: what comes in, what to do, what is queued, what
//! the platform answered.

pub mod command;
mod connection;
pub mod content;
pub mod gap;
mod incoming;
mod outgoing;

pub use connection::{Connection, ConnectionIds, EntityRef, RoomRef, WorldRef};
pub use incoming::{
    Addressed, Archive, Batch, Cursor, Incoming, IncomingEvent, IncomingMessage, OwnStatus,
    Received, WorldSync,
};
pub use outgoing::{
    Address, Delivery, Encoded, Outgoing, ReadBackContext, ReadBackResult, Receipt,
};
