//! Stable codes of model failures.

/// The key was refused.
pub const KEY: &str = "GAL-MODEL-401";
/// The key lacks a right.
pub const FORBIDDEN: &str = "GAL-MODEL-403";
/// The model does not exist, or is not pulled.
pub const UNKNOWN: &str = "GAL-MODEL-404";
/// Too many requests.
pub const RATE: &str = "GAL-MODEL-429";
/// The account has no credit left.
pub const QUOTA: &str = "GAL-MODEL-QUOTA";
/// The conversation is longer than the model's context.
pub const TOO_LONG: &str = "GAL-MODEL-413";
/// The request was found invalid.
pub const INVALID: &str = "GAL-MODEL-400";
/// A filter refused the request.
pub use galatea_core::model::WITHHELD_CODE as WITHHELD;
/// The service is in a state that conflicts with the request.
pub const CONFLICT: &str = "GAL-MODEL-409";
/// The service has a fault or is overloaded.
pub const FAULT: &str = "GAL-MODEL-5XX";
/// No connection.
pub const CONNECT: &str = "GAL-MODEL-CONNECT";
/// The connection broke during the answer.
pub const CUT: &str = "GAL-MODEL-CUT";
/// No answer in time.
pub const TIMEOUT: &str = "GAL-MODEL-TIMEOUT";
/// The answer is empty.
pub const EMPTY: &str = "GAL-MODEL-EMPTY";
/// The answer is malformed.
pub const GARBAGE: &str = "GAL-MODEL-GARBAGE";
/// The base address is invalid.
pub const URL: &str = "GAL-MODEL-URL";
/// The model does not support tools.
pub const TOOLS: &str = "GAL-MODEL-TOOLS";
/// A chosen provider is not configured.
pub const CONFIG: &str = "GAL-MODEL-CONFIG";
/// The offline script is faulty.
pub const SCRIPT: &str = "GAL-OFFLINE-SCRIPT";
/// Another model than the requested one answers.
pub const SERVED: &str = "GAL-MODEL-SERVED";
/// The provider has announced the model's end.
pub const ENDS: &str = "GAL-MODEL-ENDS";
/// The built-in data about models is old.
pub const DATA: &str = "GAL-MODEL-DATA";
/// The model does not accept a parameter from the settings.
pub const DROPPED: &str = "GAL-MODEL-DROPPED";
/// The service refuses a field or role of requests, which is left out or rewritten.
pub const ADJUSTED: &str = "GAL-MODEL-ADJUSTED";
/// The model keeps failing, and its breaker pauses calls.
pub const PAUSED: &str = "GAL-MODEL-PAUSED";
/// A model is offered no tools, because it cannot call them.
pub const TOOLS_OFF: &str = "GAL-MODEL-TOOLS-OFF";
