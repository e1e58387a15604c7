//! Several processes on one PostgreSQL: nothing lost, nothing said twice, in order, whatever becomes of one of them.

mod crowd;
mod hints;
mod moves;
mod roles;
mod zombies;
