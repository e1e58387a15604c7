//! Pages about the data folder and the database.

use galatea_core::character::Explanation;

pub(super) const PAGES: &[Explanation] = &[
    Explanation::new(
        "GAL-DATA-DIR",
        "The data folder cannot be made or opened",
        "Its parent is not writable for this user, a file is in its place, or the disk is full or read-only.",
        "Make the parent folder writable, move the file away, or free space on the disk; or set GALATEA_DATA_DIR to a folder on a disk that can be written.",
    ),
    Explanation::new(
        "GAL-DATA-NONE",
        "There is no database yet",
        "No galatea has run with this data folder.",
        "Start galatea once if it has never run here: `galatea start` makes the database and the agent. Otherwise run the command in the folder galatea was started in, or set GALATEA_DATA_DIR.",
    ),
    Explanation::new(
        "GAL-LOCK",
        "Another galatea uses this data folder",
        "One process per data folder: two would answer every message twice. The system frees the lock when the process ends, however it ends.",
        "Stop the other process, or give this one its own folder with GALATEA_DATA_DIR.",
    ),
    Explanation::new(
        "GAL-GAP",
        "Messages are missing and cannot be read back",
        "They were written while galatea was away for longer than the platform keeps them, or where it may not read what was said before: Telegram keeps updates for 24 hours, X lists the last 800 mentions, Discord needs Read Message History.",
        "They cannot be fetched any more; `galatea audit` lists when and where. Ask people to write again, and keep it running or let the bot read the history.",
    ),
    Explanation::new(
        "GAL-DB-OK",
        "The database works",
        "It was opened, and its tables are those of this version.",
        "Nothing has to be done.",
    ),
    Explanation::new(
        "GAL-DB-URL",
        "The address of the database cannot be read",
        "DATABASE_URL (or POSTGRES_URL) is not of the form postgres://user:password@host:5432/database, or names an unknown option.",
        "Correct it. A sign like @, / or # in a password is written %40, %2F, %23. Without the variable a SQLite file is used.",
    ),
    Explanation::new(
        "GAL-DB-HOST",
        "The PostgreSQL server cannot be reached",
        "It is not running, host or port are wrong, a firewall is in between, or it is being replaced by its standby.",
        "Start the server or correct DATABASE_URL. While it is away platforms keep what people write; the work then continues.",
    ),
    Explanation::new(
        "GAL-DB-PASSWORD",
        "PostgreSQL refuses this user or password",
        "User or password in DATABASE_URL are wrong, or pg_hba.conf does not let this user in from here.",
        "Correct DATABASE_URL. A sign like @, / or # in a password is written %40, %2F, %23.",
    ),
    Explanation::new(
        "GAL-DB-MISSING",
        "There is no such database on the server",
        "The name at the end of DATABASE_URL is not one of its databases.",
        "Make it with `createdb NAME`, or correct the name.",
    ),
    Explanation::new(
        "GAL-DB-RIGHTS",
        "This PostgreSQL user may not do what is needed",
        "Tables are kept in a schema named galatea, which the user must be allowed to make or own; changes go through functions in its temporary schema.",
        "GRANT CREATE, TEMPORARY ON DATABASE … TO …; or make the schema galatea and give it to the user.",
    ),
    Explanation::new(
        "GAL-DB-OLD",
        "The PostgreSQL server is too old",
        "It is older than version 14, the oldest that Galatea supports.",
        "Use PostgreSQL 14 or newer.",
    ),
    Explanation::new(
        "GAL-DB-TLS",
        "No encrypted connection to PostgreSQL could be made",
        "The server has no TLS although sslmode asks for it, or its certificate is not trusted.",
        "Set sslmode in DATABASE_URL as the server needs it (disable, prefer, require, verify-full); sslrootcert=FILE names a company's own authority.",
    ),
    Explanation::new(
        "GAL-ROLE",
        "This role leaves work to others, and there can be none",
        "`--role` or GALATEA_ROLE is ingress, worker or api, but the database is a SQLite file, which has one process.",
        "Set DATABASE_URL to a PostgreSQL that all processes share, or start without a role.",
    ),
    Explanation::new(
        "GAL-DB-POOLER",
        "A pooler gives every transaction another session",
        "Between galatea and PostgreSQL is a pooler in transaction mode (PgBouncer, Supabase's port 6543, Neon's host with `-pooler`). Changes go through functions of the session and through prepared statements, which get lost or mixed up there.",
        "Name the server itself in DATABASE_URL, or a pooler that pools sessions (PgBouncer: pool_mode = session and ignore_startup_parameters = extra_float_digits).",
    ),
    Explanation::new(
        "GAL-DB-BUSY",
        "The PostgreSQL server takes no more connections",
        "max_connections is reached. Each process uses seven connections at most, and one more while it starts.",
        "Raise max_connections, or stop a program that holds too many. A running agent tries again by itself; a command has to be repeated.",
    ),
    Explanation::new(
        "GAL-DB-OPEN",
        "The database cannot be opened",
        "The file or its folder is not writable for this user, the disk is full, or the file belongs to another program.",
        "Correct the rights or free space, or choose another data folder with GALATEA_DATA_DIR.",
    ),
    Explanation::new(
        "GAL-DB-LOCKED",
        "The database is locked by another process",
        "A backup, a database browser or another galatea holds it for longer than five seconds.",
        "Stop the other program. A running agent tries again by itself; a command has to be repeated.",
    ),
    Explanation::new(
        "GAL-DB-FULL",
        "The disk is full",
        "Nothing more can be written. What was acknowledged is stored; platforms keep the rest until there is room.",
        "Free space on the disk that holds the data folder. A running agent tries again by itself; a command has to be repeated.",
    ),
    Explanation::new(
        "GAL-DB-IO",
        "The database file cannot be read or written",
        "The disk reports a fault, or a network file system went away.",
        "Look at the disk and the system log. SQLite belongs on a local disk.",
    ),
    Explanation::new(
        "GAL-DB-GONE",
        "The database file was removed or replaced",
        "galatea.db or galatea.db-wal was deleted, moved or replaced while galatea had it open. What is written then is in a file without a name, so nothing is stored or confirmed any more; platforms keep what people write.",
        "Move the file back, and the work then continues. A removed one can be copied from /proc/PID/fd as long as the process runs (Linux). To restore a backup, stop galatea first.",
    ),
    Explanation::new(
        "GAL-DB-SYNC",
        "The disk could not keep what was written",
        "Flushing the database file failed. The system forgets what it could not write, so a later flush may succeed without it: the process ends instead of going on. Nothing was acknowledged that is not on the disk.",
        "Look at the disk and the system log. systemd and Docker start it again by themselves; it first rewrites what it finds, and does not start while the disk refuses.",
    ),
    Explanation::new(
        "GAL-DB-CORRUPT",
        "The database is damaged, or is not one",
        "The file was changed by something else, copied while in use, or the disk is failing.",
        "Restore it from a backup, or move it away to begin with an empty one.",
    ),
    Explanation::new(
        "GAL-DB-EARLIER",
        "The database was written by a version before 0.1",
        "Its tables are those of an unreleased version, which this one does not read. Nothing in it was changed.",
        "With the program that wrote it: `galatea memory export -o memories.jsonl`. Then move galatea.db away (PostgreSQL: `ALTER SCHEMA galatea RENAME TO galatea_before`), and with this program: `galatea memory import memories.jsonl`.",
    ),
    Explanation::new(
        "GAL-DB-NEWER",
        "The database was written by a newer version",
        "An older galatea was started on the data of a newer one.",
        "Install the newer version, or restore the backup made before the update.",
    ),
    Explanation::new(
        "GAL-DB-STATEMENT",
        "The database refused a statement",
        "A value breaks a rule of the tables; this is a fault in Galatea.",
        "Please report it with the lines of the log around it.",
    ),
    Explanation::new(
        "GAL-OUTBOX-UNKNOWN",
        "The outbox has no such part",
        "The id is mistyped, too short to name one part, or of another data folder.",
        "`galatea outbox ls` lists what waits or was not delivered; give the whole id or its last eight characters.",
    ),
    Explanation::new(
        "GAL-OUTBOX-STATE",
        "This cannot be done to a part in that state",
        "Only what is ambiguous, expired or dead can be sent again; only what is pending or ambiguous can be dropped.",
        "`galatea outbox show ID` shows the state.",
    ),
];
