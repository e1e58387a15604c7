//! Writers: what was read from a file goes into the store, some hundred rows in each commit.

pub(crate) mod batch;
pub(crate) mod messages;
mod notes;
pub(crate) mod rows;
