//! Finds the people whom a question names. A pure function, so that prompts, the command line and
//! the measurement of `docs/search.md` find the same.

use std::{
    borrow::Cow,
    collections::{BTreeMap, HashSet},
};

use super::script::is_unspaced;
use crate::ids::EntityId;

/// Names that are looked for in one question. A comparison costs less than a microsecond, and a
/// person waits for the search.
pub const MOST_KNOWN: usize = 1_000;
/// People whom one question can name: one that names more is about none of them, and each candidate
/// of a search is compared with all.
const MOST_NAMED: usize = 16;
/// Shortest name, in letters and digits. Shorter ones are usually words ("no", "me").
const SHORTEST: usize = 3;
/// Words of the longest name that is looked for. Each character of a script without spaces is one.
const WORDS: usize = 12;
/// Places of a question at which a name is looked for. Only texts that repeat a word have more.
const PLACES: usize = 8;

/// The people whom a question names.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Named {
    /// The people, at most 16, in the order in which they were given.
    pub people: Vec<EntityId>,
    /// The names, as the question writes them.
    pub names: Vec<String>,
    /// Names by which it addresses the agent: it does not ask about these.
    pub addressed: Vec<String>,
}

impl Named {
    /// The agent is addressed by its names rather than asked about: neither its messages rise nor those
    /// to it.
    #[must_use]
    pub fn addressing<'a>(
        mut self,
        question: &str,
        agent: EntityId,
        names: impl IntoIterator<Item = &'a str>,
    ) -> Self {
        self.people.retain(|person| *person != agent);
        self.addressed = named(question, names.into_iter().map(|name| (agent, name))).names;
        self
    }
}

/// A word of a text, or one character of a script without spaces.
struct NameWord<'a> {
    start: usize,
    end: usize,
    lower: Cow<'a, str>,
}

/// A name that stands in a question: whose, and which of its words.
struct Match {
    person: EntityId,
    first: usize,
    last: usize,
}

/// The people whom a question names. `people` are those who may be seen where the search looks,
/// those who are present first: a name from elsewhere must not change what is found. The first
/// [`MOST_KNOWN`] are compared; a person may have several names.
///
/// A name counts as a whole word, in upper or lower case; in Chinese, Japanese, Korean and other
/// scripts without spaces anywhere. Of a name of several words the first one counts too, if it is
/// written with a capital letter inside of the question. Of names within each other the longest
/// counts; people of one name are all named. Names of fewer than three letters and names without a
/// letter are not looked for.
pub fn named<'a>(question: &str, people: impl IntoIterator<Item = (EntityId, &'a str)>) -> Named {
    let text: Vec<NameWord<'_>> = words(question).collect();
    // The words in order, each with its place: most questions are short, and most Rooms small.
    let mut places: Vec<(&str, usize)> =
        text.iter().enumerate().map(|(place, word)| (&*word.lower, place)).collect();
    places.sort_unstable();
    let capital = |word: &NameWord<'_>| {
        question
            .get(word.start..word.end)
            .and_then(|word| word.chars().next())
            .is_some_and(char::is_uppercase)
    };
    let mut found: Vec<Match> = Vec::new();
    for (person, name) in people.into_iter().take(MOST_KNOWN) {
        let parts: Vec<NameWord<'_>> = words(name).take(WORDS + 1).collect();
        let Some(given) = parts.first() else { continue };
        if parts.len() > WORDS || !is_name(&parts) {
            continue;
        }
        let from = places.partition_point(|(word, _)| **word < *given.lower);
        let same = places.iter().skip(from).take(PLACES);
        let same = same.take_while(|(word, _)| **word == *given.lower);
        for first in same.map(|(_, place)| *place) {
            let whole = parts
                .iter()
                .enumerate()
                .all(|(n, part)| text.get(first + n).is_some_and(|word| word.lower == part.lower));
            // A sentence begins with a capital letter whether or not a name does.
            let by_given_name = || {
                first > 0
                    && given.lower.chars().count() >= SHORTEST
                    && text.get(first).is_some_and(capital)
            };
            if whole {
                found.push(Match { person, first, last: first + parts.len() - 1 });
            } else if by_given_name() {
                found.push(Match { person, first, last: first });
            }
        }
    }
    // For each word the last one of the longest name that begins there or before.
    let mut longest: BTreeMap<usize, usize> = BTreeMap::new();
    for of in &found {
        let last = longest.entry(of.first).or_insert(of.last);
        *last = of.last.max(*last);
    }
    let mut end = None;
    for last in longest.values_mut() {
        *last = end.map_or(*last, |end: usize| end.max(*last));
        end = Some(*last);
    }
    let is_within = |of: &Match| {
        let before = longest.range(..of.first).next_back();
        let begins_there = longest.get(&of.first).is_some_and(|last| *last > of.last);
        begins_there || before.is_some_and(|(_, last)| *last >= of.last)
    };
    let mut named = Named::default();
    let (mut seen, mut written) = (HashSet::new(), HashSet::new());
    for of in found.iter().filter(|of| !is_within(of)) {
        if !seen.contains(&of.person) {
            if seen.len() == MOST_NAMED {
                continue;
            }
            seen.insert(of.person);
            named.people.push(of.person);
        }
        let name = text.get(of.first).zip(text.get(of.last));
        let name = name.and_then(|(first, last)| question.get(first.start..last.end));
        named.names.extend(name.filter(|name| written.insert(*name)).map(str::to_owned));
    }
    named
}

/// True if these words can be looked for. Platforms give numbers as names where they know no other.
fn is_name(words: &[NameWord<'_>]) -> bool {
    let letters =
        || words.iter().flat_map(|word| word.lower.chars()).filter(|c| c.is_alphanumeric());
    letters().nth(SHORTEST - 1).is_some() && letters().any(char::is_alphabetic)
}

/// The words of a text in lower case, with their places.
fn words(text: &str) -> impl Iterator<Item = NameWord<'_>> {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    let mut rest = 0;
    std::iter::from_fn(move || {
        let left = text.get(rest..)?;
        let start = rest + left.find(is_part)?;
        let left = text.get(start..)?;
        let first = left.chars().next()?;
        let long = if is_unspaced(first) {
            first.len_utf8()
        } else {
            left.find(|c| !is_part(c) || is_unspaced(c)).unwrap_or(left.len())
        };
        rest = start + long;
        let word = text.get(start..rest)?;
        let is_lower = word.bytes().all(|byte| byte.is_ascii() && !byte.is_ascii_uppercase());
        let lower = if is_lower { word.into() } else { word.to_lowercase().into() };
        Some(NameWord { start, end: rest, lower })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use uuid::Uuid;

    fn who(n: usize) -> EntityId {
        EntityId(Uuid::from_u128(n as u128))
    }

    /// The numbers of the people named, and the names.
    fn find(question: &str, people: &[&str]) -> (Vec<usize>, Vec<String>) {
        let all = people.iter().enumerate().map(|(n, name)| (who(n), *name));
        let named = named(question, all);
        let number = |id: &EntityId| usize::try_from(id.0.as_u128()).unwrap();
        (named.people.iter().map(number).collect(), named.names)
    }

    fn named_in(question: &str, people: &[&str]) -> Vec<usize> {
        find(question, people).0
    }

    #[test]
    fn a_name_counts_as_a_whole_word_in_any_case() {
        let people = ["Ann", "BOB", "Élodie", "maria_handle"];
        for (question, found) in [
            ("where does ann live?", vec![0]),
            ("ANN's and Bob’s bees", vec![0, 1]),
            ("(ann)", vec![0]),
            ("the banner, the annex, annual Bobby", vec![]),
            ("où est élodie ?", vec![2]),
            ("what did @maria_handle say", vec![3]),
            ("ann_other", vec![]),
            ("", vec![]),
        ] {
            assert_eq!(named_in(question, &people), found, "{question}");
        }
        assert_eq!(find("ANN, ann and bob", &people).1, ["ANN", "ann", "bob"], "as it is written");
    }

    #[test]
    fn names_of_several_words_are_found_whole_and_by_their_first() {
        let people = ["Ada Lovelace", "The Dude", "Jean-Luc  O'Neill", "Ada"];
        assert_eq!(find("is ada lovelace here", &people), (vec![0], vec!["ada lovelace".into()]));
        assert_eq!(named_in("where is Ada", &people), [0, 3]);
        assert_eq!(named_in("where is ada", &people), [3], "a first name has a capital letter");
        assert_eq!(named_in("The kettle is behind the door", &people), [] as [usize; 0]);
        assert_eq!(find("and Jean-Luc O'Neill?", &people).1, ["Jean-Luc O'Neill"]);
        assert_eq!(named_in("ada lovelace and ada", &people), [0, 3], "one inside, one alone");
        assert_eq!(named_in("lovelace ada", &people[..1]), [] as [usize; 0]);
    }

    #[test]
    fn the_longest_of_names_within_each_other_counts() {
        let people = ["Ann", "Ann Lee", "Lee Ann", "Ann Lee Smith"];
        assert_eq!(named_in("ann lee", &people), [1]);
        assert_eq!(named_in("ann lee smith", &people), [3]);
        assert_eq!(named_in("lee ann lee", &people), [1, 2], "they overlap");
    }

    #[test]
    fn people_of_one_name_are_all_named() {
        let (people, names) = find("what did Ann say?", &["Ann", "Bob", "ann", "🌸 Ann 🌸"]);
        assert_eq!((people, names), (vec![0, 2, 3], vec!["Ann".to_owned()]));
    }

    #[test]
    fn scripts_without_spaces_need_none_around_a_name() {
        let people = ["王小明", "Xin", "김민수", "さくら", "小明"];
        assert_eq!(find("王小明住在哪里？", &people), (vec![0], vec!["王小明".into()]));
        assert_eq!(named_in("医生说Xin妈妈的肩膀", &people), [1]);
        assert_eq!(named_in("어제 김민수가 말했어", &people), [2]);
        assert_eq!(named_in("さくらさんはどこ", &people), [3]);
        assert_eq!(named_in("小明住在哪里", &people), [] as [usize; 0], "two characters");
    }

    #[test]
    fn short_names_numbers_and_signs_name_no_person() {
        let people = ["Al", "no", "4711", ".*", "[a-z]+", "(", "🌸", "", " ", "a.b", "\u{202e}"];
        let question = "Al, no: is 4711 .* [a-z]+ ( 🌸 a.b or aXb?";
        assert_eq!(named_in(question, &people), [] as [usize; 0]);
        assert_eq!(named_in("a b c", &["a.b.c", "a|b"]), [0], "signs mean nothing");
    }

    #[test]
    fn names_and_people_are_bounded() {
        let all: Vec<String> = (0..2_000).map(|n| format!("Person{n}")).collect();
        let people: Vec<&str> = all.iter().map(String::as_str).collect();
        assert_eq!(named_in("person999", &people), [999]);
        assert_eq!(named_in("person1000", &people), [] as [usize; 0]);
        let (found, names) = find(&all.join(" "), &people);
        assert_eq!((found, names.len()), ((0..MOST_NAMED).collect(), MOST_NAMED));
        let same = vec!["bees"; 1_000];
        assert_eq!(find("who keeps bees", &same), ((0..MOST_NAMED).collect(), vec!["bees".into()]));
        assert_eq!(named_in(&"a ".repeat(50), &[&"a ".repeat(40)]), [] as [usize; 0]);
    }

    proptest! {
        #[test]
        fn no_question_and_no_name_does_harm(question in ".{0,60}", names in prop::collection::vec(".{0,20}", 0..8)) {
            let all = names.iter().enumerate().map(|(n, name)| (who(n), name.as_str()));
            let named = named(&question, all);
            prop_assert!(named.people.len() <= names.len());
            prop_assert!(named.names.iter().all(|name| question.contains(name.as_str())));
            prop_assert_eq!(named.people.is_empty(), named.names.is_empty());
        }
    }
}
