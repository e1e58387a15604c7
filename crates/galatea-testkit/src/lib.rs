//! Test support for the whole workspace: strict loopback servers for Telegram, Discord, X and the
//! model providers, a PostgreSQL for tests, a manual clock, child processes, and the shared suites
//! for connectors and stores.
pub mod clock;
pub mod connector_suite;
pub mod discord;
pub mod documents;
pub mod load;
pub mod loopback;
#[cfg(target_os = "linux")]
pub mod machine;
pub mod models;
pub mod pages;
pub mod port;
pub mod postgres;
pub mod process;
pub mod prompt_cost;
pub mod recall;
pub mod replay;
pub mod store_suite;
pub mod telegram;
pub mod x;
