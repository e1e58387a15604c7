//! Several processes on one PostgreSQL: nothing lost, nothing said twice, in order, whatever
//! becomes of one of them.

mod clocks;
mod crowd;
mod gaps;
mod hints;
mod moves;
mod roles;
mod whole;
mod zombies;
