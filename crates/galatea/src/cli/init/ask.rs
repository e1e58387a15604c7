//! The questions of `init`. Every credential is checked before the next question.

use super::{
    answers::{self, Answers, USUAL_NAME},
    confirm::ended,
    ollama,
    options::{Brain, Init},
    verify,
};
use crate::{context::Context, report::failure::Result};
use galatea_host::platforms::{PLATFORMS, Platform};
use galatea_models::config::variables as models;

/// Choices for the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Choice {
    Keep,
    Known(Brain),
    /// A server with an OpenAI-compatible API.
    Compatible,
}

/// Asks everything that the options do not answer.
///
/// # Errors
/// Exit 130 if the person leaves; any error of the terminal.
pub(super) async fn answers(init: &Init, context: &Context) -> Result<Answers> {
    cliclack::intro("galatea init").map_err(ended)?;
    let mut answers = Answers::named(init.name.as_deref());
    let mut chosen = answers::platforms(init)?;
    if chosen.is_empty() {
        let mut select =
            cliclack::multiselect("Connect (space selects; nothing: this terminal only)")
                .required(false);
        for (n, platform) in PLATFORMS.iter().enumerate().filter(|(_, p)| p.has_login()) {
            select = select.item(n, platform.title, "");
        }
        chosen = select
            .interact()
            .map_err(ended)?
            .into_iter()
            .filter_map(|n| PLATFORMS.get(n))
            .collect();
    }
    for platform in chosen {
        login(platform, &mut answers, init, context).await?;
    }
    model(&mut answers, init, context).await?;
    if init.name.is_none() {
        answers.name = cliclack::input("Name of the character")
            .default_input(USUAL_NAME)
            .interact()
            .map_err(ended)?;
    }
    cliclack::outro("That is all. Writing.").map_err(ended)?;
    Ok(answers)
}

/// Asks for a platform's secrets, with the description of each declaration, until the platform
/// accepts them.
async fn login(
    platform: &Platform,
    answers: &mut Answers,
    init: &Init,
    context: &Context,
) -> Result<()> {
    if let Some(how) = how(platform.source.as_str()) {
        cliclack::log::info(how).map_err(ended)?;
    }
    loop {
        for secret in platform.login_secrets() {
            let telegram = platform.source.as_str() == "telegram";
            let check = move |text: &String| match () {
                () if text.trim().is_empty() => Err("this is needed"),
                () if telegram && !looks_like_a_token(text) => {
                    Err("expected digits, a colon, then about 35 characters")
                }
                () => Ok(()),
            };
            let text: String =
                cliclack::password(format!("{}: {} (hidden)", platform.title, secret.help))
                    .validate(check)
                    .interact()
                    .map_err(ended)?;
            answers.set(secret.name, &text, context);
        }
        if init.no_check {
            return Ok(());
        }
        let agreed = |cost: &str| {
            cliclack::confirm(format!("{cost} Ask {} whether it works?", platform.title))
                .initial_value(false)
                .interact()
                .unwrap_or(false)
        };
        let findings = verify::platform(platform, answers, context, agreed).await?;
        verify::show(&findings, context);
        if verify::fatal(&findings).is_none() {
            return Ok(());
        }
    }
}

/// Where a platform's secrets come from, for a person who connects the first bot of their life.
fn how(source: &str) -> Option<&'static str> {
    Some(match source {
        "telegram" => {
            "Telegram: write /newbot to @BotFather (https://t.me/BotFather); it answers with the token."
        }
        "discord" => {
            "Discord: https://discord.com/developers/applications → New Application → Bot.\n\
             There: Reset Token gives the token; switch on Message Content Intent, and save.\n\
             When the token is checked, you get the link that invites the bot to your server."
        }
        "x" => {
            "X: https://developer.x.com → your app → Keys and tokens, with the right to read and write."
        }
        _ => return None,
    })
}

/// Whether `text` has the format Telegram documents: digits, a colon, about 35 letters, digits, `_`
/// and `-` (Bot API, "Authorizing your bot").
fn looks_like_a_token(text: &str) -> bool {
    text.trim().split_once(':').is_some_and(|(id, rest)| {
        (5..=20).contains(&id.len())
            && id.chars().all(|c| c.is_ascii_digit())
            && (30..=60).contains(&rest.len())
            && rest.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'))
    })
}

async fn model(answers: &mut Answers, init: &Init, context: &Context) -> Result<()> {
    let endpoint = init.model_url.clone().unwrap_or_else(|| ollama::endpoint(context));
    let found = ollama::probe(&endpoint).await;
    loop {
        match choice(init, context, &endpoint, found.as_ref())? {
            Choice::Keep => return Ok(()),
            Choice::Known(Brain::Ollama) => answers.ollama(&endpoint, found.as_ref()),
            Choice::Known(brain) => {
                answers.choose(brain);
                if let Some(key) = brain.key_variable() {
                    let text: String =
                        cliclack::password(format!("{key} (hidden)")).interact().map_err(ended)?;
                    answers.set(key, &text, context);
                }
            }
            Choice::Compatible => {
                answers.choose(Brain::Openai);
                let url: String = cliclack::input("Address, up to /v1")
                    .placeholder("http://127.0.0.1:1234/v1")
                    .interact()
                    .map_err(ended)?;
                answers.set(models::OPENAI_BASE_URL.name, &url, context);
                let name: String =
                    cliclack::input("Name of the model").interact().map_err(ended)?;
                answers.set(models::OPENAI_SMALL_MODEL.name, &name, context);
                answers.set(models::OPENAI_LARGE_MODEL.name, &name, context);
                let key: String = cliclack::password("Key, empty if it needs none (hidden)")
                    .allow_empty()
                    .interact()
                    .map_err(ended)?;
                if !key.trim().is_empty() {
                    answers.set(models::OPENAI_API_KEY.name, &key, context);
                }
            }
        }
        if init.no_check {
            return Ok(());
        }
        let findings = verify::model(answers, context).await?;
        verify::show(&findings, context);
        if verify::fatal(&findings).is_none() || init.model.is_some() {
            return Ok(());
        }
    }
}

fn choice(
    init: &Init,
    context: &Context,
    endpoint: &str,
    found: Option<&ollama::OllamaModels>,
) -> Result<Choice> {
    if let Some(brain) = init.model {
        return Ok(Choice::Known(brain));
    }
    let settings = &context.configuration()?.settings;
    let mut select = cliclack::select("Model");
    if let Some(brain) = [
        Brain::Anthropic,
        Brain::Openrouter,
        Brain::Openai,
        Brain::Google,
        Brain::Groq,
        Brain::Xai,
        Brain::Mistral,
    ]
    .into_iter()
    .find(|b| b.key_variable().is_some_and(|k| settings.raw(k).is_some()))
    {
        select =
            select.item(Choice::Keep, format!("keep {}", brain.provider()), "configured already");
    }
    if let Some(found) = found {
        select = select.item(
            Choice::Known(Brain::Ollama),
            format!("Ollama at {endpoint}"),
            found.describe(),
        );
    }
    select
        .item(Choice::Known(Brain::Openai), "OpenAI", "key")
        .item(Choice::Known(Brain::Anthropic), "Anthropic", "key")
        .item(Choice::Known(Brain::Openrouter), "OpenRouter", "key")
        .item(Choice::Known(Brain::Google), "Google Gemini", "key")
        .item(Choice::Known(Brain::Groq), "Groq", "key")
        .item(Choice::Known(Brain::Xai), "xAI (Grok)", "key")
        .item(Choice::Known(Brain::Mistral), "Mistral", "key")
        .item(Choice::Compatible, "OpenAI-compatible server", "LM Studio, vLLM, llama.cpp, …")
        .item(Choice::Known(Brain::Offline), "stay offline", "pattern matching, not AI")
        .interact()
        .map_err(ended)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shape_of_a_token_is_known() {
        let rest = "A".repeat(35);
        assert!(looks_like_a_token(&format!(" 123456789:{rest} ")));
        for wrong in [
            String::new(),
            "123456789".into(),
            format!("bot123456789:{rest}"),
            format!("\"123456789:{rest}\""),
            "123456789:short".into(),
        ] {
            assert!(!looks_like_a_token(&wrong), "{wrong}");
        }
    }
}
