//! Pages about documents.

use galatea_core::character::Explanation;

pub(super) const PAGES: &[Explanation] = &[
    Explanation::new(
        "GAL-KNOW-READ",
        "A document cannot be read",
        "Its ending does not match its content, it is damaged, protected, of a format that is not read, or on a host that is not listed. Or a path is missing, or leads to neither a file nor a folder.",
        "The message names the fix. The other documents are read; `galatea knowledge ls` lists all with their problems.",
    ),
    Explanation::new(
        "GAL-KNOW-SIZE",
        "A document is too large, or takes too much memory or time, or there are too many",
        "Documents are read within limits: 20 MiB, 8 MiB of text, 2,000 pages, 192 MiB of memory, 30 seconds. Hostile documents pass them on purpose. An agent has 5,000 documents at most, in folders up to 16 deep.",
        "Split the document into smaller files, or leave it out. Of too many files name fewer; those that were read first stay.",
    ),
    Explanation::new(
        "GAL-KNOW-CHILD",
        "The process that reads documents could not be started",
        "Documents are read in a child process of the same program. The system refused to start it, for example because of a limit on processes.",
        "Check `ulimit -a` and the limits of the container. It is tried again.",
    ),
    Explanation::new(
        "GAL-KNOW-UNKNOWN",
        "There is no such document",
        "No document has this path, address or beginning of an id, and no folder of this path was added. Or more than one has it.",
        "`galatea knowledge ls` lists all documents with their ids.",
    ),
    Explanation::new(
        "GAL-KNOW-NAMED",
        "The document is named elsewhere",
        "The character file, KNOWLEDGE_PATH or a folder that `galatea knowledge add` added has this document, so it would be read again.",
        "Remove it there, or remove the file; it leaves within seconds. `galatea knowledge rm FOLDER` removes a folder that was added, with its documents.",
    ),
    Explanation::new(
        "GAL-KNOW-WHOSE",
        "Several characters could have this document",
        "More than one character is configured, and `add` gives a document to one of them.",
        "Name the character: --character FILE. With --shared the others find it too.",
    ),
];
