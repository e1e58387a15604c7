//! This process among those that share a database: its identity, its clock, and work that no
//! process does.

pub mod idle_work;
pub mod machine_clock;
pub mod member;
