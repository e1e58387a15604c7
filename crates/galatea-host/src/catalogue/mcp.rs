//! Pages about MCP servers.

use galatea_core::character::Explanation;

pub(super) const PAGES: &[Explanation] = &[
    Explanation::new(
        "GAL-MCP-CONFIG",
        "An entry of an MCP server is faulty",
        "The file mcp.json or `settings.mcp` of a character has an entry that cannot be used: a key of the wrong type, a variable that is not set, or an address that is not allowed. The server is left out; all others work.",
        "Correct the place that the message names. `galatea mcp ls` reads the entries again.",
    ),
    Explanation::new(
        "GAL-MCP-APPROVAL",
        "An MCP server waits for its owner's approval",
        "Nothing of a server runs, and no tool of it is offered, before its owner has agreed to its command or address and to each of its tools as it is. Another command, another address, and a tool that is new, renamed or described in another way need a new approval.",
        "Run `galatea mcp approve NAME`, read the command and the tools, and agree. A running galatea takes it over within seconds.",
    ),
    Explanation::new(
        "GAL-MCP-OK",
        "An MCP server is approved",
        "Its owner agreed to its command or address and to these tools. Whether it works, `galatea mcp test NAME` finds out.",
        "Nothing.",
    ),
    Explanation::new(
        "GAL-MCP-START",
        "The process of an MCP server could not be started",
        "Its program, its working folder or its own folder in the data folder is missing or may not be used, or no more processes may run.",
        "Check the command with `galatea mcp test NAME`, and the permissions of the data folder.",
    ),
    Explanation::new(
        "GAL-MCP-DOWN",
        "An MCP server cannot be reached",
        "Its process ended, or its address did not answer. It is connected again with growing pauses, up to two minutes. Meanwhile its tools are not offered; everything else works.",
        "Run `galatea mcp test NAME`. It shows what the server's process wrote last.",
    ),
    Explanation::new(
        "GAL-MCP-SILENT",
        "An MCP server does not answer",
        "It was started or called, and said nothing within a minute. Agents do not wait for it.",
        "Run its command by hand: it may wait for a download, a key or an input.",
    ),
    Explanation::new(
        "GAL-MCP-LOGIN",
        "An MCP server wants its owner to sign in",
        "It has no login yet, its login ended and could not be renewed, or the sign-in failed. Its tools are off until then; all others work.",
        "Run `galatea mcp login NAME` on the machine that runs galatea, and sign in with the browser. The server need not be added again.",
    ),
    Explanation::new(
        "GAL-MCP-HTTP",
        "A header of an MCP server cannot be sent",
        "The name or the value under \"headers\" contains characters that HTTP forbids, such as a line break at the end of a key.",
        "Correct the header. A key belongs into a variable: \"Authorization\": \"Bearer ${KEY}\".",
    ),
    Explanation::new(
        "GAL-MCP-FILE",
        "A file of MCP servers cannot be read",
        "The file with the servers, or a file in the folder mcp of the data folder, is damaged or may not be read.",
        "Correct it at the place that the message names. A damaged file in the data folder may be removed; its server has to be approved again.",
    ),
    Explanation::new(
        "GAL-MCP-NAME",
        "There is no MCP server of this name, or there is one already",
        "Servers are named as in mcp.json or in `settings.mcp` of a character.",
        "`galatea mcp ls` lists them.",
    ),
    Explanation::new(
        "GAL-MCP-SERVE",
        "The program that started `galatea mcp serve` does not speak the protocol",
        "The command speaks the Model Context Protocol on its standard input and output, and is started by an MCP client.",
        "Enter the command into the client: program `galatea`, arguments `mcp` and `serve`, and the folder of this galatea as its working folder.",
    ),
];
