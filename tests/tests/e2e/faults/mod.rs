//! Faults of Discord and X under the real program. The strict servers' records decide: nothing is
//! lost, nothing is sent twice, and the retries stay few.

mod discord;
mod nowhere;
mod x;
