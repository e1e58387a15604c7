//! Pages about the data folder and the database.

use super::page;
use galatea_core::character::Explanation;

pub(super) const PAGES: &[Explanation] = &[
    page(
        "GAL-DATA-DIR",
        "The data folder cannot be made or opened",
        "Its parent is not writable for this user, a file is in its place, or the disk is full or read-only.",
        "Make the parent folder writable, or set GALATEA_DATA_DIR to another folder.",
    ),
    page(
        "GAL-DATA-NONE",
        "There is no database yet",
        "No galatea has run with this data folder.",
        "Run the command in the folder galatea was started in, or set GALATEA_DATA_DIR.",
    ),
    page(
        "GAL-LOCK",
        "Another galatea uses this data folder",
        "One process per data folder: two would answer every message twice. The system frees the lock when the process ends, however it ends.",
        "Stop the other process, or give this one its own folder with GALATEA_DATA_DIR.",
    ),
    page("GAL-DB-OK", "The database works", "It was opened, and its tables are those of this version.", "Nothing has to be done."),
    page(
        "GAL-DB-POSTGRES",
        "PostgreSQL is not in this build yet",
        "DATABASE_URL or POSTGRES_URL names a PostgreSQL server. Going on with SQLite would store things where nobody expects them.",
        "Remove the variable to use SQLite: nothing to install, one file in the data folder.",
    ),
    page(
        "GAL-DB-OPEN",
        "The database cannot be opened",
        "The file or its folder is not writable for this user, the disk is full, or the file belongs to another program.",
        "Correct the rights or free space, or choose another data folder with GALATEA_DATA_DIR.",
    ),
    page(
        "GAL-DB-LOCKED",
        "The database is locked by another process",
        "A backup, a database browser or another galatea holds it for longer than five seconds.",
        "Stop the other program. The work is tried again by itself.",
    ),
    page(
        "GAL-DB-FULL",
        "The disk is full",
        "Nothing more can be written. What was acknowledged is stored; platforms keep the rest until there is room.",
        "Free space on the disk that holds the data folder. The work is tried again by itself.",
    ),
    page(
        "GAL-DB-IO",
        "The database file cannot be read or written",
        "The disk reports a fault, or a network file system went away.",
        "Look at the disk and the system log. SQLite belongs on a local disk.",
    ),
    page(
        "GAL-DB-CORRUPT",
        "The database is damaged, or is not one",
        "The file was changed by something else, copied while in use, or the disk is failing.",
        "Restore it from a backup, or move it away to begin with an empty one.",
    ),
    page(
        "GAL-DB-NEWER",
        "The database was written by a newer version",
        "An older galatea was started on the data of a newer one.",
        "Install the newer version, or restore the backup made before the update.",
    ),
    page(
        "GAL-DB-STATEMENT",
        "The database refused a statement",
        "A value breaks a rule of the tables; this is a fault in Galatea.",
        "Please report it with the lines of the log around it.",
    ),
    page(
        "GAL-OUTBOX-UNKNOWN",
        "The outbox has no such part",
        "The id is mistyped, too short to name one part, or of another data folder.",
        "`galatea outbox ls` lists what waits or was not delivered; give the whole id or its last eight characters.",
    ),
    page(
        "GAL-OUTBOX-STATE",
        "This cannot be done to a part in that state",
        "Only what is ambiguous, expired or dead can be sent again; only what is pending or ambiguous can be dropped.",
        "`galatea outbox show ID` tells the state.",
    ),
];
