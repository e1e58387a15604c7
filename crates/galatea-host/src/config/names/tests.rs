//! Tests of this module.

use super::*;
use std::path::Path;

fn warnings(text: &str) -> Vec<Report> {
    unknown(&super::super::dotenv::parse(Path::new(".env"), text))
}

#[test]
fn a_misspelt_name_is_shown_with_caret_and_suggestion() {
    let text: String =
        warnings("A=1\nTELEGRAM_BOT_TOKN=123:canary\n").iter().map(ToString::to_string).collect();
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
    assert!(fix("DEEPSEEK_API_KEY=x\n").contains("OPENAI_BASE_URL=https://api.deepseek.com/v1"));
    // A secret with a misspelt first word is reported, and no other name is suggested for it.
    assert!(!fix("GROQK_API_KEY=x\n").contains("did you mean"));
}

#[test]
fn the_file_of_another_program_is_one_line_and_its_empty_lines_none() {
    let empty = "TWITTER_POLL_X=\nDISCORD_NOTHING=\"\"\nTELEGRM_BOT_TOKEN=\nDEEPSEEK_API_KEY=\n";
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
