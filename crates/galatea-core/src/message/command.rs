//! The commands, the same behind the slash on every platform.

use serde::{Deserialize, Serialize};

/// Commands with what they do, in the order people see them. Discord takes 100 characters of
/// description, Telegram 256.
pub const COMMANDS: &[(&str, &str)] = &[
    ("ask", "Ask me something, also where I am not addressed"),
    ("more", "Read on in a long answer"),
    ("reset", "Forget this conversation and start afresh"),
    ("mute", "Stay silent in this room"),
    ("unmute", "Speak again in this room"),
    ("memory", "What I remember of you, and how to correct or delete it"),
    ("reminders", "What I shall remind you of, and how to remove it"),
    ("privacy", "What I store, and how to see or delete it"),
    ("link", "Be the same person to me on another platform"),
    ("unlink", "Stop being the same person as on another platform"),
    ("help", "What I can do"),
];

/// Commands that take words, with the name and the description of the words: platforms that offer
/// commands as forms need both. Only those of `ask` are required.
pub const COMMAND_WORDS: &[(&str, &str, &str)] = &[
    ("ask", "question", "What you want to know"),
    ("memory", "change", "forget NUMBER, or correct NUMBER and the right words"),
    ("reminders", "change", "remove NUMBER; zone CITY, to set your time zone"),
    ("privacy", "wish", "export, to get a copy; forget me, to delete everything"),
    ("link", "code", "The code from the other platform; yes or no to the question there"),
];

/// Commands that change a room for everyone in it: outside of direct messages only its admins may
/// use them.
pub const ADMIN_COMMANDS: &[&str] = &["reset", "mute", "unmute"];

/// A slash command with its arguments, the same set on every platform.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Command {
    /// Lower case, without the slash and the bot's name.
    pub name: String,
    /// The rest of the line.
    pub args: String,
}

impl Command {
    /// The command behind a button of the agent, whose data is `/name args`; none for other buttons.
    pub fn of_button(data: &str) -> Option<Self> {
        let line = data.strip_prefix('/')?;
        let (name, args) = line.split_once(' ').unwrap_or((line, ""));
        let known = COMMANDS.iter().any(|(known, _)| *known == name);
        known.then(|| Self { name: name.to_owned(), args: args.trim().to_owned() })
    }
}
