//! Runs the suite of all connectors with clients at real sockets.
//!
//! Some cases do not apply to a terminal: a platform that fails, sets a rate limit, forbids
//! writing, or goes away on its own, and secrets. A broken line is not a failure: the message is
//! offered again until it is confirmed, which the other files test.

use async_trait::async_trait;
use galatea_core::{
    AgentIdentity, ChannelType, Connector, ConnectorConfig, Host, MemoryId, RemoteId, Settings,
    SystemClock,
};
use galatea_terminal::{Config, Heard, TerminalClient};
use galatea_testkit::connector_suite::{
    ConnectorHarness, PlatformFault, Said, Shown, Spot, SpotKind,
};
use std::{
    collections::VecDeque,
    path::PathBuf,
    sync::{Arc, Mutex},
    time::Duration,
};
use tokio::sync::watch;

galatea_testkit::connector_suite!(local Terminal);

/// One person at a terminal, who sends one message at a time and repeats it until it is stored.
struct Terminal {
    folder: tempfile::TempDir,
    page: Arc<Page>,
}

/// What the person has sent and seen.
#[derive(Default)]
struct Page {
    state: Mutex<State>,
    changed: watch::Sender<u64>,
}

#[derive(Default)]
struct State {
    count: usize,
    waiting: VecDeque<(String, String)>,
    said: Vec<(String, String)>,
    shown: Vec<Shown>,
    typing: bool,
}

impl Page {
    fn change<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        let out = change(&mut self.state.lock().unwrap());
        self.changed.send_modify(|n| *n += 1);
        out
    }

    async fn wait_for<T>(&self, look: impl Fn(&State) -> Option<T>) -> T {
        let mut changes = self.changed.subscribe();
        loop {
            if let Some(found) = look(&self.state.lock().unwrap()) {
                return found;
            }
            changes.changed().await.unwrap();
        }
    }

    fn say(&self, text: &str) -> String {
        self.change(|s| {
            s.count += 1;
            let id = format!("m-{}", s.count);
            s.waiting.push_back((id.clone(), text.to_owned()));
            id
        })
    }
}

fn agent() -> AgentIdentity {
    AgentIdentity::new(None, "Galatea")
}

fn remote(id: &str) -> RemoteId {
    RemoteId::new(format_args!("terminal-ann/{id}"))
}

/// Runs the person's client, and reconnects whenever the connection breaks.
async fn sit(socket: PathBuf, page: Arc<Page>) {
    loop {
        if let Ok(client) = TerminalClient::connect(&socket, "ann").await {
            converse(client, &page).await;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

async fn converse(mut client: TerminalClient, page: &Page) {
    let mut changes = page.changed.subscribe();
    let mut pending: Option<String> = None;
    loop {
        let next = page.state.lock().unwrap().waiting.front().cloned();
        if let Some((id, text)) = next.filter(|_| pending.is_none()) {
            if client.say_as(&id, &text).await.is_err() {
                return;
            }
            pending = Some(id);
        }
        tokio::select! {
            _ = changes.changed() => {}
            heard = client.next() => match heard {
                Ok(Some(Heard::Received { id, .. })) => {
                    pending = None;
                    page.change(|s| { let done = s.waiting.pop_front().unwrap(); assert_eq!(done.0, id); s.said.push(done); });
                }
                // A blank message is refused in order, which shows that everything before it was
                // received.
                Ok(Some(Heard::Refused { code, id: Some(_), .. })) => {
                    pending = None;
                    if code == "GAL-TERM-SAY" {
                        page.change(|s| s.waiting.pop_front());
                    }
                }
                Ok(Some(Heard::Message(message))) => {
                    page.change(|s| {
                        let answered = s.said.iter().find(|(id, _)| Some(MemoryId(agent().swizzle(remote(id).as_str()))) == message.part.in_reply_to);
                        let reply_to = answered.map(|(id, _)| remote(id));
                        s.shown.push(Shown { id: remote(&message.key), text: message.part.text.clone(), code: None, reply_to, buttons: Vec::new(), files: Vec::new() });
                    });
                    client.confirm(&message).await.unwrap();
                }
                Ok(Some(Heard::Typing)) => page.change(|s| s.typing = true),
                Ok(Some(Heard::Refused { .. })) => {}
                Ok(None) | Err(_) => return,
            }
        }
    }
}

#[async_trait]
impl ConnectorHarness for Terminal {
    async fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let page = Arc::new(Page::default());
        tokio::spawn(sit(folder.path().join("terminal.sock"), Arc::clone(&page)));
        Self { folder, page }
    }

    fn connector(&self) -> Arc<dyn Connector> {
        let host = Host {
            agent: agent(),
            agent_name: "Galatea".into(),
            data_dir: self.folder.path().to_owned(),
            clock: Arc::new(SystemClock),
        };
        Config::from_settings(&Settings::default()).unwrap().unwrap().build(&host).unwrap()
    }

    fn canaries(&self) -> Vec<String> {
        Vec::new()
    }

    async fn spot(&self, kind: SpotKind) -> Option<Spot> {
        (kind == SpotKind::Direct).then(|| Spot {
            kind,
            world: RemoteId::new("terminal"),
            room: RemoteId::new("terminal-ann"),
            parent: None,
            channel: ChannelType::Dm,
            speaker: RemoteId::new("terminal-ann"),
            speaker_name: "ann".into(),
        })
    }

    async fn say(&self, _: &Spot, said: Said) -> RemoteId {
        remote(&self.page.say(&said.text))
    }

    async fn edit(&self, _: &Spot, _: &RemoteId, _: &str) -> bool {
        false
    }

    async fn delete(&self, _: &Spot, _: &RemoteId) -> bool {
        false
    }

    async fn react(&self, _: &Spot, _: &RemoteId, _: &str) -> bool {
        false
    }

    async fn press(&self, _: &Spot, _: &RemoteId, _: &str) {
        panic!("a terminal has no buttons");
    }

    async fn shown(&self, _: &Spot, count: usize) -> Vec<Shown> {
        self.page.wait_for(|s| (s.shown.len() >= count).then(|| s.shown.clone())).await
    }

    async fn reactions(&self, _: &Spot, _: &RemoteId) -> Vec<String> {
        Vec::new()
    }

    async fn typing(&self, _: &Spot) -> bool {
        self.page.say(" ");
        self.page.wait_for(|s| s.waiting.is_empty().then_some(s.typing)).await
    }

    async fn inject(&self, _: &Spot, fault: PlatformFault) {
        panic!("a terminal cannot fail with {fault:?}");
    }

    fn set_reachable(&self, _: bool) {
        panic!("a terminal is on this machine");
    }

    async fn redeliver(&self) {
        self.page.change(|s| {
            let again = std::mem::take(&mut s.said);
            s.waiting.extend(again);
        });
    }

    fn unacknowledged(&self) -> Option<usize> {
        Some(self.page.state.lock().unwrap().waiting.len())
    }

    async fn wait_acknowledged(&self) {
        self.page.wait_for(|s| s.waiting.is_empty().then_some(())).await;
    }

    fn queues_while_away(&self) -> bool {
        true
    }
}
