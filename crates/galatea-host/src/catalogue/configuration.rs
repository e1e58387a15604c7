//! Pages about settings, `.env` and `galatea.toml`.

use galatea_core::character::Explanation;

pub(super) const PAGES: &[Explanation] = &[
    Explanation::new(
        "GAL-CFG-VALUE",
        "A setting has a value that cannot be used",
        "The value is not of the kind the setting takes, such as text where a number is expected.",
        "Correct it at the place shown. `galatea config schema` shows what every setting takes.",
    ),
    Explanation::new(
        "GAL-CFG-UNKNOWN",
        "A name that no part of Galatea reads",
        "It is misspelt, or belongs to a feature that is not in this build.",
        "Take the suggested name, or remove the line. `galatea config schema` lists every name.",
    ),
    Explanation::new(
        "GAL-CFG-UNUSED",
        "Settings of elizaOS that this build has no use for",
        "A .env that comes from elizaOS names features that are not here, such as voice.",
        "Nothing has to be done. Remove them if you do not need them elsewhere.",
    ),
    Explanation::new(
        "GAL-CFG-LISTED",
        "A list of people has an entry that matches no one",
        "Lists of people take the platform's ids as they are, and handles with @ in front. An id matches ids only and a handle matches handles only, so that a handle made of digits is never taken for an id. Owners of the agent are listed by id alone.",
        "Write @ in front of a handle, or better the id: a handle can be given up and taken by another person, an id never changes hands. `galatea explain` shows the id of a message's author.",
    ),
    Explanation::new(
        "GAL-CFG-FILE",
        "A configuration file cannot be read",
        "It was named with --env-file or --config and does not exist, it is not a file, this user may not read it, or it is not UTF-8 text.",
        "Check the name and the rights, and save the file as UTF-8.",
    ),
    Explanation::new(
        "GAL-CFG-FOUND",
        "Which configuration files were read",
        "Strongest first: flags, the character file, the environment, .env, galatea.toml, defaults.",
        "Nothing has to be done. `galatea config show --origin` shows where each value comes from.",
    ),
    Explanation::new(
        "GAL-CFG-ENV",
        "A line of .env cannot be understood",
        "Lines are NAME=value. A value with spaces, quotes or backslashes needs quotes around it; a quote that is opened has to be closed.",
        "Put the value in single quotes: NAME='value with spaces'. A # begins a comment.",
    ),
    Explanation::new(
        "GAL-CFG-TOML",
        "galatea.toml is not valid",
        "Most often a text without quotes, or a bracket that is not closed.",
        "Write NAME = \"value\". Tables work too: [telegram] with bot_token below is TELEGRAM_BOT_TOKEN.",
    ),
    Explanation::new(
        "GAL-CFG-TWICE",
        "A setting stands twice in one file",
        "The last value counts, as in elizaOS and in a shell.",
        "Remove the one that is wrong.",
    ),
    Explanation::new(
        "GAL-CFG-DOLLAR",
        "A $ in .env inserts another variable",
        "Outside single quotes, $NAME and ${NAME} are replaced by that variable, and by nothing when it is unset. Passwords with a $ are cut this way.",
        "Put the value in single quotes if the $ belongs to it, or write \\$.",
    ),
    Explanation::new(
        "GAL-CFG-MODE",
        "Others on this machine can read the secrets",
        "The file holds tokens or keys, and its rights let other users of the machine read it.",
        "Run `chmod 600 FILE`, or `galatea doctor --fix`.",
    ),
    Explanation::new(
        "GAL-CFG-SECRET-FILE",
        "A secret that should come from a file cannot be had",
        "NAME_FILE names a file that does not exist, is empty or too large, or NAME is set as well.",
        "Check the path and its rights; set either NAME or NAME_FILE.",
    ),
    Explanation::new(
        "GAL-CHAR-FILE",
        "A character file cannot be read",
        "The path given with --character or in CHARACTER_FILES does not exist, is a folder, or this user may not read it.",
        "Check the path; relative ones start in the folder the command runs in. `galatea character new` writes an example.",
    ),
    Explanation::new(
        "GAL-CHAR-OK",
        "The character file is in order",
        "It was read without a fault.",
        "Nothing has to be done.",
    ),
    Explanation::new(
        "GAL-CHAR-SAME",
        "Two characters have one id",
        "An id follows from the name, so two files with one name would share rooms and memories.",
        "Give one of them another name, or an `id` of its own.",
    ),
];
