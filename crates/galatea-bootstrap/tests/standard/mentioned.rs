//! People who are talked about before they write themselves.

use serde_json::json;

use crate::{
    facts::{fact, learn, lesson, valid},
    named::{STAFF, join},
    scene::{BOB, MARIA, Scene, ZOE, someone},
};

/// Bob has said something of Zoe, who then writes for the first time.
async fn heard() -> Scene {
    let mut scene = Scene::group();
    let said = [(BOB, "Zoe is a harbour pilot"), (MARIA, "I like tea")];
    let heard =
        vec![fact("Zoe", "Zoe is a harbour pilot.", "m1"), fact("Maria", "Maria likes tea.", "m2")];
    learn(&mut scene, &said, lesson(heard)).await;
    join(&scene, someone(ZOE), &["Zoe", "zoe_handle"], scene.room.id);
    let first = scene.message_by(ZOE, "hello");
    let last = std::mem::replace(&mut scene.message, first);
    scene.recent.push(last.into());
    scene
}

#[tokio::test]
async fn what_was_said_of_a_person_before_they_wrote_is_shown_as_hearsay_about_them() {
    let scene = heard().await;
    let shown = scene.shows("FACTS").await.text;
    let expected = "About Zoe it is known: “Zoe is a harbour pilot.” (hearsay from Bob, ";
    assert!(shown.starts_with(expected) && !shown.contains("Zoe #"), "{shown}");
}

#[tokio::test]
async fn their_own_words_replace_it() {
    let mut scene = heard().await;
    let own = json!({ "about": "Zoe", "fact": "Zoe works as a nurse.", "evidence": "m1", "replaces": "k1" });
    // The known fact that fits comes first.
    learn(&mut scene, &[(ZOE, "I am no harbour pilot, I work as a nurse")], lesson(vec![own]))
        .await;
    let asked = scene.model.requests().last().unwrap().messages[0].text();
    assert!(asked.contains("k1 Zoe: Zoe is a harbour pilot. (said by Bob, "), "{asked}");
    assert_eq!(valid(&scene), ["Maria likes tea.", "Zoe works as a nurse."]);
}

#[tokio::test]
async fn of_two_people_of_the_name_it_is_about_neither() {
    let mut scene = heard().await;
    // The other one writes elsewhere in the World only.
    join(&scene, someone(78), &["Zoe"], STAFF);
    scene.message = scene.message_by(ZOE, "what of the harbour?");
    let shown = scene.shows("FACTS").await.text;
    assert!(!shown.contains("About Zoe #004d"), "{shown}");
    assert!(shown.contains("“Zoe is a harbour pilot.” (hearsay from Bob, "), "{shown}");
    assert!(shown.contains("About Zoe #"), "{shown}");
}
