//! Tests of a model that is still writing when its time is over.

use super::*;
use galatea_core::{breaker::Phase, model::Finish};

/// Writes these words, and never ends.
struct RunsOn(ModelInfo, &'static str);

#[async_trait]
impl TextModel for RunsOn {
    fn info(&self) -> &ModelInfo {
        &self.0
    }
    async fn generate(&self, request: &TextRequest, on_text: &OnText<'_>) -> Result<TextAnswer> {
        if request.stream && !self.1.is_empty() {
            on_text(self.1);
        }
        std::future::pending().await
    }
}

fn running_on(words: &'static str, clock: &Arc<Jump>) -> (Link, Arc<SharedBreaker>) {
    let breaker =
        Arc::new(SharedBreaker::new("p", limits(TOTAL), EventBus::default(), Timestamp(0)));
    let model = Arc::new(RunsOn(good("x").info.clone(), words));
    let guarded = Guarded::new(model, breaker.clone(), ALLOWED, true, clock.clone());
    (Link { name: "x".into(), site: "s".into(), key: 1, model: Arc::new(guarded) }, breaker)
}

fn partial(clock: &Arc<Jump>, seconds: u64) -> TextRequest {
    TextRequest { partial: true, ..until(clock, seconds) }
}

#[tokio::test]
async fn what_was_written_until_the_deadline_is_the_answer() {
    let clock = Arc::<Jump>::default();
    let (link, breaker) = running_on("Pip is a dog. He", &clock);
    let chain = chain(vec![link], &clock);
    for _ in 0..5 {
        let answer = chain.generate(&partial(&clock, 50), &|_| ()).await.unwrap();
        assert_eq!((answer.text.as_str(), answer.finish), ("Pip is a dog. He", Finish::Deadline));
        assert!(answer.usage.output > 0, "what was written is charged");
        assert_eq!(breaker.state().phase, Phase::Closed, "a model that writes does not hang");
    }
}

#[tokio::test]
async fn one_that_wrote_nothing_has_failed_and_only_who_asks_for_it_gets_a_part() {
    for (words, is_partial) in [("", true), (" \n", true), ("Pip is a dog.", false)] {
        let clock = Arc::<Jump>::default();
        let (link, _) = running_on(words, &clock);
        let request = TextRequest { partial: is_partial, ..until(&clock, 50) };
        let failure = chain(vec![link], &clock).generate(&request, &|_| ()).await.unwrap_err();
        assert_eq!(failure.code(), Some(codes::TIMEOUT), "{words:?}");
    }
}

#[tokio::test]
async fn a_whole_answer_of_another_model_is_better_and_without_one_the_part_is_taken() {
    let clock = Arc::<Jump>::default();
    let (link, _) = running_on("Pip is a dog. He", &clock);
    let answer = chain(vec![link, self::link(&good("b"), "t", 2)], &clock)
        .generate(&partial(&clock, 50), &|_| ())
        .await
        .unwrap();
    assert_eq!((answer.text.as_str(), answer.finish), ("of b", Finish::Stop));
    let (link, _) = running_on("Pip is a dog. He", &clock);
    let answer = chain(vec![link, self::link(&bad("c", fault), "t", 2)], &clock)
        .generate(&partial(&clock, 50), &|_| ())
        .await
        .unwrap();
    assert_eq!((answer.text.as_str(), answer.finish), ("Pip is a dog. He", Finish::Deadline));
    assert_eq!(answer.by.unwrap().link, "x");
}
