//! Tools of servers as actions and providers of an agent.

pub(crate) mod action;
pub(crate) mod ask;
pub(crate) mod extra;
pub(crate) mod menu;
