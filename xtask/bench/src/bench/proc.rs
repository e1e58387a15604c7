//! Reads processor time, memory and open files of a process from `/proc` (proc(5)).

use anyhow::{Context, Result};
use std::{fs, time::Duration};

/// Key of the auxiliary vector for clock ticks per second (getauxval(3), `AT_CLKTCK`).
const AT_CLKTCK: usize = 17;

/// Processor time of a process so far, in user and kernel mode, for all threads.
pub(super) fn cpu(pid: u32) -> Result<Duration> {
    of(pid, ticks)
}

fn of(pid: u32, ticks: impl Fn(&str) -> Option<u64>) -> Result<Duration> {
    let place = format!("/proc/{pid}/stat");
    let text = fs::read_to_string(&place)
        .with_context(|| format!("cannot read {place}; the benchmark needs Linux"))?;
    let ticks =
        ticks(&text).with_context(|| format!("{place} has another shape than proc(5) says"))?;
    let auxiliary = fs::read("/proc/self/auxv").context("cannot read /proc/self/auxv")?;
    let rate = auxiliary_value(&auxiliary, AT_CLKTCK)
        .filter(|r| *r > 0)
        .context("/proc/self/auxv tells no clock tick")?;
    Ok(Duration::from_secs_f64(ticks as f64 / rate as f64))
}

/// Processor time of a process and all its children, including ended ones.
pub(super) fn cpu_of_family(pid: u32) -> Result<Duration> {
    let place = format!("/proc/{pid}/task/{pid}/children");
    let children = fs::read_to_string(&place)
        .with_context(|| format!("cannot read {place}; the benchmark needs Linux"))?;
    // A child that ended meanwhile is counted with its parent.
    let alive: Duration =
        children.split_whitespace().filter_map(|child| cpu(child.parse().ok()?).ok()).sum();
    Ok(alive + of(pid, ticks_of_ended)? + cpu(pid)?)
}

/// Resident memory of a process in MiB.
pub(super) fn resident(pid: u32) -> Result<f64> {
    let place = format!("/proc/{pid}/status");
    let text = fs::read_to_string(&place)
        .with_context(|| format!("cannot read {place}; the benchmark needs Linux"))?;
    let kib = kib(&text, "VmRSS").with_context(|| format!("{place} has no VmRSS"))?;
    Ok(kib as f64 / 1024.0)
}

/// Bytes that a process had written to storage so far (`write_bytes` of proc_pid_io(5)).
pub(super) fn written(pid: u32) -> Result<u64> {
    let place = format!("/proc/{pid}/io");
    let text = fs::read_to_string(&place)
        .with_context(|| format!("cannot read {place}; the benchmark needs Linux"))?;
    write_bytes(&text).with_context(|| format!("{place} has no write_bytes"))
}

/// Number of open files of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct OpenFiles {
    /// Everything except sockets.
    pub(super) files: usize,
    pub(super) sockets: usize,
}

/// Counts the open files of a process. A file closed meanwhile counts as a file.
pub(super) fn open_files(pid: u32) -> Result<OpenFiles> {
    let place = format!("/proc/{pid}/fd");
    let entries =
        fs::read_dir(&place).with_context(|| format!("cannot read {place}; this needs Linux"))?;
    let is_socket = |link: std::io::Result<std::path::PathBuf>| {
        link.is_ok_and(|to| to.to_string_lossy().starts_with("socket:"))
    };
    let mut open = OpenFiles { files: 0, sockets: 0 };
    for entry in entries {
        let entry = entry.with_context(|| format!("cannot read {place}"))?;
        if is_socket(fs::read_link(entry.path())) { open.sockets += 1 } else { open.files += 1 }
    }
    Ok(open)
}

/// `utime` and `stime`, fields 14 and 15. The name in field 2 may contain spaces and brackets, so
/// counting starts after its last bracket.
fn ticks(stat: &str) -> Option<u64> {
    two_from(stat, 11)
}

/// `cutime` and `cstime`, fields 16 and 17: of children that were waited for.
fn ticks_of_ended(stat: &str) -> Option<u64> {
    two_from(stat, 13)
}

fn two_from(stat: &str, place: usize) -> Option<u64> {
    let (_, rest) = stat.rsplit_once(')')?;
    let mut fields = rest.split_whitespace().skip(place);
    let user: u64 = fields.next()?.parse().ok()?;
    let system: u64 = fields.next()?.parse().ok()?;
    Some(user + system)
}

/// A value of `/proc/<pid>/status` in KiB.
fn kib(status: &str, name: &str) -> Option<u64> {
    let value = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
    value.trim().strip_suffix("kB")?.trim().parse().ok()
}

fn write_bytes(io: &str) -> Option<u64> {
    io.lines().find_map(|line| line.strip_prefix("write_bytes:"))?.trim().parse().ok()
}

/// A value of the auxiliary vector, which consists of pairs of machine words.
fn auxiliary_value(bytes: &[u8], key: usize) -> Option<usize> {
    const WORD: usize = size_of::<usize>();
    let word = |bytes: &[u8]| bytes.try_into().ok().map(usize::from_ne_bytes);
    bytes
        .chunks_exact(2 * WORD)
        .find(|pair| word(&pair[..WORD]) == Some(key))
        .and_then(|pair| word(&pair[WORD..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sockets_are_distinguished_from_files() {
        let _sockets = [0; 20].map(|_| std::net::TcpListener::bind("127.0.0.1:0").unwrap());
        let _files = [0; 20].map(|_| tempfile::tempfile().unwrap());
        let open = open_files(std::process::id()).unwrap();
        assert!(open.sockets >= 20 && open.files >= 20, "{open:?}");
    }

    #[test]
    fn times_are_found_behind_any_name() {
        let stat = "4242 (a (b) c) S 1 4242 4242 0 -1 4194304 900 0 3 0 125 75 9 9 20 0 5 0 1234 1000 800 18446744073709551615";
        assert_eq!((ticks(stat), ticks_of_ended(stat)), (Some(200), Some(18)));
        assert_eq!(ticks("4242 (short) S 1"), None);
        assert_eq!(ticks(""), None);
    }

    #[test]
    fn memory_is_found_by_its_whole_name() {
        let status = "Name:\tVmRSS\nVmRSSish:\t 7 kB\nVmRSS:\t   20480 kB\nThreads:\t3\n";
        assert_eq!(kib(status, "VmRSS"), Some(20_480));
        assert_eq!(kib(status, "VmHWM"), None);
        assert_eq!(kib(status, "Threads"), None);
    }

    #[test]
    fn cancelled_writes_are_not_written_bytes() {
        let io = "wchar: 9\nwrite_bytes: 4096\ncancelled_write_bytes: 8192\n";
        assert_eq!(write_bytes(io), Some(4_096));
        assert_eq!(write_bytes("cancelled_write_bytes: 8192\n"), None);
    }

    #[test]
    fn the_auxiliary_vector_is_read_in_pairs() {
        let words = [3usize, 17, 17, 100, 0, 0];
        let bytes: Vec<u8> = words.iter().flat_map(|w| w.to_ne_bytes()).collect();
        assert_eq!(auxiliary_value(&bytes, AT_CLKTCK), Some(100));
        assert_eq!(auxiliary_value(&bytes, 6), None);
        assert_eq!(auxiliary_value(&bytes[..5], 3), None);
    }
}
