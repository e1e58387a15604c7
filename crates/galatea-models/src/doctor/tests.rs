//! Tests of ELIZA's famous behaviour, with the built-in rules and with small scripts.

use super::*;
use proptest::prelude::*;

fn built_in() -> OfflineModel {
    OfflineModel::new(Script::built_in().unwrap())
}

fn script(text: &str) -> OfflineModel {
    OfflineModel::new(Script::parse(text).unwrap())
}

fn fault(text: &str) -> (String, String, String) {
    let error = Script::parse(text).unwrap_err();
    let of = |key: &str| error.context().iter().find(|(k, _)| *k == key).unwrap().1.clone();
    (error.message().to_owned(), of("line"), of("column"))
}

#[test]
fn the_built_in_rules_are_rich() {
    let script = Script::built_in().unwrap();
    assert!(script.rules.len() >= 60, "{} keywords with rules of their own", script.rules.len());
    assert!(script.keywords() >= 150, "{} words", script.keywords());
    assert!(script.none.len() >= 5);
}

#[test]
fn a_conversation() {
    let model = built_in();
    let turns = [
        "hello",
        "my build is broken",
        "because nobody reads the logs",
        "I am sad about it",
        "What is love?",
        "qwertz",
    ];
    let answers: Vec<String> =
        (1..=turns.len()).map(|n| model.answer(turns[..n].iter().copied())).collect();
    assert_eq!(
        answers,
        [
            "Hello. What would you like to talk about?",
            "Tell me more about your build.",
            "Is that the real reason?",
            "I am sorry to hear that. What has made you sad?",
            "Tell me more about love.",
            "Earlier you spoke of your build. What about that?",
        ]
    );
}

#[test]
fn family_is_remembered_and_comes_back_when_nothing_matches() {
    let model = built_in();
    let turns = ["My mother never listens to me", "the sky", "xyzzy"];
    assert_eq!(
        model.answer(turns[..1].iter().copied()),
        "What else comes to mind when you think of your mother?"
    );
    assert_eq!(
        model.answer(turns[..2].iter().copied()),
        "Earlier you mentioned your mother. Does this have to do with that?"
    );
    assert_eq!(model.answer(turns), "Please go on.", "a topic comes back once");
}

#[test]
fn words_are_turned_around_and_keep_their_case() {
    let model = built_in();
    assert_eq!(
        model.answer(["I love my friend Bob"]),
        "What do you love most about your friend Bob?"
    );
    assert_eq!(model.answer(["you are Nice to me"]), "What makes you think I am Nice to you?");
    assert_eq!(
        model.answer(["I remember the day I met you"]),
        "What brings the day you met me to mind just now?"
    );
    assert_eq!(
        model.answer(["I can’t find myself"]),
        "What would happen if you could find yourself?"
    );
}

const RANKS: &str = "greeting: Hi.
key 1: low
  match: 0
    say: low
key 5: high
  match: 0 high 0
    say: high {3}
  match: nothing
    say: never
key 9: skips
  match: 0
    next
none:
  say: none
";

#[test]
fn the_highest_rank_wins_wherever_it_stands() {
    let model = script(RANKS);
    assert_eq!(model.answer(["low then high up"]), "High up");
    assert_eq!(model.answer(["low. and high noon"]), "High noon", "also in a later clause");
    assert_eq!(model.answer(["high"]), "None", "an empty part cannot be quoted");
    assert_eq!(model.answer(["low high"]), "Low", "then the next keyword is used");
    assert_eq!(model.answer(["skips low"]), "Low", "NEWKEY");
}

#[test]
fn answers_take_turns_and_go_round() {
    let model = script(
        "greeting: Hi.\nkey: a\n match: 0\n  say: one\n  say: two\n  say: three\nnone:\n say: none",
    );
    let turns = ["a"; 5];
    let answers: Vec<String> = (1..=5).map(|n| model.answer(turns[..n].iter().copied())).collect();
    assert_eq!(answers, ["One", "Two", "Three", "One", "Two"]);
}

#[test]
fn goto_restate_classes_numbers_and_substitution() {
    let model = script(
        "greeting: Hi.
        pre: i'm = i am
        post: my = your
        class PET: cat, dog
        key 3: why
          match: 0 why can't i 0
            restate: i can't {5} => can't
          match: 0
            goto: what
        key: can't
          match: i can't 0
            say: What if you could {3}?
        key: what
          match: 0
            say: You ask.
        key: am
          match: i am 2
            say: two words: {3}
          match: i am 0
            say: more: {3}
        key: my
          match: 0 my (/PET) 0
            say: a pet, {3}
          match: 0 my (*car bike) 0
            say: a ride, {3}
        none:
          say: none",
    );
    let cases = [
        ("Why can't I feed my cat", "What if you could feed your cat?"),
        ("why not", "You ask."),
        ("I'm very late", "Two words: very late"),
        ("i'm late", "More: late"),
        ("my Dog barks", "A pet, Dog"),
        ("my bike", "A ride, bike"),
        ("my house", "None"),
    ];
    for (said, expected) in cases {
        assert_eq!(model.answer([said]), expected, "{said}");
    }
}

#[test]
fn circles_in_a_script_end() {
    let model = script(
        "greeting: Hi.\nkey: a\n match: 0\n  goto: b\nkey: b\n match: 0\n  goto: a\nnone:\n say: none",
    );
    assert_eq!(model.answer(["a"]), "None");
    let model =
        script("greeting: Hi.\nkey: a\n match: 0\n  restate: {1} {1} {1} => a\nnone:\n say: none");
    assert_eq!(model.answer(["a b c d e f"]), "None");
}

#[test]
fn several_messages_at_once_are_each_answered() {
    let model = built_in();
    assert_eq!(
        model.answer(["hi\nmy sister is ill\n\nthanks"]),
        "Hello. What would you like to talk about?\nTell me more about your sister.\nYou are welcome. What comes next?"
    );
    let long = "line with my dog\n".repeat(30);
    assert_eq!(model.answer([long.as_str()]).lines().count(), 1, "a long text is one message");
}

#[test]
fn greeting_farewell_and_silence() {
    let model = built_in();
    assert_eq!(model.answer([]), "Hello. What is on your mind?");
    assert_eq!(model.answer(["", "  "]).lines().count(), 1);
    assert_eq!(model.answer(["bye"]), "Goodbye. Come back whenever you like.");
    assert_eq!(model.answer(["bye bye", "goodbye!"]), "Take care. I will be here.");
    assert_ne!(
        model.answer(["we said goodbye to my old dog"]),
        "Goodbye. Come back whenever you like.",
        "a sentence about a farewell is not a farewell"
    );
}

#[test]
fn the_same_is_not_said_twice_in_a_row() {
    let model = built_in();
    let mut turns: Vec<&str> = Vec::new();
    let mut last = String::new();
    for turn in [
        "zzz", "zzz", "hello", "hi", "zzz", "my cat", "zzz", "zzz", "sorry", "sorry", "sorry",
        "sorry",
    ] {
        turns.push(turn);
        let answer = model.answer(turns.iter().copied());
        assert_ne!(answer, last);
        last = answer;
    }
}

#[tokio::test]
async fn the_newest_message_is_answered_and_a_restart_changes_nothing() {
    use galatea_core::model::ChatMessage;
    let request = TextRequest {
        system: Some("You are a pirate.".to_owned()),
        messages: vec![
            ChatMessage::user("my boat sank"),
            ChatMessage::assistant("whatever"),
            ChatMessage::user("hmm"),
        ]
        .into(),
        stream: true,
        ..TextRequest::default()
    };
    let shown = std::sync::Mutex::new(Vec::new());
    let on_text = |text: &str| shown.lock().unwrap().push(text.to_owned());
    let first = built_in().generate(&request, &on_text).await.unwrap();
    let second = built_in().generate(&request, &on_text).await.unwrap();
    assert_eq!(first.text, "Earlier you spoke of your boat. What about that?");
    assert_eq!(first, second);
    assert_eq!(*shown.lock().unwrap(), [first.text.clone(), first.text]);
    assert!(built_in().info().scripted);
}

#[test]
fn mistakes_are_reported_with_line_and_column() {
    let ok = "greeting: Hi.\nnone:\n  say: none\n";
    Script::parse(ok).unwrap();
    let cases = [
        ("greeting: Hi.\nnone:\n  say:", "3", "7", "missing"),
        ("greeting: Hi.\n  shout: x", "2", "3", "unknown directive `shout`"),
        ("what is this", "1", "1", "expected a directive"),
        ("key: a\n match: 0 (x) 0", "2", "11", "(*word word)"),
        ("key: a\n match: 0 (*x", "2", "11", "`(` without `)`"),
        ("key: a\n match: 0 x\n  say: what {3}?", "3", "13", "has 2 elements"),
        ("key: a\n match: 0\n  say: ä {x}", "3", "10", "number"),
        ("key: a\n match: 0\n  goto: b", "3", "9", "no keyword `b`"),
        ("key: a\n match: 0 (/CATS)\n  say: x", "2", "11", "no class `CATS`"),
        ("key high: a", "1", "11", "whole number"),
        ("say: x", "1", "1", "belongs under a `match`"),
        ("match: x", "1", "8", "belongs under"),
        ("key: a\nkey: a", "2", "6", "rules already"),
        ("key: b = a", "1", "10", "no keyword `a`"),
        ("pre: x", "1", "6", "expected"),
        ("key: a\n match: 99\n  say: x", "2", "9", "at most"),
        ("none:\n say: x", "2", "1", "no `greeting`"),
        ("greeting: x", "1", "1", "no `none`"),
        ("greeting: x\nkey: a\nnone:\n say: x", "4", "1", "`a` lack"),
    ];
    for (text, line, column, what) in cases {
        let told = fault(text);
        assert!(told.0.contains(what), "{text:?}: {told:?}");
        assert_eq!((told.1.as_str(), told.2.as_str()), (line, column), "{text:?}: {told:?}");
    }
}

proptest! {
    #[test]
    fn never_panics_and_never_empty(turns in proptest::collection::vec(any::<String>(), 0..5)) {
        let answer = built_in().answer(turns.iter().map(String::as_str));
        prop_assert!(!answer.trim().is_empty());
    }

    #[test]
    fn words_of_the_rules_in_any_order(picks in proptest::collection::vec(0_usize..10_000, 1..40)) {
        let words: Vec<String> = Script::built_in().unwrap().keys.into_keys().collect();
        let text: Vec<&str> = picks.iter().map(|n| words[n % words.len()].as_str()).collect();
        let answer = built_in().answer([text.join(" ").as_str()]);
        prop_assert!(!answer.trim().is_empty());
        let unfilled = answer.contains('{');
        prop_assert!(!unfilled);
    }

    #[test]
    fn any_text_as_a_script_is_refused_or_works(text in "(greeting: x\n|none:\n|say: [a{}1]*\n|key: [ab]\n|match: [0ab()*/ ]*\n|next\n|goto: [ab]\n|pre: a = b\n|.*\n){0,12}") {
        if let Ok(script) = Script::parse(&text) {
            prop_assert!(!OfflineModel::new(script).answer(["a b a", "b"]).is_empty());
        }
    }
}
