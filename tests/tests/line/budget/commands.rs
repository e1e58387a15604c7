//! Commands meet the limits of Rooms, Worlds and the agent, and repeated ones are answered once.

use galatea_core::{ParticipantState, RemoteId, StepOutcome};

use super::*;

async fn last_step(house: &House, id: galatea_core::MemoryId) -> (InboxState, String, String) {
    let explained = house.explain(id).await;
    let step = explained
        .steps
        .iter()
        .rev()
        .find(|step| step.rule == "repeated" || step.outcome == StepOutcome::Skip)
        .cloned();
    let (rule, reason) =
        step.map_or_else(Default::default, |step| (step.rule.to_string(), step.reason));
    (explained.state, rule, reason.into_owned())
}

/// 25 members of a group send eight commands each. Before, all 200 were answered, and the platform
/// held up every answer to a question for minutes.
#[tokio::test]
async fn a_group_that_floods_commands_is_answered_its_share_and_a_question_passes() {
    for command in ["/help", "/privacy", "/memory", "/mute", "/unlink", "/start"] {
        let clock = ManualClock::new();
        let house = plan(&Priced::new("large", echo(), 10)).clock(clock.shared()).build().await;
        let mut ids = Vec::new();
        for round in 0..8 {
            for person in 0..25 {
                let person: &str = format!("m{person}").leak();
                // Other words each time, so that none is a repeat.
                let words = format!("{command} {round}");
                ids.push(house.say(&group("g", person), &words).await);
            }
        }
        house.quiet().await;
        let shown = house.platform.texts("g").len();
        assert!((1..=5).contains(&shown), "{command}: {shown} of 200 were answered");
        let (state, rule, reason) = last_step(&house, ids[199]).await;
        assert_eq!(state, InboxState::Skipped, "{command}");
        assert!(["limits", "repeated"].contains(&rule.as_str()), "{command}: {rule} {reason}");
        let asked = house.say(&group("g", "honest"), "Eliza, what is new?").await;
        house.quiet().await;
        assert_eq!(house.explain(asked).await.state, InboxState::Done, "{command}");
        assert_eq!(house.platform.texts("g").last().unwrap(), "re: Eliza, what is new?");
    }
}

#[tokio::test]
async fn a_thousand_strangers_who_start_leave_a_known_person_the_answer() {
    let clock = ManualClock::new();
    let store = Database::in_memory().await.unwrap();
    let house =
        plan(&Priced::new("large", echo(), 10)).clock(clock.shared()).store(&store).build().await;
    let friend = dm("friend");
    let yesterday = Day::of(house.clock.now()).0 - 1;
    house.store.add_usage(&[row(&house, &friend, yesterday)]).await.unwrap();
    let mut answered = 0;
    let mut ids = Vec::new();
    for person in 0..1_000 {
        ids.push(house.say(&dm(format!("s{person}").leak()), "/start").await);
    }
    let help = house.say(&friend, "/help").await;
    let asked = house.say(&friend, "hello").await;
    house.quiet().await;
    for id in ids {
        answered += u64::from(house.explain(id).await.state == InboxState::Done);
    }
    assert_eq!(answered, 37, "a quarter of strangers' 150 a minute");
    for id in [help, asked] {
        assert_eq!(house.explain(id).await.state, InboxState::Done);
    }
}

#[tokio::test]
async fn the_help_is_shown_to_a_group_once_a_minute_and_to_a_person_each_time() {
    let clock = ManualClock::new();
    let house = plan(&Priced::new("large", echo(), 10)).clock(clock.shared()).build().await;
    let mut ids = Vec::new();
    for person in ["a", "b", "c"] {
        ids.push(house.say(&group("g", person), "/help").await);
        house.quiet().await;
        clock.advance(Duration::from_secs(10));
    }
    assert_eq!(house.platform.texts("g").len(), 1);
    for id in &ids[1..] {
        let (state, rule, reason) = last_step(&house, *id).await;
        assert_eq!((state, rule.as_str()), (InboxState::Skipped, "repeated"));
        assert!(reason.contains("was shown here"), "{reason}");
    }
    house.say(&group("other", "a"), "/help").await;
    house.quiet().await;
    assert_eq!(house.platform.texts("other").len(), 1);
    clock.advance(Duration::from_secs(60));
    house.say(&group("g", "c"), "/help").await;
    house.quiet().await;
    assert_eq!(house.platform.texts("g").len(), 2);
    for _ in 0..2 {
        house.say(&dm("a"), "/help").await;
        house.quiet().await;
    }
    assert_eq!(house.platform.texts("a").len(), 2);
}

#[tokio::test]
async fn what_one_person_repeats_in_a_row_gets_one_answer() {
    let gated = Gated::new(echo(), "first");
    let house = Plan::new(Arc::clone(&gated) as _).set("LIMITS", "on").build().await;
    let spot = dm("7");
    house.say(&spot, "first").await;
    gated.reached(1).await;
    let mut same = Vec::new();
    for _ in 0..4 {
        same.push(house.say(&spot, "/privacy").await);
    }
    let other = house.say(&spot, "/privacy what").await;
    gated.open(1);
    house.quiet().await;
    assert_eq!(house.platform.texts("7").len(), 3, "{:?}", house.platform.texts("7"));
    for id in &same[1..] {
        let (state, rule, reason) = last_step(&house, *id).await;
        assert_eq!((state, rule.as_str()), (InboxState::Done, "repeated"), "{reason}");
    }
    assert_eq!(house.explain(other).await.state, InboxState::Done);
}

/// Members flood commands; the admin can still mute, and the owner of the agent can ask.
#[tokio::test]
async fn a_flood_locks_out_neither_admins_nor_owners() {
    let clock = ManualClock::new();
    let house = plan(&Priced::new("large", echo(), 10))
        .set("AGENT_OWNERS", "stage:boss")
        .clock(clock.shared())
        .build()
        .await;
    for person in 0..25 {
        house.say(&group("g", format!("m{person}").leak()), "/mute").await;
    }
    let mut asked = house.message(&group("g", "admin"), "/mute");
    asked.connection.world.owner = Some(RemoteId::new("admin"));
    let muted = house.id_of(&asked);
    house.receive(vec![asked]).await;
    let boss = house.say(&group("g", "boss"), "/help").await;
    house.quiet().await;
    for id in [muted, boss] {
        assert_eq!(house.explain(id).await.state, InboxState::Done);
    }
    let state =
        house.store.participant_state(house.room(&group("g", "m1")), house.identity.entity());
    assert_eq!(state.await.unwrap(), Some(ParticipantState::Muted));
}

/// A code that waits nowhere uses up nothing: neither the person's rate nor the share of commands.
#[tokio::test]
async fn confirmations_are_neither_refused_nor_counted() {
    let clock = ManualClock::new();
    let house = plan(&Priced::new("large", echo(), 10))
        .set("LIMIT_PERSON", "1/min")
        .set("LIMIT_ROOM", "1/min")
        .clock(clock.shared())
        .build()
        .await;
    let mut ids = Vec::new();
    for _ in 0..5 {
        ids.push(house.say(&dm("7"), "ok-7K2QM").await);
    }
    let asked = house.say(&dm("7"), "hello").await;
    house.quiet().await;
    for id in ids {
        let explained = house.explain(id).await;
        assert!(explained.summary.contains("nothing of that code waits"), "{explained:?}");
    }
    assert_eq!(house.explain(asked).await.state, InboxState::Done);
}
