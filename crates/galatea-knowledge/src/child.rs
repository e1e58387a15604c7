//! Reads one document in a process of its own, and survives whatever the document does
//! to it.

use galatea_core::{Error, ErrorKind, Result, Retry};
use std::{
    path::{Path, PathBuf},
    process::{ExitStatus, Stdio},
    sync::Arc,
    time::Duration,
};
use tokio::{
    io::{AsyncBufRead, AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    process::Command,
    sync::Semaphore,
};

use crate::{
    document::Limits,
    format::Format,
    pieces::{Pieces, pieces},
    problem::RETRY,
    refusal::{too_large, unreadable},
    sandbox,
    wire::Receiver,
};

/// Longest time for one document, with the start of the process.
const WALL: Duration = Duration::from_secs(30);
/// Most bytes read from the child: pieces within [`Limits`], as JSON with their headings.
const OUTPUT: u64 = 48 << 20;
/// Most bytes of one line from the child. A piece has some 2 KiB.
const LINE: u64 = 64 << 10;
/// Most bytes read from the child's standard error, which says why it ended.
const ERROR_OUTPUT: u64 = 4 << 10;
/// Children at once: each may take [`sandbox::MEMORY`].
const AT_ONCE: usize = 1;
/// Plain text up to this size, in bytes, is read in this process: in milliseconds, in one pass, and
/// in a few times its memory. To start a child takes longer, which thousands of notes would add up.
const SMALL: usize = 64 << 10;

/// Reads documents. Clones share the bound on processes.
#[derive(Clone)]
pub struct Parser {
    program: Arc<Path>,
    children: Arc<Semaphore>,
    limits: Limits,
}

impl Parser {
    /// A parser whose children run `program`, which calls [`sandbox::requested`] first.
    pub fn new(program: PathBuf) -> Self {
        Self {
            program: program.into(),
            children: Arc::new(Semaphore::new(AT_ONCE)),
            limits: Limits::default(),
        }
    }

    /// Bounds of a document.
    pub fn limits(&self) -> Limits {
        self.limits
    }

    /// Reads a document and cuts it into pieces.
    ///
    /// # Errors
    /// `Invalid` for a document that cannot be read, `TooLong` for one beyond the limits of size,
    /// memory or time, `Unavailable` if the child cannot be started.
    pub async fn parse(&self, format: Format, bytes: Vec<u8>) -> Result<Pieces> {
        let small = bytes.len() <= SMALL && !format.needs_child();
        if bytes.len() > self.limits.bytes || bytes.is_empty() || small {
            let limits = self.limits;
            return tokio::task::spawn_blocking(move || pieces(format, &bytes, limits))
                .await
                .map_err(|crash| Error::unexpected("the parser crashed").with_source(crash))?;
        }
        let permit = self.children.acquire().await;
        let outcome = tokio::time::timeout(WALL, self.run(format, bytes)).await;
        drop(permit);
        outcome.unwrap_or_else(|_| {
            // The limit on processor time comes first, unless the machine is busy.
            Err(too_large("the document takes too long to read")
                .with("limit", format!("{} s", WALL.as_secs()))
                .with_fix("split the document into smaller files, or leave it out; it is tried again after an hour")
                .with_retry(Retry::After(RETRY)))
        })
    }

    async fn run(&self, format: Format, bytes: Vec<u8>) -> Result<Pieces> {
        let mut child = Command::new(&*self.program)
            .arg(sandbox::COMMAND)
            .arg(format.as_str())
            .env_clear()
            // The allocator would reserve a gibibyte, out of which no limit of memory could be met.
            .env("MIMALLOC_ARENA_RESERVE", "0")
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .map_err(|error| not_started().with("cause", error))?;
        let (Some(mut input), Some(output), Some(errors)) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take())
        else {
            return Err(not_started());
        };
        let write = async {
            // A child that ends early closes its side; its exit status says why.
            let _ = input.write_all(&bytes).await;
            drop(input);
        };
        let mut words = Vec::new();
        let (output, mut errors) = (output.take(OUTPUT), errors.take(ERROR_OUTPUT));
        let receive = receive(BufReader::new(output), self.limits.pieces);
        let (_, received, _) = tokio::join!(write, receive, errors.read_to_end(&mut words));
        let received = received?;
        let status = child.wait().await.map_err(|error| not_started().with("cause", error))?;
        match received {
            Some(pieces) if status.success() => Ok(pieces),
            _ => Err(died(status, &String::from_utf8_lossy(&words))),
        }
    }
}

/// Reads the child's pieces as they come, so that no more than one line is held beside them. `None`
/// if they are incomplete, because the child died, or beyond what a child sends.
async fn receive(mut output: impl AsyncBufRead + Unpin, most: usize) -> Result<Option<Pieces>> {
    let (mut receiver, mut line) = (Receiver::new(most), Vec::new());
    loop {
        line.clear();
        let mut bounded = (&mut output).take(LINE);
        let read = bounded.read_until(b'\n', &mut line).await;
        if read.map_err(|error| not_started().with("cause", error))? == 0 {
            return Ok(None);
        }
        if let Some(end) = receiver.take(&line)? {
            return Ok(end);
        }
    }
}

/// Why a child died, by its status and by what Rust prints before it aborts.
fn died(status: ExitStatus, words: &str) -> Error {
    use std::os::unix::process::ExitStatusExt;
    let signal = status.signal();
    if words.contains("memory allocation") {
        return too_large("the document needs more memory than it may have")
            .with("limit", format!("{} MiB", sandbox::MEMORY >> 20));
    }
    // SIGXCPU, and SIGKILL a second later: the limit on processor time.
    if signal == Some(nix::sys::signal::Signal::SIGXCPU as i32)
        || signal == Some(nix::sys::signal::Signal::SIGKILL as i32)
    {
        return too_large("the document takes too long to read")
            .with("limit", format!("{} s of processor time", sandbox::PROCESSOR));
    }
    if words.contains("overflowed its stack") {
        return too_large("the document is nested too deeply");
    }
    unreadable("the document is damaged in a way that its parser does not survive")
        .with("cause", status)
        .with_fix("download or export it again, or leave it out")
}

fn not_started() -> Error {
    Error::new(ErrorKind::Unavailable, "the process that reads documents could not be started")
        .with_code("GAL-KNOW-CHILD")
        .with_fix("check the limits on processes and memory (`ulimit -a`); it is tried again")
}
