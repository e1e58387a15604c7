//! Settings of MCP servers, as elizaOS's characters and the common `mcpServers` file write them.

mod read;
mod variables;

use galatea_core::{ExposeSecret, SecretString};
use sha2::{Digest, Sha256};
use std::{collections::BTreeMap, fmt, path::PathBuf, time::Duration};
use url::Url;

pub(crate) use read::is_loopback;
pub use read::{Read, read, read_file};

use galatea_core::Variable;

/// The file that the servers of every agent of the folder stand in.
pub const FILE: Variable = Variable::new(
    "MCP_FILE",
    "File with the MCP servers of every agent, in the common `mcpServers` form.",
)
.or("mcp.json");

/// Settings of this crate.
pub const VARIABLES: &[Variable] = &[FILE];

/// Longest wait for a tool's answer unless the server's entry says otherwise.
pub const CALL: Duration = Duration::from_secs(30);
/// Longest wait for a tool that reports its progress.
pub const LONGEST_CALL: Duration = Duration::from_secs(300);
/// Longest name of a server. With a tool's name it has to fit into 64 characters, the most that
/// model providers take (OpenAI, "Function calling": `^[a-zA-Z0-9_-]{1,64}$`).
pub const LONGEST_NAME: usize = 24;

/// A text of a configuration, and what it is after `${…}` was replaced.
#[derive(Clone)]
pub struct Filled {
    /// The text as it is written, for people.
    pub written: String,
    /// The text that is used. It may contain a secret.
    pub value: SecretString,
}

impl Filled {
    /// A text without variables.
    pub fn plain(text: &str) -> Self {
        Self { written: text.to_owned(), value: text.into() }
    }
}

/// How a server is reached.
#[derive(Clone)]
pub enum Transport {
    /// A program of this machine, over its standard input and output.
    Stdio {
        /// The program: a path, or a name that `PATH` has.
        command: Filled,
        /// Its arguments.
        args: Vec<Filled>,
        /// Its environment, beside `PATH`, `HOME`, `LANG`, `TZ` and `TMPDIR`.
        env: BTreeMap<String, SecretString>,
        /// Its working folder.
        cwd: Option<PathBuf>,
    },
    /// An address (streamable HTTP).
    Http {
        /// The address as it is written.
        written: String,
        /// The address.
        url: Url,
        /// Headers of each request.
        headers: BTreeMap<String, SecretString>,
    },
}

/// One server.
#[derive(Clone)]
pub struct ServerConfig {
    /// Name in the configuration, the prefix of its tools: `A-Za-z0-9_-`, at most
    /// [`LONGEST_NAME`] characters.
    pub name: String,
    /// How it is reached.
    pub transport: Transport,
    /// Longest wait for a tool's answer.
    pub timeout: Duration,
    /// Kept in the configuration, but not started.
    pub disabled: bool,
    /// Where the entry stands: the file and the key.
    pub origin: String,
    /// Folder at which relative paths begin, and the working folder of a program without `cwd`.
    pub folder: PathBuf,
    /// Whether the address may be one of this machine (`allowLoopback`).
    pub loopback: bool,
    /// Folders and files that a program may read, beside those of the system.
    pub readable: Vec<PathBuf>,
    /// Folders and files that a program may change, beside its own folder.
    pub writable: Vec<PathBuf>,
    /// Whether a program is confined to its folders (`confine`, true by default).
    pub confined: bool,
}

impl ServerConfig {
    /// Identifies what the entry starts or calls. Approvals, grants and the login of a server are bound to
    /// it: another command, address or argument is another server. The values of variables and of
    /// the environment do not count, since keys are renewed.
    pub fn identity(&self) -> String {
        let mut hash = Sha256::new();
        let mut add = |text: &str| {
            hash.update(text.len().to_le_bytes());
            hash.update(text.as_bytes());
        };
        match &self.transport {
            Transport::Stdio { command, args, env, cwd } => {
                add("stdio");
                add(&command.written);
                args.iter().for_each(|arg| add(&arg.written));
                add("env");
                env.keys().for_each(|name| add(name));
                add(&cwd.as_ref().map(|cwd| cwd.display().to_string()).unwrap_or_default());
            }
            Transport::Http { written, headers, .. } => {
                add("http");
                add(written);
                headers.keys().for_each(|name| add(name));
            }
        }
        hex(&hash.finalize())
    }

    /// Name of its files: two agents may call different servers the same.
    pub fn key(&self) -> String {
        let identity = self.identity();
        format!("{}-{}", self.name, identity.get(..8).unwrap_or_default())
    }

    /// Changes whenever anything of the entry does, the values of secrets included.
    pub fn fingerprint(&self) -> String {
        let mut hash = Sha256::new();
        hash.update(self.identity());
        for secret in self.secrets() {
            hash.update(secret.expose_secret().len().to_le_bytes());
            hash.update(secret.expose_secret());
        }
        let rest = (self.timeout, self.disabled, self.loopback, self.confined);
        hash.update(format!("{rest:?} {:?} {:?} {:?}", self.readable, self.writable, self.folder));
        hex(&hash.finalize())
    }

    /// Every value that may be secret.
    pub(crate) fn secrets(&self) -> Vec<&SecretString> {
        match &self.transport {
            Transport::Stdio { command, args, env, .. } => {
                let words = std::iter::once(command).chain(args);
                words.map(|word| &word.value).chain(env.values()).collect()
            }
            Transport::Http { headers, .. } => headers.values().collect(),
        }
    }

    /// The whole command or the address, as the configuration writes it: what an owner agrees to.
    pub fn shown(&self) -> String {
        match &self.transport {
            Transport::Stdio { command, args, .. } => {
                let words = std::iter::once(command).chain(args).map(|word| quoted(&word.written));
                words.collect::<Vec<_>>().join(" ")
            }
            Transport::Http { written, .. } => written.clone(),
        }
    }

    /// Names of the variables or headers that it is given, for people.
    pub fn given(&self) -> Vec<&str> {
        match &self.transport {
            Transport::Stdio { env, .. } => env.keys().map(String::as_str).collect(),
            Transport::Http { headers, .. } => headers.keys().map(String::as_str).collect(),
        }
    }
}

impl fmt::Debug for ServerConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServerConfig")
            .field("name", &self.name)
            .field("shown", &self.shown())
            .field("given", &self.given())
            .finish_non_exhaustive()
    }
}

/// A fault of a configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// File and key: `mcp.json: mcpServers.github.args[1]`.
    pub place: String,
    /// The fault, a sentence.
    pub what: String,
    /// The one action that repairs it.
    pub fix: String,
    /// Whether the entry works all the same.
    pub mild: bool,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} ({})", self.place, self.what, self.fix)
    }
}

/// Hexadecimal digits of a hash.
pub(crate) fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::new(), |mut out, byte| {
        let _ = write!(out, "{byte:02x}");
        out
    })
}

/// A word of a command line, in quotes where a shell needs them.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=@,+%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}
