//! The page of each code of this connector, for `galatea explain` and the reference.

use galatea_core::character::Explanation;

pub(crate) const PAGES: &[Explanation] = &[
    Explanation::new(
        "GAL-WEB-OK",
        "The agent can be talked to over the server",
        "WEB_ENABLED is not false.",
        "Nothing has to be done.",
    ),
    Explanation::new(
        "GAL-WEB-SAY",
        "The message cannot be taken",
        "It is empty or too long, or a file of it cannot be read.",
        "Shorten it, or send it in parts.",
    ),
    Explanation::new(
        "GAL-WEB-ID",
        "An id cannot be used",
        "Ids of channels, people and messages have 1 to 128 letters, digits, dots, dashes, colons, at signs or underscores.",
        "Use a UUID, or any other id of these characters.",
    ),
    Explanation::new(
        "GAL-WEB-FILES",
        "The files are too large",
        "Files of a message are stored with it, so there are 4 at most, of 4 MiB together.",
        "Send fewer or smaller files. Documents to be searched belong into the knowledge.",
    ),
    Explanation::new(
        "GAL-WEB-ABILITY",
        "The web cannot do this",
        "The agent wanted to change, remove or mark a message that was read already.",
        "Nothing has to be done.",
    ),
];
