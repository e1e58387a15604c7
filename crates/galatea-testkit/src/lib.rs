//! galatea-testkit
pub mod clock;
pub mod connector_suite;
pub mod discord;
pub mod load;
pub mod loopback;
pub mod models;
pub mod postgres;
pub mod process;
pub mod replay;
pub mod store_suite;
pub mod telegram;
pub mod x;
