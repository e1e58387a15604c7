//! Recall on the set in `tests/recall`: the targets, and with `--no-capture` the table of
//! `docs/memory.md`. Levers were chosen on the questions of even number; figures are those of the
//! others.
#![allow(clippy::print_stdout, reason = "the table is read by people")]

use galatea_core::fusion::{Fusion, Method};
use galatea_testkit::{
    postgres::Database as Server,
    recall::{Figures, Filled, Question, Search, Set},
};
use std::{collections::BTreeMap, sync::Arc};

use crate::{Database, SqliteOptions};

/// A search without any lever.
const PLAIN: Fusion =
    Fusion { method: Method::Scores, meaning: 0.5, neighbours: 0.0, named: 0.0, half_life: None };

fn search(words: bool, meaning: bool, without_names: bool, fusion: Fusion) -> Search {
    Search { words, meaning, without_names, fusion }
}

/// The half of the questions on which levers are chosen.
fn tuning(n: usize, _: &Question) -> bool {
    n.is_multiple_of(2)
}

fn reported(n: usize, question: &Question) -> bool {
    !tuning(n, question)
}

async fn print(
    filled: &Filled,
    name: &str,
    search: Search,
    choose: fn(usize, &Question) -> bool,
    whole: bool,
) -> BTreeMap<String, Figures> {
    let measured = filled.measure(&search, choose).await.unwrap();
    for (kind, figures) in &measured {
        if whole || kind == "turns" || kind == "fact" {
            println!("{name:42} {kind:20} {figures}");
        }
    }
    measured
}

/// The table; fails below the targets.
async fn table(filled: &Filled) {
    println!("{:42} {:20} {:>4} {:>6} {:>6} {:>6}", "search", "questions", "n", "@1", "@5", "@10");
    let usual = Fusion::default();
    let ranks = Fusion { method: Method::Ranks, ..PLAIN };
    let words = print(filled, "words", search(true, false, false, PLAIN), reported, true).await;
    let nameless =
        print(filled, "words, without names", search(true, false, true, PLAIN), reported, false)
            .await;
    let meaning = print(filled, "meaning", search(false, true, false, PLAIN), reported, true).await;
    let bare =
        print(filled, "meaning, without names", search(false, true, true, PLAIN), reported, false)
            .await;
    // No target is about these.
    if std::env::var_os("GALATEA_RECALL_TABLE").is_some() {
        for (name, search) in [
            ("both by ranks, unprepared", search(true, true, false, ranks)),
            ("both, no lever", search(true, true, true, PLAIN)),
            ("words, with levers", search(true, false, true, usual)),
            ("meaning, with levers", search(false, true, true, usual)),
        ] {
            print(filled, name, search, reported, false).await;
        }
    }
    let both = usually(filled).await;
    let half =
        [&words, &nameless, &meaning, &bare].iter().map(|of| of["turns"].ten).fold(0.0, f64::max);
    assert!(both["turns"].ten >= half + 0.08, "{half} {both:?}");
}

/// The search as agents make it; fails below its targets.
async fn usually(filled: &Filled) -> BTreeMap<String, Figures> {
    let usual = search(true, true, true, Fusion::default());
    let both = print(filled, "both", usual, reported, true).await;
    assert!(both["turns"].ten >= 0.80, "{both:?}");
    assert!(both["fact"].first >= 0.95, "{both:?}");
    both
}

#[tokio::test]
async fn evidence_is_recalled_in_sqlite() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("galatea.db");
    let store = Database::sqlite(&path, SqliteOptions::default()).await.unwrap();
    let set = Set::load();
    assert!(set.turns() >= 5_000 && set.questions.len() >= 300);
    let filled = Filled::new(Arc::new(store.clone()), set).await.unwrap();
    println!("\nSQLite");
    table(&filled).await;
    store.close().await;
}

#[tokio::test]
async fn evidence_is_recalled_in_postgresql() {
    let server = Server::fresh().await;
    let store = super::postgres::open(&server).await;
    let filled = Filled::new(Arc::new(store.clone()), Set::load()).await.unwrap();
    println!("\nPostgreSQL");
    // What a search is made of is the same code.
    usually(&filled).await;
    store.close().await;
}

/// The usual levers are near the best of those tried, on the half on which they were chosen.
#[tokio::test]
#[ignore = "takes half a minute; `cargo xtask canaries` runs it"]
async fn usual_levers_are_near_the_best() {
    let store = Database::in_memory().await.unwrap();
    let filled = Filled::new(Arc::new(store), Set::load()).await.unwrap();
    let ten = async |name: &str, fusion| {
        let both = search(true, true, true, fusion);
        print(&filled, name, both, tuning, false).await["turns"].ten
    };
    let usual = ten("usual", Fusion::default()).await;
    let (mut best, mut worst) = (usual, usual);
    for method in [Method::Scores, Method::Ranks] {
        for meaning in [0.3, 0.7] {
            for (neighbours, named) in [(0.0, 0.0), (0.2, 0.5), (0.2, 1.0)] {
                let fusion = Fusion { method, meaning, neighbours, named, half_life: None };
                let name = format!("{method:?} {meaning} neighbours {neighbours} named {named}");
                let ten = ten(&name, fusion).await;
                (best, worst) = (best.max(ten), worst.min(ten));
            }
        }
    }
    assert!(usual >= best - 0.03, "{usual} {best}");
    assert!(usual >= worst + 0.1, "the levers make no difference: {usual} {worst}");
}

/// The share of the questions that pass.
#[allow(clippy::cast_precision_loss, reason = "a few hundred")]
fn share(of: &[bool]) -> f64 {
    of.iter().filter(|passes| **passes).count() as f64 / of.len().max(1) as f64
}

/// What MEMORIES takes of a search by words (`COVERAGE` there): the best hit, if it has enough of the
/// question's words.
#[tokio::test]
async fn the_coverage_of_a_hit_tells_evidence_from_other_talk() {
    const ENOUGH: f32 = 0.35;
    let store = Database::in_memory().await.unwrap();
    let filled = Filled::new(Arc::new(store), Set::load()).await.unwrap();
    let by_words = search(true, false, true, Fusion::default());
    // Shown evidence of those whose words the evidence has, and what is shown where there is none.
    let (mut evidence, mut other, mut all_other) = (Vec::new(), Vec::new(), Vec::new());
    for (n, question) in filled.questions().iter().enumerate() {
        if question.kind == "words" {
            let best =
                async |least, before| filled.best(n, &by_words, least, before).await.unwrap();
            evidence
                .push(best(ENOUGH, false).await.first().is_some_and(|is_evidence| *is_evidence));
            other.push(!best(ENOUGH, true).await.is_empty());
            all_other.push(!best(0.0, true).await.is_empty());
        }
    }
    let [evidence, other, all_other] = [evidence, other, all_other].map(|of| share(&of));
    println!("evidence shown {evidence:.3}; without evidence {other:.3}, of {all_other:.3}");
    assert!(evidence >= 0.9, "{evidence}");
    // 0.408 in November 2026; the question set has 122 of them.
    assert!(other <= 0.42 * all_other, "{other} of {all_other}");
}
