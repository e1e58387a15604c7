//! Starts a server's process below its keeper.

use galatea_core::{Error, ExposeSecret, Result, SecretString};
use parking_lot::Mutex;
use std::{
    collections::VecDeque,
    ffi::OsString,
    path::{Path, PathBuf},
    process::Stdio,
    sync::Arc,
    time::Duration,
};
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, BufReader},
    process::{Child, ChildStderr, ChildStdin, ChildStdout, Command},
};

use super::{COMMAND, ENFORCED, Plan};
use crate::config::{ServerConfig, Transport};

/// How long the keeper may take to end, longer than it gives the server.
const KEEPER: Duration = Duration::from_secs(8);
/// Lines of a server's standard error that are kept for people.
const LINES: usize = 20;
/// Longest such line, in bytes.
const LINE: u64 = 400;
/// Variables of ours that a server gets, beside those of its entry.
const PASSED: &[&str] = &["PATH", "LANG", "LC_ALL", "TZ", "SSL_CERT_FILE"];

/// A server's process, and the ends of its pipes.
pub(crate) struct Spawned {
    pub(crate) stdout: ChildStdout,
    pub(crate) stdin: ChildStdin,
    pub(crate) process: Process,
}

/// A server's keeper.
pub(crate) struct Process {
    keeper: Child,
    pub(crate) said: Said,
}

/// What a server wrote to its standard error, and what the kernel enforces.
#[derive(Clone, Default)]
pub(crate) struct Said(Arc<Mutex<Lines>>);

#[derive(Default)]
struct Lines {
    lines: VecDeque<String>,
    enforced: Option<String>,
}

impl Said {
    /// The last lines, oldest first.
    pub(crate) fn lines(&self) -> Vec<String> {
        self.0.lock().lines.iter().cloned().collect()
    }

    /// The words of `confine`; none before the process has said them.
    pub(crate) fn enforced(&self) -> Option<String> {
        self.0.lock().enforced.clone()
    }

    fn add(&self, line: &str, secrets: &[SecretString]) {
        let mut lines = self.0.lock();
        if let Some(words) = line.strip_prefix(ENFORCED)
            && lines.enforced.is_none()
        {
            lines.enforced = Some(words.trim().to_owned());
            return;
        }
        if lines.lines.len() == LINES {
            lines.lines.pop_front();
        }
        let secrets: Vec<&SecretString> = secrets.iter().collect();
        lines.lines.push_back(galatea_http::redact::redact(line, &secrets));
    }
}

impl Process {
    /// Waits until the keeper and everything below it has ended. Its input has to be closed before.
    pub(crate) async fn ended(mut self) {
        if tokio::time::timeout(KEEPER, self.keeper.wait()).await.is_err() {
            let _ = self.keeper.kill().await;
        }
    }
}

/// Starts the program of an entry. `keeper` is the program that calls [`super::requested`], and
/// `home` the server's own folder.
pub(crate) fn spawn(config: &ServerConfig, keeper: &Path, home: &Path) -> Result<Spawned> {
    let Transport::Stdio { command, args, env, cwd } = &config.transport else {
        return Err(Error::unexpected("a server with an address has no process"));
    };
    if keeper.as_os_str().is_empty() {
        return Err(Error::invalid("this program cannot start servers that are programs")
            .with_code("GAL-MCP-START")
            .with_fix("name the program that starts them when Galatea is built (`parser`)"));
    }
    let temporary = home.join("tmp");
    galatea_core::private_file::create_folder(&temporary).map_err(|error| {
        Error::unexpected("the folder of an MCP server cannot be made")
            .with_code("GAL-MCP-START")
            .with("folder", home.display())
            .with_fix("check the permissions and the free space of the data folder")
            .with_source(error)
    })?;
    let folder = cwd.clone().unwrap_or_else(|| config.folder.clone());
    let plan = serde_json::to_string(&plan(config, home, &folder))
        .map_err(|error| Error::unexpected("a path is not text").with_source(error))?;
    let mut keeper = Command::new(keeper);
    keeper
        .arg(COMMAND)
        .args(["keep", &plan])
        .arg(command.value.expose_secret())
        .args(args.iter().map(|arg| OsString::from(arg.value.expose_secret())))
        .env_clear()
        .env("HOME", home)
        .env("TMPDIR", &temporary)
        .current_dir(&folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        // A signal of the terminal reaches us only; the end of its input tells the keeper.
        .process_group(0);
    for name in PASSED {
        if let Some(value) = std::env::var_os(name) {
            keeper.env(name, value);
        }
    }
    for (name, value) in env {
        keeper.env(name, value.expose_secret());
    }
    let mut keeper = keeper.spawn().map_err(|error| {
        Error::unexpected("the process of an MCP server could not be started")
            .with_code("GAL-MCP-START")
            .with("server", &config.name)
            .with("folder", folder.display())
            .with_fix("check that the folder exists and that more processes may run")
            .with_source(error)
    })?;
    let said = Said::default();
    if let Some(stderr) = keeper.stderr.take() {
        let secrets = config.secrets().into_iter().cloned().collect();
        tokio::spawn(listen(stderr, said.clone(), secrets));
    }
    let (Some(stdout), Some(stdin)) = (keeper.stdout.take(), keeper.stdin.take()) else {
        return Err(Error::unexpected("the process of an MCP server has no pipes"));
    };
    Ok(Spawned { stdout, stdin, process: Process { keeper, said } })
}

/// What the server may read and change: its own folder, its working folder, and what its command line
/// names.
fn plan(config: &ServerConfig, home: &Path, folder: &Path) -> Plan {
    let mut plan = Plan {
        confined: config.confined,
        readable: config.readable.clone(),
        writable: config.writable.clone(),
    };
    plan.writable.push(home.to_path_buf());
    if let Transport::Stdio { command, args, cwd, .. } = &config.transport {
        plan.writable.extend(cwd.clone());
        for word in std::iter::once(command).chain(args) {
            let word = word.value.expose_secret();
            if !is_path(word) {
                continue;
            }
            let path = folder.join(word);
            match std::fs::metadata(&path) {
                // The modules of a script lie beside it. The folder of the configuration has secrets.
                Ok(found) if found.is_file() => {
                    let beside = path.parent().filter(|beside| *beside != config.folder);
                    plan.readable.push(beside.unwrap_or(&path).to_path_buf());
                    // A link of a package manager leads to the package, whose modules lie around it.
                    if let Ok(real) = path.canonicalize() {
                        let modules = real.ancestors().filter(|at| at.ends_with("node_modules"));
                        let around = modules.last().or_else(|| real.parent());
                        plan.readable.extend(
                            around.filter(|at| *at != config.folder).map(Path::to_path_buf),
                        );
                    }
                }
                Ok(found) if found.is_dir() && path != Path::new("/") => plan.writable.push(path),
                _ => {}
            }
        }
    }
    let exists = |path: &PathBuf| path.exists();
    plan.readable.retain(exists);
    plan.writable.retain(exists);
    plan
}

/// Whether a word of a command line is written as a path, and not as the name of a package.
fn is_path(word: &str) -> bool {
    let word = Path::new(word);
    word.is_absolute()
        || word.starts_with(".")
        || word.starts_with("..")
        || word.extension().is_some()
}

/// Reads a server's standard error to its end, in bounded lines.
async fn listen(stderr: ChildStderr, said: Said, secrets: Vec<SecretString>) {
    let mut reader = BufReader::new(stderr);
    let mut line = Vec::new();
    loop {
        line.clear();
        match (&mut reader).take(LINE).read_until(b'\n', &mut line).await {
            Ok(0) | Err(_) => return,
            Ok(_) => {
                let text = String::from_utf8_lossy(&line);
                let text = text.trim();
                if !text.is_empty() {
                    said.add(text, &secrets);
                }
            }
        }
    }
}
