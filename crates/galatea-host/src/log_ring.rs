//! The newest lines of the log, in memory: with secrets masked, numbered, bounded.

use galatea_core::Timestamp;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use std::{
    collections::VecDeque,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};
use tokio::sync::broadcast;

/// Lines that are kept.
const KEPT: usize = 5_000;
/// Longest text of a line, in bytes. With [`KEPT`] lines that is 10 MiB at most, and 1 MiB as lines
/// are.
const LONGEST: usize = 2 * 1024;
/// Lines that a reader may be behind.
const BEHIND: usize = 1_024;

/// How severe a line is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogLevel {
    /// For those who look for a fault in the program.
    Trace,
    /// Details.
    Debug,
    /// The usual course.
    Info,
    /// Something went wrong, and the program went on.
    Warn,
    /// Something was not done.
    Error,
}

impl LogLevel {
    const ALL: [Self; 5] = [Self::Trace, Self::Debug, Self::Info, Self::Warn, Self::Error];

    /// Name of the level.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Trace => "trace",
            Self::Debug => "debug",
            Self::Info => "info",
            Self::Warn => "warn",
            Self::Error => "error",
        }
    }

    /// The level of a name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|level| level.as_str() == name)
    }
}

/// A line of the log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogLine {
    /// Its number, which grows by one with each line.
    pub seq: u64,
    /// Its time.
    pub at: Timestamp,
    /// How severe it is.
    pub level: LogLevel,
    /// The part of the program that wrote it.
    pub target: String,
    /// The message with its fields.
    pub text: String,
    /// The turn that it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<String>,
}

/// The newest lines of the log.
pub struct LogRing {
    lines: Mutex<(u64, VecDeque<Arc<LogLine>>)>,
    sender: broadcast::Sender<Arc<LogLine>>,
    counts: [AtomicU64; 5],
}

impl Default for LogRing {
    fn default() -> Self {
        Self {
            lines: Mutex::default(),
            sender: broadcast::channel(BEHIND).0,
            counts: Default::default(),
        }
    }
}

impl LogRing {
    /// Adds a line whose text has no secrets any more; its number is ignored. Long texts are cut.
    pub fn push(&self, mut line: LogLine) {
        if line.text.len() > LONGEST {
            line.text.truncate(line.text.floor_char_boundary(LONGEST));
            line.text.push('…');
        }
        if let Some(count) = self.counts.get(line.level as usize) {
            count.fetch_add(1, Ordering::Relaxed);
        }
        let mut lines = self.lines.lock();
        lines.0 += 1;
        line.seq = lines.0;
        let line = Arc::new(line);
        if lines.1.len() >= KEPT {
            lines.1.pop_front();
        }
        lines.1.push_back(Arc::clone(&line));
        // In the lock, so that readers get the lines in the order of their numbers.
        let _ = self.sender.send(line);
    }

    /// The newest lines after a number, of at least this level, oldest first.
    pub fn read(&self, after: Option<u64>, least: LogLevel, limit: usize) -> Vec<Arc<LogLine>> {
        let lines = self.lines.lock();
        let fits = |line: &&Arc<LogLine>| {
            line.level >= least && after.is_none_or(|after| line.seq > after)
        };
        let mut found: Vec<Arc<LogLine>> =
            lines.1.iter().rev().filter(fits).take(limit).cloned().collect();
        found.reverse();
        found
    }

    /// Lines from now on.
    pub fn follow(&self) -> broadcast::Receiver<Arc<LogLine>> {
        self.sender.subscribe()
    }

    /// Lines since the process began, by level.
    pub fn counts(&self) -> impl Iterator<Item = (LogLevel, u64)> {
        LogLevel::ALL
            .into_iter()
            .zip(&self.counts)
            .map(|(level, n)| (level, n.load(Ordering::Relaxed)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(level: LogLevel, text: &str) -> LogLine {
        LogLine {
            seq: 0,
            at: Timestamp(1),
            level,
            target: "galatea".to_owned(),
            text: text.to_owned(),
            turn: None,
        }
    }

    #[test]
    fn the_newest_lines_are_kept_in_order() {
        let ring = LogRing::default();
        for n in 0..KEPT + 10 {
            ring.push(line(
                if n % 2 == 0 { LogLevel::Info } else { LogLevel::Warn },
                &n.to_string(),
            ));
        }
        let all = ring.read(None, LogLevel::Trace, usize::MAX);
        assert_eq!((all.len(), all[0].text.as_str()), (KEPT, "10"));
        let warned = ring.read(None, LogLevel::Warn, 2);
        assert_eq!(warned.iter().map(|l| l.seq).collect::<Vec<_>>(), [5_008, 5_010]);
        assert!(ring.read(Some(5_010), LogLevel::Trace, 10).is_empty());
        let counts: Vec<u64> = ring.counts().map(|(_, n)| n).collect();
        assert_eq!(counts, [0, 0, 2_505, 2_505, 0]);
    }

    #[test]
    fn a_long_line_is_cut() {
        let ring = LogRing::default();
        ring.push(line(LogLevel::Info, &"ä".repeat(LONGEST)));
        assert!(ring.read(None, LogLevel::Info, 1)[0].text.len() < LONGEST + 8);
    }
}
