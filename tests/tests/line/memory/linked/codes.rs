//! Codes of `/link`: used once, for a while, by one person, in direct chats only.

use std::time::Duration;

use super::{code, knows, send, stage, there};
use crate::{
    house::{dm, group},
    memory::stage::private,
};

#[tokio::test]
async fn a_code_is_used_once_and_ends() {
    let stage = stage().await;
    let own = code(&stage, &private(0)).await;
    assert!(stage.answer(&private(0), &format!("/link {own}")).await.contains("your own code"));
    let newer = code(&stage, &private(0)).await;
    for bad in [own.as_str(), "ABCDEFGH"] {
        let said = stage.answer(&there(), &format!("/link {bad}")).await;
        assert!(said.starts_with("That code is not valid"), "only the newest is good: {said}");
    }
    // In any letters, by one person once.
    send(&stage, &newer.to_lowercase()).await;
    let again = stage.answer(&dm("abroad-bob"), &format!("/link {newer}")).await;
    assert!(again.starts_with("That code is not valid"), "{again}");
    // Only the person who is asked can answer, and only in that room.
    for (at, answer) in [(there(), "/link yes"), (private(1), "/link yes")] {
        assert!(stage.answer(&at, answer).await.starts_with("I have not asked you"));
    }
    assert!(stage.answer(&private(0), "/link no").await.starts_with("Then nothing has changed"));
    assert!(stage.answer(&private(0), "/link yes").await.starts_with("I have not asked you"));
    assert!(!knows(&stage, &there()).await);
    // Too late: the code, and the answer.
    let late = code(&stage, &private(0)).await;
    stage.clock.advance(Duration::from_secs(600));
    let said = stage.answer(&there(), &format!("/link {late}")).await;
    assert!(said.starts_with("That code is not valid"), "{said}");
    let code = code(&stage, &private(0)).await;
    send(&stage, &code).await;
    stage.clock.advance(Duration::from_secs(600));
    assert!(stage.answer(&private(0), "/link yes").await.starts_with("That was too long ago"));
    assert!(!knows(&stage, &there()).await);
}

#[tokio::test]
async fn a_person_who_guesses_is_stopped() {
    let stage = stage().await;
    let good = code(&stage, &private(0)).await;
    for n in 0..5 {
        let help = stage.answer(&there(), "/link help").await;
        assert!(help.starts_with("Send /link to get a code"), "no try: {help}");
        let said = stage.answer(&there(), &format!("/link WRONG{n}22")).await;
        assert!(said.starts_with("That code is not valid"), "{said}");
    }
    let said = stage.answer(&there(), &format!("/link {good}")).await;
    assert!(said.starts_with("Too many of your codes were wrong"), "{said}");
    // Others are not stopped, and the person only for a while.
    stage.answer(&dm("abroad-bob"), "/link WRONG222").await;
    stage.clock.advance(Duration::from_secs(600));
    let good = code(&stage, &private(0)).await;
    send(&stage, &good).await;
}

#[tokio::test]
async fn codes_are_neither_shown_nor_taken_in_groups_and_not_stored_as_they_are() {
    let stage = stage().await;
    let crowd = group("abroad-crowd", "abroad-anna").mentioning();
    let bare = stage.answer(&crowd, "/link").await;
    assert!(bare.contains("in a direct chat with me only") && !bare.contains("shown"), "{bare}");
    let code = code(&stage, &private(0)).await;
    let sent = stage.answer(&crowd, &format!("/link {code}")).await;
    assert!(sent.contains("in a direct chat with me only"), "{sent}");
    assert!(sent.contains("should not be used any more"), "{sent}");
    let tasks = stage.house.store.tasks(stage.house.agent, &[]).await.unwrap();
    assert_eq!(tasks.len(), 1, "one code is open");
    assert!(!serde_json::to_string(&tasks).unwrap().contains(&code));
}
