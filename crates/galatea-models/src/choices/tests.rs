//! Tests of stored choices: what is stored, when it changes, and the effect of a broken file.

use super::*;
use time::macros::date;

const SERVICE: &str = "openai https://api.openai.com/v1";

fn reading<'a>(list: &'a [ListedModel], open: &'a [Role], in_use: &'a [String]) -> ListReading<'a> {
    ListReading {
        service: SERVICE,
        provider: "openai",
        list,
        open,
        in_use,
        any: false,
        today: date!(2026 - 11 - 23),
    }
}

fn listed(ids: &[&str]) -> Vec<ListedModel> {
    ids.iter().map(|id| ListedModel::of(id)).collect()
}

fn small(choices: &Choices) -> Option<String> {
    choices.chosen(SERVICE, Role::Small).map(|(model, _)| model)
}

#[test]
fn a_choice_stays_until_it_is_gone_refused_or_asked_for_and_outlives_the_process() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("models.json");
    let choices = Choices::open(path.clone());
    let take = |choices: &Choices, ids: &[&str], when| {
        choices.apply(&reading(&listed(ids), &[Role::Small], &[]), when).unwrap()
    };
    assert_eq!(small(&choices), None);
    let made = take(&choices, &["gpt-6-luna"], When::Needed);
    assert_eq!((made.len(), made[0].from.as_deref(), made[0].to.as_str()), (1, None, "gpt-6-luna"));

    let choices = Choices::open(path.clone());
    assert_eq!(
        choices.chosen(SERVICE, Role::Small),
        Some(("gpt-6-luna".to_owned(), "2026-11-23".to_owned()))
    );
    assert_eq!(
        take(&choices, &["gpt-6-luna", "gpt-6.1-luna"], When::Needed),
        [],
        "a newer model alone does not cause a change"
    );
    let made = take(&choices, &["gpt-6-luna", "gpt-6.1-luna"], When::Now);
    assert_eq!(
        (made[0].from.as_deref(), made[0].to.as_str()),
        (Some("gpt-6-luna"), "gpt-6.1-luna")
    );
    assert_eq!(take(&choices, &["gpt-7-luna"], When::Needed)[0].to, "gpt-7-luna", "gone");
    choices.refused(SERVICE, "gpt-7-luna");
    assert_eq!(
        take(&choices, &["gpt-7-luna", "gpt-6-luna"], When::Needed)[0].to,
        "gpt-6-luna",
        "listed, yet refused"
    );
    assert_eq!(
        take(&choices, &["whisper-1"], When::Needed),
        [],
        "no model fits, so the choice stays"
    );
    assert_eq!(small(&Choices::open(path)), Some("gpt-6-luna".to_owned()));
}

#[test]
fn a_named_model_is_never_replaced_but_its_facts_are_kept() {
    let choices = Choices::default();
    let mut list = listed(&["gpt-6-luna", "own"]);
    list[1].facts.limits.window = Some(8_192);
    let made = choices.apply(&reading(&list, &[], &["own".to_owned()]), When::Now).unwrap();
    assert_eq!((made, small(&choices)), (Vec::new(), None));
    assert_eq!(choices.facts(SERVICE, "own").unwrap().limits.window, Some(8_192));
    assert_eq!(choices.missing(SERVICE, "own"), None);
    choices
        .apply(&reading(&listed(&["gpt-6-luna"]), &[], &["gpt-5-luna".to_owned()]), When::Needed)
        .unwrap();
    assert_eq!(
        choices.missing(SERVICE, "gpt-5-luna"),
        Some(vec!["gpt-6-luna".to_owned()]),
        "for the next start's banner"
    );
    choices
        .apply(&reading(&listed(&["gpt-5-luna"]), &[], &["gpt-5-luna".to_owned()]), When::Needed)
        .unwrap();
    assert_eq!(choices.missing(SERVICE, "gpt-5-luna"), None);
    choices.apply(&reading(&list, &[], &["own".to_owned()]), When::Now).unwrap();
    assert_eq!(choices.like(SERVICE, "gpt-5-luna")[0], "gpt-6-luna");
}

#[test]
fn a_broken_file_is_as_good_as_none_and_one_that_cannot_be_written_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("models.json");
    for text in ["", "{", "[]", "{\"services\":7}"] {
        std::fs::write(&path, text).unwrap();
        assert_eq!(small(&Choices::open(path.clone())), None, "{text}");
    }
    let nowhere = Choices::open(folder.path().join("gone").join("models.json"));
    assert!(
        nowhere
            .apply(&reading(&listed(&["gpt-6-luna"]), &[Role::Small], &[]), When::Needed)
            .is_err()
    );
    assert_eq!(
        small(&nowhere).as_deref(),
        Some("gpt-6-luna"),
        "the choice applies until the process ends"
    );
    assert_eq!(
        std::fs::read_dir(folder.path()).unwrap().count(),
        1,
        "no partial file is left behind"
    );
}
