//! Users, credentials, the record of changes, kept answers, and events for dashboards.

use galatea_core::{
    AgentId, CredentialId, Store, Timestamp, UserId,
    store::{
        Credential, CredentialKind, LIVE_KEPT, LiveEvent, OperatorRole, RecordedChange,
        SecretDigest, User,
    },
};
use serde_json::json;
use std::sync::Arc;

fn user(name: &str, role: OperatorRole) -> User {
    User {
        id: UserId::fresh(),
        name: name.to_owned(),
        role,
        agents: std::collections::BTreeMap::new(),
        password: None,
        created_at: Timestamp(5),
        disabled: false,
    }
}

fn credential(user: &User, kind: CredentialKind, expires_at: Option<i64>) -> Credential {
    Credential {
        id: CredentialId::fresh(),
        user: user.id,
        kind,
        name: "Firefox".to_owned(),
        role: OperatorRole::Operator,
        created_at: Timestamp(10),
        expires_at: expires_at.map(Timestamp),
        used_at: None,
    }
}

fn digest(text: &str) -> SecretDigest {
    SecretDigest(text.to_owned())
}

/// Names are unique, and an owner who may sign in always remains.
pub async fn an_owner_remains(store: Arc<dyn Store>) {
    let (ada, bob) = (user("ada", OperatorRole::Owner), user("bob", OperatorRole::Owner));
    assert!(store.add_user(&ada).await.unwrap() && store.add_user(&bob).await.unwrap());
    assert!(!store.add_user(&user("ada", OperatorRole::Viewer)).await.unwrap());
    let demoted = User { role: OperatorRole::Viewer, ..ada.clone() };
    let disabled = User { disabled: true, ..bob.clone() };
    let (a, b) = tokio::join!(store.change_user(&demoted), store.change_user(&disabled));
    assert_ne!(a.unwrap(), b.unwrap(), "one of two goes, not both");
    let left: Vec<User> = store.users().await.unwrap();
    assert_eq!(left.iter().map(|u| u.name.as_str()).collect::<Vec<_>>(), ["ada", "bob"]);
    let owner = left.iter().find(|u| u.role == OperatorRole::Owner && !u.disabled).unwrap();
    assert!(!store.remove_user(owner.id).await.unwrap(), "the last one stays");
    let other = left.iter().find(|u| u.id != owner.id).unwrap();
    assert!(store.remove_user(other.id).await.unwrap());
    assert!(!store.remove_user(other.id).await.unwrap());
    let with_password = User { password: Some("$argon2id$x".to_owned()), ..owner.clone() };
    assert!(store.change_user(&with_password).await.unwrap(), "it stays an owner");
    assert_eq!(store.users().await.unwrap(), [with_password]);
}

/// A refresh token is taken once; its family ends with one word.
pub async fn a_refresh_token_is_taken_once(store: Arc<dyn Store>) {
    let roles = [(AgentId::fresh(), OperatorRole::Operator)];
    let ada = User { agents: roles.into(), ..user("ada", OperatorRole::Viewer) };
    assert!(store.add_user(&ada).await.unwrap());
    assert_eq!(store.users().await.unwrap(), std::slice::from_ref(&ada));
    let token = |name: &str| Credential {
        name: name.to_owned(),
        ..credential(&ada, CredentialKind::Refresh, Some(100))
    };
    let (first, other) = (token("family"), token("other"));
    store.add_credential(&digest("1"), &first).await.unwrap();
    store.add_credential(&digest("o"), &other).await.unwrap();
    let now = Timestamp(50);
    let found = store.family("family", now).await.unwrap().unwrap();
    assert_eq!((found.0, found.1), (first.clone(), ada.clone()));
    let one = digest("1");
    let (a, b) = tokio::join!(store.take_refresh(&one, now), store.take_refresh(&one, now));
    assert_ne!(a.unwrap(), b.unwrap());
    assert_eq!(store.family("family", now).await.unwrap(), None, "until the next one");
    let (used, _) = store.credential(&one, now).await.unwrap().unwrap();
    assert_eq!(used.used_at, Some(now), "its second use is noticed");
    store.add_credential(&digest("2"), &token("family")).await.unwrap();
    assert!(store.family("family", now).await.unwrap().is_some());
    assert!(!store.take_refresh(&digest("2"), Timestamp(100)).await.unwrap(), "it has ended");
    assert_eq!(store.end_family("family").await.unwrap(), 2);
    assert_eq!(store.family("family", now).await.unwrap(), None);
    assert!(store.family("other", now).await.unwrap().is_some());
    assert_eq!(store.end_sessions(ada.id, None).await.unwrap(), 1);
}

/// A credential is found by its digest until it ends or its user does.
pub async fn credentials_end(store: Arc<dyn Store>) {
    let (ada, bob) = (user("ada", OperatorRole::Owner), user("bob", OperatorRole::Viewer));
    for user in [&ada, &bob] {
        assert!(store.add_user(user).await.unwrap());
    }
    let (session, token) = (
        credential(&bob, CredentialKind::Session, Some(100)),
        credential(&bob, CredentialKind::Token, None),
    );
    store.add_credential(&digest("s"), &session).await.unwrap();
    store.add_credential(&digest("t"), &token).await.unwrap();
    let now = Timestamp(50);
    let (found, who) = store.credential(&digest("s"), now).await.unwrap().unwrap();
    assert_eq!((&found, who.name.as_str(), who.role), (&session, "bob", OperatorRole::Viewer));
    assert_eq!(store.credential(&digest("s"), Timestamp(100)).await.unwrap(), None, "it expired");
    assert_eq!(store.credential(&digest("x"), now).await.unwrap(), None);
    store.note_use(token.id, Timestamp(60)).await.unwrap();
    let tokens = store.credentials(CredentialKind::Token, now).await.unwrap();
    assert_eq!(tokens, [Credential { used_at: Some(Timestamp(60)), ..token.clone() }]);
    let second = credential(&bob, CredentialKind::Session, Some(100));
    store.add_credential(&digest("s2"), &second).await.unwrap();
    assert_eq!(store.end_sessions(bob.id, Some(second.id)).await.unwrap(), 1);
    assert_eq!(store.credentials(CredentialKind::Session, now).await.unwrap(), [second]);
    store.change_user(&User { disabled: true, ..bob.clone() }).await.unwrap();
    assert_eq!(store.credential(&digest("t"), now).await.unwrap(), None, "disabled");
    store.change_user(&bob).await.unwrap();
    assert!(store.credential(&digest("t"), now).await.unwrap().is_some());
    assert!(store.end_credential(token.id).await.unwrap());
    assert!(!store.end_credential(token.id).await.unwrap());
    assert!(store.remove_user(bob.id).await.unwrap());
    assert!(store.credentials(CredentialKind::Session, now).await.unwrap().is_empty());
}

/// A link signs in once, whoever asks at the same moment.
pub async fn a_link_is_taken_once(store: Arc<dyn Store>) {
    let ada = user("ada", OperatorRole::Owner);
    store.add_user(&ada).await.unwrap();
    for (name, expires) in [("link", 100), ("late", 40)] {
        let link = credential(&ada, CredentialKind::Link, Some(expires));
        store.add_credential(&digest(name), &link).await.unwrap();
    }
    let link = digest("link");
    let tries = (0..8).map(|_| store.take_link(&link, Timestamp(50)));
    let taken = futures::future::join_all(tries).await;
    assert_eq!(taken.into_iter().filter(|taken| *taken.as_ref().unwrap()).count(), 1);
    assert!(!store.take_link(&digest("late"), Timestamp(50)).await.unwrap());
    let session = credential(&ada, CredentialKind::Session, Some(100));
    store.add_credential(&digest("s"), &session).await.unwrap();
    assert!(!store.take_link(&digest("s"), Timestamp(50)).await.unwrap(), "no link");
}

/// Changes are listed newest first; a repeated request gets the first answer.
pub async fn changes_and_answers_are_kept(store: Arc<dyn Store>) {
    for n in 0..3 {
        let change = RecordedChange {
            seq: 0,
            at: Timestamp(n),
            actor: "ada".to_owned(),
            operation: "outbox.retry".to_owned(),
            target: n.to_string(),
            before: Some(json!({"state": "dead"})),
            after: None,
            origin: "127.0.0.1".to_owned(),
        };
        store.record_change(&change).await.unwrap();
    }
    let first = store.recorded_changes(None, 2).await.unwrap();
    assert_eq!(first.iter().map(|c| c.target.as_str()).collect::<Vec<_>>(), ["2", "1"]);
    assert_eq!(first[0].before, Some(json!({"state": "dead"})));
    let rest = store.recorded_changes(Some(first[1].seq), 2).await.unwrap();
    assert_eq!(rest.iter().map(|c| c.target.as_str()).collect::<Vec<_>>(), ["0"]);

    let (key, request) = (digest("key"), digest("request"));
    let take = |now| store.take_key(&key, &request, Timestamp(now), Timestamp(now + 100));
    let first = take(0).await.unwrap();
    assert_eq!(first, None, "the first one carries it out");
    let meanwhile = take(1).await.unwrap().unwrap();
    assert_eq!(
        (meanwhile.status, meanwhile.body, meanwhile.request),
        (None, None, request.clone())
    );
    store.free_key(&key).await.unwrap();
    assert_eq!(take(2).await.unwrap(), None, "it was given back");
    store.keep_answer(&key, 201, "{}").await.unwrap();
    store.free_key(&key).await.unwrap();
    let kept = take(3).await.unwrap().unwrap();
    assert_eq!((kept.status, kept.body.as_deref()), (Some(201), Some("{}")));
    assert_eq!(take(500).await.unwrap(), None, "it ended");
}

/// Events are numbered in their order, and the oldest are forgotten.
pub async fn live_events_are_numbered_and_bounded(store: Arc<dyn Store>) {
    assert_eq!(store.live_bounds().await.unwrap(), None);
    let agent = AgentId::fresh();
    let event = |n: i64| LiveEvent {
        seq: 0,
        at: Timestamp(n),
        agent: (n % 2 == 0).then_some(agent),
        kind: "turn_finished".to_owned(),
        data: json!({"n": n, "text": "\"quoted\""}),
    };
    store.add_live(&[event(0), event(1), event(2)]).await.unwrap();
    let all = store.live_after(0, 10).await.unwrap();
    for (n, got) in (0..).zip(&all) {
        assert_eq!(*got, LiveEvent { seq: got.seq, ..event(n) });
    }
    assert!(all.is_sorted_by_key(|e| e.seq) && all.len() == 3);
    assert_eq!(store.live_after(all[1].seq, 10).await.unwrap(), all[2..]);
    let many: Vec<LiveEvent> = (3..LIVE_KEPT + 3).map(event).collect();
    store.add_live(&many).await.unwrap();
    let (first, last) = store.live_bounds().await.unwrap().unwrap();
    assert_eq!(last - first + 1, LIVE_KEPT, "the oldest are gone");
    assert!(first > all[1].seq);
}
