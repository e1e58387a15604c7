//! A model that does not answer: another key, a sibling model, another provider, or
//! a notice; and every command reports why.

use galatea_testkit::{
    models::{AnthropicServer, Fault, Recorded, Reply},
    process::{Program, Running},
};

use crate::stage::{KEY, Stage};

const LARGE: &str = "gpt-large";
const SMALL: &str = "gpt-small";

fn named(stage: &Stage) -> Program {
    stage.program().env("OPENAI_LARGE_MODEL", LARGE).env("OPENAI_SMALL_MODEL", SMALL)
}

async fn started(program: Program) -> Running {
    let running = program.arg("start").spawn();
    running.wait_for_line("ready in").await;
    running
}

/// Output of `explain` for Ann's message.
async fn explained(stage: &Stage, message: i64) -> String {
    let output = stage
        .program()
        .args(["explain".to_owned(), format!("{}:{message}", stage.ann.id)])
        .run()
        .await;
    assert_eq!(output.code, Some(0), "{}{}", output.stdout, output.stderr);
    output.stdout
}

fn says(text: &str, all: &[&str]) {
    for expected in all {
        assert!(
            text.split_whitespace().collect::<Vec<_>>().join(" ").contains(expected),
            "{expected:?} is missing in:\n{text}"
        );
    }
}

fn of(model: &'static str) -> impl Fn(&Recorded) -> bool {
    move |request| request.body["model"] == model
}

#[tokio::test]
async fn another_key_of_the_same_provider() {
    let stage = Stage::set().await;
    let direct = stage.ann.direct();
    let running = started(
        named(&stage).env("OPENAI_API_KEY", "sk-e2e-wrong-canary").env("OPENAI_API_KEY_2", KEY),
    )
    .await;
    let began = std::time::Instant::now();
    let first = stage.ann.says(&direct, "Q1").send();
    stage.wait_text(&direct, "A1").await;
    stage.ann.says(&direct, "Q2").send();
    stage.wait_text(&direct, "A2").await;
    let wrong = |r: &Recorded| r.header("authorization") == Some("Bearer sk-e2e-wrong-canary");
    let asked = stage.model.requests().iter().filter(|r| wrong(r)).count();
    let looks = 1 + usize::try_from(began.elapsed().as_secs() / 5).unwrap();
    assert!(
        (1..=looks).contains(&asked),
        "a refused key is left alone for 5 s: asked {asked} times"
    );
    assert!(
        stage.model.requests().iter().all(|r| r.body["model"] == LARGE && r.body["stream"] == true)
    );
    let why = explained(&stage, first).await;
    says(
        &why,
        &[
            "openai gpt-large (OPENAI_API_KEY) did not answer: the model server rejected OPENAI_API_KEY",
            "openai gpt-large (OPENAI_API_KEY_2) answered instead",
        ],
    );
    let said = running.stderr();
    assert!(said.contains("another model answered") && !said.contains("canary"), "{said}");
}

#[tokio::test]
async fn a_sibling_of_the_same_provider() {
    let stage = Stage::set().await;
    let direct = stage.ann.direct();
    stage.model.answer_with(|r| {
        if of(LARGE)(r) {
            Reply::Fault(Fault::UnknownModel)
        } else {
            Reply::text("of the small one")
        }
    });
    let _running = started(named(&stage)).await;
    let message = stage.ann.says(&direct, "Q1").send();
    stage.wait_text(&direct, "of the small one").await;
    says(
        &explained(&stage, message).await,
        &[
            "openai gpt-large did not answer: the model server has no model gpt-large",
            "openai gpt-small answered instead",
        ],
    );
}

#[tokio::test]
async fn another_provider() {
    let stage = Stage::set().await;
    let claude = AnthropicServer::start("sk-ant-canary").await.unwrap();
    claude.answer_with(|_| Reply::text("of the other provider"));
    let direct = stage.ann.direct();
    stage.model.answer_with(|_| Reply::Fault(Fault::Overloaded));
    let program = named(&stage)
        .env("GALATEA_MODEL_PROVIDER", "openai")
        .env("ANTHROPIC_API_KEY", "sk-ant-canary");
    let running = started(program.env("ANTHROPIC_BASE_URL", claude.base_url())).await;
    let message = stage.ann.says(&direct, "Q1").send();
    stage.wait_text(&direct, "of the other provider").await;
    let asked =
        |model: &'static str| stage.model.requests().iter().filter(|r| of(model)(r)).count();
    assert_eq!(
        (
            asked(LARGE),
            asked(SMALL),
            claude.requests().iter().filter(|r| r.method == "POST").count()
        ),
        (3, 3, 1),
        "three attempts each, as a fault may pass"
    );
    let why = explained(&stage, message).await;
    says(
        &why,
        &[
            "openai gpt-large did not answer:",
            "openai gpt-small did not answer:",
            "anthropic claude-sonnet-5-5 answered instead",
        ],
    );
    says(&running.stderr(), &["when openai does not answer: anthropic claude-sonnet-5-5"]);
}

#[tokio::test]
async fn no_model_answers_and_the_room_gets_one_notice() {
    let stage = Stage::set().await;
    let direct = stage.ann.direct();
    stage.model.answer_with(|_| Reply::Fault(Fault::Internal));
    let running = started(named(&stage).env("MODEL_NOTICE", "Back soon.")).await;
    let first = stage.ann.says(&direct, "Q1").send();
    stage.wait_text(&direct, "Back soon.").await;
    let second = stage.ann.says(&direct, "Q2").send();
    stage.telegram.wait_for("its turn", |_| (stage.model.count() > 6).then_some(())).await;
    // A command needs no model. Its answer follows any message about the second question.
    stage.ann.says(&direct, "/help").send();
    stage.telegram.wait_shown(stage.ann.id, 2).await;
    assert_eq!(stage.texts(&direct).iter().filter(|text| *text == "Back soon.").count(), 1);
    for message in [first, second] {
        says(
            &explained(&stage, message).await,
            &[
                "given up",
                "the model server has a fault or is overloaded",
                "besides=openai gpt-small: the model server has a fault",
            ],
        );
    }
    says(&explained(&stage, first).await, &["a notice was sent to the room"]);
    let status = stage.program().arg("status").run().await;
    says(
        &status.stdout,
        &[
            "openai gpt-large is left alone since",
            "its circuit breaker is",
            "GAL-BREAKER",
            "cause: the model server has a fault or is overloaded: HTTP 500",
        ],
    );
    let doctor = stage.program().args(["doctor", "--offline"]).run().await;
    says(&doctor.stdout, &["openai gpt-small is left alone since", "GAL-BREAKER"]);
    says(&running.stderr(), &["circuit breaker opened", "\"breaker\":\"openai gpt-large\""]);
}

#[tokio::test]
async fn one_deadline_bounds_all_of_them() {
    let stage = Stage::set().await;
    let direct = stage.ann.direct();
    stage.model.answer_with(|_| Reply::Fault(Fault::Hang));
    let program = named(&stage)
        .env("TURN_TIMEOUT_SECONDS", "4")
        .env("MODEL_FIRST_TOKEN_TIMEOUT", "2.5")
        .env("MODEL_NOTICE", "No model is there.");
    let _running = started(program).await;
    let message = stage.ann.says(&direct, "Q1").send();
    stage.wait_text(&direct, "No model is there.").await;
    let asked: Vec<_> = stage.model.requests().iter().map(|r| r.body["model"].clone()).collect();
    assert_eq!(
        asked,
        [LARGE, SMALL],
        "a silent model is not asked twice, and no model is asked after the deadline"
    );
    // The first model got half of the time, less than it may take for a first token.
    let in_vain = "given up: the model did not answer within the time allowed";
    // The sibling model is not given the same time again.
    says(
        &explained(&stage, message).await,
        &[in_vain, "besides=openai gpt-small: the model server gave no answer in time"],
    );
}

#[tokio::test]
async fn an_answer_that_stops_in_the_middle_is_given_by_another() {
    let stage = Stage::set().await;
    let direct = stage.ann.direct();
    stage.model.answer_with(|r| {
        if of(LARGE)(r) { Reply::Fault(Fault::StallAfter(450)) } else { Reply::text("whole") }
    });
    let _running = started(named(&stage).env("MODEL_IDLE_TIMEOUT", "3")).await;
    let message = stage.ann.says(&direct, "Q1").send();
    assert_eq!(stage.wait_text(&direct, "whole").await, ["whole"]);
    says(
        &explained(&stage, message).await,
        &["stopped in the middle of its answer", "openai gpt-small answered instead"],
    );
}
