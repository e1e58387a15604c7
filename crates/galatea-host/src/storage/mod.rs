//! The data folder and the database, and how files are written.

pub mod data_dir;
pub mod database;
pub mod files;
pub mod lock;
pub mod seal;
