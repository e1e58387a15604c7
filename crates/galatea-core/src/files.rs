//! Files: written whole or not at all, kept private, and read for messages.

pub(crate) mod file_reader;
pub mod private_file;
pub mod whole_file;
