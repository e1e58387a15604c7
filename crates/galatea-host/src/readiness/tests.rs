//! Tests of this module.

use super::*;

/// The minute only ends a test that would wait for ever; what counts is that the wait ends.
#[tokio::test]
async fn a_database_that_does_not_answer_is_not_waited_for() {
    assert!(STORAGE_PATIENCE <= Duration::from_secs(1), "clients give up after a second or two");
    let timed_out = || Reason { subject: STORAGE.to_owned(), ..Reason::default() };
    for away in [false, true] {
        let waits = patiently(std::future::pending(), || away, timed_out);
        let learnt = tokio::time::timeout(Duration::from_secs(60), waits).await.unwrap();
        assert_eq!(learnt.storage.map(|reason| reason.subject).as_deref(), Some(STORAGE));
    }
    assert!(patiently(async { Learnt::default() }, || true, timed_out).await.storage.is_none());
}

/// Also if it went away while its answer was waited for.
#[test]
fn a_database_that_is_away_is_waited_for_a_moment() {
    assert!(AWAY_PATIENCE + GLANCE < Duration::from_millis(300));
    let millis = Duration::from_millis;
    for (waited, is_away, waits) in [
        (0, true, true),
        (199, true, true),
        (200, true, false),
        (600, true, false),
        (600, false, true),
        (1000, false, false),
    ] {
        assert_eq!(waits_on(millis(waited), is_away), waits, "{waited} ms, away: {is_away}");
    }
}
