//! Shows servers and their tools to their owner.

use galatea_core::visible::one_line;
use galatea_http::redact::shorten;
use galatea_mcp::{
    Pinned, Probed,
    config::{ServerConfig, Transport},
    places::Places,
};

use crate::{context::Context, report::failure::Result};

/// Longest description in a list, in characters.
const ABOUT: usize = 160;
/// Parts of a command line that run what is not named in it, or reach far.
const ODD: &[(&str, &str)] = &[
    ("sudo", "it runs as root"),
    ("rm ", "it removes files"),
    ("curl", "it loads a program from an address"),
    ("wget", "it loads a program from an address"),
    ("bash -c", "it runs a script"),
    ("sh -c", "it runs a script"),
    ("--privileged", "its container has all rights"),
    ("docker.sock", "it controls containers"),
];

/// The whole command or address, and what it is given.
pub(super) fn command(server: &ServerConfig, context: &Context) {
    let what = match server.transport {
        Transport::Stdio { .. } => {
            "It starts this program, with your rights as far as they are not taken away:"
        }
        Transport::Http { .. } => "It sends what tools are called with to this address:",
    };
    context
        .output
        .say(format_args!("The server {} comes from {}.\n{what}\n", server.name, server.origin));
    let shown = one_line(&server.shown());
    context.output.say(format_args!("  {shown}\n"));
    let given = server.given();
    if !given.is_empty() {
        context.output.say(format_args!("It is given: {}", given.join(", ")));
    }
    for (part, why) in ODD {
        if shown.contains(part) {
            context.output.say(format_args!("! Look closely: {why} ({})", part.trim()));
        }
    }
    // A package without a version may be another program tomorrow.
    let mut words = shown.split_whitespace();
    let runner = words.next().unwrap_or_default();
    let package = words.find(|word| !word.starts_with('-')).unwrap_or_default();
    let has_version = package.trim_start_matches('@').contains('@') || package.contains("==");
    if (runner == "npx" || runner == "uvx") && !package.is_empty() && !has_version {
        context.output.say(format_args!(
            "! {package} has no version: another one may run tomorrow. Write {package}@VERSION."
        ));
    }
}

/// The tools of a server, each with what its owner said of it before.
pub(super) fn tools(
    server: &ServerConfig,
    probed: &Probed,
    places: &Places,
    context: &Context,
) -> Result<()> {
    let out = &context.output;
    out.data(format_args!("{}  protocol {}", server.name, probed.version));
    for (tool, state) in probed.listing.tools.iter().zip(probed.compared(server, places)?) {
        let (mark, note) = match &state {
            Pinned::Approved => ("✓", String::new()),
            Pinned::New => ("+", " (new)".to_owned()),
            Pinned::Changed(before) => {
                ("!", format!(" (changed; before: {})", shorten(&one_line(before), ABOUT)))
            }
            Pinned::Renamed(before) => ("!", format!(" (was {before})")),
            Pinned::Faulty(why) => ("✗", format!(" (cannot be offered: {why})")),
        };
        out.row(
            2,
            &format!(
                "{mark} {}: {}{note}",
                tool.name,
                shorten(&one_line(&tool.description), ABOUT)
            ),
        );
    }
    for name in probed.gone(server, places)? {
        out.row(2, &format!("- {name} (gone)"));
    }
    let listing = &probed.listing;
    out.say(format_args!(
        "{} tools, about {} tokens of a prompt; {} resources; {} prompts",
        listing.tools.len(),
        probed.tokens,
        listing.resources.len(),
        listing.prompts.len()
    ));
    if listing.cut {
        out.say("! It has more than is read.");
    }
    if let Some(words) = &probed.not_enforced {
        out.say(format_args!("! {words}"));
    }
    Ok(())
}

/// Waits for a server, which Ctrl-C ends.
pub(super) async fn waiting<T>(
    work: impl Future<Output = galatea_core::Result<T>>,
    context: &Context,
) -> Result<T> {
    context.output.say("Asking the server …");
    tokio::select! {
        done = work => Ok(done?),
        _ = tokio::signal::ctrl_c() => Err(crate::report::failure::Failure::interrupted()),
    }
}
