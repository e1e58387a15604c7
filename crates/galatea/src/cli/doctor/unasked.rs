//! `doctor --offline`: what can be said of models and platforms without asking them, which is the form
//! of their settings.

use galatea_core::{Clock, ExposeSecret, Finding, Settings, Severity, SystemClock, Variable};
use galatea_http::{HttpClient, HttpOptions};
use galatea_models::Dependencies;
use std::{collections::BTreeSet, sync::Arc};

use super::{examined::Examined, services};
use galatea_host::characters::personas::Persona;

/// A provider's key: its variable, the variable of another address, and how its keys begin, as their
/// pages of keys show them (2026-11).
struct Key {
    name: &'static str,
    aliases: &'static [&'static str],
    address: &'static str,
    provider: &'static str,
    begins: &'static [&'static str],
}

const KEYS: &[Key] = &[
    Key {
        name: "ANTHROPIC_API_KEY",
        aliases: &[],
        address: "ANTHROPIC_BASE_URL",
        provider: "Anthropic",
        begins: &["sk-ant-"],
    },
    Key {
        name: "OPENROUTER_API_KEY",
        aliases: &[],
        address: "OPENROUTER_BASE_URL",
        provider: "OpenRouter",
        begins: &["sk-or-"],
    },
    Key {
        name: "GROQ_API_KEY",
        aliases: &[],
        address: "GROQ_BASE_URL",
        provider: "Groq",
        begins: &["gsk_"],
    },
    Key {
        name: "GOOGLE_GENERATIVE_AI_API_KEY",
        aliases: &["GEMINI_API_KEY", "GOOGLE_API_KEY"],
        address: "GOOGLE_GENERATIVE_AI_BASE_URL",
        provider: "Google",
        begins: &["AIza", "AQ."],
    },
    Key {
        name: "XAI_API_KEY",
        aliases: &[],
        address: "XAI_BASE_URL",
        provider: "xAI",
        begins: &["xai-"],
    },
    // Last, because the keys of others begin with it, too.
    Key {
        name: "OPENAI_API_KEY",
        aliases: &[],
        address: "OPENAI_BASE_URL",
        provider: "OpenAI",
        begins: &["sk-"],
    },
];

/// The models and platforms of every agent, none of which is asked.
pub(super) fn check(examined: &Examined<'_>, personas: &[Persona]) -> Vec<Finding> {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let mut found = models(personas, &clock);
    let connected = services::connected(examined, personas, &clock);
    found.extend(connected.off);
    for (title, _) in connected.on {
        found.push(unasked("connector", &format!("{title}: its settings have the right form")));
    }
    found
}

fn models(personas: &[Persona], clock: &Arc<dyn Clock>) -> Vec<Finding> {
    let http = match HttpClient::new(HttpOptions::default()) {
        Ok(http) => http,
        Err(error) => return vec![Finding::failure("model", &error)],
    };
    let (mut seen, mut found) = (BTreeSet::new(), Vec::new());
    for persona in personas {
        found.extend(
            cut(&persona.settings)
                .into_iter()
                .filter(|finding| seen.insert(finding.message.clone())),
        );
        let keys: Vec<Finding> = keys(&persona.settings);
        let malformed = !keys.is_empty();
        found.extend(keys.into_iter().filter(|finding| seen.insert(finding.message.clone())));
        let dependencies = Dependencies::default();
        match galatea_models::build(&persona.settings, &http, Arc::clone(clock), &dependencies) {
            Ok(built) if built.is_offline() || malformed => {}
            Ok(built) if seen.insert(built.description.clone()) => {
                found.push(unasked("model", &format!("{}: set up", built.description)));
                found.extend(built.findings);
            }
            Ok(_) => {}
            Err(error) => found.push(Finding::failure("model", &error)),
        }
    }
    found
}

fn unasked(subject: &str, message: &str) -> Finding {
    let message = format!("{message}; whether it works was not asked (--offline)");
    Finding::new(Severity::Info, "GAL-DOCTOR-UNASKED", subject, message)
}

/// A platform's token: its variable with the aliases, the variable of another address, what stands in
/// front of its last part, and how long that part is at least (Bot API, "Authorizing your bot": about
/// 35 characters; Discord's have 27 or 38).
type Token = (&'static str, &'static [&'static str], &'static str, char, usize);

const TOKENS: [Token; 2] = [
    ("TELEGRAM_BOT_TOKEN", &[], "TELEGRAM_API_ROOT", ':', 30),
    ("DISCORD_API_TOKEN", &["DISCORD_BOT_TOKEN"], "DISCORD_API_ROOT", '.', 25),
];

/// Tokens of platforms whose last part is too short: they were cut when they were copied. What is no
/// token at all the connector refuses.
fn cut(settings: &Settings) -> Vec<Finding> {
    let too_short = |token: &Token| {
        let (name, aliases, address, before, least) = *token;
        let variable = Variable::new(name, "").alias(aliases).secret();
        let value = settings.secret(&variable)?;
        let (_, last) = value.expose_secret().trim().rsplit_once(before)?;
        if last.len() >= least || settings.raw(address).is_some() {
            return None;
        }
        let message = format!("{name} is too short: a part of it is missing");
        let mut finding = Finding::new(Severity::Error, "GAL-DOCTOR-KEY", "connector", message)
            .with_cause(format!("its last part has {} characters", last.len()))
            .with_fix("copy the whole token again");
        finding.origin = Some(format!("{name} from {}", settings.origin(&variable)));
        Some(finding)
    };
    TOKENS.iter().filter_map(too_short).collect()
}

/// Keys that do not look like those of their provider. A server at another address has keys of its
/// own form.
fn keys(settings: &Settings) -> Vec<Finding> {
    let malformed = |key: &Key| {
        let variable = Variable::new(key.name, "").alias(key.aliases).secret();
        let value = settings.secret(&variable)?;
        let value = value.expose_secret().trim();
        if value.is_empty() || settings.raw(key.address).is_some() {
            return None;
        }
        let cause = mistake(key, value)?;
        let message = format!("{} does not look like a key of {}", key.name, key.provider);
        let mut finding = Finding::new(Severity::Warning, "GAL-DOCTOR-KEY", "model", message)
            .with_cause(cause)
            .with_fix("copy it again from the provider's page, without quotes or spaces");
        finding.origin = Some(format!("{} from {}", key.name, settings.origin(&variable)));
        Some(finding)
    };
    KEYS.iter().filter_map(malformed).collect()
}

/// What is wrong with a key, without repeating it.
fn mistake(key: &Key, value: &str) -> Option<String> {
    if value.contains(char::is_whitespace) {
        return Some("it holds spaces".to_owned());
    }
    if value.contains(['"', '\'', '`', '“', '”', '‘', '’']) {
        return Some("it holds quotes".to_owned());
    }
    let fits = |key: &Key| key.begins.iter().any(|begin| value.starts_with(begin));
    let owner = KEYS.iter().find(|other| fits(other));
    match owner {
        Some(other) if other.name == key.name => None,
        Some(other) => Some(format!("it begins as keys of {} do", other.provider)),
        None => Some(format!("it does not begin with {}", key.begins.join(" or "))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(name: &str, value: &str) -> Option<String> {
        keys(&Settings::from_pairs([(name, value)])).pop().and_then(|finding| finding.cause)
    }

    #[test]
    fn keys_are_held_against_the_form_of_their_provider() {
        for (name, key) in [
            ("OPENAI_API_KEY", "sk-proj-abc"),
            ("OPENAI_API_KEY", "sk-abc"),
            ("ANTHROPIC_API_KEY", "sk-ant-api03-abc"),
            ("OPENROUTER_API_KEY", "sk-or-v1-abc"),
            ("GROQ_API_KEY", "gsk_abc"),
            ("GOOGLE_GENERATIVE_AI_API_KEY", "AIzaabc"),
        ] {
            assert_eq!(found(name, key), None, "{name}");
        }
        for (name, key, cause) in [
            ("OPENAI_API_KEY", "sk-ant-api03-abc", "it begins as keys of Anthropic do"),
            ("ANTHROPIC_API_KEY", "sk-abc", "it begins as keys of OpenAI do"),
            ("GROQ_API_KEY", "xai-abc", "it begins as keys of xAI do"),
            ("OPENROUTER_API_KEY", "hello", "it does not begin with sk-or-"),
            ("GROQ_API_KEY", "“gsk_abc”", "it holds quotes"),
            ("OPENAI_API_KEY", "sk-a bc", "it holds spaces"),
        ] {
            assert_eq!(found(name, key).as_deref(), Some(cause), "{name}");
        }
    }

    #[test]
    fn a_token_that_was_cut_is_found() {
        let found =
            |name: &str, token: &str| !cut(&Settings::from_pairs([(name, token)])).is_empty();
        let rest = "x7".repeat(17);
        for (name, whole) in [
            ("TELEGRAM_BOT_TOKEN", format!("123456789:AA{rest}")),
            ("DISCORD_API_TOKEN", format!("MTIzNDU2Nzg5MDEyMzQ1Njc4.Gabcde.{rest}")),
            ("DISCORD_BOT_TOKEN", format!("MTIzNDU2Nzg5MDEyMzQ1Njc4.Gabcde.{rest}")),
        ] {
            assert!(!found(name, &whole), "{name}");
            assert!(found(name, &whole[..whole.len() - 20]), "{name}");
        }
        let own = [("TELEGRAM_BOT_TOKEN", "1:x"), ("TELEGRAM_API_ROOT", "http://127.0.0.1:1")];
        assert!(cut(&Settings::from_pairs(own)).is_empty(), "other servers have other tokens");
    }

    #[test]
    fn a_server_of_ones_own_has_keys_of_its_own_and_no_key_is_repeated() {
        let own = [("OPENAI_API_KEY", "hello"), ("OPENAI_BASE_URL", "http://127.0.0.1:1/v1")];
        assert!(keys(&Settings::from_pairs(own)).is_empty());
        let shown = keys(&Settings::from_pairs([("GROQ_API_KEY", "my secret key")]));
        assert!(!format!("{shown:?}").contains("my secret"), "{shown:?}");
    }
}
