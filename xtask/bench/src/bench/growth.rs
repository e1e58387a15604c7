//! Detects leaks of memory and of open files in a long run. Warm-up and slope are counted in
//! answers rather than minutes, so a busy machine affects how much can be judged, but not the
//! verdict.

use std::fmt;

/// Number of answers until the program's caches are full. Measured: a release build is stable after
/// 4,200 answers in 100 rooms.
const WARM_UP: usize = 4_500;
/// Minimum number of answers after the warm-up for a verdict.
const ENOUGH: usize = 3_000;
/// Minimum number of samples after the warm-up for a verdict.
const LOOKS: usize = 8;
/// Growth in MiB between the medians of the two halves that counts as a leak. More than the noise
/// of an allocator.
const GROWTH: f64 = 4.0;
/// Number of files, or sockets, by which two samples may differ.
pub(super) const FILES: usize = 8;

/// A sample of the process.
#[derive(Debug, Clone, Copy)]
pub(super) struct Look {
    /// Answers so far.
    pub(super) answers: usize,
    /// Resident memory in MiB.
    pub(super) resident: f64,
    /// Open files except sockets.
    pub(super) files: usize,
    /// Open sockets.
    pub(super) sockets: usize,
}

/// The verdict on a run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Verdict {
    /// Too few answers for a verdict.
    TooShort { answers: usize },
    /// Medians of the first and the second half after the warm-up.
    Judged {
        /// In MiB.
        resident: (f64, f64),
        /// MiB per 10,000 answers, by least squares.
        slope: f64,
        /// Open files except sockets.
        files: (f64, f64),
        /// In the first sample, and in the last one after an idle period.
        sockets: (usize, usize),
    },
}

impl Verdict {
    /// True if the run shows a leak.
    pub(super) fn is_growth(self) -> bool {
        match self {
            Self::TooShort { .. } => false,
            Self::Judged { resident, files, sockets, .. } => {
                let grown = files.1 - files.0 > FILES as f64 || sockets.1 > sockets.0 + FILES;
                resident.1 - resident.0 > GROWTH || grown
            }
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooShort { answers } => {
                write!(
                    to,
                    "growth is not judged: {answers} answers; it takes {} and {LOOKS} looks after the warm-up",
                    WARM_UP + ENOUGH
                )
            }
            Self::Judged { resident, slope, files, sockets } => write!(
                to,
                "after {WARM_UP} answers: resident memory {:.1} MiB, then {:.1} MiB; slope {slope:.2} MiB for 10,000 \
                 answers; open files {:.0}, then {:.0}; sockets {} at first, {} once quiet",
                resident.0, resident.1, files.0, files.1, sockets.0, sockets.1
            ),
        }
    }
}

/// Judges a run by its samples, in order.
pub(super) fn assess(looks: &[Look]) -> Verdict {
    let answers = looks.last().map_or(0, |look| look.answers);
    let warm: Vec<Look> = looks.iter().copied().filter(|look| look.answers >= WARM_UP).collect();
    let (Some(first), Some(last)) = (looks.first(), looks.last()) else {
        return Verdict::TooShort { answers };
    };
    if answers < WARM_UP + ENOUGH || warm.len() < LOOKS {
        return Verdict::TooShort { answers };
    }
    let (early, late) = warm.split_at(warm.len() / 2);
    let both = |value: fn(&Look) -> f64| (median(early, value), median(late, value));
    Verdict::Judged {
        resident: both(|look| look.resident),
        slope: slope(&warm),
        files: both(|look| look.files as f64),
        sockets: (first.sockets, last.sockets),
    }
}

fn median(looks: &[Look], value: impl Fn(&Look) -> f64) -> f64 {
    let mut values: Vec<f64> = looks.iter().map(value).collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or_default()
}

/// Slope by least squares: MiB per 10,000 answers.
fn slope(looks: &[Look]) -> f64 {
    let count = looks.len() as f64;
    let at = |look: &Look| look.answers as f64 / 10_000.0;
    let mean_at = looks.iter().map(at).sum::<f64>() / count;
    let mean = looks.iter().map(|look| look.resident).sum::<f64>() / count;
    let above: f64 = looks.iter().map(|look| (at(look) - mean_at) * (look.resident - mean)).sum();
    let below: f64 = looks.iter().map(|look| (at(look) - mean_at).powi(2)).sum();
    if below > 0.0 { above / below } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Samples of a steady run with this many answers, one per 200 answers.
    fn looks(answers: usize, growth: f64) -> Vec<Look> {
        let at = |n: usize| n as f64 / 10_000.0;
        let look = |n| Look { answers: n, resident: 30.0 + growth * at(n), files: 20, sockets: 12 };
        (1..=answers / 200).map(|n| look(n * 200)).collect()
    }

    #[test]
    fn a_leak_fails_and_evenness_does_not() {
        assert!(!assess(&looks(12_000, 1.0)).is_growth());
        assert!(assess(&looks(12_000, 20.0)).is_growth());
        let Verdict::Judged { slope, .. } = assess(&looks(12_000, 3.0)) else {
            panic!("not judged")
        };
        assert!((slope - 3.0).abs() < 1e-9);
        let mut files = looks(12_000, 0.0);
        files.iter_mut().skip(45).for_each(|look| look.files = 90);
        assert!(assess(&files).is_growth());
    }

    #[test]
    fn caches_that_fill_are_no_leak() {
        let mut filling = looks(12_000, 0.0);
        for look in &mut filling {
            look.resident += 20.0 * (look.answers as f64 / 4_500.0).min(1.0);
        }
        assert!(!assess(&filling).is_growth());
    }

    #[test]
    fn a_busy_machine_gives_no_verdict_of_its_own() {
        let slow = assess(&looks(3_050, 500.0));
        assert_eq!(slow, Verdict::TooShort { answers: 3_000 });
        assert!(!slow.is_growth());
        assert!(!assess(&[]).is_growth());
    }

    #[test]
    fn kept_connections_count_only_once_it_is_quiet() {
        let mut burst = looks(12_000, 0.0);
        burst.iter_mut().skip(10).for_each(|look| look.sockets = 128);
        burst.push(Look { sockets: 12, ..burst[burst.len() - 1] });
        assert!(!assess(&burst).is_growth());
        burst.last_mut().unwrap().sockets = 60;
        assert!(assess(&burst).is_growth());
    }
}
