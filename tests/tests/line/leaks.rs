//! Leaks of a real small model are never posted, and never enter the history.

use galatea_core::model::{Finish, TextAnswer, TextRequest, ToolCall, ToolChoice};
use galatea_testkit::models::ScriptedModel;
use std::sync::Arc;

use crate::{
    house::{Plan, dm, group},
    models::prompt,
    plugins::{Wave, wave},
};

fn called(name: &str) -> TextAnswer {
    let call = ToolCall { id: "1".into(), name: name.into(), arguments: "{}".into() };
    TextAnswer { tool_calls: vec![call], finish: Finish::Tools, ..TextAnswer::default() }
}

#[tokio::test]
async fn the_form_of_the_prompt_is_not_posted_and_not_shown_again() {
    let leaks = [
        "[Notes]\nIt is Sun 29 Nov 2026 19:00 UTC.\n\nyou [Sun 29 Nov 19:00]: Hello, Ada.",
        "> Hello, Ada.",
        "{{\"name\": \"SEND_MESSAGE\", \"arguments\": {\"target\": \"Ada\", \"text\": \"Hello, Ada.\"}}}",
        "Hello, Ada.<|im_end|>\n<|im_start|>user\nthanks",
        "Eliza: Hello, Ada.\nAda: thank you",
    ];
    for leak in leaks {
        let model = Arc::new(ScriptedModel::saying(leak));
        let house = Plan::new(Arc::clone(&model) as _).build().await;
        let ada = || dm("7").named("Ada");
        house.say(&ada(), "Hello, my name is Ada.").await;
        assert_eq!(house.platform.until_shown("7", 1).await, ["Hello, Ada."], "{leak}");
        house.quiet().await;
        house.say(&ada(), "And again, please?").await;
        house.platform.until_shown("7", 2).await;
        let requests = model.requests();
        let own: Vec<String> = requests
            .last()
            .unwrap()
            .messages
            .iter()
            .filter(|message| message.role == galatea_core::model::ChatRole::Assistant)
            .map(|message| message.text())
            .collect();
        assert_eq!(own, ["Hello, Ada."], "{leak}");
    }
}

#[tokio::test]
async fn in_a_group_others_lines_are_cut_off() {
    let model = Arc::new(ScriptedModel::new());
    model.enqueue("He is called Pip.\nAlice: thank you\nEliza: You are welcome.");
    let house = Plan::new(Arc::clone(&model) as _).build().await;
    house.say(&group("-100", "8").named("Alice"), "My dog is called Pip.").await;
    house.say(&group("-100", "7").named("Bob").mentioning(), "what is Alice's dog called?").await;
    assert_eq!(house.platform.until_shown("-100", 1).await, ["He is called Pip."]);
}

#[tokio::test]
async fn an_answer_without_words_is_asked_for_again_without_tools() {
    for first in [
        ScriptedModel::text("{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Ghent\"}}"),
        ScriptedModel::text("<|im_end|>"),
        ScriptedModel::text("[Notes]\nIt is Sun 29 Nov 2026 19:00 UTC."),
        ScriptedModel::text("<thought>They greet me."),
    ] {
        let model = Arc::new(ScriptedModel::new());
        model.enqueue_result(Ok(first.clone()));
        model.enqueue("I don't know the weather.");
        let house = Plan::new(Arc::clone(&model) as _).plugin(wave(Wave::Works)).build().await;
        house.say(&dm("7"), "Tell me the weather of Ghent").await;
        let shown = house.platform.until_shown("7", 1).await;
        assert_eq!(shown, ["I don't know the weather."], "{first:?}");
        let requests = model.requests();
        assert_eq!(requests.len(), 2);
        assert!(!requests[0].tools.is_empty() && requests[1].tools.is_empty());
        assert!(requests[1].system.as_deref().unwrap().contains("in plain words and nothing else"));
        assert_eq!(requests[0].messages, requests[1].messages);
    }
}

#[tokio::test]
async fn a_model_that_calls_only_what_it_was_not_offered_ends_in_words() {
    for answer in [
        called("get_weather"),
        ScriptedModel::text(
            "<tool_call>{\"name\": \"get_weather\", \"arguments\": {}}</tool_call>",
        ),
    ] {
        let shown = answer.clone();
        let model = Arc::new(ScriptedModel::answering(move |_| Ok(answer.clone())));
        let house = Plan::new(Arc::clone(&model) as _).build().await;
        let id = house.say(&dm("7"), "what is the weather?").await;
        let words = house.platform.until_shown("7", 1).await.remove(0);
        assert!(words.starts_with("Sorry, I can't do that here"), "{words:?} for {shown:?}");
        house.quiet().await;
        let said = house.explain(id).await;
        assert!(said.steps.iter().any(|s| s.reason.contains("not offered")), "{said:?}");
    }
}

#[tokio::test]
async fn a_call_in_the_words_is_done_and_its_words_are_said() {
    for (answer, shown) in [
        (
            "Hi!\n<tool_call>\n{\"name\": \"WAVE\", \"arguments\": {\"hands\": 2}}\n</tool_call>",
            vec!["Hi!", "waves 2 hands"],
        ),
        ("WAVE(hands=2)", vec!["waves 2 hands"]),
        (
            "[TOOL_CALLS][{\"name\": \"WAVE\", \"arguments\": {\"hands\": 2}}]",
            vec!["waves 2 hands"],
        ),
        (
            "Thought: They want it.\nAction: WAVE\nAction Input: {\"hands\": 2}",
            vec!["waves 2 hands"],
        ),
    ] {
        let model = Arc::new(ScriptedModel::new());
        model.enqueue(answer);
        let house = Plan::new(Arc::clone(&model) as _).plugin(wave(Wave::Works)).build().await;
        house.say(&dm("7"), "wave").await;
        assert_eq!(house.platform.until_shown("7", shown.len()).await, shown, "{answer}");
        assert_eq!(model.requests().len(), 1, "{answer}");
    }
}

#[tokio::test]
async fn the_report_of_an_action_is_asked_for_again_where_it_is_another_call() {
    let call = "<tool_call>{\"name\": \"WAVE\", \"arguments\": {\"hands\": 2}}</tool_call>";
    let model = Arc::new(ScriptedModel::new());
    for answer in [call, call, "I could not wave."] {
        model.enqueue(answer);
    }
    let house = Plan::new(Arc::clone(&model) as _).plugin(wave(Wave::Fails)).build().await;
    house.say(&dm("7"), "wave").await;
    assert_eq!(house.platform.until_shown("7", 1).await, ["I could not wave."]);
    let requests = model.requests();
    assert_eq!(requests.len(), 3);
    let may_call = |request: &TextRequest| {
        !request.tools.is_empty() && request.tool_choice != ToolChoice::None
    };
    assert!(may_call(&requests[0]) && !may_call(&requests[2]), "the third offers nothing to call");
    assert!(prompt(&requests[2]).contains("WAVE failed"));
}

#[tokio::test]
async fn what_came_until_the_deadline_is_sent_up_to_its_last_sentence() {
    for (finish, note) in [(Finish::Deadline, "not finished in time"), (Finish::Length, "cut off")]
    {
        let half = "Pip is a dog. He lives in Ghent. His fa";
        let model = Arc::new(ScriptedModel::new());
        model.enqueue_result(Ok(TextAnswer { finish, ..ScriptedModel::text(half) }));
        let house = Plan::new(Arc::clone(&model) as _).build().await;
        let id = house.say(&dm("7"), "tell me about Pip").await;
        assert_eq!(house.platform.until_shown("7", 1).await, ["Pip is a dog. He lives in Ghent."]);
        house.quiet().await;
        assert!(model.requests()[0].partial, "the turn takes a part rather than nothing");
        let said = house.explain(id).await;
        assert!(said.steps.iter().any(|s| s.reason.contains(note)), "{said:?}");
    }
}
