//! State of the engine: what it has learnt about Rooms and models while it runs.

pub(crate) mod beginning;
pub(crate) mod edits;
pub(crate) mod failures;
pub(crate) mod hops;
pub(crate) mod notices;
pub(crate) mod quiet;
pub(crate) mod repeated;
pub(crate) mod room_people;
pub(crate) mod window;
