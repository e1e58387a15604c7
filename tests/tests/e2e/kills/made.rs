//! Pictures and speech: made at most once, sent at most once, and where a crash leaves it open
//! whether one was made, the agent says so and asks for no second one.

use galatea_testkit::{
    models::{Fault, Recorded, Reply},
    process::Program,
};

use super::has_died;
use crate::stage::Stage;

/// The file to make: the tool, its arguments, and the route of the service.
const PICTURE: (&str, &str, &str) =
    ("GENERATE_IMAGE", r#"{"prompt": "a green loom"}"#, "/images/generations");
const SPEECH: (&str, &str, &str) = ("SPEAK", r#"{"text": "Good morning."}"#, "/audio/speech");

fn program(stage: &Stage) -> Program {
    stage
        .program()
        .env("OPENAI_IMAGE_MODEL", "gpt-image-1-mini")
        .env("OPENAI_TTS_MODEL", "gpt-4o-mini-tts")
        .env("REFLECTION_INTERVAL", "0")
        .arg("start")
}

/// Kills the process while it makes a file, and returns how often the service was asked for it, how
/// many files were sent, and the texts.
async fn killed_at(
    point: &str,
    made: (&'static str, &'static str, &'static str),
) -> (usize, usize, Vec<String>) {
    let stage = Stage::set().await;
    let (tool, arguments, route) = made;
    let hangs = point == "made";
    stage.model.answer_with(move |request: &Recorded| {
        if request.path.ends_with(route) {
            return if hangs { Reply::Fault(Fault::Hang) } else { Reply::Auto };
        }
        let text = request.body["messages"].to_string();
        match (text.contains("\"role\":\"tool\""), text.contains("Q2")) {
            (true, _) => Reply::text("I began it, and cannot say whether it was made."),
            (false, true) => Reply::text("A2"),
            (false, false) => Reply::tool(tool, arguments),
        }
    });
    let asked = |stage: &Stage| {
        stage.model.requests().iter().filter(|request| request.path.ends_with(route)).count()
    };
    let direct = stage.ann.direct();
    let mut first = program(&stage);
    if !hangs {
        first = first.env("FAILPOINTS", format!("{point}=return"));
    }
    let mut running = first.spawn();
    running.wait_for_line("ready in").await;
    stage.ann.says(&direct, "please make it").send();
    if hangs {
        let reached = async {
            while asked(&stage) == 0 {
                tokio::time::sleep(std::time::Duration::from_millis(10)).await;
            }
        };
        tokio::time::timeout(super::PATIENCE, reached).await.expect("the service is asked");
        running.kill_9().await;
    } else {
        has_died(&mut running, point).await;
    }
    let mut running = program(&stage).spawn();
    running.wait_for_line("ready in").await;
    stage.telegram.wait_shown(stage.ann.id, 1).await;
    // The room's answers are in order, so that of a second question comes after all of the first.
    stage.ann.says(&direct, "Q2").send();
    let texts = stage.wait_text(&direct, "A2").await;
    running.kill_9().await;
    let files = stage.telegram.shown(direct.id).iter().filter(|shown| shown.file.is_some()).count();
    (asked(&stage), files, texts)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_is_made_and_sent_at_most_once_wherever_the_process_dies() {
    for made in [PICTURE, SPEECH] {
        for (point, calls, files) in [
            ("action.begun", 0, 0),
            ("made", 1, 0),
            ("action.done", 1, 0),
            ("action.noted", 1, 1),
            ("commit.before", 1, 1),
            ("commit.after", 1, 1),
        ] {
            let (asked, sent, texts) = killed_at(point, made).await;
            assert_eq!((asked, sent), (calls, files), "{}, killed at {point}: {texts:?}", made.0);
            assert_eq!(texts.len(), 2, "one answer each: {}, {point}: {texts:?}", made.0);
            let admitted = texts[0].contains("cannot say");
            assert_eq!(admitted, files == 0, "{}, {point}: {texts:?}", made.0);
        }
    }
}
