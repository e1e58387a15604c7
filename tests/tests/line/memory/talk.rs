//! A talk of 500 messages with contradictions and a month in between; then 60 questions. A reader
//! that sees only the prompt must find every fact that it needs, and nothing of another's private
//! room.

use galatea_core::{MemoryKind, store::MemoryQuery};
use std::time::Duration;

use super::stage::{Stage, club, private};

/// Messages of people in the whole talk.
const MESSAGES: usize = 500;
/// Every so many messages the agent is addressed.
const ADDRESSED: usize = 4;
/// Words that only one direct room holds.
const SECRETS: [&str; 3] = ["heliotrope", "quicksilver", "marzipan"];

/// Statements of people about themselves: before the month, and after it, if that has changed.
const OWN: [(usize, &str, &str, Option<&str>); 15] = [
    (0, "I live in ", "Ghent", Some("Lyon")),
    (1, "I live in ", "Turku", None),
    (2, "I live in ", "Porto", Some("Bergen")),
    (0, "My favourite drink is ", "oolong", None),
    (1, "My favourite drink is ", "kvass", Some("cider")),
    (2, "My favourite drink is ", "horchata", None),
    (0, "My dog's name is ", "Rufus", None),
    (1, "My dog's name is ", "Pepper", Some("Domino")),
    (2, "My dog's name is ", "Biscuit", None),
    (0, "My job is ", "welding", Some("glazing")),
    (1, "My job is ", "nursing", None),
    (2, "My job is ", "surveying", None),
    (0, "My birthday is ", "4 March", None),
    (1, "My birthday is ", "19 October", None),
    (2, "My birthday is ", "30 June", None),
];
/// Details that no lesson keeps: who says it, the sentence, a question, and the word that answers.
const DETAILS: [(usize, &str, &str, &str); 16] = [
    (
        0,
        "The spare key of the shed hangs behind the copper kettle",
        "where is the spare key of the shed?",
        "copper kettle",
    ),
    (
        1,
        "The projector needs the cable with the yellow sleeve",
        "which cable does the projector need?",
        "yellow sleeve",
    ),
    (2, "The ladder was lent to the bakery on Mill Street", "who has the ladder?", "bakery"),
    (
        0,
        "The printer jams when the tray holds more than forty sheets",
        "why does the printer jam?",
        "forty sheets",
    ),
    (
        1,
        "The window in the attic only shuts with the wedge",
        "how do we shut the attic window?",
        "wedge",
    ),
    (2, "The freezer was defrosted by Ingrid", "who defrosted the freezer?", "Ingrid"),
    (
        0,
        "The router password sticks under the globe",
        "where does the router password stick?",
        "globe",
    ),
    (1, "The choir borrowed our folding tables", "who borrowed the folding tables?", "choir"),
    (2, "The boiler man comes from Haasrode", "where does the boiler man come from?", "Haasrode"),
    (
        0,
        "The blue paint came from a theatre that closed",
        "where did the blue paint come from?",
        "theatre",
    ),
    (1, "The piano tuner charges ninety euros", "what does the piano tuner charge?", "ninety"),
    (
        2,
        "The bicycles are locked to the third pillar",
        "to what are the bicycles locked?",
        "third pillar",
    ),
    (0, "The garden hose leaks near the tap", "where does the garden hose leak?", "near the tap"),
    (1, "The newsletter is laid out by Tomasz", "who lays out the newsletter?", "Tomasz"),
    (2, "The old banner is kept by the scouts", "who keeps the old banner?", "scouts"),
    (0, "The kiln must cool for eleven hours", "how long must the kiln cool?", "eleven hours"),
];
/// Decisions and open questions, and the word that answers.
const DECISIONS: [(usize, &str, &str, &str); 8] = [
    (
        0,
        "Decided: the summer party is at the lighthouse",
        "what was decided about the party?",
        "lighthouse",
    ),
    (1, "Decided: the fee stays at 12 euros", "what did we decide about money?", "12 euros"),
    (2, "Decided: Bob orders the timber", "what was decided about material?", "timber"),
    (0, "Still open: who repairs the gate", "what is still open?", "gate"),
    (1, "Decided: meetings are on Thursdays", "when do we meet?", "Thursdays"),
    (2, "Still open: a name for the boat", "which questions are not answered yet?", "boat"),
    (0, "Decided: the archive goes to the museum", "and the papers?", "museum"),
    (1, "Decided: no more plastic cups", "any rule on cups?", "plastic"),
];
/// Statements of Bob and the first Anna about people who are absent.
const HEARSAY: [(usize, &str, &str, &str); 5] = [
    (2, "I heard that Wanda plays the cello", "what does Wanda play?", "cello"),
    (2, "I heard that Yusuf moved to Izmir", "where does Yusuf live?", "Izmir"),
    (0, "I heard that Olaf collects stamps", "what does Olaf collect?", "stamps"),
    (0, "I heard that Petra teaches chemistry", "what does Petra teach?", "chemistry"),
    (2, "I heard that Quentin fears spiders", "what does Quentin fear?", "spiders"),
];
const SMALL_TALK: [&str; 8] = [
    "that sounds good to me",
    "hm, let me think about it for a while",
    "I saw that too, quite a sight",
    "ha, that is how it goes",
    "could be worse, could be better",
    "no idea, honestly",
    "well, we shall see",
    "thanks, that helps a lot",
];

/// A question: who asks, in the club or in private, and what the prompt must and must not hold.
struct Question {
    person: usize,
    private: bool,
    text: String,
    needs: Vec<String>,
    lacks: Vec<String>,
}

fn questions() -> Vec<Question> {
    let club = |person, text: &str, needs: &str| Question {
        person,
        private: false,
        text: text.to_owned(),
        needs: vec![needs.to_owned()],
        lacks: Vec::new(),
    };
    let mut all = Vec::new();
    for (person, form, before, after) in OWN {
        let topic = form.trim_start_matches("I ").trim_start_matches("My ").trim();
        let topic = topic.trim_end_matches(" is").trim_end_matches(" in");
        let now = after.unwrap_or(before);
        let mut own = club(person, &format!("tell me about my own {topic}, please"), now);
        own.lacks.extend(after.map(|_| before.to_owned()));
        all.push(own);
    }
    // Another person asks about the people whose facts have changed.
    for (person, topic, now, before) in [
        (1, "where does Bob live?", "Bergen", "Porto"),
        (2, "which Anna lives in a French town, Lyon?", "Lyon", "Ghent"),
        (0, "does the other Anna drink cider?", "cider", "kvass"),
        (2, "does Anna have a dog called Domino?", "Domino", "Pepper"),
        (1, "is Anna glazing now?", "glazing", "welding"),
    ] {
        let mut question = club(person, topic, now);
        question.lacks.push(before.to_owned());
        all.push(question);
    }
    for (n, (_, _, question, needs)) in DETAILS.iter().enumerate() {
        all.push(club((n + 1) % 3, question, needs));
    }
    for (n, (_, _, question, needs)) in DECISIONS.iter().enumerate() {
        all.push(club(n % 3, question, needs));
    }
    for (n, (_, _, question, needs)) in HEARSAY.iter().enumerate() {
        let mut question = club(n % 3, question, needs);
        question.needs.push("hearsay from".to_owned());
        all.push(question);
    }
    for (person, secret) in SECRETS.iter().enumerate() {
        let ask = |private, text: &str| Question {
            person,
            private,
            text: text.to_owned(),
            needs: Vec::new(),
            lacks: Vec::new(),
        };
        let mut own = ask(true, "what is my secret word?");
        own.needs.push((*secret).to_owned());
        // Facts of the club's World stay there.
        all.push(own);
        all.push(ask(false, "what is my secret word, and that of the others?"));
        let others = SECRETS[(person + 1) % 3];
        all.push(ask(true, &format!("what is the secret word of the others, {}?", &others[..4])));
    }
    all.push(club(0, "my new address?", "Lyon"));
    all.push(club(2, "my new address, where do I live?", "Bergen"));
    all
}

/// The messages: what is remarkable, spread over small talk.
async fn talk(stage: &Stage) {
    let mut remarks: Vec<(usize, String)> = Vec::new();
    remarks.extend(OWN.iter().map(|(who, form, before, _)| (*who, format!("{form}{before}"))));
    remarks.extend(DETAILS.iter().map(|(who, said, _, _)| (*who, (*said).to_owned())));
    remarks.extend(DECISIONS.iter().map(|(who, said, _, _)| (*who, (*said).to_owned())));
    remarks.extend(HEARSAY.iter().map(|(who, said, _, _)| (*who, (*said).to_owned())));
    let changes: Vec<(usize, String)> = OWN
        .iter()
        .filter_map(|(who, form, _, after)| Some((*who, format!("{form}{}", (*after)?))))
        .collect();
    let half = MESSAGES * 3 / 5;
    let mut written = 0;
    for (part, remarks) in [remarks, changes].into_iter().enumerate() {
        let count = if part == 0 { half } else { MESSAGES - half };
        let every = count / (remarks.len() + 1);
        let mut remarks = remarks.into_iter();
        for n in 0..count {
            written += 1;
            let remark = if n % every == 1 { remarks.next() } else { None };
            let (who, text) = remark.unwrap_or_else(|| {
                let words = SMALL_TALK[(n * 5 + n / 7) % SMALL_TALK.len()];
                (n % 3, words.to_owned())
            });
            let at = club(who);
            let at = if n % ADDRESSED == 3 { at.mentioning() } else { at };
            stage.say(&at, &text).await;
        }
        assert_eq!(remarks.next(), None, "everything remarkable was said");
        let last = format!("My badge is end-{part}");
        stage.say(&club(2).mentioning(), &last).await;
        stage.until_learnt(&format!("the badge is end-{part}")).await;
        if part == 0 {
            for (person, secret) in SECRETS.iter().enumerate() {
                stage.say(&private(person), &format!("My secret word is {secret}")).await;
                stage.until_learnt(&format!("the secret word is {secret}")).await;
            }
            stage.clock.advance(Duration::from_secs(30 * 86_400));
        }
    }
    assert_eq!(written, MESSAGES);
}

/// The results of the questions.
#[derive(Debug, Default)]
struct Outcome {
    questions: usize,
    /// Answers that the prompt does not hold.
    missing: Vec<String>,
    /// Facts shown that no longer hold.
    stale: Vec<String>,
    /// Words of another's private room.
    leaked: Vec<String>,
    /// Length of the longest prompt, in bytes.
    longest: usize,
    /// All prompts, to be read by a person.
    prompts: String,
}

/// The talk and the questions, with a plugin that lacks a provider.
async fn examine(without: Option<&str>) -> (Stage, Outcome) {
    let stage = Stage::build(without).await;
    talk(&stage).await;
    let mut outcome = Outcome::default();
    let questions = questions();
    for question in &questions {
        let at = if question.private { private(question.person) } else { club(question.person) };
        let mut prompt = stage.ask(&at.mentioning(), &question.text).await;
        // Earlier questions may hold the words of an answer.
        for asked in &questions {
            prompt = prompt.replace(&asked.text, "[a question]");
        }
        outcome.questions += 1;
        outcome.longest = outcome.longest.max(prompt.len());
        outcome.prompts.push_str(&format!("==== {}\n{prompt}\n", question.text));
        let noted = |what: &String| format!("{}: {what}", question.text);
        let missing = question.needs.iter().filter(|needed| !prompt.contains(needed.as_str()));
        outcome.missing.extend(missing.map(noted));
        // An old message quoted with its date does not count as a current fact.
        let facts = facts_of(&prompt);
        let stale = question.lacks.iter().filter(|old| facts.contains(old.as_str()));
        outcome.stale.extend(stale.map(noted));
        let others = SECRETS.iter().enumerate().filter(|(owner, secret)| {
            prompt.contains(**secret) && !(question.private && *owner == question.person)
        });
        outcome.leaked.extend(others.map(|(_, secret)| noted(&(*secret).to_owned())));
    }
    (stage, outcome)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sixty_questions_about_a_talk_of_500_messages_are_answered_from_the_prompt() {
    let (stage, outcome) = examine(None).await;
    let count = async |kind| {
        let query = MemoryQuery::new(stage.house.agent, 1_000).kind(kind);
        stage.house.store.count_memories(&query).await.unwrap()
    };
    println!(
        "{} questions: {} answers missing, {} replaced facts shown, {} of another's private room; \
         {} facts and {} summaries stored, {} questions to the learner, longest prompt {} bytes",
        outcome.questions,
        outcome.missing.len(),
        outcome.stale.len(),
        outcome.leaked.len(),
        count(MemoryKind::Facts).await,
        count(MemoryKind::Summaries).await,
        stage.learner.requests().len(),
        outcome.longest,
    );
    if std::env::var_os("SHOW_PROMPT").is_some() {
        println!("{}", outcome.prompts);
    }
    assert_eq!(outcome.questions, 60);
    assert_eq!(outcome.leaked, [""; 0]);
    assert_eq!(outcome.stale, [""; 0]);
    assert_eq!(outcome.missing, [""; 0]);
}

/// The questions prove something only if each part of the memory is needed for some of them.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_a_part_of_the_memory_answers_are_missing() {
    for (part, at_least) in [("FACTS", 5), ("MEMORIES", 10), ("SUMMARIZED_CONTEXT", 2)] {
        let (_, outcome) = examine(Some(part)).await;
        println!("without {part}: {} answers missing", outcome.missing.len());
        assert!(outcome.missing.len() >= at_least, "without {part}: {:?}", outcome.missing);
    }
}

/// The part of a prompt that states what is known of people.
fn facts_of(prompt: &str) -> String {
    let is_of_person = |line: &&str| line.starts_with("About ") && line.contains(" it is known: ");
    prompt.lines().filter(is_of_person).collect::<Vec<_>>().join("\n")
}
