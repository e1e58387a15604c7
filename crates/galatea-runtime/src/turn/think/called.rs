//! A message that calls an action by its command. The person has decided what is done, so no model is
//! asked whether to do it; rights, grants and confirmation are those of a call by a model.

use galatea_core::{Command, StepOutcome, Turn, Verdict};

use super::decide::Decided;
use crate::{
    plan::{Parsed, Plan, PlannedAction},
    plugins::registry::Registry,
    turn::steps::Said,
};

/// The plan of a message whose command belongs to an action that this turn offers.
pub(super) fn called(
    registry: &Registry,
    turn: &Turn<'_>,
    verdict: &mut Verdict,
) -> Option<Decided> {
    let command = match &turn.envelope.command {
        Some(command) => command.clone(),
        None => written(&turn.message.content.text)?,
    };
    let (name, params) = turn.catalog.actions.iter().find_map(|docs| {
        let action = registry.action(&docs.name)?;
        Some((docs.name.clone(), action.command(&command.name, &command.args)?))
    })?;
    verdict.step("command", StepOutcome::Note, format!("/{} calls {name}", command.name));
    let plan = Plan { actions: vec![PlannedAction { name, params }], ..Plan::default() };
    let parsed = Parsed { plan, usable: true, ..Parsed::default() };
    Some(Decided { parsed, said: Said::default() })
}

/// A command as people write it where the platform has no commands: behind a slash, at most with the
/// agent's mention in front.
fn written(text: &str) -> Option<Command> {
    let text = text.trim_start();
    let text = match text.strip_prefix(['@', '<']) {
        Some(mention) => mention.split_once(char::is_whitespace)?.1.trim_start(),
        None => text,
    };
    let line = text.strip_prefix('/')?;
    let (name, args) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let is_name = |c: char| c.is_alphanumeric() || "_-:.".contains(c);
    (!name.is_empty() && name.chars().all(is_name))
        .then(|| Command { name: name.to_lowercase(), args: args.trim().to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_stands_at_the_beginning_or_behind_a_mention() {
        let read = |text: &str| written(text).map(|c| format!("{}|{}", c.name, c.args));
        for (text, expected) in [
            ("/Greet Ada", Some("greet|Ada")),
            ("  /town:greet", Some("town:greet|")),
            ("@galatea_bot /greet name=Ada, please", Some("greet|name=Ada, please")),
            ("<@123> /greet\nAda", Some("greet|Ada")),
            ("look at /etc/passwd", None),
            ("/etc/passwd is a file", None),
            ("/ greet", None),
            ("@all", None),
        ] {
            assert_eq!(read(text).as_deref(), expected, "{text}");
        }
    }
}
