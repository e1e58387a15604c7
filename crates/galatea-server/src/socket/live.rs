//! The namespace `/live`: numbered events for dashboards. A program that was away goes on after the last
//! number that it saw, in any process. A slow reader falls behind, and is told when events are gone.

use galatea_core::store::LiveEvent;
use galatea_host::ops::{
    Operator,
    live::{Followed, Follower},
};
use serde_json::{Value, json};
use socketioxide::extract::{Data, SocketRef};
use std::{future::ready, sync::Arc, time::Duration};
use tokio::{sync::watch, time::sleep};

use super::handshake::{self, Shown};
use crate::{
    app::App,
    presented::Presented,
    told::{Taken, emit},
};

/// Pause of a reader whose connection is full. elizaOS's events of the same connection go first.
const FULL: Duration = Duration::from_millis(250);
/// Between two looks at whether the credential still holds.
const CHECK: Duration = Duration::from_secs(15);
/// Most kinds in a subscription.
const KINDS: usize = 64;
/// Data of an event that name what it is about, the most telling first.
const IDS: [&str; 9] =
    ["delivery", "turn", "memory", "task", "entity", "room", "world", "plugin", "account"];

/// What a socket wants to see.
#[derive(Debug, Clone, PartialEq, Default)]
struct Wanted {
    /// After this number; none is from now on.
    after: Option<i64>,
    /// These kinds; all if there is none.
    kinds: Vec<String>,
}

/// Reads a subscription: `{after?, kinds?}`.
fn wanted(data: &Value) -> Result<Wanted, &'static str> {
    let after = match data.get("after") {
        None | Some(Value::Null) => None,
        Some(after) => Some(after.as_i64().ok_or("after: the number of an event")?),
    };
    let kinds = match data.get("kinds") {
        None | Some(Value::Null) => Vec::new(),
        Some(kinds) => {
            let list = kinds.as_array().filter(|list| list.len() <= KINDS);
            let list = list.ok_or("kinds: a list of 64 kinds at most")?;
            let text = |kind: &Value| kind.as_str().map(str::to_owned);
            list.iter().map(text).collect::<Option<_>>().ok_or("kinds: a list of texts")?
        }
    };
    Ok(Wanted { after, kinds })
}

/// An event as programs get it. `id` is what it is about.
fn view(event: &LiveEvent) -> Value {
    let id = IDS.iter().find_map(|key| event.data.get(*key));
    json!({
        "seq": event.seq,
        "at": event.at.0,
        "agent": event.agent,
        "kind": event.kind,
        "id": id,
        "data": event.data,
    })
}

/// Sets a reader up. It follows from the handshake on where that has `after` or `kinds`, and otherwise from
/// its first `subscribe`.
pub(super) async fn connected(
    app: Arc<App>,
    socket: SocketRef,
    auth: Option<Value>,
    presented: Shown,
) {
    let Ok(opened) = handshake::live(&app, auth.as_ref(), presented).await else {
        let _ = socket.disconnect();
        return;
    };
    let auth = auth.unwrap_or_default();
    let begins = auth.get("after").is_some() || auth.get("kinds").is_some();
    let first = wanted(&auth).ok().filter(|_| begins);
    let (subscribe, subscribed) = watch::channel(first);
    let gone = watch::Sender::new(false);
    let ends = gone.subscribe();
    socket.on_disconnect(move |_: SocketRef| {
        gone.send_replace(true);
        ready(())
    });
    socket.on("subscribe", move |socket: SocketRef, Data(data): Data<Value>| {
        match wanted(&data) {
            Ok(wanted) => {
                subscribe.send_replace(Some(wanted));
            }
            Err(error) => drop(emit(&socket, "refused", &json!({ "error": error }))),
        }
        ready(())
    });
    let reader = Reader { app, socket, by: opened.by, presented: opened.presented };
    tokio::spawn(reader.run(subscribed, ends));
}

/// One program that follows events.
struct Reader {
    app: Arc<App>,
    socket: SocketRef,
    by: Operator,
    presented: Presented,
}

impl Reader {
    async fn run(
        self,
        mut subscribed: watch::Receiver<Option<Wanted>>,
        mut gone: watch::Receiver<bool>,
    ) {
        tokio::select! {
            biased;
            _ = gone.wait_for(|gone| *gone) => {}
            () = self.follow(&mut subscribed) => {}
            () = self.allowed() => {}
        }
        let _ = self.socket.disconnect();
    }

    /// Resolves when the credential does not hold any more.
    async fn allowed(&self) {
        loop {
            sleep(CHECK).await;
            if !matches!(self.presented.identify(&self.app).await, Ok(Some(_))) {
                return;
            }
        }
    }

    /// Follows events until the socket or the process ends.
    async fn follow(&self, subscribed: &mut watch::Receiver<Option<Wanted>>) {
        loop {
            let wanted = subscribed.borrow_and_update().clone();
            let Some(wanted) = wanted else {
                if subscribed.changed().await.is_err() {
                    return;
                }
                continue;
            };
            let Ok(follower) = self.app.live.follow(&self.by, wanted.after).await else { return };
            let told = json!({ "kinds": wanted.kinds, "after": wanted.after });
            if !self.put("subscribed", &told).await {
                return;
            }
            tokio::select! {
                biased;
                changed = subscribed.changed() => if changed.is_err() { return },
                goes_on = self.events(follower, &wanted.kinds) => if !goes_on { return },
            }
        }
    }

    /// Hands events over. False when the socket or the process ends.
    async fn events(&self, mut follower: Follower, kinds: &[String]) -> bool {
        loop {
            let went = match follower.next().await {
                Ok(Some(Followed::Event(event))) => {
                    if !kinds.is_empty() && !kinds.contains(&event.kind) {
                        continue;
                    }
                    self.put("event", &view(&event)).await
                }
                Ok(Some(Followed::Missed(seq))) => self.put("missed", &json!({ "seq": seq })).await,
                Ok(None) | Err(_) => false,
            };
            if !went {
                return false;
            }
        }
    }

    /// Hands one event over, however long the program takes to read those before it. False when the socket
    /// is closed.
    async fn put(&self, event: &str, data: &Value) -> bool {
        loop {
            match emit(&self.socket, event, data) {
                Taken::Yes => return true,
                Taken::Closed => return false,
                Taken::Full => sleep(FULL).await,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use galatea_core::Timestamp;

    #[test]
    fn a_subscription_is_read_and_what_is_none_is_refused() {
        assert_eq!(wanted(&json!({})), Ok(Wanted::default()));
        let both = wanted(&json!({"after": 7, "kinds": ["turn_finished"]})).unwrap();
        assert_eq!(both, Wanted { after: Some(7), kinds: vec!["turn_finished".to_owned()] });
        for bad in [
            json!({"after": "x"}),
            json!({"kinds": "turn_finished"}),
            json!({"kinds": [1]}),
            json!({"kinds": vec!["x"; 65]}),
        ] {
            assert!(wanted(&bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn an_event_names_what_it_is_about() {
        let event = LiveEvent {
            seq: 3,
            at: Timestamp(9),
            agent: None,
            kind: "turn_finished".to_owned(),
            data: json!({ "room": "r", "turn": "t" }),
        };
        let view = view(&event);
        assert_eq!((&view["id"], &view["seq"]), (&json!("t"), &json!(3)));
        assert_eq!((&view["kind"], &view["agent"]), (&json!("turn_finished"), &Value::Null));
    }
}
