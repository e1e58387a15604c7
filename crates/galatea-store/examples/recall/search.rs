//! Searches as turns do (`MEMORIES` in galatea-bootstrap), and how long each takes.

use galatea_core::{
    Error, MemoryKind, Result, Visibility,
    store::{RecallQuery, RecallStore},
};
use galatea_store::Database;
use serde_json::{Value, json};
use std::time::{Duration, Instant};

use crate::{
    processor::Processor,
    talk::{MODEL, Question, Talk},
};

/// Hits of a search, as a turn asks for them.
const MOST: u32 = 5;
/// Searches before the first that counts.
const WARM_UP: usize = 50;

/// By what a search looks.
#[derive(Debug, Clone, Copy)]
pub(crate) enum By {
    Words,
    Meaning,
    Both,
}

impl By {
    pub(crate) const ALL: [Self; 3] = [Self::Words, Self::Meaning, Self::Both];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Words => "words",
            Self::Meaning => "meaning",
            Self::Both => "both",
        }
    }

    fn query(self, question: Question<'_>) -> RecallQuery {
        let (text, meaning) = match self {
            Self::Words => (question.text, None),
            Self::Meaning => (String::new(), Some(question.meaning)),
            Self::Both => (question.text, Some(question.meaning)),
        };
        let visible = Visibility::in_room(question.room, &[]);
        let query = RecallQuery {
            room: Some(question.room.id),
            before: Some(question.before),
            neighbours: true,
            ..RecallQuery::new(visible, text, MOST, question.now).kind(MemoryKind::Messages)
        };
        match meaning {
            Some(meaning) => query.meaning(MODEL, meaning),
            None => query,
        }
    }
}

/// Asks so many questions, each another one, one after the other: the times in milliseconds.
pub(crate) async fn ask(
    store: &Database,
    processor: &Processor,
    talk: &Talk,
    by: By,
    questions: usize,
) -> Result<Value> {
    let (mut took, mut used) = (Vec::new(), Vec::new());
    let (mut hits, before) = (0, store.statements());
    for number in 0..WARM_UP + questions {
        // No two searches of a run ask the same.
        let query = by.query(talk.question(number + 1_000_000 * (1 + by as usize))?);
        let (begun, spent) = (Instant::now(), processor.used());
        let found = store.recall(&query).await?;
        if number >= WARM_UP {
            took.push(begun.elapsed());
            used.push(Duration::from_nanos(processor.used().saturating_sub(spent)));
        }
        hits += found.len();
    }
    if hits < questions {
        return Err(Error::unexpected("searches found almost nothing").with("hits", hits));
    }
    took.sort_unstable();
    used.sort_unstable();
    let at = |percent| at(&took, percent);
    #[allow(clippy::cast_precision_loss, reason = "figures for people")]
    let statements = (store.statements() - before) as f64 / (WARM_UP + questions) as f64;
    Ok(json!({
        "p50": at(50), "p90": at(90), "p99": at(99), "max": at(100), "statements": statements,
        "processor": self::at(&used, 50), "processor_p99": self::at(&used, 99),
    }))
}

/// Of so many questions that are each made of half the words of one message, the share whose message a
/// search by words finds.
pub(crate) async fn found(store: &Database, talk: &Talk, questions: usize) -> Result<f64> {
    let (mut found, mut asked) = (0, 0);
    // Four of five messages can be asked for.
    for number in 0..10 * questions {
        let Some((question, id)) = talk.known(number)? else { continue };
        let hits = store.recall(&By::Words.query(question)).await?;
        found += usize::from(hits.iter().any(|hit| hit.memory.id == id));
        asked += 1;
        if asked == questions {
            break;
        }
    }
    #[allow(clippy::cast_precision_loss, reason = "figures for people")]
    let share = found as f64 / asked.max(1) as f64;
    Ok(share)
}

/// A percentile of sorted times, in milliseconds.
fn at(sorted: &[Duration], percent: usize) -> f64 {
    let rank = (percent * sorted.len()).div_ceil(100).saturating_sub(1);
    sorted.get(rank).map_or(0.0, |time| time.as_secs_f64() * 1e3)
}
