//! Reads `MODEL_FALLBACK`: which models answer when the chosen one fails.

use galatea_core::{Result, Settings};

use super::{
    named,
    providers::{PROVIDERS, Provider},
    variables::MODEL_FALLBACK,
};

/// The fallbacks of the chosen provider.
pub(super) struct Fallback {
    /// True if the same provider's model of the other tier is a fallback.
    pub(super) sibling: bool,
    /// Other providers, in order.
    pub(super) providers: Vec<&'static Provider>,
    /// Set for `auto`. The owner did not name these providers, so a remote one must not receive
    /// conversations that would otherwise stay on a private network.
    pub(super) is_auto: bool,
}

/// Reads the setting.
///
/// # Errors
/// `Invalid` for an unknown provider, or one that is not configured.
pub(super) fn read(settings: &Settings, chosen: &Provider) -> Result<Fallback> {
    let text = settings.text(&MODEL_FALLBACK).unwrap_or_default();
    let words: Vec<String> = text
        .split(',')
        .map(|word| word.trim().to_ascii_lowercase())
        .filter(|word| !word.is_empty())
        .collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["auto"] => {
            let providers = PROVIDERS
                .iter()
                .filter(|other| other.name != chosen.name && other.configured(settings))
                .collect();
            return Ok(Fallback { sibling: true, providers, is_auto: true });
        }
        ["none"] | [] => {
            return Ok(Fallback { sibling: false, providers: Vec::new(), is_auto: false });
        }
        _ => {}
    }
    let mut fallback = Fallback { sibling: false, providers: Vec::new(), is_auto: false };
    for word in words {
        if word == "sibling" {
            fallback.sibling = true;
            continue;
        }
        let provider = named(word).ok_or_else(|| {
            settings.invalid_setting(
                &MODEL_FALLBACK,
                "names something else than auto, none, sibling and providers",
            )
        })?;
        if provider.name != "ollama" && !provider.configured(settings) {
            return Err(settings
                .invalid_setting(&MODEL_FALLBACK, "names a provider that is not configured")
                .with_fix(format!("set {}", provider.enabled_by())));
        }
        if provider.name != chosen.name
            && !fallback.providers.iter().any(|known| known.name == provider.name)
        {
            fallback.providers.push(provider);
        }
    }
    Ok(fallback)
}
