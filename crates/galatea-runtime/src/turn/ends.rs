//! Ends of a turn that asks no model: messages that are skipped or refused, strangers, turns that
//! fail.

pub(crate) mod fail;
pub(crate) mod pair;
pub(crate) mod refuse;
pub(crate) mod skip;
