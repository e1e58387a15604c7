//! Text: Markdown, cutting into parts, repairs of JSON, invisible characters, masked secrets, and
//! the sections of a prompt.

pub mod markdown;
#[doc(hidden)]
pub mod mended_json;
pub mod redact;
pub mod sections;
pub mod split;
pub mod visible;
