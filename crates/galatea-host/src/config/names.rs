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
    "ELIZA_SERVER_AUTH_TOKEN",
    "ELIZA_UI_ENABLE",
    "ELIZA_DATABASE_DIR",
    "SERVER_API_KEY",
    "SECRET_SALT",
    "JWT_SECRET",
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
    all_variables()
        .flat_map(|v| {
            std::iter::once(v.name).chain(v.aliases.iter().copied()).map(move |known| (v, known))
        })
        .map(move |(v, known)| (v, known, strsim::damerau_levenshtein(&wanted, known)))
        .filter(|(_, known, distance)| *distance <= (known.len() / 5).max(1) && known.len() >= 6)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn warnings(text: &str) -> Vec<Report> {
        unknown(&super::super::dotenv::parse(Path::new(".env"), text))
    }

    #[test]
    fn a_misspelt_name_is_shown_with_caret_and_suggestion() {
        let text: String = warnings("A=1\nTELEGRAM_BOT_TOKN=123:canary\n")
            .iter()
            .map(ToString::to_string)
            .collect();
        insta::assert_snapshot!(text, @r###"
warning[GAL-CFG-UNKNOWN]: TELEGRAM_BOT_TOKN is not a setting of Galatea
 --> .env:2:1
  |
 2| TELEGRAM_BOT_TOKN=••••••••••
  | ^^^^^^^^^^^^^^^^^
  fix:   did you mean TELEGRAM_BOT_TOKEN?
  more:  galatea explain GAL-CFG-UNKNOWN
"###);
    }

    #[test]
    fn the_environment_is_searched_for_what_was_meant_for_us() {
        let layer = |names: &[&str]| -> Layer {
            let setting = || galatea_core::settings::Setting {
                value: "x".into(),
                origin: galatea_core::settings::Origin::Environment,
            };
            names.iter().map(|name| ((*name).to_owned(), setting())).collect()
        };
        let findings = unknown_in_environment(&layer(&[
            "TELEGRAM_BOT_TOKE",
            "DISCORD_API_TOKNE",
            "OPENAI_APIKEY",
            "GALATEA_NONSENSE",
        ]));
        let fixes: Vec<_> = findings
            .iter()
            .flat_map(|report| &report.lines)
            .filter(|(label, _)| label == "fix")
            .map(|(_, fix)| fix.as_str())
            .collect();
        assert_eq!(fixes[0], "did you mean DISCORD_API_TOKEN?");
        assert!(
            fixes[1].starts_with("remove it")
                && fixes[2] == "did you mean OPENAI_API_KEY?"
                && fixes[3] == "did you mean TELEGRAM_BOT_TOKEN?",
            "{fixes:?}"
        );
        for others in [
            "TELEGRAM_DESKTOP_THEME",
            "DISCORD_IPC",
            "OPENAI_PROXY_POOL",
            "X_WINDOW",
            "LOG_LEVELS",
            "SERVER_PORTS",
            "HOME",
            "TERM",
            "telegram_bot_token",
        ] {
            assert_eq!(unknown_in_environment(&layer(&[others])), Vec::new(), "{others}");
        }
    }

    #[test]
    fn others_names_elizaos_names_and_character_names_are_no_mistakes() {
        let text = "COMPOSE_PROJECT_NAME=x\nDISCORD_API_TOKEN=x\nHELPER_TELEGRAM_BOT_TOKEN=x\nCHARACTER.HELPER.OPENAI_API_KEY=x\n\
                    OPENAI_API_KEY_FILE=x\nMODEL_PATH=/m\nHELPER_OPENAI_API_KEY_FILE=x\n\
                    DISCORD_API_TOKEN_2=x\nDISCORD_API_TOKEN_2_FILE=x\nHELPER_TELEGRAM_BOT_TOKEN_3=x\nCHARACTER.HELPER.X_DM_POLICY_2=x\n";
        assert_eq!(warnings(text), Vec::new());
    }

    #[test]
    fn a_wrong_name_for_a_character_and_of_our_own_is_reported() {
        for name in [
            "CHARACTER.HELPER.TELEGRAM_BOT_TOKN",
            "GALATEA_NONSENSE",
            "TELEGRAM_NONSENSE",
            "telegram_bot_token",
        ] {
            assert_eq!(warnings(&format!("{name}=x\n")).len(), 1, "{name}");
        }
    }

    #[test]
    fn what_was_meant_for_a_character_keeps_its_name() {
        assert_eq!(
            meant("CHARACTER.HELPER.TELEGRAM_BOT_TOKN").as_deref(),
            Some("CHARACTER.HELPER.TELEGRAM_BOT_TOKEN")
        );
        assert_eq!(
            meant("MY_HELPER_TELEGRAM_BOT_TOKN").as_deref(),
            Some("MY_HELPER_TELEGRAM_BOT_TOKEN")
        );
        assert_eq!(meant("COMPOSE_PROJECT_NAME"), None);
    }

    #[test]
    fn what_is_read_here_is_not_called_unused() {
        let read: Vec<_> = ELIZAOS_ONLY.iter().filter(|name| find(name).is_some()).collect();
        assert!(read.is_empty(), "{read:?}");
    }

    #[test]
    fn secrets_are_known_by_declaration_and_by_name() {
        for name in [
            "TELEGRAM_BOT_TOKEN",
            "CHARACTER.ADA.OPENAI_API_KEY",
            "ADA_TELEGRAM_BOT_TOKEN",
            "SOME_PASSWORD",
            "POSTGRES_URL",
            "DISCORD_API_TOKEN_2",
            "CHARACTER.ADA.TWITTER_API_KEY_3",
        ] {
            assert!(looks_secret(name), "{name}");
        }
        assert!(!looks_secret("DM_POLICY"));
    }

    #[test]
    fn names_of_other_programs_are_read_or_explained() {
        for (alias, setting) in [
            ("DISCORD_TOKEN", "DISCORD_API_TOKEN"),
            ("DISCORD_BOT_TOKEN", "DISCORD_API_TOKEN"),
            ("TELEGRAM_TOKEN", "TELEGRAM_BOT_TOKEN"),
            ("TELEGRAM_API_TOKEN", "TELEGRAM_BOT_TOKEN"),
            ("TG_BOT_TOKEN", "TELEGRAM_BOT_TOKEN"),
            ("OPENAI_KEY", "OPENAI_API_KEY"),
            ("OPENAI_MODEL", "OPENAI_LARGE_MODEL"),
            ("OPENAI_API_BASE", "OPENAI_BASE_URL"),
            ("SMALL_OPENAI_MODEL", "OPENAI_SMALL_MODEL"),
            ("LARGE_ANTHROPIC_MODEL", "ANTHROPIC_LARGE_MODEL"),
            ("OLLAMA_SERVER_URL", "OLLAMA_API_ENDPOINT"),
            ("ANTHROPIC_KEY", "ANTHROPIC_API_KEY"),
            ("CLAUDE_API_KEY", "ANTHROPIC_API_KEY"),
            ("GEMINI_API_KEY", "GOOGLE_GENERATIVE_AI_API_KEY"),
            ("GROK_API_KEY", "XAI_API_KEY"),
        ] {
            assert_eq!(find(alias).map(|v| v.name), Some(setting), "{alias}");
            assert_eq!(warnings(&format!("{alias}=x\n")), Vec::new(), "{alias}");
        }
        let fix = |text: &str| {
            let found = warnings(text);
            let fix = found[0].lines.iter().find(|(label, _)| label == "fix").unwrap().1.clone();
            assert_eq!(found.len(), 1, "{text}");
            fix
        };
        assert!(fix("BOT_TOKEN=123456789:AAE\n").contains("TELEGRAM_BOT_TOKEN"));
        assert!(fix("OLLAMA_HOST=0.0.0.0\n").contains("OLLAMA_API_ENDPOINT"));
        assert!(
            fix("DEEPSEEK_API_KEY=x\n").contains("OPENAI_BASE_URL=https://api.deepseek.com/v1")
        );
        // A secret with a misspelt first word is reported, and no other name is suggested for it.
        assert!(!fix("GROQK_API_KEY=x\n").contains("did you mean"));
    }

    #[test]
    fn the_file_of_another_program_is_one_line_and_its_empty_lines_none() {
        let empty =
            "TWITTER_POLL_X=\nDISCORD_NOTHING=\"\"\nTELEGRM_BOT_TOKEN=\nDEEPSEEK_API_KEY=\n";
        assert_eq!(warnings(empty), Vec::new());
        let many: String =
            (0..40).map(|n| format!("TWITTER_THING_NUMBER_{}=1\n", "X".repeat(n + 3))).collect();
        let found = warnings(&format!("{empty}{many}TELEGRAM_BOT_TOKN=1:a\n"));
        assert_eq!(found.len(), 2, "{found:?}");
        let text: String = found.iter().map(ToString::to_string).collect();
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.contains("did you mean TELEGRAM_BOT_TOKEN?"), "{text}");
        assert!(text.contains("40 names are not settings") && text.contains("32 more"), "{text}");
    }
}
