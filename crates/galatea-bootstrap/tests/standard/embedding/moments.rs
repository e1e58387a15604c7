//! When the service embeds: beside answers, and within what the agent may use a day.

use super::*;

/// A turn of the agent begins.
fn answers(scene: &Scene) {
    scene.events.publish(Event::TurnStarted {
        agent: scene.agent.identity.id(),
        room: scene.room.id,
        turn: TurnId::fresh(),
    });
}

fn texts(model: &Tea) -> Vec<String> {
    model.asked.lock().unwrap().concat()
}

#[tokio::test]
async fn messages_wait_until_the_agent_is_quiet_and_what_is_learnt_does_not() {
    let model = Tea::of("small", 3);
    let mut scene = after(8);
    scene.models.embedding = Some(model.clone());
    let running = Running::start(&scene).await;
    running.after(&scene, QUIET).await;
    scene.keep(MemoryKind::Messages, someone(MARIA), scene.room.id, "remark", Timestamp(1));
    // The agent answers every second. Each fact shows that the service has read the event before.
    for n in 0..29 {
        let fact = format!("fact {n}");
        scene.keep(MemoryKind::Facts, someone(MARIA), scene.room.id, &fact, Timestamp(n));
        answers(&scene);
        learnt(&scene);
        until(|| texts(&model).contains(&fact)).await;
        running.after(&scene, Duration::from_secs(1)).await;
    }
    assert!(!texts(&model).contains(&"remark".to_owned()), "the agent is busy");
    running.after(&scene, Duration::from_secs(1)).await;
    assert_eq!(texts(&model).last().unwrap(), "remark", "but not for more than half a minute");

    scene.keep(MemoryKind::Messages, someone(MARIA), scene.room.id, "another", Timestamp(2));
    scene.keep(MemoryKind::Facts, someone(MARIA), scene.room.id, "last fact", Timestamp(99));
    answers(&scene);
    learnt(&scene);
    until(|| texts(&model).contains(&"last fact".to_owned())).await;
    running.after(&scene, QUIET).await;
    assert_eq!(texts(&model).last().unwrap(), "another", "the agent was quiet");
    running.stop().await;
}

#[tokio::test]
async fn at_a_limit_of_the_agent_nothing_is_given_up_and_the_rest_waits_for_the_next_day() {
    let model = Tea::of("small", 3);
    let mut scene = after(8);
    scene.models.embedding = Some(model.clone());
    for n in 0..100 {
        let text = format!("remark {n}");
        scene.keep(MemoryKind::Messages, someone(MARIA), scene.room.id, &text, Timestamp(n));
    }
    *model.left.lock().unwrap() = Some(70);
    let running = Running::start(&scene).await;
    running.after(&scene, QUIET).await;
    let (embedded, given_up) = {
        let tables = scene.double.tables();
        (tables.embeddings.len(), tables.given_up.len())
    };
    assert_eq!((embedded, given_up), (68, 0), "64, and of the other 36 what still fits by halves");
    *model.left.lock().unwrap() = None;
    learnt(&scene);
    // Ten minutes a step, so that a clock that is set does not keep it waiting.
    for _ in 0..11 {
        running.after(&scene, Duration::from_secs(600)).await;
    }
    assert_eq!(scene.double.tables().embeddings.len(), embedded, "not before");
    running.after(&scene, Duration::from_secs(600)).await;
    assert_eq!(scene.double.tables().embeddings.len(), 100);
    running.stop().await;
}
