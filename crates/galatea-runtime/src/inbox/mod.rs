//! Takes stored messages to turns, in order per Room.

mod reconcile;
mod state;
mod submit;
mod worker;

pub(crate) use state::{Inbox, InboxParts};
