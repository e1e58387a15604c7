//! Secrets that are known by their shape alone: tokens and keys of platforms and providers, and
//! credentials in headers, addresses and named values.

use std::{borrow::Cow, ops::Range};

use super::MASK;

/// Beginnings of keys, and how many characters follow at least. The shapes are those of secret
/// scanners (GitHub, "Supported secret scanning patterns"; gitleaks' rules), read 2026-11.
const PREFIXES: &[(&str, usize)] = &[
    // OpenAI, Anthropic, OpenRouter, DeepSeek and others; Stripe and ElevenLabs.
    ("sk-", 16),
    ("sk_", 20),
    ("rk_live_", 16),
    // Groq, xAI, Perplexity, NVIDIA, Cerebras, Hugging Face, Replicate.
    ("gsk_", 20),
    ("xai-", 20),
    ("pplx-", 20),
    ("nvapi-", 20),
    ("csk-", 20),
    ("hf_", 30),
    ("r8_", 30),
    // Google.
    ("AIza", 30),
    ("AQ.", 30),
    ("ya29.", 20),
    ("GOCSPX-", 16),
    // GitHub, GitLab, npm.
    ("ghp_", 30),
    ("gho_", 30),
    ("ghu_", 30),
    ("ghs_", 30),
    ("ghr_", 30),
    ("github_pat_", 20),
    ("glpat-", 16),
    ("npm_", 30),
    // Slack.
    ("xoxa-", 10),
    ("xoxb-", 10),
    ("xoxe-", 10),
    ("xoxe.", 10),
    ("xoxp-", 10),
    ("xoxr-", 10),
    ("xoxs-", 10),
    ("xapp-", 10),
    // Discord (accounts with two factors), SendGrid, JSON Web Tokens.
    ("mfa.", 20),
    ("SG.", 30),
    ("eyJ", 30),
];
/// Beginnings of AWS's access keys; 16 capitals and digits follow.
const AWS: [&str; 4] = ["AKIA", "ASIA", "ABIA", "ACCA"];
/// Words of an `Authorization` header in front of credentials.
const SCHEMES: [&str; 5] = ["bearer", "basic", "bot", "token", "oauth"];
/// Names of secrets, in lower case with `_` for `-`.
const NAMES: &[&str] = &[
    "api_key",
    "apikey",
    "access_key",
    "access_token",
    "auth_token",
    "refresh_token",
    "client_secret",
    "consumer_secret",
    "secret_access_key",
    "secret_key",
    "token_secret",
    "bot_token",
    "authorization",
    "password",
    "passwd",
    "secret",
    "token",
    "x_amz_signature",
    "x_amz_credential",
    "x_amz_security_token",
];
/// Names that mean a secret in the query of an address only.
const IN_QUERIES: [&str; 4] = ["key", "sig", "signature", "auth"];
/// Paths that end in a secret: an id, and behind it the token.
const PATHS: [&str; 2] = ["/webhooks/", "/interactions/"];
/// The path of Slack's incoming webhooks.
const SLACK_HOOK: &str = "hooks.slack.com/";
/// Form in which texts of the program write an address with credentials:
/// `postgres://user:password@host`.
const EXAMPLE_USER: &str = "user:password";
/// Without a secret of this length nothing is looked for.
const SHORTEST: usize = 8;

/// `text` with everything masked that has the shape of a secret. Words and sentences stay.
///
/// Called for every error text when it is made.
///
/// ```
/// use galatea_core::redact::mask_shapes;
///
/// let token = format!("{}:{}", 123_456_789, "AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsawA");
/// assert_eq!(mask_shapes(&format!("404 for /bot{token}/getMe")), "404 for /bot[secret]/getMe");
/// assert_eq!(mask_shapes("the bearer token is missing"), "the bearer token is missing");
/// ```
pub fn mask_shapes(text: &str) -> Cow<'_, str> {
    if text.len() < SHORTEST {
        return Cow::Borrowed(text);
    }
    let mut found: Vec<Range<usize>> = Vec::new();
    prefixed(text, &mut found);
    aws(text, &mut found);
    telegram(text, &mut found);
    dotted(text, &mut found);
    addresses(text, &mut found);
    paths(text, &mut found);
    private_keys(text, &mut found);
    words(text, &mut found);
    if found.is_empty() { Cow::Borrowed(text) } else { Cow::Owned(masked(text, found)) }
}

/// [`mask_shapes`] of a text that a caller owns; a constant of the program is not looked at.
pub(crate) fn masked_text(text: Cow<'static, str>) -> Cow<'static, str> {
    match text {
        Cow::Owned(text) => Cow::Owned(masked_string(text)),
        constant @ Cow::Borrowed(_) => constant,
    }
}

/// [`mask_shapes`] without a copy where nothing is masked.
pub(crate) fn masked_string(text: String) -> String {
    match mask_shapes(&text) {
        Cow::Owned(masked) => masked,
        Cow::Borrowed(_) => text,
    }
}

fn masked(text: &str, mut found: Vec<Range<usize>>) -> String {
    found.sort_by_key(|range| (range.start, std::cmp::Reverse(range.end)));
    let (mut out, mut at) = (String::with_capacity(text.len()), 0);
    for Range { start, end } in found {
        if end <= at {
            continue;
        }
        if start >= at {
            out.push_str(&text[at..start]);
            out.push_str(MASK);
        }
        at = end;
    }
    out.push_str(&text[at..]);
    out
}

/// A character of most tokens. `*` because a provider shows a refused key in part.
fn is_token(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '*')
}

/// Number of bytes from `at` on that are made of such characters.
fn run(text: &str, at: usize, takes: fn(char) -> bool) -> usize {
    text[at..].find(|c| !takes(c)).unwrap_or(text.len() - at)
}

/// Number of bytes before `at` that are made of such characters.
fn run_back(text: &str, at: usize, takes: fn(char) -> bool) -> usize {
    at - text[..at]
        .rfind(|c| !takes(c))
        .map_or(0, |before| before + text[before..].chars().next().map_or(0, char::len_utf8))
}

/// True if a word ends before `at`.
fn begins(text: &str, at: usize) -> bool {
    !text[..at].ends_with(|c: char| c.is_ascii_alphanumeric())
}

/// True if this is hardly a word of a language: with a digit, or with a capital behind a small
/// letter.
fn looks_random(value: &str) -> bool {
    let mixed = value
        .as_bytes()
        .windows(2)
        .any(|pair| pair[0].is_ascii_lowercase() && pair[1].is_ascii_uppercase());
    mixed || value.bytes().any(|byte| byte.is_ascii_digit())
}

fn prefixed(text: &str, found: &mut Vec<Range<usize>>) {
    for (prefix, least) in PREFIXES {
        for (at, _) in text.match_indices(prefix) {
            let from = at + prefix.len();
            let end = from + run(text, from, is_token);
            let end = from + text[from..end].trim_end_matches('.').len();
            if end - from >= *least && begins(text, at) && looks_random(&text[from..end]) {
                found.push(at..end);
            }
        }
    }
}

fn aws(text: &str, found: &mut Vec<Range<usize>>) {
    for (at, prefix) in AWS.iter().flat_map(|prefix| text.match_indices(prefix)) {
        let long = run(text, at, |c| c.is_ascii_uppercase() || c.is_ascii_digit());
        if long == prefix.len() + 16 && begins(text, at) {
            found.push(at..at + long);
        }
    }
}

/// `123456789:AAH…` (Bot API, "Authorizing your bot"), also with an encoded colon.
fn telegram(text: &str, found: &mut Vec<Range<usize>>) {
    let colons = [":", "%3A", "%3a"].into_iter().flat_map(|colon| text.match_indices(colon));
    for (at, colon) in colons {
        let number = run_back(text, at, |c| c.is_ascii_digit());
        let from = at + colon.len();
        let secret = run(text, from, |c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'));
        if (6..=12).contains(&number) && secret >= 30 {
            found.push(at - number..from + secret);
        }
    }
}

/// Discord's bot tokens: three runs with dots between (Discord, "Authentication").
fn dotted(text: &str, found: &mut Vec<Range<usize>>) {
    let mut at = 0;
    while at < text.len() {
        let long = run(text, at, is_token);
        let parts: Vec<&str> = text[at..at + long].split('.').collect();
        let mut from = at;
        for three in parts.windows(3) {
            let [id, time, check] = [three[0].len(), three[1].len(), three[2].len()];
            if (23..=30).contains(&id) && (5..=7).contains(&time) && check >= 27 {
                found.push(from..from + id + time + check + 2);
            }
            from += id + 1;
        }
        at += long;
        at += text[at..].chars().next().map_or(0, char::len_utf8);
    }
}

/// User names and passwords in addresses, without those of an example.
fn addresses(text: &str, found: &mut Vec<Range<usize>>) {
    for (at, separator) in text.match_indices("://") {
        let from = at + separator.len();
        let end = from
            + text[from..]
                .find(|c: char| c.is_whitespace() || "/?#\"'<>`()".contains(c))
                .unwrap_or(text.len() - from);
        let user = text[from..end].rfind('@').map_or("", |at| &text[from..from + at]);
        if !user.is_empty() && !user.eq_ignore_ascii_case(EXAMPLE_USER) {
            found.push(from..from + user.len());
        }
    }
}

/// Webhooks and interactions of Discord, webhooks of Slack.
fn paths(text: &str, found: &mut Vec<Range<usize>>) {
    let is_secret = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '%' | '=');
    for (at, path) in PATHS.iter().flat_map(|path| text.match_indices(path)) {
        let id = at + path.len();
        let number = run(text, id, |c| c.is_ascii_digit());
        if number == 0 || !text[id + number..].starts_with('/') {
            continue;
        }
        let from = id + number + 1;
        let long = run(text, from, is_secret);
        if long >= 30 {
            found.push(from..from + long);
        }
    }
    for (at, host) in text.match_indices(SLACK_HOOK) {
        let from = at + host.len();
        let long = run(text, from, |c| c.is_ascii_alphanumeric() || matches!(c, '/' | '_' | '-'));
        if long >= 20 {
            found.push(from..from + long);
        }
    }
}

/// PEM blocks (RFC 7468), to their end, or that of the quotation or the text.
fn private_keys(text: &str, found: &mut Vec<Range<usize>>) {
    for (at, _) in text.match_indices("PRIVATE KEY-----") {
        let begin = text[..at].rfind("-----BEGIN");
        if let Some(begin) = begin.filter(|begin| at - begin < 40) {
            let rest = &text[at..];
            let end = rest.find("-----END").or_else(|| rest.find('"')).unwrap_or(rest.len()) + at;
            found.push(begin..end);
        }
    }
}

/// Text after a word that announces credentials: `Bearer …`, `api_key=…`, `"password": "…"`.
fn words(text: &str, found: &mut Vec<Range<usize>>) {
    let is_word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    let mut at = 0;
    while at < text.len() {
        let long = run(text, at, is_word);
        if long > 0 {
            let (word, end) =
                (text[at..at + long].to_ascii_lowercase().replace('-', "_"), at + long);
            let secret = credentials(text, &word, end).or_else(|| named(text, &word, at, end));
            found.extend(secret);
        }
        at += long;
        at += text[at..].chars().next().map_or(0, char::len_utf8);
    }
}

/// Credentials behind the name of a scheme: `Bearer abc123…`.
fn credentials(text: &str, word: &str, end: usize) -> Option<Range<usize>> {
    let spaces = run(text, end, |c| c == ' ');
    if !SCHEMES.contains(&word) || spaces == 0 {
        return None;
    }
    let from = end + spaces;
    let long = run(text, from, |c| is_token(c) || matches!(c, '~' | '+' | '/' | '='));
    let value = text[from..from + long].trim_end_matches('.');
    // A number behind "bot" is the id of an account.
    let random = looks_random(value) && !value.bytes().all(|byte| byte.is_ascii_digit());
    (random && value.len() >= 12 && !value.starts_with('/')).then(|| from..from + value.len())
}

/// The value behind a name: `name=value`, `name: value`, `"name": "value"`, `name%3Dvalue`.
fn named(text: &str, word: &str, at: usize, end: usize) -> Option<Range<usize>> {
    let of_query = text[..at].ends_with(['?', '&']);
    let known = NAMES.iter().any(|name| {
        word.strip_suffix(name).is_some_and(|before| before.is_empty() || before.ends_with('_'))
    });
    if !(known || of_query && IN_QUERIES.contains(&word)) {
        return None;
    }
    let mut rest = end;
    let quoted_name = text[rest..].starts_with(['"', '\'']);
    rest += usize::from(quoted_name);
    rest += run(text, rest, |c| c == ' ');
    let separator = [("=", true), (":", false), ("%3D", true)]
        .into_iter()
        .find(|(separator, _)| text[rest..].starts_with(separator));
    let (separator, assigned) = separator?;
    let spaced = rest > end + usize::from(quoted_name);
    rest += separator.len();
    let blanks = run(text, rest, |c| c == ' ');
    rest += blanks;
    let quote = text[rest..].chars().next().filter(|c| matches!(c, '"' | '\''));
    rest += usize::from(quote.is_some());
    let long = match quote {
        Some(quote) => text[rest..].find(quote).unwrap_or(text.len() - rest),
        None => run(text, rest, |c| {
            !c.is_whitespace() && !matches!(c, '"' | '\'' | '&' | ',' | ';' | ')' | '}' | '<' | '>')
        }),
    };
    let value = &text[rest..rest + long];
    // An example ends after its beginning (`TOKEN=MTE…`): only the part in front shows anything.
    let shown = value.trim_end_matches(['…', '.', '*']).len();
    // Of a plain sentence ("the token: it was refused") only what is no word is a secret.
    let certain = quote.is_some() && quoted_name || assigned && !spaced && blanks == 0;
    let is_secret = shown >= 4 && certain && !value.contains(char::is_whitespace)
        || shown >= SHORTEST && looks_random(value) && !value.contains(' ');
    (is_secret && !value.starts_with(MASK)).then(|| rest..rest + long)
}

#[cfg(test)]
mod tests;
