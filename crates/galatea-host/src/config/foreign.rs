//! Names that other programs give to settings of Galatea, with what to write instead. Names with one
//! meaning only are aliases of the setting and are read; those here are not, because they may mean
//! several settings, or something that Galatea does in another way.

use super::text_file::Parsed;

/// A name of another program, and what to do.
const FOREIGN: &[(&str, &str)] = &[
    (
        "TELEGRAM_API_KEY",
        "a bot's token from @BotFather is TELEGRAM_BOT_TOKEN; the api_id and api_hash of an app are not used",
    ),
    ("TELEGRAM_API_ID", "a bot needs its token from @BotFather only: TELEGRAM_BOT_TOKEN"),
    ("TELEGRAM_API_HASH", "a bot needs its token from @BotFather only: TELEGRAM_BOT_TOKEN"),
    ("TELEGRAM_CHAT_ID", "TELEGRAM_ALLOWED_CHATS lists the chats where the bot answers"),
    (
        "DISCORD_GUILD_ID",
        "the bot answers on every server it is in; DISCORD_ALLOWED_CHATS limits the channels",
    ),
    ("DISCORD_CHANNEL_ID", "CHANNEL_IDS lists the channels where it answers"),
    ("DISCORD_PUBLIC_KEY", "remove it: commands arrive through the gateway"),
    (
        "TWITTER_USERNAME",
        "X is connected by keys of an app, without a login: TWITTER_API_KEY and its like",
    ),
    (
        "TWITTER_PASSWORD",
        "remove it: X is connected by keys of an app (TWITTER_API_KEY and its like)",
    ),
    ("TWITTER_EMAIL", "remove it: X is connected by keys of an app (TWITTER_API_KEY and its like)"),
    (
        "TWITTER_2FA_SECRET",
        "remove it: X is connected by keys of an app (TWITTER_API_KEY and its like)",
    ),
    (
        "TWITTER_COOKIES",
        "remove it: X is connected by keys of an app (TWITTER_API_KEY and its like)",
    ),
    ("OPENAI_ORGANIZATION", "remove it: a project's key says which organization pays"),
    ("OPENAI_ORG_ID", "remove it: a project's key says which organization pays"),
    ("OLLAMA_HOST", "it is where the server listens; where it is reached is OLLAMA_API_ENDPOINT"),
    ("USE_OPENAI_EMBEDDING", "OPENAI_EMBEDDING_MODEL names the model for memory search"),
    ("USE_OLLAMA_EMBEDDING", "OLLAMA_EMBEDDING_MODEL names the model for memory search"),
    ("MEDIUM_OPENAI_MODEL", "there are two sizes: OPENAI_SMALL_MODEL and OPENAI_LARGE_MODEL"),
    (
        "MEDIUM_ANTHROPIC_MODEL",
        "there are two sizes: ANTHROPIC_SMALL_MODEL and ANTHROPIC_LARGE_MODEL",
    ),
    ("MEDIUM_GOOGLE_MODEL", "there are two sizes: GOOGLE_SMALL_MODEL and GOOGLE_LARGE_MODEL"),
    ("MEDIUM_GROQ_MODEL", "there are two sizes: GROQ_SMALL_MODEL and GROQ_LARGE_MODEL"),
    (
        "MEDIUM_OPENROUTER_MODEL",
        "there are two sizes: OPENROUTER_SMALL_MODEL and OPENROUTER_LARGE_MODEL",
    ),
];

/// Services of OpenAI's form that are no providers of their own: the key's name, the service and
/// its address. Their keys are never read, nor said to be the key of another company.
const COMPATIBLE: &[(&str, &str, &str)] = &[
    ("DEEPSEEK_API_KEY", "DeepSeek", "https://api.deepseek.com/v1"),
    ("TOGETHER_API_KEY", "Together", "https://api.together.xyz/v1"),
    ("FIREWORKS_API_KEY", "Fireworks", "https://api.fireworks.ai/inference/v1"),
    ("PERPLEXITY_API_KEY", "Perplexity", "https://api.perplexity.ai"),
    ("CEREBRAS_API_KEY", "Cerebras", "https://api.cerebras.ai/v1"),
    ("DEEPINFRA_API_KEY", "DeepInfra", "https://api.deepinfra.com/v1/openai"),
    ("HYPERBOLIC_API_KEY", "Hyperbolic", "https://api.hyperbolic.xyz/v1"),
    ("NVIDIA_API_KEY", "NVIDIA", "https://integrate.api.nvidia.com/v1"),
    ("VENICE_API_KEY", "Venice", "https://api.venice.ai/api/v1"),
];

/// What to do about a name of another program; `None` for other names.
pub(super) fn fix(name: &str, parsed: &Parsed) -> Option<String> {
    if name == "BOT_TOKEN" || name == "BOT_API_TOKEN" {
        let value = parsed.layer.get(name).map(|setting| setting.text()).unwrap_or_default();
        return Some(of_bot_token(&value).to_owned());
    }
    if let Some((_, fix)) = FOREIGN.iter().find(|(known, _)| *known == name) {
        return Some((*fix).to_owned());
    }
    let (_, service, address) = COMPATIBLE.iter().find(|(known, ..)| *known == name)?;
    Some(format!(
        "{service} is reached in OpenAI's form: set OPENAI_BASE_URL={address}, and with it, never without, the key"
    ))
}

/// Whose token it is, by its form: the number of a Telegram bot and a colon, or the three parts of
/// a Discord bot's.
fn of_bot_token(value: &str) -> &'static str {
    let value = value.trim();
    let number = value.split_once(':').map(|(number, _)| number).unwrap_or_default();
    if number.len() >= 6 && number.bytes().all(|b| b.is_ascii_digit()) {
        "a Telegram bot's token is TELEGRAM_BOT_TOKEN"
    } else if value.split('.').filter(|part| part.len() >= 6).count() == 3 {
        "a Discord bot's token is DISCORD_API_TOKEN"
    } else {
        "a Telegram bot's token is TELEGRAM_BOT_TOKEN, a Discord bot's DISCORD_API_TOKEN"
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{
        names::nearest,
        variables::{all_variables, find},
    };

    #[test]
    fn what_is_read_is_not_called_foreign_and_what_is_suggested_exists() {
        let names = FOREIGN.iter().map(|(name, _)| *name);
        for name in names.chain(COMPATIBLE.iter().map(|(name, ..)| *name)) {
            assert!(find(name).is_none(), "{name} is read");
        }
        for (name, fix) in FOREIGN {
            let words = fix.split(|c: char| !c.is_ascii_uppercase() && c != '_');
            for word in words.filter(|word| word.contains('_') && word.len() > 5) {
                assert!(find(word).is_some(), "{name}: {word} is no setting");
            }
        }
    }

    #[test]
    fn a_bots_token_is_told_by_its_form() {
        for (value, setting) in [
            ("123456789:AAE-x", "TELEGRAM_BOT_TOKEN"),
            ("MTAxMDEw.GabcdeF.abcdefghijkl", "DISCORD_API_TOKEN"),
            ("x", "TELEGRAM_BOT_TOKEN, a Discord"),
        ] {
            assert!(of_bot_token(value).contains(setting), "{value}");
        }
    }

    /// The kind of fault: a name close to another company's. No name of a secret is ever suggested
    /// for a name that begins with another word, whichever letters differ.
    #[test]
    fn no_secret_is_suggested_to_another_company() {
        let first = |name: &str| name.split('_').next().unwrap_or_default().to_owned();
        let mut tried = 0;
        for secret in all_variables().filter(|v| v.secret) {
            for known in std::iter::once(&secret.name).chain(secret.aliases) {
                let word = first(known);
                for at in 0..word.len() {
                    for letter in ['A', 'K', 'Q', 'Z'] {
                        let mut other = (*known).to_owned();
                        other.replace_range(at..=at, &letter.to_string());
                        if first(&other) == word || find(&other).is_some() {
                            continue;
                        }
                        tried += 1;
                        let meant = nearest(&other);
                        assert!(
                            meant.is_none_or(|meant| first(meant) == first(&other)),
                            "{other}: did you mean {meant:?}"
                        );
                    }
                }
            }
        }
        assert!(tried > 300, "{tried}");
        assert_eq!(find("GROK_API_KEY").map(|v| v.name), Some("XAI_API_KEY"));
        assert_eq!(nearest("GROK_BASE_URL"), None);
        assert_eq!(nearest("OPENAI_API_KEZ"), Some("OPENAI_API_KEY"));
    }
}
