//! Parses a model's reflection leniently: accepts nested lists, and skips invalid items.

use serde_json::Value;

/// Maximum number of JSON objects tried in an answer.
const MOST_TRIED: usize = 16;

/// Facts and relationships learnt.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Lesson {
    pub(super) facts: Vec<Fact>,
    pub(super) ties: Vec<Tie>,
}

/// One sentence about a person; about the speaker if `about` is empty.
#[derive(Debug, PartialEq)]
pub(super) struct Fact {
    pub(super) about: String,
    pub(super) text: String,
}

/// A relationship of two people, by their names.
#[derive(Debug, PartialEq)]
pub(super) struct Tie {
    pub(super) from: String,
    pub(super) to: String,
    pub(super) tags: Vec<String>,
}

/// The first object in an answer that contains facts or relationships. Skips reasoning before it
/// and text around it.
pub(super) fn read(answer: &str) -> Lesson {
    let answer = ["</think>", "</thinking>"]
        .iter()
        .filter_map(|tag| answer.rfind(tag).map(|at| at + tag.len()))
        .max()
        .map_or(answer, |at| &answer[at..]);
    let starts = answer.match_indices('{').map(|(at, _)| at).take(MOST_TRIED);
    let objects = starts.filter_map(|at| {
        serde_json::Deserializer::from_str(&answer[at..]).into_iter::<Value>().next()?.ok()
    });
    objects.filter_map(|value| lesson(&value)).next().unwrap_or_default()
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

fn fact(value: &Value) -> Option<Fact> {
    if let Some(text) = value.as_str() {
        return Some(Fact { about: String::new(), text: text.to_owned() });
    }
    let text = word(value, &["fact", "claim", "text"])?;
    // elizaOS lets the model decide which facts are new.
    if value.get("already_known").or_else(|| value.get("alreadyKnown")) == Some(&Value::Bool(true))
    {
        return None;
    }
    Some(Fact { about: word(value, &["about", "speaker", "name"]).unwrap_or_default(), text })
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nested_json_is_read_through_words_and_reasoning() {
        let lesson = read(
            "<think>{\"facts\": [\"wrong\"]}</think>Sure {here}!\n```json\n{\"facts\": [{\"about\": \"Maria\", \"fact\": \"likes tea\"}, 7, {\"fact\": \"\"}, \
             {\"claim\": \"old\", \"already_known\": true}, \"plain\"], \"relationships\": [{\"from\": \"a\", \"to\": \"b\", \"tags\": [\"friend\", 1]}, {\"from\": \"a\"}]}\n```",
        );
        assert_eq!(
            lesson.facts,
            [
                Fact { about: "Maria".into(), text: "likes tea".into() },
                Fact { about: String::new(), text: "plain".into() }
            ]
        );
        assert_eq!(
            lesson.ties,
            [Tie { from: "a".into(), to: "b".into(), tags: vec!["friend".into()] }]
        );
    }

    #[test]
    fn nonsense_teaches_nothing() {
        for answer in [
            "",
            "}{",
            "no idea",
            "{\"facts\": 3}",
            "{\"a\": {}}",
            "{\"facts\": [{\"about\": \"x\"",
            &"{".repeat(100_000),
        ] {
            assert_eq!(read(answer), Lesson::default(), "{:.40}", answer);
        }
    }
}
