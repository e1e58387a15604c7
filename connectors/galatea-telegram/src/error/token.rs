//! The error for a malformed bot token, which names what was pasted instead.

use galatea_core::Error;

use super::codes;

/// The error for a malformed token. If the text's form shows what was pasted instead, the error
/// names it. It never repeats the token.
pub(crate) fn token_shape(token: &str) -> Error {
    let (cause, fix) = mistaken(token).unwrap_or_else(|| match token.contains(':') {
        false => ("it has no colon", COPY_IT),
        true => ("it has a part or a character that no token has", COPY_IT),
    });
    Error::invalid("Not a valid bot token; expected digits, a colon, then about 35 characters")
        .with_code(codes::TOKEN)
        .with("cause", cause)
        .with_fix(fix)
}

const COPY_IT: &str = "copy it from @BotFather as it is: TELEGRAM_BOT_TOKEN=123456789:AA…";

/// Text that was certainly pasted instead of a token, and the fix. Applies to every Bot API server.
pub(crate) fn mistaken(token: &str) -> Option<(&'static str, &'static str)> {
    let bare = token.trim_matches(|c: char| !c.is_ascii_alphanumeric());
    let starts = |prefix: &str| {
        bare.get(..prefix.len()).is_some_and(|head| head.eq_ignore_ascii_case(prefix))
    };
    Some(if starts("sk-ant-") {
        (
            "it looks like an Anthropic key",
            "set that one as ANTHROPIC_API_KEY; TELEGRAM_BOT_TOKEN is the one from @BotFather",
        )
    } else if starts("sk-") {
        (
            "it looks like an OpenAI key",
            "set that one as OPENAI_API_KEY; TELEGRAM_BOT_TOKEN is the one from @BotFather",
        )
    } else if is_discords(bare) {
        (
            "it looks like a Discord token",
            "set that one as DISCORD_API_TOKEN; TELEGRAM_BOT_TOKEN is the one from @BotFather",
        )
    } else if starts("bot") && token.contains(':') {
        (
            "it begins with the word bot",
            "leave out the word and what follows it up to the digits: TELEGRAM_BOT_TOKEN=123456789:AA…",
        )
    } else if token.contains(['"', '\'', '`', '“', '”', '‘', '’', '«', '»']) {
        ("it holds quotes", COPY_IT)
    } else if token.contains(char::is_whitespace) {
        ("it holds spaces", COPY_IT)
    } else if token.bytes().all(|b| b.is_ascii_digit()) {
        ("it is a number only, such as a bot's or a chat's id", COPY_IT)
    } else {
        return None;
    })
}

/// True if a text has the form of a Discord token: three parts with dots between them, the first
/// the bot's id in Base64 (Discord's documentation, "Authentication").
fn is_discords(token: &str) -> bool {
    let parts: Vec<&str> = token.split('.').collect();
    let plain =
        |part: &&str| part.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-'));
    parts.len() == 3
        && parts[0].len() >= 18
        && parts[1].len() == 6
        && parts[2].len() >= 27
        && parts.iter().all(plain)
}
