//! Commands, and the actions with the same effect.

use galatea_core::{
    ChannelType, MemoryId, ParticipantState, RemoteId, Role, RoomRef, Timestamp, WorldRef,
    WorldSync,
    store::{InboxState, MemoryQuery},
};
use galatea_testkit::{clock::ManualClock, models::ScriptedModel};
use std::{sync::Arc, time::Duration};

use crate::{
    house::{House, Plan, Spot, dm, group},
    models::{Gated, echo},
};

async fn make_admin(house: &House, person: &str) {
    let mut world = WorldRef::new(RemoteId::new("-100"), None);
    world.roles = vec![(RemoteId::new(person), Role::Admin)];
    let rooms = vec![RoomRef::new(RemoteId::new("-100"), None, ChannelType::Group)];
    let sync = WorldSync { world, rooms, entities: Vec::new() };
    house.gateway.ensure_connections(sync).await.unwrap();
}

async fn own_state(house: &House, room: galatea_core::RoomId) -> Option<ParticipantState> {
    house.store.participant_state(room, house.identity.entity()).await.unwrap()
}

#[tokio::test]
async fn mute_and_unmute() {
    let house = Plan::new(echo()).build().await;
    let spot = dm("7");
    house.say(&spot, "/mute").await;
    house.platform.until_shown("7", 1).await;
    house.quiet().await;
    let ignored = house.say(&spot, "hello?").await;
    house.quiet().await;
    let said = house.explain(ignored).await;
    assert_eq!(
        (said.state, said.summary.as_str()),
        (InboxState::Skipped, "not answered: this room is muted")
    );
    house.say(&dm("8"), "other rooms").await;
    house.platform.until_shown("8", 1).await;
    house.say(&spot, "/unmute").await;
    house.say(&spot, "hello!").await;
    assert_eq!(house.platform.until_shown("7", 3).await[1..], ["I am back.", "re: hello!"]);
}

#[tokio::test]
async fn in_groups_only_admins_switch() {
    let house = Plan::new(echo()).build().await;
    make_admin(&house, "1").await;
    house.say(&group("-100", "7"), "/mute").await;
    assert!(house.platform.until_shown("-100", 1).await[0].starts_with("Only admins"));
    house.quiet().await;
    let room = house.room(&group("-100", "7"));
    assert_eq!(own_state(&house, room).await, None);
    house.say(&group("-100", "1"), "/mute").await;
    house.quiet().await;
    assert_eq!(own_state(&house, room).await, Some(ParticipantState::Muted));
}

#[tokio::test]
async fn an_owner_of_the_agent_switches_in_any_group() {
    let house = Plan::new(echo()).set("AGENT_OWNERS", "stage:9").build().await;
    make_admin(&house, "1").await;
    let spot = group("-100", "9");
    house.say(&spot, "/mute").await;
    house.quiet().await;
    let room = house.room(&spot);
    assert_eq!(own_state(&house, room).await, Some(ParticipantState::Muted));
    house.say(&spot, "/unmute").await;
    house.say(&spot, "/reset").await;
    house.quiet().await;
    assert_eq!(own_state(&house, room).await, None);
    assert!(house.platform.texts("-100").last().unwrap().starts_with("Done."));
}

#[tokio::test]
async fn the_mute_action_mutes_the_room() {
    let model = Arc::new(ScriptedModel::new());
    model.enqueue("<response><actions>MUTE_ROOM</actions><text>I will be quiet.</text></response>");
    let house = Plan::new(model).plugin(galatea_bootstrap::plugin()).build().await;
    let spot = group("-100", "7").mentioning();
    let mut asked = house.message(&spot, "please be quiet");
    asked.connection.world.owner = Some(galatea_core::RemoteId::new("7"));
    house.receive(vec![asked]).await;
    house.platform.until_shown("-100", 1).await;
    house.quiet().await;
    assert_eq!(own_state(&house, house.room(&spot)).await, Some(ParticipantState::Muted));
    let ignored = house.say(&spot, "hello?").await;
    house.quiet().await;
    assert!(house.explain(ignored).await.summary.contains("muted"));
}

#[tokio::test]
async fn reset_starts_afresh() {
    let model = echo();
    let house = Plan::new(Arc::clone(&model) as _).build().await;
    let spot = dm("7");
    house.say(&spot, "my name is Rumpelstiltskin").await;
    house.platform.until_shown("7", 1).await;
    house.quiet().await;
    house.say(&spot, "do you remember?").await;
    house.platform.until_shown("7", 2).await;
    house.quiet().await;
    house.say(&spot, "/reset").await;
    house.platform.until_shown("7", 3).await;
    house.quiet().await;
    house.say(&spot, "who am I?").await;
    house.platform.until_shown("7", 4).await;
    let knows: Vec<bool> = model
        .requests()
        .iter()
        .map(|r| r.messages.iter().any(|m| m.text().contains("Rumpelstiltskin")))
        .collect();
    assert_eq!(knows, [true, true, false]);
}

#[tokio::test]
async fn reset_hides_what_has_the_time_of_a_clock_that_is_ahead() {
    let (clock, model) = (ManualClock::at(Timestamp(1_777_888_800_000)), echo());
    let house = Plan::new(Arc::clone(&model) as _).clock(clock.shared()).build().await;
    let spot = dm("7");
    // The machine's clock is three minutes ahead of the platform's; a press has the machine's time.
    let (platform, machine) = (-180_000, 0);
    for (ahead, text) in [
        (platform, "hello"),
        (machine, "my name is Rumpelstiltskin"),
        (24 * 3_600_000, "an import from tomorrow"),
        (platform, "/reset"),
        (platform, "who am I?"),
        (platform, "and who are you?"),
    ] {
        if text == "who am I?" {
            clock.advance(Duration::from_secs(200));
        }
        let at = Timestamp(house.clock.now().0 + ahead);
        house.receive(vec![spot.message(at, &format!("7-{text}"), text)]).await;
        house.quiet().await;
        clock.advance(Duration::from_secs(1));
    }
    let last: Vec<String> =
        model.requests().pop().unwrap().messages.iter().map(|m| m.text()).collect();
    let has = |text: &str| last.iter().any(|message| message.contains(text));
    assert!(!has("hello") && !has("Rumpelstiltskin"), "{last:?}");
    assert!(has("who am I?") && has("and who are you?"), "{last:?}");
}

#[tokio::test]
async fn reset_does_not_hide_what_waits_behind_it() {
    let (clock, model) = (ManualClock::at(Timestamp(1_777_888_800_000)), echo());
    let house = Plan::new(Arc::clone(&model) as _).clock(clock.shared()).build().await;
    let spot = dm("7");
    // The machine's clock is ahead of the platform's.
    let said = |number: i64, text: &str| {
        let at = Timestamp(house.clock.now().0 - 60_000 + 1_000 * number);
        spot.message(at, &format!("7-{number}"), text)
    };
    house.receive(vec![said(1, "/reset"), said(2, "who am I?")]).await;
    house.quiet().await;
    house.receive(vec![said(3, "and who are you?")]).await;
    house.quiet().await;
    let last = model.requests().pop().unwrap();
    assert!(last.messages.iter().any(|message| message.text().contains("who am I?")), "{last:?}");
}

/// More messages than a lane holds.
#[tokio::test]
async fn reset_does_not_hide_what_no_lane_has_yet() {
    let (clock, model) = (ManualClock::at(Timestamp(1_777_888_800_000)), echo());
    let gated = Gated::new(Arc::clone(&model), "slowly");
    let house = Plan::new(Arc::clone(&gated) as _).clock(clock.shared()).build().await;
    let said = |number: i64, spot: &Spot, text: &str| {
        let at = Timestamp(house.clock.now().0 - 600_000 + 1_000 * number);
        spot.message(at, &format!("-100-{number}"), text)
    };
    let (asks, talks) = (group("-100", "7").mentioning(), group("-100", "8"));
    make_admin(&house, "7").await;
    house.receive(vec![said(-1, &asks, "answer slowly")]).await;
    gated.reached(1).await;
    let mut messages = vec![said(0, &asks, "/reset")];
    messages.extend((1..400).map(|n| said(n, &talks, &format!("chat {n}."))));
    messages.push(said(400, &asks, "what did they say?"));
    house.receive(messages).await;
    gated.open(1);
    house.quiet().await;
    let last = model.requests().pop().unwrap();
    let has = |text: &str| last.messages.iter().any(|message| message.text().contains(text));
    assert!(has("what did they say?") && has("chat 399."), "{last:?}");
}

#[tokio::test]
async fn forget_me_deletes_what_this_person_wrote_everywhere() {
    let house = Plan::new(echo()).build().await;
    let mut ids: Vec<MemoryId> = Vec::new();
    for n in 0..5 {
        ids.push(house.say(&dm("7"), &format!("secret {n}")).await);
    }
    ids.push(house.say(&group("-100", "7").mentioning(), "secret in public").await);
    let others = house.say(&group("-100", "8").mentioning(), "mine stays").await;
    house.quiet().await;
    house.say(&dm("7"), "/privacy forget me").await;
    house
        .platform
        .until("the confirmation", |p| {
            let says = |text: &String| {
                text.contains("6 other messages") && text.contains("numbers without words")
            };
            p.texts("7").iter().any(says)
        })
        .await;
    house.quiet().await;
    for id in ids {
        assert_eq!(house.store.memory(id).await.unwrap(), None);
    }
    assert!(house.store.memory(others).await.unwrap().is_some());
    let query =
        MemoryQuery { entity: Some(house.entity(&dm("7"))), ..MemoryQuery::new(house.agent, 10) };
    assert_eq!(house.store.memories(&query).await.unwrap(), Vec::new());
    // The agent's messages to this person are deleted too; its messages to others stay.
    let own =
        MemoryQuery { entity: Some(house.identity.entity()), ..MemoryQuery::new(house.agent, 50) };
    let said: Vec<_> =
        house.store.memories(&own).await.unwrap().into_iter().map(|m| m.content.text).collect();
    assert_eq!(said, ["re: mine stays"]);
    let person = &house.store.entities(&[house.entity(&dm("7"))]).await.unwrap()[0];
    assert_eq!((&person.names, person.metadata.len()), (&Vec::new(), 0), "names are personal");
    // A person who writes again is a new person.
    house.say(&dm("7"), "hello again").await;
    house.quiet().await;
    assert_eq!(
        house.store.entities(&[house.entity(&dm("7"))]).await.unwrap()[0].names,
        ["Person 7", "user7"]
    );
    assert_eq!(house.platform.texts("7").last().unwrap(), "re: hello again");
}

#[tokio::test]
async fn commands_obey_the_policy_of_direct_messages() {
    let house = Plan::new(echo()).set("DM_POLICY", "disabled").build().await;
    for command in ["/help", "/privacy", "/privacy forget me"] {
        let refused = house.say(&dm("7"), command).await;
        house.quiet().await;
        let said = house.explain(refused).await;
        assert_eq!(
            (said.state, said.summary.as_str()),
            (InboxState::Skipped, "not answered: direct messages are switched off"),
            "{command}"
        );
    }
    assert_eq!(house.platform.attempts(), 0);
    house.say(&group("-100", "7"), "/help").await;
    house.platform.until_shown("-100", 1).await;
}
