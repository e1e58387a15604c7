//! Messages to agents: an answer as JSON, as a stream, or later.

use axum::{
    extract::{DefaultBodyLimit, State},
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse as _, Response},
};
use galatea_core::{
    AgentId, ChannelType, MemoryId, Role, Room, RoomId, TurnId, event::Draft, store::OperatorRole,
};
use galatea_host::ops::{
    Operator,
    chat::{Channel, ChatEvent, Heard, SOURCE, Said, Speaker, Waiting, channel_of},
};
use galatea_http::listen::Ending;
use serde::{Deserialize, Serialize};
use std::{sync::Arc, time::Duration};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::{
    router::{OpenApiRouter, UtoipaMethodRouterExt as _},
    routes,
};
use uuid::Uuid;

use crate::{
    app::App,
    attachment::{Upload, media},
    auth::{Reader, Worker},
    body_limit::UPLOAD,
    error::Problem,
    extract::{Json, Path, Query, limit},
    person::person_of,
    presented::Presented,
    sse::{self, Events},
    view::{Accepted, AnswerPart, Answered, ChatRoom, ChatRoomList, OutcomeView},
};

/// Longest wait for an answer, in seconds. The listener allows 150 s for an answer without a stream.
const LONGEST: u64 = 140;
/// The usual one.
const USUAL: u64 = 120;
/// Longest wait of a stream.
const STREAM: Duration = Duration::from_secs(600);

pub(super) fn routes() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::new()
        .routes(routes!(send_message).layer(DefaultBodyLimit::max(UPLOAD)))
        .routes(routes!(get_message))
        .routes(routes!(list_chats))
}

/// A message to agents.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct SendMessage {
    /// The agent; or `agents`.
    agent: Option<Uuid>,
    /// Agents that share the room. Each decides for itself whether to answer, and hears the others.
    #[serde(default)]
    #[schema(max_items = 16)]
    agents: Vec<Uuid>,
    /// The id of a room of the web, or a name of one's own choice. Absent: the sender's private room.
    #[schema(max_length = 80)]
    room: Option<String>,
    /// The name that people see, for a new room.
    #[schema(max_length = 120)]
    name: Option<String>,
    /// True for a room that others may write into as well. Rooms of several agents always are.
    #[serde(default)]
    group: bool,
    /// Markdown.
    #[serde(default)]
    #[schema(max_length = 100_000)]
    text: String,
    /// An id of the sender's own choice. A message with a known one is stored once, and gets the answer that
    /// it got before.
    #[schema(max_length = 128)]
    client_id: Option<String>,
    /// At most 4 files of 4 MiB together.
    #[serde(default)]
    #[schema(max_items = 4)]
    attachments: Vec<Upload>,
    /// The message that it answers.
    in_reply_to: Option<Uuid>,
    /// The person that a program with a token speaks for. Absent: the user.
    sender: Option<Sender>,
}

/// A person of another program.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct Sender {
    /// Id of the person in that program.
    #[schema(min_length = 1, max_length = 64)]
    id: String,
    /// The name that agents know them by.
    #[schema(max_length = 120)]
    name: Option<String>,
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct SendAsked {
    /// `false`: answers at once with 202 and the id to look up.
    wait: Option<bool>,
    /// Seconds to wait for the answer.
    #[param(minimum = 1, maximum = 140)]
    timeout: Option<u64>,
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct ChatsOf {
    /// Only of this agent.
    agent: Option<Uuid>,
    /// The cursor of the page before.
    after: Option<Uuid>,
    /// Rows of a page.
    #[param(minimum = 1, maximum = 200)]
    limit: Option<u32>,
}

/// Says something to agents. The answer is JSON, or a stream for `Accept: text/event-stream`: `accepted`, `step`,
/// `draft` (all words so far), `message` (a committed part, which replaces drafts of its turn), `silent` (with the
/// reason), `end`. A message that is not answered in time answers 202.
#[utoipa::path(
    post,
    path = "/api/v1/messages",
    operation_id = "sendMessage",
    tag = "chat",
    params(SendAsked),
    request_body = SendMessage,
    responses(
        (status = 200, description = "Answered, or not answered for a reason", content((Answered = "application/json"), (AnswerPart = "text/event-stream"))),
        (status = 202, description = "Taken in; not finished yet", body = Answered),
        Problem
    )
)]
async fn send_message(
    State(app): State<Arc<App>>,
    Worker(by): Worker,
    presented: Option<Presented>,
    ending: Option<axum::Extension<Ending>>,
    headers: HeaderMap,
    Query(asked): Query<SendAsked>,
    Json(body): Json<SendMessage>,
) -> Result<Response, Problem> {
    let seconds = asked.timeout.unwrap_or(USUAL);
    if !(1..=LONGEST).contains(&seconds) {
        return Err(Problem::input(StatusCode::BAD_REQUEST, "timeout: 1 to 140 seconds"));
    }
    let (agents, said) = said(&app, &by, presented.as_ref(), &headers, body).await?;
    let channel = said.channel.id.clone();
    // Before the message: no event of its turns is missed.
    let follower = app.chat.follow(Some(Vec::new()), None).await?;
    let heard = app.chat.say(&agents, &said).await?;
    let accepted = Accepted::of(&channel, &heard);
    if wants_stream(&headers) {
        let ending = ending.map(|axum::Extension(ending)| ending);
        let work =
            move |events: Events| stream(app.chat.wait(&heard, follower, STREAM), events, accepted);
        return Ok(sse::respond(ending, "event: end\ndata: {}\n\n", work));
    }
    let waiting = |heard: &[Heard]| heard.iter().map(OutcomeView::waiting).collect::<Vec<_>>();
    if asked.wait == Some(false) {
        let body = Answered { accepted, answers: waiting(&heard) };
        return Ok((StatusCode::ACCEPTED, axum::Json(body)).into_response());
    }
    let patience = Duration::from_secs(seconds);
    let outcomes = app.chat.wait(&heard, follower, patience).end().await?;
    let late: Vec<Heard> = heard
        .iter()
        .filter(|one| outcomes.iter().all(|outcome| outcome.heard.memory != one.memory))
        .copied()
        .collect();
    let status = if late.is_empty() { StatusCode::OK } else { StatusCode::ACCEPTED };
    let answers = outcomes.into_iter().map(OutcomeView::from).chain(waiting(&late)).collect();
    Ok((status, axum::Json(Answered { accepted, answers })).into_response())
}

/// What became of a message.
#[utoipa::path(
    get,
    path = "/api/v1/messages/{id}",
    operation_id = "getMessage",
    tag = "chat",
    params(("id" = Uuid, Path)),
    responses((status = 200, description = "Done", body = OutcomeView), Problem)
)]
async fn get_message(
    State(app): State<Arc<App>>,
    Reader(_): Reader,
    Path(id): Path<Uuid>,
) -> Result<axum::Json<OutcomeView>, Problem> {
    let heard = app.chat.heard(MemoryId(id)).await?.ok_or_else(unknown)?;
    let outcome = app.chat.outcome(heard).await?;
    Ok(axum::Json(outcome.map_or_else(|| OutcomeView::waiting(&heard), OutcomeView::from)))
}

/// Conversations of the web that the user takes part in, or may: their own, and those of several. In the
/// order of the ids of their rooms; a page may be short and still have a next one.
#[utoipa::path(
    get,
    path = "/api/v1/chat/rooms",
    operation_id = "listChats",
    tag = "chat",
    params(ChatsOf),
    responses((status = 200, description = "Done", body = ChatRoomList), Problem)
)]
async fn list_chats(
    State(app): State<Arc<App>>,
    Reader(by): Reader,
    Query(asked): Query<ChatsOf>,
) -> Result<axum::Json<ChatRoomList>, Problem> {
    let limit = limit(asked.limit)?;
    let (agent, after) = (asked.agent.map(AgentId), asked.after.map(RoomId));
    let rooms = app.ops.rooms(&by, agent, Some(&SOURCE), after, limit).await?;
    let next = rooms.last().filter(|_| rooms.len() >= limit as usize);
    let next = next.map(|listed| listed.room.id.to_string());
    let own = own_prefix(&by);
    let items = rooms.into_iter().filter_map(|listed| {
        let channel = channel_of(&listed.room.remote)?.to_owned();
        let is_shown = !listed.room.kind.is_direct() || channel.starts_with(&own);
        is_shown.then(|| ChatRoom { room: listed.into(), channel })
    });
    Ok(axum::Json(ChatRoomList { items: items.collect(), next }))
}

fn unknown() -> Problem {
    Problem::new(StatusCode::NOT_FOUND, "GAL-API-ROUTE", "there is no such message of the web")
}

fn wants_stream(headers: &HeaderMap) -> bool {
    let accept = headers.get(header::ACCEPT).and_then(|accept| accept.to_str().ok());
    accept.is_some_and(|accept| accept.to_ascii_lowercase().contains("text/event-stream"))
}

/// Channels of the user alone begin with it, so that no other person's name can be one of them.
fn own_prefix(by: &Operator) -> String {
    format!("{}.", person_of(by))
}

/// The person who speaks, and the beginning of the ids of their own channels.
fn speaker(
    by: &Operator,
    presented: Option<&Presented>,
    sender: Option<Sender>,
) -> Result<Speaker, Problem> {
    let Some(Sender { id, name }) = sender else {
        let mut speaker = Speaker::new(person_of(by), Some(by.name.clone()));
        speaker.role = (by.role == OperatorRole::Owner).then_some(Role::Owner);
        return Ok(speaker);
    };
    if !presented.is_some_and(Presented::is_token) {
        return Err(Problem::new(
            StatusCode::FORBIDDEN,
            "GAL-AUTH-ROLE",
            "only a program with a token may speak for somebody else",
        ));
    }
    Ok(Speaker::new(format!("as:{}:{id}", person_of(by)), name.or(Some(id))))
}

async fn said(
    app: &App,
    by: &Operator,
    presented: Option<&Presented>,
    headers: &HeaderMap,
    body: SendMessage,
) -> Result<(Vec<AgentId>, Said), Problem> {
    let bad = |text: &str| Problem::input(StatusCode::BAD_REQUEST, text);
    let mut agents: Vec<AgentId> = body.agent.into_iter().chain(body.agents).map(AgentId).collect();
    let speaker = speaker(by, presented, body.sender)?;
    let channel = match &body.room {
        Some(room) => match known_room(app, room).await? {
            Some(room) => {
                let channel = channel_of(&room.remote).unwrap_or_default().to_owned();
                let own = channel.starts_with(&format!("{}.", speaker.id));
                if room.kind.is_direct() && !own {
                    return Err(Problem::new(
                        StatusCode::FORBIDDEN,
                        "GAL-AUTH-ROLE",
                        "this room is somebody else's private one",
                    ));
                }
                if agents.is_empty() {
                    agents.push(room.agent_id);
                }
                Channel::new(channel, room.kind)
            }
            None => new_channel(&speaker.id, Some(room), body.group || agents.len() > 1),
        },
        None => new_channel(&speaker.id, None, body.group || agents.len() > 1),
    };
    agents.dedup();
    let Some(first) = agents.first() else { return Err(bad("name an agent")) };
    let mut channel = channel;
    let room = app.chat.room(*first, &channel.id).await?;
    if app.ops.store().room(room).await?.is_none() {
        channel.name = Some(body.name.unwrap_or_else(|| title(&body.text)));
    }
    let id = body.client_id.or_else(|| {
        let key = headers.get("idempotency-key")?.to_str().ok()?;
        galatea_host::ops::digest(key).0.get(..40).map(str::to_owned)
    });
    let id = id.unwrap_or_else(|| MemoryId::fresh().to_string());
    let mut said = Said::new(speaker, channel, id, body.text);
    said.attachments = media(body.attachments)?;
    said.in_reply_to = body.in_reply_to.map(MemoryId);
    Ok((agents, said))
}

/// A room of the web by its id; none for a name.
async fn known_room(app: &App, room: &str) -> Result<Option<Room>, Problem> {
    let Ok(id) = room.parse::<Uuid>() else { return Ok(None) };
    let room = app.ops.store().room(RoomId(id)).await?;
    Ok(room.filter(|room| room.source == SOURCE))
}

fn new_channel(person: &str, name: Option<&str>, group: bool) -> Channel {
    match (group, name) {
        (true, Some(name)) => Channel::new(name, ChannelType::Group),
        (true, None) => Channel::new(format!("{person}.group"), ChannelType::Group),
        (false, name) => {
            Channel::new(format!("{person}.{}", name.unwrap_or("private")), ChannelType::Dm)
        }
    }
}

/// Longest name of a new room, in characters.
const TITLE: usize = 60;

/// The beginning of the first message names its room.
fn title(text: &str) -> String {
    let line = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or("Chat");
    match line.char_indices().nth(TITLE) {
        Some((end, _)) => format!("{}…", line.get(..end).unwrap_or_default().trim_end()),
        None => line.to_owned(),
    }
}

#[derive(Serialize)]
struct Step {
    agent: Uuid,
    turn: Uuid,
    step: String,
}

#[derive(Serialize)]
struct DraftView {
    agent: Uuid,
    room: Uuid,
    turn: Uuid,
    text: String,
}

/// Writes what happens until each agent has finished the message.
async fn stream(mut waiting: Waiting, events: Events, accepted: Accepted) {
    events.send("accepted", &accepted).await;
    let mut shown = Vec::new();
    loop {
        match waiting.next().await {
            Ok(Some(event)) => {
                if let ChatEvent::Message { message, .. } = &event {
                    shown.push(message.id);
                }
                show(&events, event).await;
            }
            Ok(None) => break,
            Err(error) => {
                events.send("error", &Problem::from(error)).await;
                break;
            }
        }
    }
    for outcome in waiting.outcomes() {
        // Answers of an earlier request under the same id, and those whose events were missed.
        for message in outcome.messages.iter().filter(|one| !shown.contains(&one.id)) {
            events.send("message", &AnswerPart::from(message.clone())).await;
        }
        if outcome.reason.is_some() {
            events.send("silent", &OutcomeView::from(outcome).without_messages()).await;
        }
    }
    events.send("end", &serde_json::json!({})).await;
}

async fn show(events: &Events, event: ChatEvent) {
    let step = |agent: AgentId, turn: TurnId, step: &str| Step {
        agent: agent.0,
        turn: turn.0,
        step: step.to_owned(),
    };
    match event {
        ChatEvent::Thinking { agent, turn, .. } => {
            events.send("step", &step(agent, turn, "thinking")).await;
        }
        ChatEvent::Tool { agent, turn, action, .. } => {
            events.send("step", &step(agent, turn, &action)).await;
        }
        ChatEvent::Draft(draft) => {
            let Draft { agent, room, turn, text } = draft;
            let text = text.to_string();
            let view = DraftView { agent: agent.0, room: room.0, turn: turn.0, text };
            events.send("draft", &view).await;
        }
        ChatEvent::Message { message, .. } => {
            events.send("message", &AnswerPart::from(*message)).await;
        }
        ChatEvent::Model { .. } | ChatEvent::Decided { .. } | ChatEvent::Missed(_) => {}
    }
}
