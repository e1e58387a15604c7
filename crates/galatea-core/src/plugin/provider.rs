//! A part of the composed context.

use async_trait::async_trait;
use std::time::Duration;

use crate::{error::Result, rights::Authorship, state::Fragment, turn::Turn};

/// Supplies one part of the prompt. Read-only; all providers of a turn run at the same time, each
/// with a deadline. One that fails or is late is left out, and the verdict says so.
///
/// ```
/// use async_trait::async_trait;
/// use galatea_core::{Fragment, Provider, ProviderUse, Result, Turn, rights::Authorship};
///
/// struct House;
///
/// #[async_trait]
/// impl Provider for House {
///     fn name(&self) -> &'static str {
///         "HOUSE_RULES"
///     }
///     fn description(&self) -> &'static str {
///         "The rules of this community"
///     }
///     fn position(&self) -> i32 {
///         50
///     }
///     fn when(&self) -> ProviderUse {
///         ProviderUse::Always
///     }
///     // The text is the operator's: it cannot carry a stranger's instruction.
///     fn authorship(&self) -> Authorship {
///         Authorship::Own
///     }
///     async fn provide(&self, _: &Turn<'_>) -> Result<Fragment> {
///         Ok(Fragment::text("Be kind.").value("houseRules", "Be kind."))
///     }
/// }
///
/// assert_eq!(House.name(), "HOUSE_RULES");
/// ```
#[async_trait]
pub trait Provider: Send + Sync {
    /// elizaOS name, such as `RECENT_MESSAGES`. Called when the plugin is loaded, and for each
    /// turn.
    fn name(&self) -> &str;
    /// Description of its part, for the model when it may ask for it. Called for each turn, if the
    /// model may ask for the provider.
    fn description(&self) -> &str;
    /// Place in the prompt: lower comes first. Called once, when the plugins are loaded.
    fn position(&self) -> i32;
    /// Time it may take, of the time that providers usually have: one that asks a model may
    /// need more. Called before each [`Self::provide`].
    fn patience(&self, usual: Duration) -> Duration {
        usual
    }
    /// Time of its part. Called for each turn.
    fn when(&self) -> ProviderUse;
    /// Authors of its words, besides those of the conversation and its files, which the
    /// runtime looks at itself. Others' unless the provider says so: an action that goes beyond the
    /// Room has to be confirmed then. Called after each [`Self::provide`].
    fn authorship(&self) -> Authorship {
        Authorship::Others
    }
    /// True if its text is the same in every turn of a Room for a day, such as the description of
    /// the agent. Such text stands in front of the conversation, so that the provider of the model
    /// can keep what it has read of it; any other text stands behind the conversation. Unless the
    /// provider's [`Provider::authorship`] are its own, it stands behind the instructions. Called
    /// after each [`Self::provide`].
    fn lasting(&self) -> bool {
        false
    }
    /// Its part of the prompt. Called once per turn, or when the model asks for it
    /// ([`ProviderUse::OnRequest`]).
    async fn provide(&self, turn: &Turn<'_>) -> Result<Fragment>;
}

/// Time at which a provider takes part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProviderUse {
    /// In every turn, before the model is asked.
    Always,
    /// Only when the model asks for it (elizaOS `dynamic`).
    OnRequest,
}
