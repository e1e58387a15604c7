//! Several processes on one PostgreSQL: nothing is lost, nothing is sent twice, and the order is
//! kept, whatever happens to a process.

mod clocks;
mod crowd;
mod gaps;
mod health;
mod hints;
mod linked;
mod logins;
mod moves;
mod roles;
mod zombies;
