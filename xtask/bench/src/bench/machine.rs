//! Describes the machine, because the figures depend on it, above all on the flush time of its
//! disk.

use anyhow::{Context, Result};
use std::{
    fs,
    os::unix::fs::FileExt as _,
    path::Path,
    thread,
    time::{Duration, Instant},
};

use super::figures::Spread;

/// Time that the disk is measured. A shared disk stalls now and then, which determines every p99.
const WATCHED: Duration = Duration::from_secs(10);
/// Pause between two flushes, about that of the program at half its rate.
const PAUSE: Duration = Duration::from_millis(1);
/// Data of one flush: a page of SQLite's log.
const PAGE: [u8; 4096] = [7; 4096];
/// Pages of the test file: 16 MiB, the size of our log between two checkpoints.
const PAGES: usize = 4096;

/// The report about the machine.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Machine {
    /// Processors this process may use.
    pub(super) cores: usize,
    /// Model of the first processor.
    pub(super) processor: String,
    /// Kernel release.
    pub(super) kernel: String,
    /// Load average of the last minute before the run, caused by other work on the machine.
    pub(super) load: String,
    /// Times of an fdatasync after writing 4 KiB, in the file system of the data folder.
    pub(super) flush: Spread,
    /// The longest of these times.
    pub(super) stall: Duration,
}

/// Measures the machine. `folder` must be in the file system that will hold the data.
pub(super) fn look(folder: &Path) -> Result<Machine> {
    let read = |place: &str| {
        fs::read_to_string(place)
            .with_context(|| format!("cannot read {place}; the benchmark needs Linux"))
    };
    let flushes = flushes(folder)?;
    let stall = flushes.iter().max().copied().unwrap_or_default();
    Ok(Machine {
        cores: std::thread::available_parallelism().context("cannot count the processors")?.get(),
        processor: processor(&read("/proc/cpuinfo")?).unwrap_or("of an unknown model").to_owned(),
        kernel: read("/proc/sys/kernel/osrelease")?.trim().to_owned(),
        load: read("/proc/loadavg")?.split_whitespace().next().unwrap_or("unknown").to_owned(),
        flush: Spread::of(flushes).context("no flush was measured")?,
        stall,
    })
}

/// The first `model name` in `/proc/cpuinfo`. Some architectures have none.
fn processor(cpuinfo: &str) -> Option<&str> {
    let line = cpuinfo.lines().find(|line| line.starts_with("model name"))?;
    line.split_once(':').map(|(_, name)| name.trim())
}

/// Overwrites a file and flushes it, like a write-ahead log after a checkpoint.
fn flushes(folder: &Path) -> Result<Vec<Duration>> {
    let file = tempfile::tempfile_in(folder)
        .with_context(|| format!("cannot write in {}", folder.display()))?;
    let (begun, mut times) = (Instant::now(), Vec::new());
    while begun.elapsed() < WATCHED {
        let place = (times.len() % PAGES * PAGE.len()) as u64;
        file.write_all_at(&PAGE, place).context("cannot write the probe's file")?;
        let flushing = Instant::now();
        file.sync_data().context("cannot flush the probe's file")?;
        times.push(flushing.elapsed());
        thread::sleep(PAUSE);
    }
    Ok(times)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_processor_is_the_first_named() {
        assert_eq!(
            processor("processor\t: 0\nmodel name\t: Some CPU @ 2 GHz\n\nmodel name\t: Other"),
            Some("Some CPU @ 2 GHz")
        );
        assert_eq!(processor("processor\t: 0\nBogoMIPS\t: 50"), None);
    }
}
