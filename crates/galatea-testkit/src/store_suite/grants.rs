//! Grants of tools: kept by kind, tools, place and person.

use galatea_core::{
    EntityId, RemoteId, RoomId, Store, Timestamp,
    rights::{Grant, GrantAsk, GrantKind, Standing, ToolIdentity},
    store::{RequestedChange, TurnRecord},
};
use std::sync::Arc;

use super::fixtures::Scene;

fn rule(scene: &Scene, tools: &str) -> Grant {
    let from = Some(Standing::Member);
    Grant::rule(scene.agent, tools.parse().unwrap(), from, Timestamp(7))
}

fn consent(scene: &Scene, person: EntityId) -> Grant {
    let tool = ToolIdentity::new("weather", "forecast").pinned("a1");
    Grant::consent(scene.agent, &tool, person, Some(scene.room), Timestamp(8))
}

/// One of the same kind, tools, place and person is replaced; others stand beside it. They are read
/// back as they were, for their agent only, and removed once.
pub async fn grants_are_replaced_listed_and_removed(store: Arc<dyn Store>) {
    let (scene, other) = (Scene::new(), Scene::new());
    let everywhere = rule(&scene, "weather/*");
    let stricter = Grant { from: None, ask: GrantAsk::Always, ..everywhere.clone() };
    let limit =
        Grant { kind: GrantKind::Limit, world: Some(scene.world), ..rule(&scene, "weather/*") };
    let consent = consent(&scene, scene.person);
    for grant in [&everywhere, &stricter, &limit, &consent, &rule(&other, "files/*")] {
        store.save_grant(grant).await.unwrap();
    }
    let expected = [consent.clone(), limit.clone(), stricter.clone()];
    assert_eq!(store.grants(scene.agent).await.unwrap(), expected);
    assert!(store.remove_grant(&everywhere).await.unwrap(), "by its key");
    assert!(!store.remove_grant(&everywhere).await.unwrap());
    assert_eq!(store.grants(scene.agent).await.unwrap(), [consent, limit]);
    assert_eq!(store.grants(other.agent).await.unwrap().len(), 1);
}

/// What a person allowed tools to do is forgotten with the person.
pub async fn a_forgotten_persons_consents_go(store: Arc<dyn Store>) {
    let (scene, stranger) = (Scene::new(), EntityId::fresh());
    store.connect(scene.connections()).await.unwrap();
    let kept = [consent(&scene, stranger), rule(&scene, "weather/*")];
    for grant in kept.iter().chain([&consent(&scene, scene.person)]) {
        store.save_grant(grant).await.unwrap();
    }
    let forget = RequestedChange::ForgetPerson { entity: scene.person };
    store.finish_turn(TurnRecord { effects: vec![forget], ..scene.turn(&[]) }).await.unwrap();
    assert_eq!(store.grants(scene.agent).await.unwrap(), kept);
}

/// Grants of a Room follow it to its new id, where one that is there already wins.
pub async fn a_moved_rooms_grants_go_along(store: Arc<dyn Store>) {
    let scene = Scene::new();
    store.connect(scene.connections()).await.unwrap();
    let to = RoomId::fresh();
    let of = |room, tools: &str| Grant { room: Some(room), ..rule(&scene, tools) };
    let there = Grant { from: None, ..of(to, "files/*") };
    for grant in [of(scene.room, "weather/*"), of(scene.room, "files/*"), there.clone()] {
        store.save_grant(&grant).await.unwrap();
    }
    store.move_room(scene.room, to, &RemoteId::new("-100500")).await.unwrap();
    assert_eq!(store.grants(scene.agent).await.unwrap(), [there, of(to, "weather/*")]);
}
