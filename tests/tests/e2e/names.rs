//! People choose their names, and a terminal obeys what it is shown: no output of the program has a
//! control character, a C1 code or a mark of direction of a name or a text.

use galatea_core::visible::one_line;

use crate::stage::Stage;

/// A name that would clear the screen, colour it, and reverse what follows.
const NAME: &str = "Eve\u{202e}live\u{1b}[2J\u{9b}31m\u{2066}\u{200f}";

/// Characters that a terminal obeys, but for line feeds and tabs.
fn obeyed(text: &str) -> Vec<char> {
    let hidden = |c: &char| {
        !matches!(c, '\n' | '\t')
            && (c.is_control()
                || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}'))
    };
    text.chars().filter(hidden).collect()
}

#[tokio::test]
async fn no_output_has_what_a_terminal_obeys() {
    let stage = Stage::set().await;
    let eve = stage.telegram.user(NAME, "eve");
    let group = stage.telegram.supergroup(NAME, &[&eve]);
    let running = stage
        .program()
        .env("TELEGRAM_DM_POLICY", "pairing")
        .env("LOG_LEVEL", "debug")
        .args(["-v", "start"])
        .spawn();
    running.wait_for_line("ready in").await;
    let named = format!("@{} Q1 {NAME}", stage.telegram.bot_username());
    eve.says(&group, &named).send();
    stage.wait_text(&group, "A1").await;
    let direct = eve.direct();
    eve.says(&direct, NAME).send();
    let shown = |_: &galatea_testkit::telegram::Handle| stage.texts(&direct).pop();
    let code = stage.telegram.wait_for("a pairing code", shown).await;
    assert!(code.contains("pairing approve"), "{code}");

    let link = format!("{}:1", group.id);
    let commands: [&[&str]; 16] = [
        &["pairing", "ls"],
        &["pairing", "ls", "--json"],
        &["memory", "ls"],
        &["memory", "ls", "--json"],
        &["memory", "search", "live"],
        &["memory", "search", "live", "--json"],
        &["usage", "--by", "person,room"],
        &["usage", "--by", "person,room", "--json"],
        &["outbox", "ls", "--state", "sent"],
        &["explain", &link],
        &["explain", &link, "--json"],
        &["status"],
        &["status", "--json"],
        &["audit", "--json"],
        &["memory", "ls", "--person", NAME],
        &["memory", "show", NAME, "--json"],
    ];
    let mut seen = 0;
    for arguments in commands {
        for colors in ["0", "1"] {
            let program = stage.program().env("CLICOLOR_FORCE", colors);
            let program = if colors == "1" { program.env("NO_COLOR", "") } else { program };
            let done = program.args(arguments.iter().copied()).run().await;
            for text in [&done.stdout, &done.stderr] {
                // The program's own colours.
                let plain = text.replace("\u{1b}[0m", "");
                let plain = (31..=36).fold(plain, |text, color| {
                    text.replace(&format!("\u{1b}[{color}m"), "")
                        .replace(&format!("\u{1b}[1;{color}m"), "")
                });
                assert_eq!(obeyed(&plain), [] as [char; 0], "{arguments:?} {colors}: {text:?}");
                seen += usize::from(text.contains("Eve"));
            }
        }
    }
    assert!(seen >= 16, "the name is in most of it: {seen}");
    let approved = stage.program().args(["pairing", "ls", "--json"]).run().await;
    let listed: serde_json::Value = serde_json::from_str(&approved.stdout).unwrap();
    let name = listed["waiting"][0]["name"].as_str().unwrap();
    assert_eq!(one_line(name), one_line(NAME), "JSON means the name as it is");
    running.terminate();
    let mut running = running;
    let finished = running.finish().await;
    assert_eq!(obeyed(&finished.stderr), [] as [char; 0], "{}", finished.stderr);
}
