//! A question that comes twice, by two accounts of one agent or by a proxy, is answered once.

use galatea_core::{Batch, Incoming, IncomingEvent, store::InboxState};
use galatea_store::Database;
use std::{sync::Arc, time::Duration};

use crate::{
    house::{House, Plan, Spot, character, group},
    models::echo,
    platform::{Platform, SOURCE},
};

struct Both {
    house: House,
    second: Arc<Platform>,
}

impl Both {
    async fn new(store: &Database) -> Self {
        let second = Platform::of(SOURCE, "2000", |_| {});
        let mut plan = Plan::new(echo() as _).store(store);
        plan.abroad = Some(Arc::clone(&second));
        let house = plan.build().await;
        second.gateway().await;
        Self { house, second }
    }

    /// A message that both accounts hear; `mention` names the account that is addressed.
    fn heard(&self, at: &Spot, id: &str, text: &str, mention: Option<&str>) -> [Incoming; 2] {
        let now = self.house.clock.now();
        ["1000", "2000"].map(|account| {
            let mut message = at.message(now, id, text);
            if let IncomingEvent::Message(said) = &mut message.event {
                said.addressed.mention = mention == Some(account);
            }
            message
        })
    }

    async fn first(&self, event: &Incoming) {
        self.house.receive(vec![event.clone()]).await;
    }

    async fn second(&self, event: &Incoming) {
        let batch = Batch { events: vec![event.clone()], ..Batch::default() };
        self.second.gateway().await.receive(batch).await.unwrap();
    }

    async fn said(&self) -> (Vec<String>, Vec<String>) {
        self.house.quiet().await;
        (self.house.platform.texts("g"), self.second.texts("g"))
    }
}

#[tokio::test]
async fn a_question_for_neither_is_answered_by_the_first_account() {
    let store = Database::in_memory().await.unwrap();
    let both = Both::new(&store).await;
    let ada = group("g", "1");
    for (n, second_first) in [false, true, true, false].into_iter().enumerate() {
        let text = format!("Eliza, question {n}");
        let [one, two] = both.heard(&ada, &format!("q{n}"), &text, None);
        if second_first {
            both.second(&two).await;
            both.first(&one).await;
        } else {
            both.first(&one).await;
            both.second(&two).await;
        }
        let (first, second) = both.said().await;
        assert_eq!((first.len(), second.len()), (n + 1, 0), "{text}: {first:?} {second:?}");
    }
}

#[tokio::test]
async fn the_account_that_is_addressed_answers() {
    let store = Database::in_memory().await.unwrap();
    let both = Both::new(&store).await;
    let ada = group("g", "1");
    let [one, two] = both.heard(&ada, "q", "@second what is a loom", Some("2000"));
    both.first(&one).await;
    both.second(&two).await;
    let (first, second) = both.said().await;
    assert_eq!((first.len(), second.len()), (0, 1));
}

#[tokio::test]
async fn what_the_first_account_does_not_hear_the_second_answers_once() {
    let store = Database::in_memory().await.unwrap();
    let both = Both::new(&store).await;
    let ada = group("g", "1");
    // Both know the group.
    for event in both.heard(&ada, "hello", "nice weather", None).iter().enumerate() {
        match event {
            (0, event) => both.first(event).await,
            (_, event) => both.second(event).await,
        }
    }
    both.house.quiet().await;
    let [one, two] = both.heard(&ada, "q", "Eliza, what is a loom", None);
    both.second(&two).await;
    let (first, second) = both.said().await;
    assert_eq!((first.len(), second.len()), (0, 1), "it waits for the first, not for ever");
    // The first account comes back and hears it late; then the program starts again.
    both.first(&one).await;
    assert_eq!(both.said().await.0.len(), 0);
    let id = both.house.id_of(&one);
    let explained = both.house.explain(id).await;
    assert!(explained.state == InboxState::Skipped, "{explained:?}");
    assert!(explained.steps.iter().any(|step| step.reason.contains("2000")), "{explained:?}");
    both.house.orchestrator.stop(Duration::from_secs(5)).await;
    let again = Both::new(&store).await;
    again.first(&one).await;
    again.second(&two).await;
    assert_eq!(
        again.said().await,
        (Vec::new(), Vec::new()),
        "after a restart nobody says it again"
    );
}

/// An application deletes a person's message and posts it again (PluralKit): the person is answered once,
/// whether the first or the second copy was.
#[tokio::test]
async fn a_message_that_was_posted_again_is_answered_once() {
    for original_is_answered in [true, false] {
        let house = Plan::new(echo() as _).build().await;
        let ada = group("g", "1");
        let text = if original_is_answered { "A: Eliza, hello" } else { "A; hello" };
        let original = house.message(&ada, text);
        let IncomingEvent::Message(said) = &original.event else { panic!("a message") };
        let id = said.id.as_str().to_owned();
        house.receive(vec![original.clone()]).await;
        house.quiet().await;
        let mut again = house.message(&group("g", "77"), "Eliza, hello");
        if let IncomingEvent::Message(said) = &mut again.event {
            said.content.extra.insert("replaces".into(), id.into());
        }
        let again_id = house.id_of(&again);
        house.receive(vec![again]).await;
        house.quiet().await;
        assert_eq!(house.platform.texts("g").len(), 1, "{original_is_answered}");
        let skipped = house.explain(again_id).await.state == InboxState::Skipped;
        assert_eq!(skipped, original_is_answered);
    }
}

/// A platform counts for the account, whichever agent has it.
#[tokio::test]
async fn what_every_agent_keeps_of_an_account_is_read_together() {
    let store = Database::in_memory().await.unwrap();
    for name in ["Eliza", "Ada"] {
        let plan = Plan { character: character(name), ..Plan::new(echo()) };
        let house = plan.store(&store).build().await;
        house.gateway.save_state("sessions", name.into()).await.unwrap();
        house.gateway.save_state("other", 7.into()).await.unwrap();
        house.orchestrator.stop_agent(house.agent, Duration::from_secs(10)).await.unwrap();
    }
    let house = Plan::new(echo()).store(&store).build().await;
    let mut all = house.gateway.account_states("sessions").await.unwrap();
    all.sort_by_key(ToString::to_string);
    assert_eq!(all, ["Ada", "Eliza"]);
    assert_eq!(house.gateway.state("sessions").await.unwrap(), Some("Eliza".into()));
}
