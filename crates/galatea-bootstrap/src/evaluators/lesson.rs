//! Parses a model's reflection leniently: accepts nested lists, and skips invalid items.

use galatea_core::{
    mended_json,
    model::{Finish, TextAnswer, object},
};
use serde_json::{Map, Value};

/// Maximum number of JSON objects tried in an answer.
const MOST_TRIED: usize = 16;
/// Maximum number of messages that one fact names as its evidence.
const MOST_EVIDENCE: usize = 8;

/// Facts and relationships learnt.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Lesson {
    pub(super) facts: Vec<LearntFact>,
    pub(super) ties: Vec<Tie>,
}

/// A sentence about a person; about the author of the evidence if `about` is empty.
#[derive(Debug, PartialEq)]
pub(super) struct LearntFact {
    pub(super) about: String,
    pub(super) text: String,
    /// Numbers of the messages that say it.
    pub(super) evidence: Vec<usize>,
    pub(super) relation: Relation,
}

/// Relation of a learnt fact to the known facts of the question, by their numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Relation {
    /// New: no known fact says the same or the opposite.
    New,
    /// A known fact was said again.
    Confirms(usize),
    /// A known fact no longer holds.
    Replaces(usize),
}

/// A relationship of two people, by their names.
#[derive(Debug, PartialEq)]
pub(super) struct Tie {
    pub(super) from: String,
    pub(super) to: String,
    pub(super) tags: Vec<String>,
}

/// The first object in an answer that contains facts or relationships. Skips reasoning before it
/// and text around it, and mends broken JSON.
///
/// # Errors
/// What is wrong with the answer, for the model.
pub(super) fn read(answer: &TextAnswer) -> Result<Lesson, Vec<String>> {
    let cut = answer.finish == Finish::Length;
    let answer = answer.text.as_str();
    let answer = ["</think>", "</thinking>"]
        .iter()
        .filter_map(|tag| answer.rfind(tag).map(|at| at + tag.len()))
        .max()
        .map_or(answer, |at| &answer[at..]);
    let starts = || answer.match_indices('{').map(|(at, _)| at).take(MOST_TRIED);
    let sound = |at: usize| {
        serde_json::Deserializer::from_str(&answer[at..]).into_iter::<Value>().next()?.ok()
    };
    if let Some(lesson) = starts().filter_map(sound).find_map(|value| lesson(&value)) {
        return Ok(lesson);
    }
    // The last fact of an answer that was cut off may be half a sentence.
    if cut {
        return Err(object::cut_off());
    }
    let mended = starts().map(|at| mended_json::value_at(&answer[at..]).value);
    let mut objects = mended.filter(Value::is_object).peekable();
    if objects.peek().is_none() {
        return Err(object::no_json());
    }
    if let Some(lesson) = objects.find_map(|value| lesson(&value)) {
        return Ok(lesson);
    }
    // An empty object says that there is nothing to learn.
    if starts().filter_map(sound).any(|value| value.as_object().is_some_and(Map::is_empty)) {
        return Ok(Lesson::default());
    }
    Err(vec!["the answer: has neither `facts` nor `relationships` as a list".to_owned()])
}

fn lesson(value: &Value) -> Option<Lesson> {
    let inner = value
        .get("response")
        .or_else(|| value.get("reflection"))
        .filter(|v| v.is_object())
        .unwrap_or(value);
    let list = |key: &str| inner.get(key).and_then(Value::as_array);
    let (facts, ties) = (list("facts"), list("relationships"));
    if facts.is_none() && ties.is_none() {
        return None;
    }
    Some(Lesson {
        facts: facts.into_iter().flatten().filter_map(fact).collect(),
        ties: ties.into_iter().flatten().filter_map(tie).collect(),
    })
}

/// A fact without evidence is nothing that a person said.
fn fact(value: &Value) -> Option<LearntFact> {
    let text = word(value, &["fact", "claim", "text"])?;
    // elizaOS lets the model decide which facts are new.
    if value.get("already_known").or_else(|| value.get("alreadyKnown")) == Some(&Value::Bool(true))
    {
        return None;
    }
    let mut evidence = numbers(value, &["evidence", "from", "message", "messages"]);
    evidence.truncate(MOST_EVIDENCE);
    if evidence.is_empty() {
        return None;
    }
    let known = |keys: &[&str]| numbers(value, keys).first().copied();
    let relation = known(&["replaces", "updates", "supersedes"])
        .map(Relation::Replaces)
        .or_else(|| known(&["confirms"]).map(Relation::Confirms))
        .unwrap_or(Relation::New);
    let about = word(value, &["about", "speaker", "name"]).unwrap_or_default();
    Some(LearntFact { about, text, evidence, relation })
}

fn tie(value: &Value) -> Option<Tie> {
    let tags = value
        .get("tags")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .map(str::to_owned)
        .collect();
    Some(Tie {
        from: word(value, &["from", "source", "sourceEntityId"])?,
        to: word(value, &["to", "target", "targetEntityId"])?,
        tags,
    })
}

fn word(value: &Value, keys: &[&str]) -> Option<String> {
    keys.iter()
        .find_map(|key| value.get(key)?.as_str())
        .map(|text| text.trim().to_owned())
        .filter(|text| !text.is_empty())
}

/// The numbers under the first of these keys: 3, "3", "m3", "k3", or a list of them.
fn numbers(value: &Value, keys: &[&str]) -> Vec<usize> {
    let Some(value) = keys.iter().find_map(|key| value.get(key)) else { return Vec::new() };
    let items = value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice);
    items.iter().filter_map(number).collect()
}

fn number(value: &Value) -> Option<usize> {
    match value {
        Value::Number(number) => number.as_u64().and_then(|n| usize::try_from(n).ok()),
        Value::String(text) => text.trim().trim_start_matches(['m', 'k', '#']).parse().ok(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(text: &str) -> TextAnswer {
        TextAnswer { text: text.to_owned(), ..TextAnswer::default() }
    }

    fn read(text: &str) -> Lesson {
        super::read(&answer(text)).unwrap()
    }

    fn learnt(about: &str, text: &str, evidence: &[usize], relation: Relation) -> LearntFact {
        LearntFact { about: about.into(), text: text.into(), evidence: evidence.into(), relation }
    }

    #[test]
    fn nested_json_is_read_through_words_and_reasoning() {
        let lesson = read(
            "<think>{\"facts\": [\"wrong\"]}</think>Sure {here}!\n```json\n{\"facts\": [{\"about\": \"Maria\", \"fact\": \"likes tea\", \"evidence\": [3]}, 7, {\"fact\": \"\"}, \
             {\"claim\": \"old\", \"already_known\": true, \"evidence\": 1}, {\"fact\": \"plain\", \"evidence\": \"m2\"}, \"a sentence\"], \
             \"relationships\": [{\"from\": \"a\", \"to\": \"b\", \"tags\": [\"friend\", 1]}, {\"from\": \"a\"}]}\n```",
        );
        assert_eq!(
            lesson.facts,
            [
                learnt("Maria", "likes tea", &[3], Relation::New),
                learnt("", "plain", &[2], Relation::New)
            ]
        );
        assert_eq!(
            lesson.ties,
            [Tie { from: "a".into(), to: "b".into(), tags: vec!["friend".into()] }]
        );
    }

    #[test]
    fn a_fact_says_what_it_stands_on_and_what_it_replaces() {
        let lesson = read(
            r#"{"facts": [{"fact": "a", "evidence": ["m1", 2, "x", -3], "replaces": "k4"}, {"fact": "b", "evidence": 1, "confirms": 2},
            {"fact": "c", "evidence": [], "confirms": 2}, {"fact": "d"}, {"fact": "e", "evidence": 1, "replaces": null, "confirms": 0}]}"#,
        );
        assert_eq!(
            lesson.facts,
            [
                learnt("", "a", &[1, 2], Relation::Replaces(4)),
                learnt("", "b", &[1], Relation::Confirms(2)),
                learnt("", "e", &[1], Relation::Confirms(0)),
            ],
            "c and d have no evidence"
        );
    }

    #[test]
    fn an_empty_answer_teaches_nothing_and_nonsense_is_told_apart() {
        for nothing in ["{}", "Nothing: {} .", "{\"facts\": []}", "{\"facts\": [{\"about\": \"x\""]
        {
            assert_eq!(read(nothing), Lesson::default(), "{nothing}");
        }
        let wrong = |answer: &TextAnswer| super::read(answer).unwrap_err().join(" ");
        for text in ["", "no idea"] {
            assert_eq!(wrong(&answer(text)), "the answer: holds no JSON", "{text}");
        }
        for text in ["}{", "{\"facts\": 3}", "{\"a\": {\"b\": 1}}", &"{".repeat(100_000)] {
            assert!(wrong(&answer(text)).contains("`facts`"), "{text:.40}");
        }
        let half = "{\"facts\": [{\"fact\": \"Bob has a c";
        let cut = TextAnswer { finish: Finish::Length, ..answer(half) };
        assert!(wrong(&cut).contains("cut off"));
    }

    #[test]
    fn broken_json_is_mended() {
        let broken =
            "{'facts': [{\"about\": \"Maria\", \"fact\": \"likes tea\", \"evidence\": [3],},],}";
        assert_eq!(read(broken).facts, [learnt("Maria", "likes tea", &[3], Relation::New)]);
    }
}
