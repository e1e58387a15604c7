//! galatea-testkit
pub mod models;
pub mod clock;
pub mod connector_suite;
pub mod process;
pub mod telegram;
pub mod store_suite;
