//! The page of each code of this connector, for `galatea explain` and the reference.

use galatea_core::character::Explanation;

pub(crate) const PAGES: &[Explanation] = &[
    Explanation::new(
        "GAL-TERM-OK",
        "The terminal's socket can be used",
        "Its folder is writable and its path is short enough.",
        "Nothing has to be done.",
    ),
    Explanation::new(
        "GAL-TERM-OFFLINE",
        "No chat is connected to this terminal room",
        "The chat was closed before the answer came. The answer waits for a while.",
        "Open it again with `galatea chat`.",
    ),
    Explanation::new(
        "GAL-TERM-CONNECT",
        "No program listens at the terminal's socket",
        "No galatea runs, or a crash left the socket behind.",
        "Start it with `galatea start`; a socket that was left behind is replaced.",
    ),
    Explanation::new(
        "GAL-TERM-CLOSED",
        "The terminal connection broke",
        "The other side ended.",
        "Open it again with `galatea chat`; messages that arrived are kept.",
    ),
    Explanation::new(
        "GAL-TERM-STOPPING",
        "The agent is stopping",
        "A line arrived while the process ends.",
        "Say it again after the next start.",
    ),
    Explanation::new(
        "GAL-TERM-TAKEN",
        "Another agent has this socket",
        "Two agents name one TERMINAL_SOCKET, or another process uses it.",
        "Give each agent a TERMINAL_SOCKET of its own, or leave it unset.",
    ),
    Explanation::new(
        "GAL-TERM-PATH",
        "The socket's path cannot be used",
        "The system takes paths of at most 107 bytes for sockets (103 on macOS), in a folder that is writable.",
        "Set TERMINAL_SOCKET to a shorter path, such as /tmp/galatea.sock.",
    ),
    Explanation::new(
        "GAL-TERM-LISTEN",
        "The socket cannot be opened",
        "The folder is not writable, or the file system knows no sockets.",
        "Set TERMINAL_SOCKET to a path on a local disk.",
    ),
    Explanation::new(
        "GAL-TERM-OS",
        "This system has no Unix sockets",
        "The terminal connector is not in builds for Windows.",
        "Run Galatea in WSL or a container.",
    ),
    Explanation::new(
        "GAL-TERM-VERSION",
        "Two versions of the terminal protocol",
        "`galatea chat` and the running process are of different versions.",
        "Restart the running process after an update.",
    ),
    Explanation::new(
        "GAL-TERM-HELLO",
        "The first line was not a hello",
        "A program that is not `galatea chat` wrote to the socket.",
        "Follow the protocol in the README of galatea-terminal.",
    ),
    Explanation::new(
        "GAL-TERM-FRAME",
        "A line is not a frame of the protocol",
        "A program that is not `galatea chat` wrote to the socket.",
        "Write one JSON object per line, as the README of galatea-terminal describes.",
    ),
    Explanation::new(
        "GAL-TERM-LINE",
        "A line is too long",
        "The protocol takes lines of limited length, so that a client cannot fill the memory.",
        "Send the text in several messages.",
    ),
    Explanation::new(
        "GAL-TERM-NAME",
        "The name cannot be used",
        "Names have 1 to 64 characters, none of them a control character or a slash.",
        "Choose another with --as NAME.",
    ),
    Explanation::new(
        "GAL-TERM-SAY",
        "The message cannot be taken",
        "It is empty, too long, or its id is missing or too long.",
        "Shorten it, or send it in parts.",
    ),
    Explanation::new(
        "GAL-TERM-ROOM",
        "This room is not a terminal's",
        "A stored address was made by another connector.",
        "Please report it.",
    ),
    Explanation::new(
        "GAL-TERM-PART",
        "A stored part is not a terminal's",
        "The outbox holds something that another version wrote.",
        "Please report it.",
    ),
    Explanation::new(
        "GAL-TERM-ACK",
        "The terminal did not confirm a message",
        "The chat stopped reading, for example because it was suspended with Ctrl-Z.",
        "Open it again with `galatea chat`.",
    ),
    Explanation::new(
        "GAL-TERM-ABILITY",
        "A terminal cannot do this",
        "The agent wanted something a terminal cannot show, such as a reaction.",
        "Nothing has to be done.",
    ),
    Explanation::new(
        "GAL-CHAT-AGENT",
        "No agent of this name is running here",
        "The name is misspelt, or the agent runs with another data folder.",
        "Choose one of those named, or leave the name out for the first.",
    ),
    Explanation::new(
        "GAL-CHAT-FAILED",
        "The agent could not answer",
        "The model refused or did not answer, or a part of the program failed; what was said in its place is an apology.",
        "`galatea doctor` asks the model and shows what to do. The message is not lost: `galatea explain` with its id shows what happened.",
    ),
    Explanation::new(
        "GAL-CHAT-SILENT",
        "The agent decided not to answer",
        "The verdict names the rule: muted, policy, or a model's decision.",
        "`galatea explain` with the message's id shows every step and the setting that would have changed it.",
    ),
    Explanation::new(
        "GAL-CHAT-TIMEOUT",
        "No answer in time",
        "The model is slow or hangs.",
        "`galatea status` shows whether a model answers; the answer is kept if it comes later.",
    ),
    Explanation::new(
        "GAL-CHAT-CLOSED",
        "The running galatea ended",
        "It was stopped or crashed while you were talking.",
        "Start it again; what you said is stored, and is answered if it was not yet.",
    ),
    Explanation::new(
        "GAL-CHAT-REFUSED",
        "The agent's side refused the line",
        "The cause line names the code.",
        "`galatea explain` with that code shows more.",
    ),
    Explanation::new(
        "GAL-CHAT-OPEN",
        "The terminal did not open",
        "The agent was started for this chat, and its socket did not appear.",
        "`galatea connector check terminal` shows why.",
    ),
    Explanation::new(
        "GAL-CHAT-OFF",
        "The terminal is switched off",
        "TERMINAL_ENABLED is false.",
        "Set TERMINAL_ENABLED=true, or leave it out.",
    ),
];
