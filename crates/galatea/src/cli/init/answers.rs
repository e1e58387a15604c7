//! The answers that `init` writes, from prompts, options or standard input.

use galatea_core::{
    Error,
    settings::{Layer, Origin, Setting},
};
use galatea_models::config::variables as models;
use std::io::{BufRead, Read};

use super::{
    ollama::OllamaModels,
    options::{Brain, Init},
};
use crate::{
    context::Context,
    report::failure::{Failure, Result},
};
use galatea_host::platforms::{PLATFORMS, Platform};

/// Maximum length of a secret on standard input, in bytes.
const MAX_SECRET: u64 = 16 << 10;
/// Default name of a character.
pub(super) const USUAL_NAME: &str = "Helper";
/// The values that are going to be written.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Answers {
    pub(super) name: String,
    /// Settings for `.env`, in the order they are written.
    pub(super) settings: Vec<(String, String)>,
}

impl Answers {
    /// Answers for a character of this name; [`USUAL_NAME`] if it is absent or empty.
    pub(super) fn named(name: Option<&str>) -> Self {
        let name = name.map(str::trim).filter(|n| !n.is_empty()).unwrap_or(USUAL_NAME);
        Self { name: name.to_owned(), settings: Vec::new() }
    }

    /// Adds or replaces a setting. A secret is masked in every output from now on.
    pub(super) fn set(&mut self, name: &str, value: &str, context: &Context) {
        if galatea_host::config::looks_secret(name) {
            context.output.redactor.learn(value);
        }
        self.put(name, value.trim());
    }

    fn put(&mut self, name: &str, value: &str) {
        self.settings.retain(|(known, _)| known != name);
        self.settings.push((name.to_owned(), value.to_owned()));
    }

    /// Chooses a provider. The choice is written explicitly, so that a key added later does not
    /// change it silently.
    pub(super) fn choose(&mut self, brain: Brain) {
        self.put(models::GALATEA_MODEL_PROVIDER.name, brain.provider());
    }

    /// Chooses Ollama with the models it has.
    pub(super) fn ollama(&mut self, endpoint: &str, found: Option<&OllamaModels>) {
        self.choose(Brain::Ollama);
        self.put(models::OLLAMA_API_ENDPOINT.name, endpoint);
        let Some(found) = found else { return };
        if let Some(text) = &found.text {
            self.put(models::OLLAMA_SMALL_MODEL.name, text);
            self.put(models::OLLAMA_LARGE_MODEL.name, text);
        }
        if let Some(embedding) = &found.embedding {
            self.put(models::OLLAMA_EMBEDDING_MODEL.name, embedding);
        }
    }

    /// The answers as a layer above the configuration, to check them before they are written.
    pub(super) fn layer(&self) -> Layer {
        let setting = |value: &str| Setting {
            value: value.into(),
            origin: Origin::Flag("your answer".to_owned()),
        };
        self.settings.iter().map(|(name, value)| (name.clone(), setting(value))).collect()
    }

    /// Whether the answers contain the platform's login.
    pub(super) fn connects(&self, platform: &Platform) -> bool {
        platform
            .login_secrets()
            .any(|secret| self.settings.iter().any(|(known, _)| known == secret.name))
    }

    /// Whether the answers contain anything but logins of platforms.
    pub(super) fn has_model(&self) -> bool {
        let login = |name: &str| {
            PLATFORMS.iter().flat_map(Platform::login_secrets).any(|secret| secret.name == name)
        };
        self.settings.iter().any(|(name, _)| !login(name))
    }
}

/// The platforms named by options, in the order their secrets are read.
///
/// # Errors
/// Exit 2 for an unknown name, and for a platform without a login.
pub(super) fn platforms(init: &Init) -> Result<Vec<&'static Platform>> {
    let known = || PLATFORMS.iter().filter(|p| p.has_login());
    for name in &init.connect {
        if !known().any(|p| p.source.as_str() == name.to_lowercase()) {
            let names: Vec<_> = known().map(|p| p.source.as_str()).collect();
            return Err(Failure::usage(
                format!("there is no platform named {name} to connect"),
                format!("choose one of: {}", names.join(", ")),
            ));
        }
    }
    let wanted = |p: &&Platform| {
        let name = p.source.as_str();
        init.connect.iter().any(|wanted| wanted.to_lowercase() == name)
            || (init.telegram_token_stdin && name == "telegram")
    };
    Ok(known().filter(wanted).collect())
}

/// The answers from options. Reads secrets from `input`, one per line, those of the platforms
/// first.
///
/// # Errors
/// Exit 2 if a line is missing, or if a provider's key is neither given nor configured.
pub(super) fn given(init: &Init, context: &Context, mut input: impl BufRead) -> Result<Answers> {
    let mut answers = Answers::named(init.name.as_deref());
    for platform in platforms(init)? {
        for secret in platform.login_secrets() {
            let what = format!("{} for {}", secret.name, platform.title);
            answers.set(secret.name, &line(&mut input, &what)?, context);
        }
    }
    let Some(brain) = init.model else { return Ok(answers) };
    answers.choose(brain);
    if let (Some(url), Brain::Openai) = (&init.model_url, brain) {
        answers.set(models::OPENAI_BASE_URL.name, url, context);
    }
    let Some(key) = brain.key_variable() else { return Ok(answers) };
    let known = context.configuration()?.settings.raw(key).is_some();
    // A self-hosted server may need no key.
    let needless = brain == Brain::Openai && init.model_url.is_some();
    if init.model_key_stdin {
        answers.set(key, &line(&mut input, "the provider's key")?, context);
    } else if !known && !needless {
        return Err(Failure::usage(
            format!("{} needs a key", brain.provider()),
            format!("add --model-key-stdin and give the key on standard input, or set {key}"),
        ));
    }
    Ok(answers)
}

fn line(input: &mut impl BufRead, what: &str) -> Result<String> {
    let mut text = String::new();
    input.take(MAX_SECRET).read_line(&mut text).map_err(|e| {
        Error::invalid(format!("{what} cannot be read from standard input"))
            .with_code("GAL-CLI-USAGE")
            .with("cause", e)
    })?;
    let text = text.trim();
    if text.is_empty() {
        return Err(Failure::usage(
            format!("{what} is missing on standard input"),
            "give one secret per line: those of the platforms in the order of `galatea init --help`, then the provider's key",
        ));
    }
    Ok(text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_taken_in_order_and_a_missing_one_is_reported() {
        let mut input = "  token \nkey".as_bytes();
        assert_eq!(line(&mut input, "x").unwrap(), "token");
        assert_eq!(line(&mut input, "x").unwrap(), "key");
        assert_eq!(line(&mut input, "the key").unwrap_err().exit, crate::report::exit::Exit::Usage);
    }

    #[test]
    fn ollama_is_written_with_its_models_and_chosen_once() {
        let mut answers = Answers::named(Some(" "));
        answers.choose(Brain::Openai);
        answers.ollama(
            "http://h/api",
            Some(&OllamaModels { text: Some("m".into()), embedding: None }),
        );
        let written: Vec<_> = answers.settings.iter().map(|(n, v)| format!("{n}={v}")).collect();
        assert_eq!(
            written,
            [
                "GALATEA_MODEL_PROVIDER=ollama",
                "OLLAMA_API_ENDPOINT=http://h/api",
                "OLLAMA_SMALL_MODEL=m",
                "OLLAMA_LARGE_MODEL=m"
            ]
        );
        assert_eq!(answers.name, USUAL_NAME);
    }
}
