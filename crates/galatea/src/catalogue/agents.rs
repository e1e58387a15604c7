//! Pages about agents, their turns and plugins.

use super::page;
use galatea_core::character::Explanation;

pub(super) const PAGES: &[Explanation] = &[
    page(
        "GAL-AGENT-TWICE",
        "This agent runs already",
        "Two characters have one id, or an agent was created a second time.",
        "Give one of them another name, or an `id` of its own.",
    ),
    page(
        "GAL-PAIR-UNKNOWN",
        "Nobody waits with this pairing code",
        "The code is mistyped, older than an hour, or was approved already.",
        "Run `galatea pairing ls`; a new message of that person to the agent gives a new code.",
    ),
    page(
        "GAL-PLUGIN-MISSING",
        "A plugin needs another one that is not there",
        "Its list of dependencies names a plugin that is not in this build.",
        "Add the plugin that is named, or leave out the one that needs it.",
    ),
    page("GAL-PLUGIN-CIRCLE", "Plugins need each other in a circle", "Each has to be loaded before the other.", "Remove one of the dependencies named."),
    page(
        "GAL-SEND-PANIC",
        "Sending a message crashed",
        "A connector ran into a fault of its own while it sent. Whether the message arrived is looked up before it is sent again.",
        "Please report it with the lines of the log before it.",
    ),
    page(
        "GAL-TASK-PANIC",
        "A part of the program crashed and was started again",
        "A connector or a service ran into a fault of its own. Everything else goes on.",
        "Please report it with the lines of the log before it.",
    ),
    page(
        "GAL-TURN-PANIC",
        "The handling of a message crashed",
        "An action, a provider or a step of the turn ran into a fault. The message is tried again, and given up after a few attempts.",
        "Please report it; `galatea explain` with the message's id tells which step it was.",
    ),
    page(
        "GAL-TURN-TIMEOUT",
        "The handling of a message took too long",
        "The model or an action did not finish within TURN_TIMEOUT_SECONDS.",
        "Take a faster model, or raise TURN_TIMEOUT_SECONDS.",
    ),
];
