//! galatea-testkit
pub mod clock;
pub mod connector_suite;
pub mod discord;
pub mod load;
pub mod loopback;
#[cfg(target_os = "linux")]
pub mod machine;
pub mod models;
pub mod postgres;
pub mod process;
pub mod replay;
pub mod similarity;
pub mod store_suite;
pub mod telegram;
pub mod x;
