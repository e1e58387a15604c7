//! Pages about agents, their turns and plugins.

use galatea_core::character::Explanation;

pub(super) const PAGES: &[Explanation] = &[
    Explanation::new(
        "GAL-CHAR-PLUGIN",
        "The character asks for a plugin that is not here",
        "Plugins of elizaOS are TypeScript and do not run here; the standard ones have counterparts. The character works without what this one would do.",
        "Remove it from `plugins`, or do without; docs/coming-from-elizaos.md lists what there is.",
    ),
    Explanation::new(
        "GAL-CHAR-KNOWLEDGE",
        "The character names documents that are missing",
        "A file or folder under `knowledge` does not exist. What was read of a missing folder before is kept; the document of a file that was removed leaves.",
        "Correct the path: it starts at the folder of the character file. It is read as soon as it is there.",
    ),
    Explanation::new(
        "GAL-AGENT-TWICE",
        "This agent runs already",
        "Two characters have one id, or an agent was created a second time.",
        "Give one of them another name, or an `id` of its own.",
    ),
    Explanation::new(
        "GAL-AGENT-LIMIT",
        "There are as many agents as allowed",
        "A program that runs agents may say how many there are at most (`Builder::max_agents`), and so many are there.",
        "Remove an agent, or allow more.",
    ),
    Explanation::new(
        "GAL-PAIR-UNKNOWN",
        "No pairing request has this code",
        "The code is mistyped, older than an hour, or was approved already.",
        "Run `galatea pairing ls`; a new message of that person to the agent gives a new code.",
    ),
    Explanation::new(
        "GAL-PAIR-AGENT",
        "No such agent has run here",
        "An invitation belongs to an agent, and none of this name is stored.",
        "Start the agent once, or correct --agent.",
    ),
    Explanation::new(
        "GAL-PAIR-INVITATIONS",
        "A hundred invitations are open",
        "Each invitation is good for one person and ends after some days; a hundred may be open at once.",
        "Use one that `galatea pairing ls` lists, or wait until some end. For many people, set ALLOW_FROM, or DM_POLICY=open.",
    ),
    Explanation::new(
        "GAL-LIMIT",
        "A limit of answers or money is reached",
        "A person has had as many answers as they may have, or the money that they, the room or the agent may cost today is used up.",
        "`galatea explain` with the message names the limit and its setting; `galatea usage` shows what the money went to.",
    ),
    Explanation::new(
        "GAL-BLOCK-UNKNOWN",
        "This is not on the block list",
        "Nothing of this kind and id is blocked on that platform.",
        "Run `galatea block ls`. What BLOCK_PEOPLE, BLOCK_ROOMS or BLOCK_WORLDS block is taken out there.",
    ),
    Explanation::new(
        "GAL-BLOCK-PLATFORM",
        "There is no such platform",
        "The first word after add or rm is a platform's name.",
        "Name one of those that the message lists.",
    ),
    Explanation::new(
        "GAL-BLOCK-AGENT",
        "No such agent has run here",
        "A block list belongs to an agent, and none of this name is stored.",
        "Start the agent once, or leave out --agent to block for all of them.",
    ),
    Explanation::new(
        "GAL-USAGE-SINCE",
        "--since is neither a date nor a number of days",
        "`galatea usage` begins at a day: a date such as 2026-01-31, or so many days back, such as 7d.",
        "Write it in one of these forms.",
    ),
    Explanation::new(
        "GAL-MEMORY-AGENT",
        "It is not clear whose memories are meant",
        "Each agent has memories of its own. None of this name has run here, or several have and none was named.",
        "Name one of those that the message lists with --agent, or start the agent once.",
    ),
    Explanation::new(
        "GAL-MEMORY-ROOM",
        "No room, or more than one, has this name",
        "`galatea memory` looks rooms up by the name that the platform shows, by the platform's id and by Galatea's own id.",
        "Give the name as the platform shows it, or one of the ids that the message lists.",
    ),
    Explanation::new(
        "GAL-MEMORY-PERSON",
        "The agent knows no person of this name",
        "`galatea memory` looks people up among those whom the agent has met in a room.",
        "Give the name as the platform shows it, or the id that `galatea memory ls --json` shows.",
    ),
    Explanation::new(
        "GAL-MEMORY-DAY",
        "A day is not a date",
        "`galatea memory` takes days in --since and --until, counted in UTC.",
        "Write it as 2026-01-31.",
    ),
    Explanation::new(
        "GAL-MEMORY-UNKNOWN",
        "No memory has this id",
        "It was removed, or it belongs to another database.",
        "Give the id that `galatea memory ls` shows, or at least its first four characters.",
    ),
    Explanation::new(
        "GAL-MEMORY-IMPORT",
        "A file cannot be imported",
        "`galatea memory import` reads exports of Galatea, chat logs, exports of Telegram Desktop and DiscordChatExporter, and dumps of elizaOS's database. The message says why the file is none of these.",
        "Export the file again in one of these formats, or correct the line that the message names; then repeat the import.",
    ),
    Explanation::new(
        "GAL-MEMORY-SKIPPED",
        "An import left something out",
        "A line or row cannot be read, a time cannot be right, an id stands for two different messages, a memory was made from one that is neither in the file nor stored, or the file was cut off. The message names the first ten places and the reason of each. Everything else was imported.",
        "Correct what is named, or export the file again, and repeat the import. What is stored is not stored twice.",
    ),
    Explanation::new(
        "GAL-MEMORY-OWN",
        "--own does not name one author of the file",
        "`--own` says which author of a chat log, or of an export of a platform, is the agent itself. No author has this name or id, or several have the name. Exports of Galatea and dumps of elizaOS name the agent by its id.",
        "Give a name or an id that the message lists. Leave `--own` out if the agent wrote nothing in the file, or if its account is configured here.",
    ),
    Explanation::new(
        "GAL-MEMORY-WRITE",
        "An export cannot be written",
        "The file exists already, its folder does not exist or may not be written to, or the disk is full.",
        "Give the name of a new file in a folder that exists and may be written to, or free space on its disk.",
    ),
    Explanation::new(
        "GAL-PLUGIN-MISSING",
        "A plugin needs another one that is not there",
        "Its list of dependencies names a plugin that is not in this build.",
        "Add the plugin that is named, or leave out the one that needs it.",
    ),
    Explanation::new(
        "GAL-PLUGIN-CIRCLE",
        "Plugins need each other in a circle",
        "Each has to be loaded before the other.",
        "Remove one of the dependencies named.",
    ),
    Explanation::new(
        "GAL-SEND-PANIC",
        "Sending a message crashed",
        "A connector ran into a fault of its own while it sent. Whether the message arrived is looked up before it is sent again.",
        "Please report it with the lines of the log before it.",
    ),
    Explanation::new(
        "GAL-TASK-PANIC",
        "A part of the program crashed and was started again",
        "A connector or a service ran into a fault of its own. Everything else goes on.",
        "Please report it with the lines of the log before it.",
    ),
    Explanation::new(
        "GAL-TURN-PANIC",
        "The handling of a message crashed",
        "An action, a provider or a step of the turn ran into a fault. The message is tried again, and given up after a few attempts.",
        "Please report it; `galatea explain` with the message's id shows which step it was.",
    ),
    Explanation::new(
        "GAL-TURN-TIMEOUT",
        "The handling of a message took too long",
        "The model or an action did not finish within TURN_TIMEOUT_SECONDS.",
        "Take a faster model, or raise TURN_TIMEOUT_SECONDS.",
    ),
];
