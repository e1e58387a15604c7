//! Asks questions at different rates and measures the answers. Bounded in count and time.

use anyhow::{Result, bail};
use galatea_testkit::load::{LoadPlan, Trip};
use std::time::{Duration, Instant};
use tokio::time::timeout;

use super::{
    child::{Child, Counts},
    figures::{Figures, Load, Spread},
    proc,
    stage::Platform,
};

/// Longest wait for one answer if only a few are outstanding.
const PATIENCE: Duration = Duration::from_secs(20);
/// Longest time without any answer in a load that measures no times. A busy machine is slow, but a
/// program that hangs answers nothing for minutes.
const STALL: Duration = Duration::from_secs(180);
/// Interval of checks for new answers.
const LOOK: Duration = Duration::from_secs(1);

/// The size and rate of a load.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Amount {
    /// Maximum number of rounds.
    pub(super) rounds: usize,
    /// Questions per round.
    pub(super) questions: usize,
    /// Number of rooms the questions are spread over.
    pub(super) rooms: usize,
    /// No round starts after this time, and no round is waited for longer.
    pub(super) limit: Duration,
    /// If true, the load ends with the time, and only the answers until then count. If false, every
    /// question must be answered.
    pub(super) open_end: bool,
    /// Questions per second, independent of the answers. `None` asks as fast as questions are
    /// fetched.
    pub(super) pace: Option<f64>,
    /// Waits as long as answers arrive at all, however slowly.
    pub(super) patient: bool,
}

impl Amount {
    /// A room; the next question follows the last answer.
    pub(super) fn one_by_one(questions: usize, limit: Duration) -> Self {
        Self {
            rounds: questions,
            questions: 1,
            rooms: 1,
            limit,
            open_end: false,
            pace: None,
            patient: false,
        }
    }

    /// Each room asks once per round. The next round starts when all have their answers.
    pub(super) fn rooms(rounds: usize, limit: Duration) -> Self {
        Self {
            rounds,
            questions: Figures::ROOMS,
            rooms: Figures::ROOMS,
            limit,
            open_end: false,
            pace: None,
            patient: false,
        }
    }

    /// A round of many questions, available as fast as they are fetched. Ends with the time.
    pub(super) fn flood(questions: usize, limit: Duration) -> Self {
        Self {
            rounds: 1,
            questions,
            rooms: Figures::ROOMS,
            limit,
            open_end: true,
            pace: None,
            patient: false,
        }
    }

    /// All of these questions, however long their answers take: what is measured afterwards depends
    /// on their number.
    pub(super) fn whole(questions: usize) -> Self {
        Self { open_end: false, patient: true, ..Self::flood(questions, Duration::ZERO) }
    }

    /// Questions at a fixed rate for a fixed time.
    pub(super) fn paced(pace: f64, lasting: Duration) -> Self {
        let questions = (pace * lasting.as_secs_f64()).max(1.0) as usize;
        Self {
            rounds: 1,
            questions,
            rooms: Figures::ROOMS,
            limit: lasting * 2,
            open_end: false,
            pace: Some(pace),
            patient: false,
        }
    }

    /// Like [`Amount::paced`], for runs whose times are not used.
    pub(super) fn patient(pace: f64, lasting: Duration) -> Self {
        Self { patient: true, ..Self::paced(pace, lasting) }
    }

    /// The same number of questions in each of [`Figures::LARGE`] rooms, all at once.
    pub(super) fn large(each: usize, limit: Duration) -> Self {
        Self {
            rounds: 1,
            questions: each * Figures::LARGE,
            rooms: Figures::LARGE,
            limit,
            open_end: false,
            pace: None,
            patient: false,
        }
    }
}

/// An answer that takes longer counts as slow.
const SLOW: Duration = Duration::from_millis(50);
/// Shortest third of a load whose rate means something.
const COMPARABLE: Duration = Duration::from_secs(1);
/// Slow answers that were due closer together than this have a common cause.
const TOGETHER: Duration = Duration::from_millis(100);

/// Resources used by the processes up to a moment.
struct Meter {
    program: Duration,
    servers: Duration,
    written: u64,
    database: Counts,
}

impl Meter {
    async fn read(child: &Child) -> Result<Self> {
        let database = child.database().await;
        Ok(Self {
            program: proc::cpu(child.pid())?,
            servers: proc::cpu(std::process::id())?,
            written: proc::written(child.pid())?,
            database,
        })
    }
}

/// Runs a load and measures it.
///
/// # Errors
/// If answers are missing, with the program's last output.
pub(super) async fn run(platform: &Platform, child: &Child, amount: Amount) -> Result<Load> {
    let before = Meter::read(child).await?;
    let begun = Instant::now();
    let mut trips = Vec::with_capacity(amount.rounds * amount.questions);
    for _ in 0..amount.rounds {
        trips.extend(round(platform, child, amount).await?);
        if begun.elapsed() >= amount.limit {
            break;
        }
    }
    let after = Meter::read(child).await?;
    let Some(mut load) = summarise(&trips, amount.pace.is_some()) else {
        bail!("no answer was measured; the program said:\n{}", child.last_output())
    };
    let answers = load.answers as f64;
    if amount.pace.is_some() && !amount.patient {
        print_slow(&trips);
    }
    load.misplaced = platform.misplaced();
    load.cpu = millis(after.program.saturating_sub(before.program)) / answers;
    load.servers_cpu = millis(after.servers.saturating_sub(before.servers)) / answers;
    let per_answer = |before: Option<u64>, after: Option<u64>| {
        before.zip(after).map(|(before, after)| after.saturating_sub(before) as f64 / answers)
    };
    load.statements = per_answer(before.database.statements, after.database.statements);
    load.rows = per_answer(before.database.rows, after.database.rows);
    load.written = after.written.saturating_sub(before.written) as f64 / 1024.0 / answers;
    Ok(load)
}

async fn round(platform: &Platform, child: &Child, amount: Amount) -> Result<Vec<Trip>> {
    platform.load(LoadPlan {
        per_second: amount.pace,
        text: "{sentence} #{n}".to_owned(),
        ..LoadPlan::new(amount.questions, amount.rooms)
    });
    let patience = if amount.open_end { amount.limit } else { amount.limit.max(PATIENCE) };
    let whole = async {
        if amount.patient {
            answers_or_silence(platform).await
        } else {
            timeout(patience, platform.wait_load()).await.ok()
        }
    };
    if let Some(trips) = whole.await {
        return Ok(trips);
    }
    if amount.open_end {
        let trips = platform.trips();
        // A fetched question is answered before the next load begins, and in order.
        platform.stop_asking();
        if timeout(PATIENCE, platform.wait_load()).await.is_ok() {
            return Ok(trips);
        }
    }
    let trips = platform.trips();
    let answered = trips.iter().filter(|t| t.answered.is_some()).count();
    let (offered, wanted) = (trips.len(), amount.questions);
    bail!(
        "{answered} of {wanted} questions were answered in time, {offered} were fetched\n{}\nthe program said:\n{}",
        platform.violations().join("\n"),
        child.last_output()
    )
}

/// Waits for the whole load. `None` if nothing was answered for [`STALL`].
async fn answers_or_silence(platform: &Platform) -> Option<Vec<Trip>> {
    let mut whole = std::pin::pin!(platform.wait_load());
    let (mut answered, mut since) = (0, Instant::now());
    while since.elapsed() < STALL {
        if let Ok(trips) = timeout(LOOK, &mut whole).await {
            return Some(trips);
        }
        let now = platform.trips().iter().filter(|trip| trip.answered.is_some()).count();
        if now > answered {
            (answered, since) = (now, Instant::now());
        }
    }
    None
}

/// Computes the times of a load, from when each question was due or was handed out. The other
/// fields are filled in later. `None` if nothing was answered.
fn summarise(trips: &[Trip], from_due: bool) -> Option<Load> {
    let ways: Vec<_> = trips.iter().filter_map(|t| Some((t.handed_out?, t.answered?))).collect();
    let first = ways.iter().map(|(out, _)| *out).min()?;
    let last = ways.iter().map(|(_, back)| *back).max()?;
    let wait = match from_due {
        true => Spread::of(trips.iter().filter_map(Trip::latency).collect())?,
        false => Spread::of(ways.iter().map(|(out, back)| back.duration_since(*out)).collect())?,
    };
    let ack = Spread::of(
        trips.iter().filter_map(|t| Some(t.confirmed?.duration_since(t.handed_out?))).collect(),
    );
    let took = last.duration_since(first).as_secs_f64().max(f64::EPSILON);
    Some(Load {
        answers: ways.len(),
        per_second: ways.len() as f64 / took,
        wait,
        cpu: 0.0,
        cpu_afterwards: 0.0,
        servers_cpu: 0.0,
        statements: None,
        rows: None,
        written: 0.0,
        lasting: lasting(ways.iter().map(|(_, back)| *back), first, last),
        ack,
        misplaced: 0,
    })
}

/// The rate of answers in the last third of the time relative to the first third. 1 for times too
/// short to compare.
fn lasting(answers: impl Iterator<Item = Instant>, first: Instant, last: Instant) -> f64 {
    let third = last.duration_since(first) / 3;
    if third < COMPARABLE {
        return 1.0;
    }
    let (mut early, mut late) = (0_u32, 0_u32);
    for at in answers {
        early += u32::from(at < first + third);
        late += u32::from(at >= last - third);
    }
    f64::from(late) / f64::from(early.max(1))
}

/// Slow answers with a common cause.
#[derive(Debug, PartialEq)]
struct Stretch {
    /// Time at which the first was due, since the load started.
    at: Duration,
    /// Time at which the last was due.
    until: Duration,
    longest: Duration,
    answers: usize,
}

fn slow(trips: &[Trip]) -> Vec<Stretch> {
    let Some(begun) = trips.iter().map(|trip| trip.due).min() else { return Vec::new() };
    let mut slow: Vec<_> = trips
        .iter()
        .filter_map(|t| {
            Some((t.due.duration_since(begun), t.latency().filter(|waited| *waited > SLOW)?))
        })
        .collect();
    slow.sort_unstable();
    let mut stretches: Vec<Stretch> = Vec::new();
    for (at, waited) in slow {
        match stretches.last_mut().filter(|last| at.saturating_sub(last.until) < TOGETHER) {
            Some(last) => {
                (last.until, last.longest, last.answers) =
                    (at, last.longest.max(waited), last.answers + 1)
            }
            None => stretches.push(Stretch { at, until: at, longest: waited, answers: 1 }),
        }
    }
    stretches
}

/// Prints slow answers. Many answers in few groups mean that the disk or the processors stalled.
/// Few answers in many groups point to the program.
fn print_slow(trips: &[Trip]) {
    let line = |s: &Stretch| {
        format!("{} at {:.1} s (up to {:.0} ms)", s.answers, s.at.as_secs_f64(), millis(s.longest))
    };
    let all: Vec<_> = slow(trips).iter().map(line).collect();
    eprintln!(
        "--- slower than {} ms: {}",
        SLOW.as_millis(),
        if all.is_empty() { "none".to_owned() } else { all.join(", ") }
    );
}

fn millis(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1000.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slow_answers_are_reported_together() {
        let zero = Instant::now();
        let at = |ms| zero + Duration::from_millis(ms);
        let trip = |due, took| Trip {
            due: at(due),
            handed_out: None,
            confirmed: None,
            answered: Some(at(due + took)),
        };
        let stretches =
            slow(&[trip(0, 3), trip(1_000, 90), trip(1_040, 60), trip(1_050, 4), trip(3_000, 51)]);
        let stretch = |at, until, longest, answers| {
            let ms = Duration::from_millis;
            Stretch { at: ms(at), until: ms(until), longest: ms(longest), answers }
        };
        assert_eq!(stretches, [stretch(1_000, 1_040, 90, 2), stretch(3_000, 3_000, 51, 1)]);
    }

    #[test]
    fn the_last_third_is_compared_with_the_first() {
        let zero = Instant::now();
        let at = |ms| zero + Duration::from_millis(ms);
        let answers = [0, 500, 900, 1_500, 4_500, 8_500, 9_000].map(at);
        assert!((lasting(answers.into_iter(), at(0), at(9_000)) - 0.5).abs() < 1e-9);
        assert!((lasting(answers.into_iter(), at(0), at(900)) - 1.0).abs() < 1e-9, "too short");
    }

    #[test]
    fn unanswered_questions_do_not_count() {
        let zero = Instant::now();
        let at = |ms| zero + Duration::from_millis(ms);
        let trip = |out: Option<u64>, back: Option<u64>| Trip {
            due: zero,
            handed_out: out.map(at),
            confirmed: out.map(|ms| at(ms + 1)),
            answered: back.map(at),
        };
        let load = summarise(
            &[
                trip(Some(100), Some(110)),
                trip(Some(100), None),
                trip(None, None),
                trip(Some(350), Some(600)),
            ],
            false,
        )
        .unwrap();
        assert_eq!(
            (load.answers, load.wait.p50, load.wait.p99),
            (2, Duration::from_millis(10), Duration::from_millis(250))
        );
        assert!((load.per_second - 4.0).abs() < 1e-9);
        assert_eq!(
            load.ack,
            Some(Spread { p50: Duration::from_millis(1), p99: Duration::from_millis(1) })
        );
        let paced = summarise(&[trip(Some(100), Some(110))], true).unwrap();
        assert_eq!(
            paced.wait.p50,
            Duration::from_millis(110),
            "a person waits from the moment of asking"
        );
        assert_eq!(summarise(&[trip(Some(1), None)], false), None);
    }
}
