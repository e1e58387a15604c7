//! Builds the banner of a booted process.

use std::net::SocketAddr;

use super::banner::{Banner, Row};
use crate::context::Context;
use galatea_host::{
    agents::{PlatformState, boot::Booted},
    storage::{data_dir::DataDir, database},
};

/// The banner for the start.
pub(crate) fn banner(
    booted: &Booted,
    data_dir: &DataDir,
    health: SocketAddr,
    demo: bool,
    context: &Context,
) -> Banner {
    let version = env!("CARGO_PKG_VERSION");
    let no_env = !context.working_dir.join(".env").exists();
    let title = match (demo, no_env) {
        (true, true) => format!("galatea {version} — no .env here, starting the demo agent"),
        (true, false) => format!("galatea {version} — no character named, starting the demo agent"),
        (false, _) => format!("galatea {version}"),
    };
    let (database, kind) = database::show(&booted.database, data_dir, &context.working_dir);
    let made = if booted.created { ", created" } else { "" };
    let mut rows = vec![
        Row::fact("Storage", format!("{database} ({kind}{made})")),
        Row::fact("Health", format!("http://{health}/readyz")),
        Row::fact("API", format!("http://{health}/docs   galatea login")),
    ];
    let several = booted.agents.len() > 1;
    for agent in &booted.agents {
        if several {
            rows.push(Row::Gap);
        }
        rows.push(Row::fact(
            "Agent",
            if demo { format!("{} (built-in)", agent.name) } else { agent.name.clone() },
        ));
        rows.extend(agent.missing.iter().map(|missing| Row::fact("", missing)));
        rows.push(Row::fact("Model", &agent.model));
        rows.extend(agent.notes.iter().map(|note| Row::fact("", note)));
        for (title, state) in &agent.platforms {
            rows.push(match (title.as_str(), state) {
                (title, PlatformState::Off(why)) => Row::off(title, why),
                (title, PlatformState::WithoutModel) => {
                    Row::fact(title, "on, but answers no message: no model is set")
                }
                ("Terminal", PlatformState::On) if several => {
                    Row::fact("Terminal", format!("galatea chat {}", quoted(&agent.name)))
                }
                ("Terminal", PlatformState::On) => Row::fact("Terminal", "ready   galatea chat"),
                (title, PlatformState::On) => Row::fact(title, "on"),
            });
        }
    }
    let next = if demo {
        vec!["galatea init", "galatea chat", "galatea doctor"]
    } else {
        vec!["galatea chat", "galatea status", "galatea doctor"]
    };
    Banner { title, rows, next }
}

/// Quotes a name for a shell if necessary.
fn quoted(name: &str) -> String {
    if name.chars().all(|c| c.is_alphanumeric() || matches!(c, '-' | '_' | '.')) {
        name.to_owned()
    } else {
        format!("'{}'", name.replace('\'', "'\\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_quoted_for_the_shell() {
        assert_eq!(["Ada", "Ada B", "O'Neil"].map(quoted), ["Ada", "'Ada B'", "'O'\\''Neil'"]);
    }
}
