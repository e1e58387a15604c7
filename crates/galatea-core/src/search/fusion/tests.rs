//! The order that fusion makes of candidates.

use super::*;

fn candidate(key: u32, words: Option<f32>, meaning: Option<f32>) -> Candidate<u32> {
    let coverage = words.unwrap_or(0.0) / 10.0;
    Candidate { key, words, coverage, meaning, neighbours: [None, None], named: false, age: 0 }
}

fn plain(method: Method, meaning: f32) -> Fusion {
    Fusion { method, meaning, neighbours: 0.0, named: 0.0, half_life: None }
}

fn keys(fused: &[Fused<u32>]) -> Vec<u32> {
    fused.iter().map(|fused| fused.key).collect()
}

#[test]
fn words_alone_and_meaning_alone_keep_their_order() {
    let all = [
        candidate(1, Some(9.0), Some(0.1)),
        candidate(2, Some(3.0), Some(0.9)),
        candidate(3, None, Some(0.5)),
    ];
    for method in [Method::Scores, Method::Ranks] {
        assert_eq!(keys(&fuse(&all, &plain(method, 0.0))), [1, 2], "{method:?}");
        assert_eq!(keys(&fuse(&all, &plain(method, 1.0)))[..2], [2, 3], "{method:?}");
    }
}

#[test]
fn what_has_no_embedding_yet_ranks_by_its_words() {
    let all = [
        candidate(1, Some(9.0), None),
        candidate(2, Some(1.0), Some(0.9)),
        candidate(3, None, Some(0.5)),
        candidate(4, Some(1.0), None),
        candidate(5, None, None),
    ];
    for method in [Method::Scores, Method::Ranks] {
        let order = keys(&fuse(&all, &plain(method, 0.6)));
        assert_eq!((order[0], order.len()), (1, 4), "{method:?}: {order:?}");
    }
    assert_eq!(keys(&fuse(&all, &plain(Method::Scores, 0.6))), [1, 2, 4, 3]);
}

#[test]
fn one_ordinary_word_is_not_as_good_as_the_best_meaning() {
    let all = [
        candidate(1, Some(0.3), None),
        candidate(2, None, Some(0.9)),
        candidate(3, None, Some(0.2)),
    ];
    assert_eq!(keys(&fuse(&all, &plain(Method::Scores, 0.6)))[0], 2);
}

#[test]
fn scores_see_how_much_better_a_hit_is() {
    // By words the first is far ahead; by meaning the others are a little ahead.
    let all = [
        candidate(1, Some(10.0), Some(0.70)),
        candidate(2, Some(1.0), Some(0.72)),
        candidate(3, Some(0.9), Some(0.71)),
        candidate(4, None, Some(0.1)),
    ];
    assert_eq!(keys(&fuse(&all, &plain(Method::Scores, 0.5)))[0], 1);
    let by_ranks = fuse(&all, &plain(Method::Ranks, 0.5));
    assert_eq!(keys(&by_ranks)[0], 2, "ranks do not");
    assert_eq!(by_ranks[0].words, Some(Ranked { rank: 2, score: 1.0 }));
    assert_eq!(by_ranks[0].meaning, Some(Ranked { rank: 1, score: 0.72 }));
}

#[test]
fn a_neighbour_of_a_hit_rises_with_it() {
    let mut all =
        [candidate(1, Some(5.0), None), candidate(2, None, None), candidate(3, None, None)];
    all[1].neighbours = [Some(1), None];
    let fusion = Fusion { neighbours: 0.3, ..plain(Method::Scores, 0.0) };
    assert_eq!(keys(&fuse(&all, &fusion)), [1, 2], "the third matches in no way");
}

#[test]
fn a_named_person_rises_but_never_without_a_match() {
    let mut all =
        [candidate(1, Some(5.0), None), candidate(2, Some(4.9), None), candidate(3, None, None)];
    all[1].named = true;
    all[2].named = true;
    let fusion = Fusion { named: 0.1, ..plain(Method::Scores, 0.0) };
    assert_eq!(keys(&fuse(&all, &fusion)), [2, 1]);
}

#[test]
fn what_a_named_person_said_of_something_else_stays_behind_the_best() {
    let mut all = [(1, 1.0), (2, 0.6), (3, 0.25), (4, 0.0)]
        .map(|(key, meaning)| candidate(key, None, Some(meaning)));
    (all[2].named, all[3].named) = (true, true);
    assert_eq!(keys(&fuse(&all, &Fusion::default())), [1, 2, 3, 4]);
    all[1].named = true;
    assert_eq!(keys(&fuse(&all, &Fusion::default()))[0], 2, "it is nearly as good");
}

#[test]
fn what_has_all_words_is_a_hit_though_the_model_takes_it_for_unrelated() {
    let mut all: Vec<Candidate<u32>> =
        [1.0, 0.9, 0.8].map(|meaning| candidate(2, None, Some(meaning))).into();
    all.push(Candidate { coverage: 1.0, ..candidate(1, Some(3.0), Some(0.1)) });
    assert_eq!(keys(&fuse(&all, &Fusion::default()))[0], 1);
    all[3].coverage = 0.2;
    assert_eq!(keys(&fuse(&all, &Fusion::default()))[0], 2, "one ordinary word is not enough");
}

#[test]
fn age_counts_only_if_wanted() {
    let mut all = [candidate(1, Some(5.0), None), candidate(2, Some(4.0), None)];
    all[0].age = 10 * 86_400_000;
    let plain = plain(Method::Scores, 0.0);
    assert_eq!(keys(&fuse(&all, &plain)), [1, 2]);
    let decaying = Fusion { half_life: Some(Duration::from_secs(10 * 86_400)), ..plain };
    let fused = fuse(&all, &decaying);
    assert_eq!(keys(&fused), [2, 1]);
    assert!((fused[1].score - 0.5).abs() < 1e-6, "half after its half-life: {}", fused[1].score);
    all[0].age = i64::MIN;
    assert_eq!(keys(&fuse(&all, &decaying)), [1, 2], "a clock that went back");
}

#[test]
fn nothing_and_equals() {
    assert!(fuse::<u32>(&[], &Fusion::default()).is_empty());
    let all = [candidate(1, None, Some(0.5)), candidate(2, None, Some(0.5))];
    assert_eq!(keys(&fuse(&all, &Fusion::default())), [1, 2]);
}

/// A question that names one person may ask for what another one said.
#[test]
fn the_bonus_for_names_leaves_the_best_of_others_near_the_top() {
    let mut all: Vec<Candidate<u32>> =
        (1..=20).map(|n| Candidate { named: true, ..candidate(n, Some(5.0), None) }).collect();
    all.push(candidate(99, Some(8.0), None));
    all.push(candidate(98, Some(7.0), None));
    let fused = fuse(&all, &Fusion { neighbours: 0.0, ..Fusion::default() });
    let place = |key: u32| keys(&fused).iter().position(|of| *of == key).unwrap();
    assert_eq!((place(99), place(98), fused.len()), (2, 5, 22), "{:?}", keys(&fused));
    assert!(fused.is_sorted_by(|a, b| a.score >= b.score));
    // Where none is named, nothing changes.
    all.iter_mut().for_each(|candidate| candidate.named = false);
    assert_eq!(keys(&fuse(&all, &Fusion::default()))[..2], [99, 98]);
}
