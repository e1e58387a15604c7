//! Pictures and speech that the agent makes: offered where a model and the platform allow it, sent
//! as files, paid once, and kept out of the memory.

use galatea_core::{
    Error, ErrorKind, Memory, MemoryKind,
    model::{ImageGeneration, MediaFile, MediaModels, TextAnswer, TextToSpeech, ToolCall},
    store::{Day, MemoryQuery},
};
use galatea_testkit::models::{ScriptedMedia, ScriptedModel};
use std::sync::Arc;

use crate::{
    house::{House, Plan, dm},
    platform::Platform,
};

fn file(mime: &'static str, ending: &'static str) -> MediaFile {
    MediaFile { bytes: b"\x89PNG made".to_vec(), mime, ending }
}

/// A model that calls a tool once, and then talks.
fn calling(name: &'static str, arguments: &'static str) -> Arc<ScriptedModel> {
    let model = ScriptedModel::saying("You are welcome.");
    model.enqueue_result(Ok(TextAnswer {
        tool_calls: vec![ToolCall {
            id: "1".into(),
            name: name.into(),
            arguments: arguments.into(),
        }],
        ..ScriptedModel::text("")
    }));
    Arc::new(model)
}

struct Makers {
    image: Arc<ScriptedMedia<ImageGeneration>>,
    speech: Arc<ScriptedMedia<TextToSpeech>>,
}

impl Makers {
    fn new() -> Self {
        Self {
            image: Arc::new(ScriptedMedia::answering(|_| Ok(file("image/png", "png")))),
            speech: Arc::new(ScriptedMedia::answering(|_| Ok(file("audio/mpeg", "mp3")))),
        }
    }

    async fn house(&self, model: &Arc<ScriptedModel>, files: bool) -> House {
        let plan = Plan::new(Arc::clone(model) as _)
            .plugin(galatea_bootstrap::plugin())
            .on(Platform::with("1000", |can| can.files = files));
        self.built(plan).await
    }

    async fn built(&self, mut plan: Plan) -> House {
        plan.models.media = MediaModels {
            image: Some(Arc::clone(&self.image) as _),
            speech: Some(Arc::clone(&self.speech) as _),
            ..MediaModels::default()
        };
        plan.build().await
    }
}

async fn own_words(house: &House) -> Vec<Memory> {
    let query = MemoryQuery::new(house.agent, 10).kind(MemoryKind::Messages);
    let all = house.store.memories(&query).await.unwrap();
    all.into_iter().filter(|memory| memory.entity_id == house.identity.entity()).collect()
}

#[tokio::test]
async fn a_picture_is_made_sent_paid_and_remembered_without_its_bytes() {
    let (makers, model) =
        (Makers::new(), calling("GENERATE_IMAGE", r#"{"prompt": "a green loom"}"#));
    let house = makers.house(&model, true).await;
    house.say(&dm("7"), "draw me a green loom").await;
    let shown = {
        house.platform.until_shown("7", 1).await;
        house.quiet().await;
        house.platform.shown()
    };
    assert_eq!(shown.len(), 1, "{shown:?}");
    assert!(shown[0].files[0].starts_with("data:image/png;base64,iVBORyBtYWRl"), "{shown:?}");
    assert_eq!((makers.image.calls(), model.requests().len()), (1, 1));
    let media = own_words(&house).await.remove(0).content.attachments.remove(0);
    assert_eq!((media.url.as_str(), media.description.as_str()), ("", "a green loom"));
    let usage = house.store.usage(Some(house.agent), Day(0)).await.unwrap();
    let micros: u64 =
        usage.iter().filter(|row| row.model == "scripted media").map(|row| row.amount.micros).sum();
    assert_eq!(micros, 40_000);
    // The next prompt says what it shows.
    house.say(&dm("7"), "thank you").await;
    house.quiet().await;
    let prompt = crate::models::prompt(&model.requests()[1]);
    assert!(prompt.contains("[attachment: image: a green loom]"), "{prompt}");
    assert!(!prompt.contains("base64"));
}

#[tokio::test]
async fn something_is_said_aloud() {
    let (makers, model) = (Makers::new(), calling("SPEAK", r#"{"text": "Good morning."}"#));
    let house = makers.house(&model, true).await;
    house.say(&dm("7"), "say good morning").await;
    house.platform.until_shown("7", 1).await;
    house.quiet().await;
    assert!(house.platform.shown()[0].files[0].starts_with("data:audio/mpeg;base64,"));
    assert_eq!(makers.speech.calls(), 1);
}

/// The memory of an answer does not keep its files, so none of them waits for "more".
#[tokio::test]
async fn files_are_sent_at_once_however_many_parts_are() {
    let makers = Makers::new();
    let model = Arc::new(ScriptedModel::saying("You are welcome."));
    let call = |id: &str, prompt: &str| ToolCall {
        id: id.into(),
        name: "GENERATE_IMAGE".into(),
        arguments: format!(r#"{{"prompt": "{prompt}"}}"#),
    };
    model.enqueue_result(Ok(TextAnswer {
        tool_calls: vec![call("1", "a loom"), call("2", "a wheel")],
        ..ScriptedModel::text("Here:||And:")
    }));
    let plan = Plan::new(Arc::clone(&model) as _)
        .plugin(galatea_bootstrap::plugin())
        .on(Platform::with("1000", |can| can.files = true))
        .set("ANSWER_PARTS", "2");
    let house = makers.built(plan).await;
    house.say(&dm("7"), "draw both").await;
    house.quiet().await;
    let shown = house.platform.shown();
    assert_eq!(shown.iter().filter(|shown| !shown.files.is_empty()).count(), 2, "{shown:?}");
    house.say(&dm("7"), "more").await;
    house.quiet().await;
    let texts = house.platform.texts("7");
    assert!(!texts.iter().any(|text| text.contains("wrong")), "{texts:?}");
}

/// Hosts and settings of the owner are not for the chat.
#[tokio::test]
async fn an_action_that_fails_names_no_host_and_no_setting() {
    let image = ScriptedMedia::answering(|_| {
        Err(Error::new(ErrorKind::Unauthorized, "the model server rejected OPENAI_API_KEY")
            .with_code("GAL-MODEL-401")
            .with("host", "127.0.0.1:36025"))
    });
    let makers = Makers { image: Arc::new(image), ..Makers::new() };
    let model = calling("GENERATE_IMAGE", r#"{"prompt": "a green loom"}"#);
    let house = makers.house(&model, true).await;
    let id = house.say(&dm("7"), "draw me a green loom").await;
    house.quiet().await;
    let prompts: String = model.requests().iter().map(crate::models::prompt).collect();
    assert!(prompts.contains("GENERATE_IMAGE failed: it did not work"), "{prompts}");
    assert!(!prompts.contains("OPENAI_API_KEY") && !prompts.contains("127.0.0.1"));
    let steps = house.explain(id).await.steps;
    assert!(steps.iter().any(|step| step.reason.contains("host=127.0.0.1:36025")), "{steps:?}");
}

/// Speech of an unknown price counts in tokens, as answers do, so limits in tokens hold.
#[tokio::test]
async fn speech_without_a_price_counts_as_tokens() {
    let speech = ScriptedMedia::answering(|_| Ok(file("audio/mpeg", "mp3"))).without_price();
    let makers = Makers { speech: Arc::new(speech), ..Makers::new() };
    let model = calling("SPEAK", r#"{"text": "Good morning, everyone."}"#);
    let house = makers.house(&model, true).await;
    house.say(&dm("7"), "say good morning").await;
    house.quiet().await;
    let usage = house.store.usage(Some(house.agent), Day(0)).await.unwrap();
    let spoken = usage.iter().find(|row| row.model == "scripted media").unwrap().amount;
    // 23 characters.
    assert_eq!((spoken.calls, spoken.input, spoken.unpriced, spoken.micros), (1, 8, 8, 0));
}

#[tokio::test]
async fn neither_is_offered_where_the_platform_takes_no_files_or_no_model_makes_them() {
    for (files, makes) in [(false, true), (true, false), (true, true)] {
        let model = Arc::new(ScriptedModel::saying("Hello."));
        let house = if makes {
            Makers::new().house(&model, files).await
        } else {
            let platform = Platform::with("1000", |can| can.files = files);
            Plan::new(Arc::clone(&model) as _)
                .plugin(galatea_bootstrap::plugin())
                .on(platform)
                .build()
                .await
        };
        house.say(&dm("7"), "hi").await;
        house.quiet().await;
        let request = model.requests().remove(0);
        let offered = ["GENERATE_IMAGE", "SPEAK"]
            .map(|name| request.tools.iter().any(|tool| tool.name == name));
        assert_eq!(offered, [files && makes; 2], "files {files}, models {makes}");
    }
}
