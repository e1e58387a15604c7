//! One call of a server, with its deadline, its questions and its end.

use rmcp::{
    model::{
        CallToolRequest, CallToolRequestParams, ClientRequest, ElicitRequestParams, ElicitResult,
        InputRequest, InputRequiredResult, InputResponses, ProgressToken, ServerResult,
    },
    service::{Peer, PeerRequestOptions, RoleClient, ServiceError},
};
use std::{collections::VecDeque, time::Duration};
use tokio::{
    sync::{broadcast, mpsc, oneshot, watch},
    time::{Instant, sleep_until},
};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::handler::{Asked, Channels};
use crate::config::LONGEST_CALL;

/// Most times that a server may ask for more before it answers.
const ROUNDS: usize = 6;

/// Why a call has no answer.
#[derive(Debug)]
pub(crate) enum CallError {
    /// No answer within this time.
    Timeout(Duration),
    /// The server refused the call, or its connection failed.
    Failed(ServiceError),
    /// The server asks for what is not supported.
    Unsupported(&'static str),
    /// The caller no longer waits.
    Abandoned,
}

/// How far a call has come.
#[allow(clippy::large_enum_variant, reason = "one at a time, and handed on at once")]
pub(crate) enum Step {
    /// The server's answer.
    Answer(Box<ServerResult>),
    /// The server asks a person.
    Asks(ElicitRequestParams, Waiting),
}

/// A call that waits for a person. Dropped, the call is cancelled.
pub(crate) struct Waiting {
    channels: Channels,
    peer: Peer<RoleClient>,
    timeout: Duration,
    kind: Kind,
}

enum Kind {
    /// The server holds the call open (revisions before 2026-07-28).
    Held { reply: oneshot::Sender<ElicitResult>, running: Running },
    /// The server forgot the call, and wants it again with the answers.
    Again(Box<Round>),
}

struct Round {
    params: CallToolRequestParams,
    state: Option<String>,
    /// The key of the question that is asked now.
    key: String,
    left: VecDeque<(String, ElicitRequestParams)>,
    answers: InputResponses,
    rounds: usize,
}

struct Running {
    answer: oneshot::Receiver<Result<ServerResult, CallError>>,
    asked: mpsc::Receiver<Asked>,
    held: watch::Sender<bool>,
    _stop: DropGuard,
}

/// Calls a tool.
pub(crate) async fn call(
    peer: &Peer<RoleClient>,
    channels: &Channels,
    params: CallToolRequestParams,
    timeout: Duration,
) -> Result<Step, CallError> {
    round(peer.clone(), channels.clone(), params, timeout, 0).await
}

impl Waiting {
    /// Goes on with the answer of a person.
    pub(crate) async fn go_on(self, result: ElicitResult) -> Result<Step, CallError> {
        let Self { channels, peer, timeout, kind } = self;
        match kind {
            Kind::Held { reply, running } => {
                let _ = running.held.send(false);
                let _ = reply.send(result);
                wait(peer, channels, timeout, running).await.and_then(only_answers)
            }
            Kind::Again(mut round) => {
                let value = serde_json::to_value(&result).unwrap_or_default();
                round.answers.insert(std::mem::take(&mut round.key), value);
                if let Some((key, params)) = round.left.pop_front() {
                    round.key = key;
                    let kind = Kind::Again(round);
                    return Ok(Step::Asks(params, Self { channels, peer, timeout, kind }));
                }
                let Round { mut params, state, answers, rounds, .. } = *round;
                params.input_responses = Some(answers);
                params.request_state = state;
                self::round(peer, channels, params, timeout, rounds).await
            }
        }
    }
}

/// A held call cannot end with a question of the modern form.
fn only_answers(step: Step) -> Result<Step, CallError> {
    match &step {
        Step::Answer(result) if matches!(**result, ServerResult::InputRequiredResult(_)) => {
            Err(CallError::Failed(ServiceError::UnexpectedResponse))
        }
        _ => Ok(step),
    }
}

async fn round(
    peer: Peer<RoleClient>,
    channels: Channels,
    params: CallToolRequestParams,
    timeout: Duration,
    rounds: usize,
) -> Result<Step, CallError> {
    let request = ClientRequest::CallToolRequest(CallToolRequest::new(params.clone()));
    let running = start(peer.clone(), &channels, request, timeout);
    let step = wait(peer.clone(), channels.clone(), timeout, running).await?;
    let Step::Answer(result) = step else { return Ok(step) };
    let ServerResult::InputRequiredResult(required) = *result else {
        return Ok(Step::Answer(result));
    };
    if rounds >= ROUNDS {
        return Err(CallError::Unsupported("it asks again and again"));
    }
    let InputRequiredResult { input_requests, request_state, .. } = required;
    let mut left = VecDeque::new();
    for (key, request) in input_requests.unwrap_or_default() {
        match request {
            InputRequest::Elicitation(request) => left.push_back((key, request.params)),
            _ => return Err(CallError::Unsupported("it asks for a model or for folders")),
        }
    }
    let Some((key, asked)) = left.pop_front() else {
        // The server only wants the call again, with its own words.
        let mut params = params;
        params.input_responses = None;
        params.request_state = request_state;
        return Box::pin(self::round(peer, channels, params, timeout, rounds + 1)).await;
    };
    let round = Round {
        params,
        state: request_state,
        key,
        left,
        answers: InputResponses::new(),
        rounds: rounds + 1,
    };
    let kind = Kind::Again(Box::new(round));
    Ok(Step::Asks(asked, Waiting { channels, peer, timeout, kind }))
}

/// Any request with a deadline, without questions.
pub(crate) async fn request(
    peer: &Peer<RoleClient>,
    channels: &Channels,
    request: ClientRequest,
    timeout: Duration,
) -> Result<ServerResult, CallError> {
    let running = start(peer.clone(), channels, request, timeout);
    running.answer.await.unwrap_or(Err(CallError::Abandoned))
}

fn start(
    peer: Peer<RoleClient>,
    channels: &Channels,
    request: ClientRequest,
    timeout: Duration,
) -> Running {
    let (tell, answer) = oneshot::channel();
    let (held, is_held) = watch::channel(false);
    let stop = CancellationToken::new();
    let progress = channels.progress.subscribe();
    let watched = Watched { timeout, is_held, stop: stop.clone(), progress };
    tokio::spawn(async move {
        let _ = tell.send(watched.run(&peer, request).await);
    });
    Running { answer, asked: channels.listen(), held, _stop: stop.drop_guard() }
}

struct Watched {
    timeout: Duration,
    is_held: watch::Receiver<bool>,
    stop: CancellationToken,
    progress: broadcast::Receiver<ProgressToken>,
}

impl Watched {
    async fn run(
        mut self,
        peer: &Peer<RoleClient>,
        request: ClientRequest,
    ) -> Result<ServerResult, CallError> {
        let sending = peer.send_cancellable_request(request, PeerRequestOptions::no_options());
        let mut handle = match tokio::time::timeout(self.timeout, sending).await {
            Ok(handle) => handle.map_err(CallError::Failed)?,
            Err(_) => return Err(CallError::Timeout(self.timeout)),
        };
        let last = Instant::now() + LONGEST_CALL;
        let mut idle = Instant::now() + self.timeout;
        loop {
            // A person may take longer than a server.
            let end = if *self.is_held.borrow() { last } else { idle.min(last) };
            tokio::select! {
                answer = &mut handle.rx => {
                    return match answer {
                        Ok(answer) => answer.map_err(CallError::Failed),
                        Err(_) => Err(CallError::Failed(ServiceError::TransportClosed)),
                    };
                }
                token = self.progress.recv() => match token {
                    Ok(token) if token != handle.progress_token => {}
                    Ok(_) | Err(broadcast::error::RecvError::Lagged(_)) => {
                        idle = Instant::now() + self.timeout;
                    }
                    Err(broadcast::error::RecvError::Closed) => {
                        return Err(CallError::Failed(ServiceError::TransportClosed));
                    }
                },
                changed = self.is_held.changed() => {
                    idle = Instant::now() + self.timeout;
                    if changed.is_err() {
                        let _ = handle.cancel(Some("nobody waits for the answer".into())).await;
                        return Err(CallError::Abandoned);
                    }
                }
                () = sleep_until(end) => {
                    let _ = handle.cancel(Some("no answer in time".into())).await;
                    return Err(CallError::Timeout(self.timeout));
                }
                () = self.stop.cancelled() => {
                    let _ = handle.cancel(Some("nobody waits for the answer".into())).await;
                    return Err(CallError::Abandoned);
                }
            }
        }
    }
}

async fn wait(
    peer: Peer<RoleClient>,
    channels: Channels,
    timeout: Duration,
    mut running: Running,
) -> Result<Step, CallError> {
    tokio::select! {
        answer = &mut running.answer => {
            let answer = answer.unwrap_or(Err(CallError::Abandoned))?;
            Ok(Step::Answer(Box::new(answer)))
        }
        Some(Asked { params, reply }) = running.asked.recv() => {
            let _ = running.held.send(true);
            let kind = Kind::Held { reply, running };
            Ok(Step::Asks(params, Waiting { channels, peer, timeout, kind }))
        }
    }
}
