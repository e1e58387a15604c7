//! Takes stored messages to turns, in order per Room.

mod instances;
mod reconcile;
mod state;
mod submit;
mod worker;

pub(crate) use state::{Inbox, InboxParts};
