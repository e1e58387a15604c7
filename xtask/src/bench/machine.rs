//! The machine: what the figures depend on, its disk's flush above all.

use anyhow::{Context, Result};
use std::{fs, io::Write, path::Path, time::Instant};

use super::figures::Spread;

/// Flushes of the probe: enough for a median, over in seconds on a slow disk.
const FLUSHES: usize = 100;
/// What one flush writes: a page of SQLite's log.
const PAGE: [u8; 4096] = [7; 4096];

/// What is told of the machine.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Machine {
    /// Processors this process may use.
    pub(super) cores: usize,
    /// Model of the first.
    pub(super) processor: String,
    /// Kernel release.
    pub(super) kernel: String,
    /// Load average of the last minute, before the run: other work on the machine.
    pub(super) load: String,
    /// Time of an fdatasync after 4 KiB, in the data folder's file system.
    pub(super) flush: Spread,
}

/// Looks at the machine; `folder` is on the file system the data will be on.
pub(super) fn look(folder: &Path) -> Result<Machine> {
    let read = |place: &str| fs::read_to_string(place).with_context(|| format!("cannot read {place}; the benchmark needs Linux"));
    Ok(Machine {
        cores: std::thread::available_parallelism().context("cannot count the processors")?.get(),
        processor: processor(&read("/proc/cpuinfo")?).unwrap_or("of an unknown model").to_owned(),
        kernel: read("/proc/sys/kernel/osrelease")?.trim().to_owned(),
        load: read("/proc/loadavg")?.split_whitespace().next().unwrap_or("unknown").to_owned(),
        flush: flush(folder)?,
    })
}

/// The first `model name` of `/proc/cpuinfo`; some architectures tell none.
fn processor(cpuinfo: &str) -> Option<&str> {
    let line = cpuinfo.lines().find(|line| line.starts_with("model name"))?;
    line.split_once(':').map(|(_, name)| name.trim())
}

/// Appends and flushes as a write-ahead log does.
fn flush(folder: &Path) -> Result<Spread> {
    let mut file = tempfile::tempfile_in(folder).with_context(|| format!("cannot write in {}", folder.display()))?;
    let mut times = Vec::with_capacity(FLUSHES);
    for _ in 0..FLUSHES {
        file.write_all(&PAGE).context("cannot write the probe's file")?;
        let begun = Instant::now();
        file.sync_data().context("cannot flush the probe's file")?;
        times.push(begun.elapsed());
    }
    Spread::of(times).context("no flush was measured")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_processor_is_the_first_named() {
        assert_eq!(processor("processor\t: 0\nmodel name\t: Some CPU @ 2 GHz\n\nmodel name\t: Other"), Some("Some CPU @ 2 GHz"));
        assert_eq!(processor("processor\t: 0\nBogoMIPS\t: 50"), None);
    }
}
