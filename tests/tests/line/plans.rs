//! Every answer of a model ends in the right message, or in a failure notice.

use galatea_core::{
    Decision, Error, ErrorKind, Event, IncomingEvent, Media, MediaKind,
    model::{Finish, TextAnswer, ToolCall},
    store::InboxState,
};
use galatea_testkit::models::ScriptedModel;
use std::sync::Arc;

use crate::{
    house::{Plan, character, dm, group},
    models::prompt,
    plugins::{Wave, wave},
};

#[tokio::test]
async fn every_format_ends_in_the_right_words() {
    for (n, (answer, text)) in [
        ("plain words", "plain words"),
        ("<response><thought>hm</thought><actions>REPLY</actions><text>from XML</text></response>", "from XML"),
        ("```json\n{\"thought\": \"hm\", \"actions\": [\"REPLY\"], \"text\": \"from JSON\"}\n```", "from JSON"),
        ("<think>They want words. {\"text\": \"not this\"}</think>\nafter thinking", "after thinking"),
    ]
    .into_iter()
    .enumerate()
    {
        let house = Plan::new(Arc::new(ScriptedModel::saying(answer))).build().await;
        house.say(&dm("7"), "hello").await;
        assert_eq!(house.platform.until_shown("7", 1).await, [text], "case {n}");
        house.quiet().await;
    }
}

#[tokio::test]
async fn xml_actions_and_tool_calls_are_carried_out() {
    let call = ToolCall { id: "1".into(), name: "WAVE".into(), arguments: "{\"hands\": 2}".into() };
    let tool = TextAnswer {
        text: "Hi!".into(),
        tool_calls: vec![call],
        finish: Finish::Tools,
        ..TextAnswer::default()
    };
    let xml = "<response><actions><action><name>WAVE</name><params><hands>2</hands></params></action></actions><text>Hi!</text></response>";
    for answer in [tool, ScriptedModel::text(xml)] {
        let model = Arc::new(ScriptedModel::new());
        model.enqueue_result(Ok(answer));
        let house = Plan::new(Arc::clone(&model) as _).plugin(wave(Wave::Works)).build().await;
        let id = house.say(&dm("7"), "wave").await;
        assert_eq!(house.platform.until_shown("7", 2).await, ["Hi!", "waves 2 hands"]);
        house.quiet().await;
        assert!(
            house
                .explain(id)
                .await
                .steps
                .iter()
                .any(|s| s.rule == "action" && s.reason.starts_with("WAVE"))
        );
        assert_eq!(model.requests().len(), 1);
    }
}

#[tokio::test]
async fn a_failing_model_is_said_once_per_room_and_never_silent() {
    let model = Arc::new(ScriptedModel::answering(|_| {
        Err(Error::new(ErrorKind::Unavailable, "overloaded").with_source("secret detail"))
    }));
    let house = Plan::new(model).build().await;
    let mut events = house.orchestrator.events().subscribe();
    let mut ids = Vec::new();
    for n in 0..3 {
        ids.push(house.say(&dm("7"), &format!("hello {n}")).await);
        house.quiet().await;
    }
    ids.push(house.say(&dm("8"), "hello").await);
    house.quiet().await;
    for room in ["7", "8"] {
        let texts = house.platform.texts(room);
        assert_eq!(texts.len(), 1, "{texts:?}");
        assert!(texts[0].starts_with("Sorry, I cannot think") && !texts[0].contains("secret"));
    }
    for id in ids {
        let said = house.explain(id).await;
        assert_eq!((said.state, said.summary.as_str()), (InboxState::Dead, "given up: overloaded"));
    }
    let (mut failed, mut decided) = (0, 0);
    while let Ok(event) = events.try_recv() {
        match event {
            Event::TurnFailed { .. } => failed += 1,
            Event::TurnDecided { decision, .. } => {
                assert_eq!(decision, Decision::Failed);
                decided += 1;
            }
            _ => {}
        }
    }
    assert_eq!((failed, decided), (4, 4));
}

#[tokio::test]
async fn unusable_answers_are_asked_again_and_not_for_ever() {
    let model = Arc::new(ScriptedModel::new());
    for answer in ["", "<response></response>", "at last"] {
        model.enqueue(answer);
    }
    let house = Plan::new(Arc::clone(&model) as _).build().await;
    house.say(&dm("7"), "hello").await;
    assert_eq!(house.platform.until_shown("7", 1).await, ["at last"]);
    let requests = model.requests();
    assert_eq!(requests.len(), 3);
    let reminder = "in plain words and nothing else";
    assert!(requests[1].system.as_deref().is_some_and(|system| system.contains(reminder)));
    let times = requests[2].system.as_deref().unwrap_or_default().matches(reminder).count();
    assert_eq!((times, requests[2].messages.len()), (1, 1), "the question and one reminder");

    let house = Plan::new(Arc::new(ScriptedModel::saying(""))).build().await;
    let id = house.say(&dm("7"), "hello").await;
    assert!(house.platform.until_shown("7", 1).await[0].starts_with("Sorry"));
    house.quiet().await;
    assert_eq!(house.explain(id).await.state, InboxState::Dead);
}

#[tokio::test]
async fn asking_for_what_is_not_there_is_no_answer() {
    let model = Arc::new(ScriptedModel::new());
    let nothing =
        "<response><actions>REPLY</actions><providers>NOWHERE</providers><text></text></response>";
    for answer in [nothing, nothing, "Here you are."] {
        model.enqueue(answer);
    }
    let house = Plan::new(Arc::clone(&model) as _).build().await;
    house.say(&dm("7"), "hello").await;
    assert_eq!(house.platform.until_shown("7", 1).await, ["Here you are."]);
    assert_eq!(model.requests().len(), 3);
}

#[tokio::test]
async fn an_answer_without_end_is_cut_and_that_is_noted() {
    let house = Plan::new(Arc::new(ScriptedModel::saying("again ".repeat(10_000)))).build().await;
    let id = house.say(&dm("7"), "say it ten thousand times").await;
    let text = house.platform.until_shown("7", 1).await.remove(0);
    assert!(text.ends_with(" […]") && text.chars().count() == 50_004, "{}", text.chars().count());
    house.quiet().await;
    assert!(house.explain(id).await.steps.iter().any(|s| s.reason.contains("50000 characters")));
}

#[tokio::test]
async fn files_of_earlier_messages_do_not_fill_the_prompt() {
    let model = Arc::new(ScriptedModel::saying("I see."));
    let house = Plan::new(Arc::clone(&model) as _).build().await;
    for n in 0..3 {
        let mut incoming = house.message(&group("-100", "7"), &format!("number {n}"));
        let IncomingEvent::Message(message) = &mut incoming.event else { panic!("no message") };
        let file = |k| Media {
            id: format!("{n}-{k}"),
            content_type: MediaKind::Document,
            text: format!("{n}-{k} {}", "w".repeat(8_000)),
            ..Media::default()
        };
        message.content.attachments = (0..10).map(file).collect();
        house.receive(vec![incoming]).await;
    }
    house.quiet().await;
    house.say(&group("-100", "7").mentioning(), "what is in them?").await;
    house.platform.until_shown("-100", 1).await;
    let prompt: String = model.requests()[0].messages.iter().map(|m| m.text()).collect();
    assert!((16_000..30_000).contains(&prompt.len()), "{}", prompt.len());
    assert!(
        prompt.contains("0-0 www") && prompt.contains(&"w".repeat(7_900)),
        "each with its beginning, the newest whole"
    );
}

/// A fallback model or one that refuses tools reads of the actions in its instructions, and
/// answers with the JSON that they ask for.
#[tokio::test]
async fn an_answer_whose_actions_were_asked_for_in_the_text_is_a_plan() {
    let plan = r#"{"thought":"Ann annoys me","text":"hello"}"#;
    let words = r#"{"text":"hello"}"#;
    for (text_actions, answer, question, said) in [
        (true, words, "hi", "hello"),
        (true, plan, "hi", "hello"),
        (false, words, "hi", "hello"),
        (false, words, "write hello as JSON", words),
    ] {
        let model = Arc::new(ScriptedModel::new());
        model.enqueue_result(Ok(TextAnswer { text_actions, ..ScriptedModel::text(answer) }));
        let house = Plan::new(model).build().await;
        house.say(&dm("7"), question).await;
        assert_eq!(house.platform.until_shown("7", 1).await, [said]);
        house.quiet().await;
    }
}

fn with_template(model: &Arc<ScriptedModel>, template: &str) -> Plan {
    let mut character = character("Eliza");
    character.templates.insert("messageHandlerTemplate".into(), template.into());
    Plan { character, ..Plan::new(Arc::clone(model) as _) }
}

#[tokio::test]
async fn a_template_is_given_the_results_of_actions() {
    let xml = |actions: &str, text: &str| {
        format!("<response><actions>{actions}</actions><text>{text}</text></response>")
    };
    let model = Arc::new(ScriptedModel::new());
    model.enqueue(xml("WAVE", "Sure, done."));
    model.enqueue(xml("REPLY", "I cannot wave."));
    let house =
        with_template(&model, "Answer as {{agentName}}.").plugin(wave(Wave::Fails)).build().await;
    house.say(&dm("7"), "wave").await;
    house.quiet().await;
    assert_eq!(house.platform.texts("7"), ["I cannot wave."]);
    let requests = model.requests();
    assert!(prompt(&requests[0]).ends_with("Answer as Eliza."));
    assert!(
        prompt(&requests[1])
            .contains("Answer as Eliza.\n\nYou have just done this:\n- WAVE failed: ")
    );
}

#[tokio::test]
async fn the_answer_to_the_built_in_prompt_is_words_where_the_template_is_broken() {
    let words = r#"Send this: {"text":"hello","actions":["REPLY"]}"#;
    let model = Arc::new(ScriptedModel::saying(words));
    let house = with_template(&model, "{{ broken").build().await;
    house.say(&dm("7"), "show me JSON").await;
    house.quiet().await;
    assert_eq!(house.platform.texts("7"), [words]);
}
