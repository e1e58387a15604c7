//! Faults of Discord and X under the real program, judged by what the strict servers remember:
//! nothing lost, nothing doubled, no storm.

mod discord;
mod nowhere;
mod x;
