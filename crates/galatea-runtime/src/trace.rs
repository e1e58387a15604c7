//! Records what a turn does, step by step, and writes it after the turn's commit. A turn only adds to a
//! list in memory; a task of the agent's writes, leaves texts out under flood, and drops what it
//! cannot keep up with.

mod bucket;
mod recorder;
mod texts;
mod writer;

pub use self::writer::TraceCounts;
pub(crate) use self::{
    recorder::{Raw, Recorder, StepClock},
    writer::{TraceHead, Tracer},
};
