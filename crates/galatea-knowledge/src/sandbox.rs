//! The child process that reads one document and cuts it into pieces. It gives up its rights before it looks at the first
//! byte.

use nix::sys::resource::{Resource, setrlimit};
use std::{
    ffi::OsString,
    io::{BufWriter, Read, Write},
    process::ExitCode,
};

use crate::{document::Limits, format::Format, pieces::pieces, wire};

/// The program's hidden command that runs the child.
pub const COMMAND: &str = "parse-document";
/// Anonymous memory of the child, in bytes. The largest document within [`Limits`] needs a third.
pub const MEMORY: u64 = 192 << 20;
/// Address space that the child may add to what it has when it starts, in bytes: its memory, and its
/// stack, which ends the child when it cannot grow.
const ADDRESSES: u64 = 256 << 20;
/// Processor time of the child, in seconds.
pub const PROCESSOR: u64 = 20;

/// Runs the child if the command line asks for it, and returns its exit code. Call it first in the
/// program, before threads start. `None` for every other command line.
pub fn requested(arguments: impl IntoIterator<Item = OsString>) -> Option<ExitCode> {
    let mut arguments = arguments.into_iter().skip(1);
    if arguments.next()? != COMMAND {
        return None;
    }
    let format = arguments.next().and_then(|format| format.to_str()?.parse().ok());
    Some(match format {
        Some(format) => run(format),
        None => ExitCode::FAILURE,
    })
}

fn run(format: Format) -> ExitCode {
    if confine().is_err() {
        return ExitCode::FAILURE;
    }
    let limits = Limits::default();
    let mut bytes = Vec::new();
    let most = u64::try_from(limits.bytes).unwrap_or(u64::MAX).saturating_add(1);
    if std::io::stdin().lock().take(most).read_to_end(&mut bytes).is_err() {
        return ExitCode::FAILURE;
    }
    let outcome = pieces(format, &bytes, limits);
    drop(bytes);
    let mut output = BufWriter::new(std::io::stdout().lock());
    match wire::send(outcome, &mut output).and_then(|()| output.flush()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

/// Takes away what a parser does not need: memory beyond a bound, endless time, files to write,
/// further processes and threads.
fn confine() -> nix::Result<()> {
    setrlimit(Resource::RLIMIT_CPU, PROCESSOR, PROCESSOR + 1)?;
    setrlimit(Resource::RLIMIT_FSIZE, 0, 0)?;
    setrlimit(Resource::RLIMIT_CORE, 0, 0)?;
    #[cfg(target_os = "linux")]
    {
        setrlimit(Resource::RLIMIT_NPROC, 0, 0)?;
        setrlimit(Resource::RLIMIT_DATA, MEMORY, MEMORY)?;
        // The allocator has reserved addresses already, which count against the address space and
        // not against the data.
        let addresses = reserved().saturating_add(ADDRESSES);
        setrlimit(Resource::RLIMIT_NOFILE, 3, 3)?;
        setrlimit(Resource::RLIMIT_AS, addresses, addresses)?;
    }
    Ok(())
}

/// Address space of this process, in bytes (`VmSize` of proc_pid_status(5)). Without `/proc` as much
/// as a program takes at most.
#[cfg(target_os = "linux")]
fn reserved() -> u64 {
    const USUAL: u64 = 2 << 30;
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let size = status.lines().find_map(|line| line.strip_prefix("VmSize:"));
    let kib = size.and_then(|size| size.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok());
    kib.map_or(USUAL, |kib| kib << 10)
}
