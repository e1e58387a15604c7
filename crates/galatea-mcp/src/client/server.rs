//! One server: connected in the background, kept, restarted, called and closed.

use galatea_core::{
    Backoff, Error, ErrorKind,
    breaker::{Admission, Breaker, BreakerLimits, Call, Pass, Phase as BreakerPhase},
};
use parking_lot::Mutex;
use rmcp::{
    model::{
        CallToolRequestParams, ClientRequest, ElicitResult, GetPromptRequest,
        GetPromptRequestParams, JsonObject, ReadResourceRequest, ReadResourceRequestParams,
        ServerResult, SubscriptionFilter,
    },
    service::{Peer, RoleClient, ServiceError},
};
use std::{sync::Arc, time::Duration};
use tokio::{
    sync::{Notify, watch},
    time::sleep,
};
use tokio_util::sync::CancellationToken;

use super::{
    Surroundings,
    call::{self, CallError, Step, Waiting},
    connect::{self, Connection, shown},
    handler::Channels,
    listing::{self, Listing},
    question::{Answer, Question},
    view::{Phase, ServerView},
};
use crate::{
    child::{confine, line::TOO_LONG, spawn::Said},
    config::ServerConfig,
    outcome::{self, Outcome},
    tools::{
        Tool,
        pin::{self, Pinned},
    },
};

/// First and longest pause before a server is connected again.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(120);
/// A server that stayed connected so long has recovered.
const RECOVERED: Duration = Duration::from_secs(60);
/// Pause between two looks for changes that other processes made, such as an approval.
const LOOK: Duration = Duration::from_secs(2);
/// Waits after a notice of a change: servers send several in a row.
const SETTLE: Duration = Duration::from_millis(300);

/// What a server offers now.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Offer {
    /// All of its tools, with what its owner said of each.
    pub tools: Vec<(Arc<Tool>, Pinned)>,
    /// Tools that were agreed to and are gone.
    pub gone: Vec<String>,
    /// Its resources.
    pub resources: Vec<listing::Item>,
    /// Its prompts.
    pub prompts: Vec<listing::Item>,
    /// Whether it has more than is read.
    pub cut: bool,
}

impl Offer {
    /// The tools that its owner agreed to as they are.
    pub fn approved(&self) -> impl Iterator<Item = &Arc<Tool>> {
        self.tools.iter().filter(|(_, pinned)| pinned.is_offered()).map(|(tool, _)| tool)
    }
}

/// The end of a call, or a question before it.
#[allow(clippy::large_enum_variant, reason = "one at a time, and handed on at once")]
pub(crate) enum Called {
    Done(Outcome),
    Asks(Question, Paused),
}

/// A call that waits for a person.
pub(crate) struct Paused {
    waiting: Waiting,
    tool: Arc<Tool>,
    pass: Pass,
}

/// One server.
pub struct Server {
    config: ServerConfig,
    around: Surroundings,
    state: Mutex<State>,
    breaker: Mutex<Breaker>,
    offer: watch::Sender<Arc<Offer>>,
    stop: CancellationToken,
    /// Has the connection opened again.
    again: Notify,
    ended: watch::Sender<bool>,
}

struct State {
    phase: Phase,
    detail: String,
    live: Option<(Peer<RoleClient>, Channels)>,
    said: Option<Said>,
}

impl Server {
    /// Begins to connect a server, and returns at once. Without an async runtime it panics.
    pub fn start(config: ServerConfig, around: Surroundings) -> Arc<Self> {
        let limits = BreakerLimits { slow: config.timeout, probe: crate::config::LONGEST_CALL };
        let breaker = Breaker::new(limits, around.clock.now());
        let state = State { phase: Phase::Starting, detail: String::new(), live: None, said: None };
        let server = Arc::new(Self {
            config,
            around,
            state: Mutex::new(state),
            breaker: Mutex::new(breaker),
            offer: watch::Sender::new(Arc::default()),
            stop: CancellationToken::new(),
            again: Notify::new(),
            ended: watch::Sender::new(false),
        });
        let run = Arc::clone(&server);
        tokio::spawn(async move {
            run.supervise().await;
            run.enter(Phase::Stopped, String::new());
            run.ended.send_replace(true);
        });
        server
    }

    /// Its configuration.
    pub fn config(&self) -> &ServerConfig {
        &self.config
    }

    /// What it offers now.
    pub fn offer(&self) -> Arc<Offer> {
        Arc::clone(&self.offer.borrow())
    }

    /// Sees each change of what it offers.
    pub fn changes(&self) -> watch::Receiver<Arc<Offer>> {
        self.offer.subscribe()
    }

    /// State of the server, for people.
    pub fn view(&self) -> ServerView {
        let offer = self.offer();
        let state = self.state.lock();
        let offered = offer.approved().count();
        let enforced = state.said.as_ref().and_then(Said::enforced);
        let breaker = self.breaker.lock();
        let detail = match breaker.phase() {
            BreakerPhase::Closed => state.detail.clone(),
            phase => format!("its calls fail ({}) {}", phase.as_str(), state.detail),
        };
        ServerView {
            name: self.config.name.clone(),
            phase: state.phase,
            detail: detail.trim().to_owned(),
            offered,
            waiting: offer.tools.len() - offered,
            not_enforced: enforced.and_then(|words| confine::in_words(&words)),
        }
    }

    /// Whether it is connected.
    pub fn is_ready(&self) -> bool {
        self.state.lock().live.is_some()
    }

    /// Closes the connection and ends the server's process. Returns when both are gone.
    pub async fn stop(&self) {
        self.stop.cancel();
        let _ = self.ended.subscribe().wait_for(|ended| *ended).await;
    }

    /// Has the connection closed and opened again, such as after a sign-in.
    pub fn reconnect(&self) {
        self.again.notify_one();
    }

    fn enter(&self, phase: Phase, detail: String) {
        let mut state = self.state.lock();
        if state.phase != phase || state.detail != detail {
            tracing::debug!(
                server = self.config.name,
                phase = phase.as_str(),
                detail,
                "an MCP server changed its state"
            );
        }
        state.phase = phase;
        state.detail = detail;
        if phase != Phase::Ready {
            state.live = None;
        }
    }

    async fn supervise(&self) {
        let (name, key) = (&self.config.name, &self.config.key());
        if self.config.disabled {
            self.enter(Phase::Disabled, "its configuration says so".to_owned());
            return self.stop.cancelled().await;
        }
        let mut backoff = Backoff::new(FIRST_PAUSE, LONGEST_PAUSE).with_jitter();
        while !self.stop.is_cancelled() {
            let known = self.around.places.read(key).unwrap_or_else(|error| {
                tracing::warn!(server = name, error = %error.report(), "what was agreed to cannot be read, so the MCP server stays off");
                crate::places::Known::default()
            });
            if known.approval.identity != self.config.identity() {
                let what = format!(
                    "run `galatea mcp approve {name}`: it starts nothing and offers nothing before"
                );
                self.enter(Phase::NeedsApproval, what);
                self.offer_nothing();
                self.until_changed().await;
                continue;
            }
            self.enter(Phase::Starting, String::new());
            let opened = tokio::select! {
                opened = connect::open(&self.config, &self.around, known.version.as_deref()) => opened,
                () = self.stop.cancelled() => return,
            };
            let began = self.around.clock.now();
            let error = match opened {
                Ok(connection) => {
                    let ended = self.serve(connection).await;
                    if self.around.clock.now().since(began) >= RECOVERED {
                        backoff.restart();
                    }
                    ended
                }
                Err(error) => Some(error),
            };
            let Some(error) = error else { continue };
            if known.version.is_some() {
                // It may speak another version after an update.
                let _ = self.around.places.change(key, |known| known.version = None);
            }
            if error.kind() == ErrorKind::Unauthorized {
                self.enter(Phase::NeedsSignIn, format!("run `galatea mcp login {name}`"));
                tracing::warn!(server = name, error = %error.report(), "an MCP server waits for a sign-in");
                self.until_changed().await;
                continue;
            }
            let pause = backoff.next_pause();
            self.enter(Phase::Down, error.report());
            tracing::warn!(server = name, error = %error.report(), seconds = pause.as_secs_f64(), "an MCP server is down and will be connected again");
            tokio::select! {
                () = sleep(pause) => {}
                () = self.again.notified() => {}
                () = self.stop.cancelled() => return,
            }
        }
    }

    /// Waits until a file of the server changes, or a new connection is asked for.
    async fn until_changed(&self) {
        let before = self.around.places.changed(&self.config.key());
        loop {
            tokio::select! {
                () = sleep(LOOK) => {
                    if self.around.places.changed(&self.config.key()) != before {
                        return;
                    }
                }
                () = self.again.notified() => return,
                () = self.stop.cancelled() => return,
            }
        }
    }

    /// Keeps a connection until it ends. The error says why; none if it is to be opened again at once.
    async fn serve(&self, connection: Connection) -> Option<Error> {
        let (name, key) = (&self.config.name, &self.config.key());
        let version = connection.version();
        let _ = self.around.places.change(key, |known| known.version = Some(version.to_string()));
        let listed = tokio::select! {
            listed = listing::list(connection.peer(), &self.config) => listed,
            () = self.stop.cancelled() => {
                connection.close().await;
                return None;
            }
        };
        let mut listing = match listed {
            Ok(listing) => listing,
            Err(error) => {
                connection.close().await;
                return Some(error);
            }
        };
        {
            let mut state = self.state.lock();
            state.live = Some((connection.peer().clone(), connection.channels.clone()));
            state.said = connection.said();
        }
        self.publish(&listing);
        let listening = tokio::spawn(listen(
            connection.peer().clone(),
            connection.channels.clone(),
            version.has_initialize(),
        ));
        self.enter_ready(&version.to_string());
        let mut seen = self.around.places.changed(key);
        let end = loop {
            tokio::select! {
                () = closed(&connection) => break Some(self.gone(&connection)),
                () = connection.channels.changed.notified() => {
                    sleep(SETTLE).await;
                    match listing::list(connection.peer(), &self.config).await {
                        Ok(new) => listing = new,
                        Err(error) => tracing::warn!(server = name, error = %error.report(), "a changed list of an MCP server could not be read"),
                    }
                    self.publish(&listing);
                    self.enter_ready(&version.to_string());
                }
                () = sleep(LOOK) => {
                    let now = self.around.places.changed(key);
                    if now != seen {
                        seen = now;
                        let known = self.around.places.read(key).unwrap_or_default();
                        if known.approval.identity != self.config.identity() {
                            break None;
                        }
                        self.publish(&listing);
                        self.enter_ready(&version.to_string());
                    }
                }
                () = self.again.notified() => break None,
                () = self.stop.cancelled() => break None,
            }
        };
        listening.abort();
        self.enter(Phase::Starting, String::new());
        connection.close().await;
        end
    }

    fn enter_ready(&self, version: &str) {
        let offer = self.offer();
        let waiting = offer.tools.len() - offer.approved().count();
        let detail = match waiting {
            0 => format!("protocol {version}"),
            n => format!(
                "protocol {version}; {n} tools are new or changed and stay off: `galatea mcp approve {}`",
                self.config.name
            ),
        };
        self.enter(Phase::Ready, detail);
    }

    fn gone(&self, connection: &Connection) -> Error {
        let error = Error::new(ErrorKind::Unavailable, "an MCP server ended")
            .with_code("GAL-MCP-DOWN")
            .with("server", &self.config.name)
            .with_fix("try it with `galatea mcp test`");
        match connection.said().and_then(|said| said.lines().last().cloned()) {
            Some(last) => error.with("it said", shown(&last)),
            None => error,
        }
    }

    /// Compares what is listed with what was agreed to, and tells those who use it.
    fn publish(&self, listing: &Listing) {
        let known = self.around.places.read(&self.config.key()).unwrap_or_default();
        let approval = if known.approval.identity == self.config.identity() {
            known.approval
        } else {
            pin::Approval::default()
        };
        let states = pin::compare(&listing.tools, &approval);
        let tools = listing.tools.iter().cloned().map(Arc::new).zip(states).collect();
        let offer = Offer {
            tools,
            gone: pin::gone(&listing.tools, &approval),
            resources: listing.resources.clone(),
            prompts: listing.prompts.clone(),
            cut: listing.cut,
        };
        for (tool, pinned) in offer.tools.iter().filter(|(_, pinned)| !pinned.is_offered()) {
            tracing::info!(server = self.config.name, tool = tool.name, state = ?std::mem::discriminant(pinned), "a tool of an MCP server stays off until its owner approves it");
        }
        self.offer.send_if_modified(|before| {
            let differs = **before != offer;
            if differs {
                *before = Arc::new(offer);
            }
            differs
        });
    }

    fn offer_nothing(&self) {
        self.offer.send_if_modified(|before| {
            let differs = **before != Offer::default();
            *before = Arc::default();
            differs
        });
    }

    /// Calls an approved tool for an owner who tries it. Its questions are declined.
    pub async fn try_tool(&self, name: &str, arguments: JsonObject) -> Outcome {
        let offer = self.offer();
        let Some(tool) = offer.approved().find(|tool| tool.name == name) else {
            return Outcome::failed("there is no approved tool of this name");
        };
        let mut called = self.call(tool, arguments).await;
        loop {
            match called {
                Called::Done(outcome) => return outcome,
                Called::Asks(question, paused) => {
                    called = self.go_on(paused, &question, &Answer::Decline).await;
                }
            }
        }
    }

    /// Calls a tool with arguments that were checked. A failure is an outcome that the model reads.
    pub(crate) async fn call(&self, tool: &Arc<Tool>, arguments: JsonObject) -> Called {
        let (peer, channels, pass) = match self.admit() {
            Ok(admitted) => admitted,
            Err(why) => return Called::Done(Outcome::failed(why)),
        };
        let params = CallToolRequestParams::new(tool.name.clone()).with_arguments(arguments);
        let step = call::call(&peer, &channels, params, self.config.timeout).await;
        self.settled(step, tool, pass)
    }

    /// Goes on with a call that waited for a person.
    pub(crate) async fn go_on(
        &self,
        paused: Paused,
        question: &Question,
        answer: &Answer,
    ) -> Called {
        let Paused { waiting, tool, pass } = paused;
        let step = waiting.go_on(answer.to_result(question)).await;
        self.settled(step, &tool, pass)
    }

    fn settled(&self, step: Result<Step, CallError>, tool: &Arc<Tool>, pass: Pass) -> Called {
        match step {
            Ok(Step::Asks(params, waiting)) => match Question::read(&params) {
                Ok(question) => {
                    Called::Asks(question, Paused { waiting, tool: Arc::clone(tool), pass })
                }
                Err(why) => {
                    self.breaker.lock().release(pass);
                    let declined = ElicitResult::new(rmcp::model::ElicitationAction::Decline);
                    // Told in the background: the turn need not wait for what it then answers.
                    tokio::spawn(waiting.go_on(declined));
                    Called::Done(Outcome::failed(format!(
                        "The server {} asked a question that is not passed on: {why}.",
                        self.config.name
                    )))
                }
            },
            Ok(Step::Answer(result)) => {
                self.settle(pass, Ok(()));
                Called::Done(match *result {
                    ServerResult::CallToolResult(result) => {
                        outcome::read(&result, tool.answer.as_deref())
                    }
                    _ => Outcome::failed("The server answered in a form that is not known here."),
                })
            }
            Err(error) => Called::Done(Outcome::failed(self.failed(pass, &error))),
        }
    }

    /// Reads a resource.
    pub(crate) async fn read(&self, uri: &str) -> Outcome {
        let params = ReadResourceRequestParams::new(uri);
        let request = ClientRequest::ReadResourceRequest(ReadResourceRequest::new(params));
        match self.request(request).await {
            Ok(ServerResult::ReadResourceResult(result)) => outcome::of_resource(&result.contents),
            Ok(_) => Outcome::failed("The server answered in a form that is not known here."),
            Err(why) => Outcome::failed(why),
        }
    }

    /// Fills in a prompt.
    pub(crate) async fn prompt(&self, name: &str, arguments: JsonObject) -> Outcome {
        let params = GetPromptRequestParams::new(name).with_arguments(arguments);
        let request = ClientRequest::GetPromptRequest(GetPromptRequest::new(params));
        match self.request(request).await {
            Ok(ServerResult::GetPromptResult(result)) => {
                outcome::of_prompt(result.messages.iter().map(|message| &message.content))
            }
            Ok(_) => Outcome::failed("The server answered in a form that is not known here."),
            Err(why) => Outcome::failed(why),
        }
    }

    async fn request(&self, request: ClientRequest) -> Result<ServerResult, String> {
        let (peer, channels, pass) = self.admit()?;
        match call::request(&peer, &channels, request, self.config.timeout).await {
            Ok(result) => {
                self.settle(pass, Ok(()));
                Ok(result)
            }
            Err(error) => Err(self.failed(pass, &error)),
        }
    }

    fn admit(&self) -> Result<(Peer<RoleClient>, Channels, Pass), String> {
        let (live, phase) = {
            let state = self.state.lock();
            (state.live.clone(), state.phase)
        };
        let name = &self.config.name;
        let Some((peer, channels)) = live else {
            return Err(format!("The server {name} is not connected now ({}).", phase.as_str()));
        };
        match self.breaker.lock().admit(self.around.clock.now(), chance()) {
            Admission::Go(pass) => Ok((peer, channels, pass)),
            Admission::Wait(_) | Admission::Never => Err(format!(
                "The server {name} did not answer several times, and is not asked now."
            )),
        }
    }

    fn settle(&self, pass: Pass, call: Result<(), String>) {
        let now = self.around.clock.now();
        let mut breaker = self.breaker.lock();
        let call = match call {
            Ok(()) => Call::Done(Duration::ZERO),
            Err(cause) => Call::Failed { cause },
        };
        breaker.settle(pass, call, now, chance());
        let is_open = breaker.phase() == BreakerPhase::Open;
        drop(breaker);
        // A program that hangs is started anew.
        if is_open && matches!(self.config.transport, crate::config::Transport::Stdio { .. }) {
            self.again.notify_one();
        }
    }

    /// The failure in words for the model; the cause goes to the owner, in the log.
    fn failed(&self, pass: Pass, error: &CallError) -> String {
        let name = &self.config.name;
        let words = match error {
            CallError::Timeout(time) => {
                self.settle(pass, Err("no answer in time".to_owned()));
                format!(
                    "The server {name} did not answer within {} s. It is not known what it has done.",
                    time.as_secs()
                )
            }
            CallError::Abandoned => {
                self.breaker.lock().release(pass);
                format!("The call of the server {name} was given up.")
            }
            CallError::Unsupported(why) => {
                self.settle(pass, Ok(()));
                format!("The server {name} cannot be used like this: {why}.")
            }
            CallError::Failed(ServiceError::McpError(refused)) if refused.code.0 == TOO_LONG => {
                self.settle(pass, Ok(()));
                format!(
                    "The answer of the server {name} is too large and was left out: {}. Ask for a smaller part.",
                    refused.message
                )
            }
            CallError::Failed(ServiceError::McpError(refused)) => {
                self.settle(pass, Ok(()));
                // Wrong arguments are the model's to mend (JSON-RPC: -32602).
                if refused.code.0 == -32_602 {
                    format!("The server {name} refuses the arguments: {}", shown(&refused.message))
                } else {
                    format!("The server {name} could not do it.")
                }
            }
            CallError::Failed(failure) => {
                if failure.is_authorization_required() || failure.auth_challenge().is_some() {
                    self.settle(pass, Ok(()));
                    self.again.notify_one();
                    format!("The server {name} wants its owner to sign in again.")
                } else if shown(&failure.to_string()).contains("exceed") {
                    self.settle(pass, Ok(()));
                    format!(
                        "The answer of the server {name} is too large and was left out. Ask for a smaller part."
                    )
                } else {
                    self.settle(pass, Err(shown(&failure.to_string())));
                    format!(
                        "The connection to the server {name} failed. It is not known what it has done."
                    )
                }
            }
        };
        if let CallError::Failed(failure) = error {
            tracing::warn!(
                server = name,
                cause = shown(&failure.to_string()),
                "a call of an MCP server failed"
            );
        }
        words
    }
}

/// Follows changes of lists on a modern connection; older ones tell them without being asked.
async fn listen(peer: Peer<RoleClient>, channels: Channels, is_legacy: bool) {
    if is_legacy {
        return;
    }
    let filter = SubscriptionFilter::builder()
        .tools_list_changed()
        .prompts_list_changed()
        .resources_list_changed()
        .build();
    let mut backoff = Backoff::new(FIRST_PAUSE, LONGEST_PAUSE).with_jitter();
    while !peer.is_transport_closed() {
        if let Ok(mut subscription) = peer.listen(filter.clone()).await {
            while let Ok(Some(_)) = subscription.next().await {
                channels.changed.notify_one();
            }
            // What changed meanwhile was not told.
            channels.changed.notify_one();
        }
        sleep(backoff.next_pause()).await;
    }
}

/// Ends when the connection does.
async fn closed(connection: &Connection) {
    while !connection.service.is_closed() && !connection.peer().is_transport_closed() {
        sleep(Duration::from_millis(100)).await;
    }
}

/// Evenly drawn from 0 to 1, of the clock's finest digits: the breaker spreads its pauses by it.
fn chance() -> f64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    f64::from(now.map_or(0, |now| now.subsec_nanos() % 1_000)) / 1_000.0
}
