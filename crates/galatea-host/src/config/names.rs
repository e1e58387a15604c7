//! Detects unknown setting names, and suggests the name that was probably meant.

use galatea_core::{Variable, settings::Layer};
use std::collections::BTreeSet;

use super::{
    foreign,
    text_file::{Named, Parsed},
    variables::{all_variables, find},
};
use crate::{platforms::accounts, report::Report};

/// Names used by elizaOS that have no effect here. They are accepted silently, because people reuse
/// their `.env` files.
pub const ELIZAOS_ONLY: &[&str] = &[
    "DISCORD_VOICE_CHANNEL_ID",
    "DISCORD_AUDIT_LOG_ENABLED",
    "DISCORD_TEST_CHANNEL_ID",
    "TWITTER_ENABLE_ACTIONS",
    "TWITTER_ENABLE_DISCOVERY",
    "TWITTER_ENGAGEMENT_INTERVAL",
    "TWITTER_ENGAGEMENT_INTERVAL_MIN",
    "TWITTER_ENGAGEMENT_INTERVAL_MAX",
    "TWITTER_DISCOVERY_INTERVAL_MIN",
    "TWITTER_DISCOVERY_INTERVAL_MAX",
    "TWITTER_MAX_ENGAGEMENTS_PER_RUN",
    "TWITTER_MAX_TWEET_LENGTH",
    "TWITTER_RETRY_LIMIT",
    "TWITTER_TIMELINE_MODE",
    "TWITTER_MIN_FOLLOWER_COUNT",
    "TWITTER_MAX_FOLLOWS_PER_CYCLE",
    "TWITTER_AUTH_MODE",
    "TWITTER_SCOPES",
    "TELEGRAM_TEST_CHAT_ID",
    "OPENAI_BROWSER_BASE_URL",
    "OPENAI_EXPERIMENTAL_TELEMETRY",
    "OPENROUTER_IMAGE_GENERATION_MODEL",
    "LOCAL_SMALL_MODEL",
    "LOCAL_LARGE_MODEL",
    "LOCAL_EMBEDDING_MODEL",
    "LOCAL_EMBEDDING_DIMENSIONS",
    "LOAD_DOCS_ON_STARTUP",
    "CTX_KNOWLEDGE_ENABLED",
    "PGLITE_DATA_DIR",
    "ELIZA_UI_ENABLE",
    "ELIZA_DATABASE_DIR",
    "EXPRESS_MAX_PAYLOAD",
    "CENTRAL_MESSAGE_SERVER_URL",
    "BOOTSTRAP_KEEP_RESP",
    "USE_MULTI_STEP",
    "MAX_MULTISTEP_ITERATIONS",
    "MAX_WORKING_MEMORY_ENTRIES",
    "IGNORE_BOOTSTRAP",
    "EMBEDDING_PROVIDER",
    "TEXT_PROVIDER",
];

/// First words of names that other programs use, too (`MODEL_PATH`, `SMALL_WORLD`). An unknown name
/// with such a word is not reported.
const COMMON_WORDS: &[&str] = &[
    "ALLOW", "ALWAYS", "MODEL", "SMALL", "LARGE", "DEFAULT", "TEXT", "LOG", "SERVER", "DATABASE",
    "POSTGRES", "MESSAGE", "GROUP", "TERMINAL", "GOOGLE",
];

/// Whether a value under this name must be masked in every output.
pub fn looks_secret(name: &str) -> bool {
    let upper = name.to_uppercase();
    let upper = accounts::split(&upper).map_or(upper.as_str(), |(base, _)| base);
    ["_TOKEN", "_KEY", "_SECRET", "_PASSWORD", "_SALT", "_DSN"]
        .iter()
        .any(|end| upper.ends_with(end))
        || is_declared_secret(upper)
}

/// Whether this is the name of a declared secret, or a character's form of it
/// (`CHARACTER.<NAME>.X`, `<NAME>_X`).
pub(super) fn is_declared_secret(name: &str) -> bool {
    let base = name.rsplit('.').next().unwrap_or(name);
    let base = accounts::split(base).map_or(base, |(base, _)| base);
    let is = |known: &&str| {
        base.strip_suffix(known).is_some_and(|before| before.is_empty() || before.ends_with('_'))
    };
    all_variables().filter(|v| v.secret).any(|v| std::iter::once(&v.name).chain(v.aliases).any(&is))
}

/// Warnings about unknown names in a file that look like settings of Galatea.
pub(super) fn unknown(parsed: &Parsed) -> Vec<Report> {
    let mut found = Vec::new();
    let mut rest: Vec<&Named> = Vec::new();
    for named in parsed.names.iter().filter(|named| !is_known(&named.name)) {
        // Templates list many names without a value.
        if is_empty(parsed, &named.name) {
            continue;
        }
        let meant = meant(&named.name);
        if let Some(fix) = foreign::fix(&named.name, parsed) {
            found.push(warning_with(&named.name, fix).place(named.place.clone()));
        } else if meant.is_some() {
            found.push(warning(&named.name, meant.as_deref()).place(named.place.clone()));
        } else if parsed.only_ours || is_family(&named.name) || is_near(&named.name) {
            rest.push(named);
        }
    }
    if parsed.only_ours || rest.len() < SEVERAL {
        let one = |named: &&Named| warning(&named.name, None).place(named.place.clone());
        found.extend(rest.iter().map(one));
    } else {
        found.push(together(&rest));
    }
    found
}

/// So many unknown names of a file are one warning: it is the file of another program, such as
/// elizaOS.
const SEVERAL: usize = 3;
/// Most names in that warning.
const SHOWN: usize = 8;

fn together(rest: &[&Named]) -> Report {
    let mut names: Vec<&str> = rest.iter().take(SHOWN).map(|named| named.name.as_str()).collect();
    let more = rest.len().saturating_sub(SHOWN);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    names.dedup();
    let message =
        format!("{} names are not settings of Galatea: {}{more}", rest.len(), names.join(", "));
    let report = Report::warning(message)
        .code("GAL-CFG-UNKNOWN")
        .fix("nothing to do if they belong to another program, such as elizaOS: they have no effect; `galatea config schema` lists every name");
    match rest.first() {
        Some(first) => {
            report.line("where", format!("{} line {}", first.place.file, first.place.line))
        }
        None => report,
    }
}

fn is_empty(parsed: &Parsed, name: &str) -> bool {
    !parsed.only_ours
        && parsed.layer.get(name).is_some_and(|setting| setting.text().trim().is_empty())
}

/// Warnings about unknown names in the environment, which contains many names of other programs.
/// Reported are names that start with `GALATEA_`, and names that start like a platform's or
/// provider's and are close to a known name (`TELEGRAM_BOT_TOKE`).
pub(super) fn unknown_in_environment(layer: &Layer) -> Vec<Report> {
    let describe = |name: &String| {
        let meant = nearest(name);
        (name.starts_with("GALATEA_") || (is_family(name) && meant.is_some())).then(|| {
            let mut report = warning(name, meant);
            report.lines.insert(0, ("where".to_owned(), "environment".to_owned()));
            report
        })
    };
    layer.keys().filter(|name| !is_known(name)).filter_map(describe).collect()
}

fn warning(name: &str, meant: Option<&str>) -> Report {
    let fix = meant.map_or_else(
        || "remove it; `galatea config schema` lists every name".to_owned(),
        |meant| format!("did you mean {meant}?"),
    );
    warning_with(name, fix)
}

fn warning_with(name: &str, fix: String) -> Report {
    Report::warning(format!("{name} is not a setting of Galatea")).code("GAL-CFG-UNKNOWN").fix(fix)
}

fn is_known(name: &str) -> bool {
    if let Some(rest) = name.strip_prefix("CHARACTER.") {
        return rest.split_once('.').is_some_and(|(_, name)| is_known(name));
    }
    let ours = |name: &str| find(name).is_some() || ELIZAOS_ONLY.contains(&name);
    ours(name)
        || name.strip_suffix("_FILE").is_some_and(|base| find(base).is_some_and(|v| v.secret))
        // `<NAME>_X` of a character that is not loaded.
        || name.char_indices().filter(|(_, c)| *c == '_').any(|(at, _)| is_prefixed(name, at))
}

fn is_prefixed(name: &str, at: usize) -> bool {
    let rest = &name[at + 1..];
    !is_family(name)
        && (find(rest).is_some()
            || rest.strip_suffix("_FILE").is_some_and(|base| find(base).is_some_and(|v| v.secret)))
}

/// The name that was probably meant. A character's prefix is kept: `CHARACTER.<NAME>.X`,
/// `<NAME>_X`.
fn meant(name: &str) -> Option<String> {
    if let Some((who, rest)) = name.strip_prefix("CHARACTER.").and_then(|rest| rest.split_once('.'))
    {
        return Some(format!("CHARACTER.{who}.{}", nearest(rest)?));
    }
    let whole = || nearest(name).map(str::to_owned);
    let prefixed = |(at, _): (usize, char)| {
        let (who, rest) = name.split_at(at + 1);
        is_family(rest).then(|| nearest(rest)).flatten().map(|known| format!("{who}{known}"))
    };
    whole().or_else(|| name.char_indices().filter(|(_, c)| *c == '_').find_map(prefixed))
}

/// Whether a name starts like one of ours.
fn is_family(name: &str) -> bool {
    let Some((word, _)) = name.split_once('_') else { return false };
    let families: BTreeSet<&str> = all_variables()
        .filter_map(|v| v.name.split_once('_').map(|(word, _)| word))
        .filter(|w| !COMMON_WORDS.contains(w))
        .collect();
    word == "GALATEA" || families.contains(word)
}

/// The closest known name, at most a fifth of the letters away. A name that begins with another
/// word may be another company's: it is not suggested where a secret or an address would go there.
pub fn nearest(name: &str) -> Option<&'static str> {
    let upper = name.to_uppercase();
    let goes_elsewhere = |variable: &Variable, known: &str| {
        let is_of_service = variable.secret
            || looks_secret(&upper)
            || ["_URL", "_ROOT", "_ENDPOINT", "_BASE", "_MODEL"]
                .iter()
                .any(|end| known.ends_with(end));
        first_word(&upper) != first_word(known) && is_of_service
    };
    near(name)
        .filter(|(variable, known, _)| !goes_elsewhere(variable, known))
        .min_by_key(|(.., distance)| *distance)
        .map(|(_, known, _)| known)
}

/// Whether a name is close to a known one, which may not be suggested for it.
fn is_near(name: &str) -> bool {
    looks_secret(name) && near(name).next().is_some()
}

fn first_word(name: &str) -> &str {
    name.split('_').next().unwrap_or(name)
}

/// The known names that are at most a fifth of the letters away, with the distance.
fn near(name: &str) -> impl Iterator<Item = (&'static Variable, &'static str, usize)> + use<> {
    // Computing the distance takes time proportional to the product of the lengths. No known name
    // is this long.
    let wanted = if name.len() > 64 { String::new() } else { name.to_uppercase() };
    let length = wanted.chars().count();
    all_variables()
        .flat_map(|v| {
            std::iter::once(v.name).chain(v.aliases.iter().copied()).map(move |known| (v, known))
        })
        .filter_map(move |(v, known)| {
            let most = (known.len() / 5).max(1);
            // The distance is at least the difference of the lengths.
            if known.len() < 6 || known.len().abs_diff(length) > most {
                return None;
            }
            let distance = strsim::damerau_levenshtein(&wanted, known);
            (distance <= most).then_some((v, known, distance))
        })
}

#[cfg(test)]
mod tests;
