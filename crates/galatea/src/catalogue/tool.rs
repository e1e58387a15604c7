//! Pages about the program itself and its commands.

use galatea_core::character::Explanation;

pub(super) const PAGES: &[Explanation] = &[
    Explanation::new(
        "GAL-CLOCK",
        "The machine's clock was set",
        "The time of day moved by more than half a minute while galatea ran. Waits are not affected. A clock that is ahead of the platforms' by more than MESSAGE_TTL_MINUTES when galatea starts makes messages look too old.",
        "Let the machine keep its time by NTP. Nothing has to be done for galatea; start it again if the clock is right only now.",
    ),
    Explanation::new(
        "GAL-CLOCK-SKEW",
        "This machine's clock and the database's differ",
        "Several processes share a PostgreSQL, and what they store goes by its clock, so nothing expires by the difference. Platforms and the signatures of X go by this machine's clock.",
        "Let both machines keep their time by NTP. `galatea cluster status` names every process whose clock differs by more than five seconds.",
    ),
    Explanation::new(
        "GAL-CLUSTER-IDLE",
        "Work that processes share is done by none of them",
        "No process with the role that it takes is alive: the last one that connected an account, or that answered for an agent, has ended.",
        "Start a process with that role (`--role ingress`, `worker` or `all`) and look into the log of the one that ended. `galatea cluster status` shows who does what.",
    ),
    Explanation::new(
        "GAL-CLUSTER-UNLIKE",
        "Processes that share a database do not run the same",
        "Their versions, characters or settings differ, so what a person gets depends on the process that answers. During an update that is so for a while.",
        "Give all of them the same version, `.env` and characters. `galatea cluster status` names the settings that differ.",
    ),
    Explanation::new(
        "GAL-BUG",
        "A fault in Galatea itself",
        "The program reached a state its authors held to be impossible. Messages and answers that were committed are on the disk and are taken up at the next start.",
        "Report it with the lines that were printed and what you did before. Start again; if it comes back, `galatea doctor` may show what it has to do with.",
    ),
    Explanation::new(
        "GAL-UNEXPECTED",
        "An unclassified failure",
        "A service answered in an undocumented way, or a part of the program failed without giving a reason.",
        "Run the command again with -v for more detail, and report it if it stays.",
    ),
    Explanation::new(
        "GAL-CLI-USAGE",
        "The command line asks for something that makes no sense",
        "Options contradict each other, or an answer is needed and the command may not ask (no terminal, or --no-input).",
        "Do what the fix line says; `galatea COMMAND --help` shows examples.",
    ),
    Explanation::new(
        "GAL-FILE-EXISTS",
        "A file is there already and is not overwritten",
        "The command would replace a file that it did not write just now.",
        "Choose another name, or add --force if the file may go.",
    ),
    Explanation::new(
        "GAL-FILE-READ",
        "A file named on the command line cannot be read",
        "It does not exist, is a folder, or this user may not read it.",
        "Check the path; relative paths start in the folder the command runs in.",
    ),
    Explanation::new(
        "GAL-FILE-WRITE",
        "A file cannot be written",
        "The folder does not exist or is not writable for this user, a file is in its place, or the disk is full or read-only; or standard output could not take what a command printed.",
        "Make the folder writable, free space, or write elsewhere.",
    ),
    Explanation::new(
        "GAL-EXPLAIN-CODE",
        "There is no such code",
        "The code is misspelt, or belongs to another version.",
        "Copy it from the brackets behind the word error. The reference lists all of them.",
    ),
    Explanation::new(
        "GAL-EXPLAIN-UNKNOWN",
        "This message is not stored here",
        "It never arrived (its platform was not connected, or the bot cannot see it), it is in another data folder, or the link holds no id.",
        "`galatea status` shows whether the platform is connected, `galatea doctor` whether the bot may see the group's messages.",
    ),
    Explanation::new(
        "GAL-EXPLAIN-SEVERAL",
        "Several messages begin like this",
        "The beginning of an id names more than one message.",
        "Give more of it; the error lists how they go on.",
    ),
    Explanation::new(
        "GAL-STATUS-OFF",
        "No galatea is running with this data folder",
        "The lock of the data folder is free: the process has ended, or it uses another folder.",
        "Start it with `galatea start`, or name its folder in GALATEA_DATA_DIR.",
    ),
    Explanation::new(
        "GAL-STATUS-SILENT",
        "A galatea is running but has no health server",
        "It is a `galatea chat` that runs its own agent, or a process that is only just starting.",
        "Ask again in a moment, or end it and run `galatea start`.",
    ),
    Explanation::new(
        "GAL-PORT",
        "The port is taken",
        "Another program, perhaps another galatea, listens on the health server's address.",
        "Stop that program, or choose another port with --port or SERVER_PORT. Galatea never moves to another port by itself.",
    ),
    Explanation::new(
        "GAL-BIND",
        "The health server cannot listen there",
        "SERVER_HOST is not an address of this machine's loopback interface. The health server has no login, so it is not opened to a network.",
        "Remove SERVER_HOST, and put a reverse proxy with authentication in front if others must reach it.",
    ),
    Explanation::new(
        "GAL-HOST",
        "The health server was asked under a foreign name",
        "A request arrived with a Host header that is not the server's own address. Web pages try this to reach programs on the visitor's machine.",
        "Ask it as http://127.0.0.1:PORT, and let a reverse proxy pass that name on.",
    ),
    Explanation::new(
        "GAL-CONNECTOR-NAME",
        "There is no platform of this name",
        "The name is misspelt, or the platform is not in this build.",
        "`galatea connector ls` lists the platforms there are.",
    ),
    Explanation::new(
        "GAL-CONNECTOR-NEW",
        "A new connector cannot be made there under that name",
        "The command writes the folder connectors/galatea-NAME into a checkout of Galatea's sources. It ran elsewhere, the name is not valid for a crate, or something has it already.",
        "Run it inside a checkout or name one with --path, and choose a free name of lower-case letters, digits and single hyphens, such as my-chat. Nothing was written.",
    ),
    Explanation::new(
        "GAL-CONNECTOR-PAID",
        "The platform charges for being asked",
        "X bills every read. Nothing here spends money unasked, so a check waits for consent.",
        "`galatea connector check x --yes` makes the one paid read.",
    ),
    Explanation::new(
        "GAL-CONNECTOR-LOGIN",
        "Nothing to log in to",
        "The platform takes its keys from the settings, or the settings of a browser login are missing.",
        "For X with OAuth 2 set TWITTER_CLIENT_ID and leave the four keys of OAuth 1.0a out. The other platforms need no login.",
    ),
    Explanation::new(
        "GAL-CONNECTOR-OFF",
        "The platform is off for this agent",
        "A setting it needs is missing, or it is switched off.",
        "Set what the fix line names; `galatea init` does it step by step.",
    ),
    Explanation::new(
        "GAL-FIX-ASK",
        "A repair has to be agreed to",
        "--fix changes something on a platform only after you agree, and this command can't ask: it has no terminal, or --no-input is set.",
        "Read the question; then add --yes, or run the command in a terminal.",
    ),
    Explanation::new(
        "GAL-BREAKER",
        "A platform or model is left alone for a while",
        "Its calls failed five times in a row, or half of them within 30 s; or it refused the credentials, or the money for it is gone.",
        "It is tried again by itself, after 5 s and later after up to a minute. Refused credentials have to be put right first: the line `cause` says what.",
    ),
    Explanation::new(
        "GAL-DOCTOR-CLOCK",
        "The clock of this machine is wrong",
        "It shows a time before this version was made, so certificates look invalid and messages look old.",
        "Set the clock, best by a time service such as systemd-timesyncd or chrony.",
    ),
    Explanation::new(
        "GAL-DOCTOR-KEY",
        "A key or token does not have the form that it should have",
        "`galatea doctor --offline` compares keys and tokens with the form that those of the provider or platform have. Another provider's key, or one that was cut or pasted with quotes, looks otherwise.",
        "Copy it again from the page that showed it. `galatea doctor` without --offline asks the provider.",
    ),
    Explanation::new(
        "GAL-DOCTOR-UNASKED",
        "A model or platform was not asked",
        "`galatea doctor --offline` asks no one, so it does not know whether the model or platform works.",
        "Run `galatea doctor` without --offline.",
    ),
];
