//! Traces: every step of a turn, put together from its verdict, what was recorded of it, and the parts of
//! its answer.

mod compose;

use galatea_core::{
    Error, ErrorKind, MemoryId, Models, Result, Timestamp, TurnId,
    model::{ChatMessage, TextRequest},
    store::{
        InboxItem, InboxState, OperatorRole, OutboxItem, Page, PromptBlock, StepKind, StepTexts,
        StepUse, Trace, TraceStep, TurnsQuery,
    },
};
use serde::Serialize;
use serde_json::json;
use std::collections::HashMap;

pub use compose::compose;

use super::{Operator, Ops};

/// A step as it is shown.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ShownStep {
    /// Its number in the trace, from 0.
    pub n: usize,
    /// Depth in the tree: steps of a turn stand below it.
    pub depth: u8,
    /// The step.
    #[serde(flatten)]
    pub step: TraceStep,
    /// True while it goes on.
    pub is_open: bool,
}

/// Figures of a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TraceFigures {
    /// Milliseconds from the arrival to the commit; none while it is under way.
    pub took: Option<u64>,
    /// Milliseconds that the message waited for its turn.
    pub waited: u64,
    /// Use of all calls of models. Its cost is none if a price is unknown, or nothing was called.
    pub used: StepUse,
}

/// A message with what was decided about it, and the figures of its turn.
#[derive(Debug, Clone, PartialEq)]
pub struct TracedTurn {
    /// The message with its verdict.
    pub item: InboxItem,
    /// Figures of the turn.
    pub figures: TraceFigures,
    /// The model that wrote most of the answer.
    pub model: Option<String>,
    /// Name of the agent.
    pub agent: String,
    /// Name of the Room.
    pub room: String,
    /// Name of the person.
    pub person: String,
}

/// A turn with all its steps.
#[derive(Debug, Clone, PartialEq)]
pub struct TurnTrace {
    /// The turn.
    pub turn: TracedTurn,
    /// Every step, oldest first.
    pub steps: Vec<ShownStep>,
    /// The steps that were recorded are gone, or were never kept.
    pub is_bare: bool,
    /// Prompts and answers are kept.
    pub has_texts: bool,
    /// Texts by the number of their step.
    pub texts: Vec<StepTexts>,
    /// The parts of the answer.
    pub parts: Vec<OutboxItem>,
}

/// What a model says to a prompt that was sent before.
#[derive(Debug, Clone, PartialEq)]
pub struct DryRun {
    /// The answer.
    pub text: String,
    /// The model.
    pub model: String,
    /// False if the prompt was too long to be kept whole: its middle is missing.
    pub is_whole: bool,
    /// Use of the call.
    pub used: StepUse,
}

impl Ops {
    /// Turns with their figures, newest first.
    ///
    /// # Errors
    /// Failures of the store.
    pub async fn traces(&self, by: &Operator, query: &TurnsQuery) -> Result<Page<TracedTurn>> {
        let Page { rows, next } = self.turns(by, query).await?;
        let turns: Vec<TurnId> = rows.iter().filter_map(|item| item.turn).collect();
        let mut of: HashMap<TurnId, Vec<Trace>> = HashMap::new();
        for trace in self.store.trace_steps(&turns).await? {
            of.entry(trace.turn).or_default().push(trace);
        }
        let mut names = Names::default();
        let mut out = Vec::with_capacity(rows.len());
        for item in rows {
            let traces = item.turn.and_then(|turn| of.get(&turn)).map_or(&[][..], Vec::as_slice);
            out.push(self.traced(item, traces, &mut names).await?);
        }
        Ok(Page { rows: out, next })
    }

    /// One turn with all its steps. A message that was answered together with another one shows the
    /// steps of their turn.
    ///
    /// # Errors
    /// `NotFound` for an unknown message.
    pub async fn trace(&self, by: &Operator, id: MemoryId) -> Result<TurnTrace> {
        let (item, parts) = self.turn(by, id).await?;
        let traces = match item.turn {
            Some(turn) => self.store.traces_of(turn).await?,
            None => Vec::new(),
        };
        let turn = self.traced(item, &traces, &mut Names::default()).await?;
        Ok(compose(turn, traces, parts))
    }

    /// Asks the model of a turn again with the prompt as it was sent. Nothing is sent to a platform and
    /// nothing is stored but the cost.
    ///
    /// # Errors
    /// `Forbidden` for a viewer, `NotFound` (`GAL-TRACE-PROMPT`) if no prompt is kept, and those of the
    /// model.
    pub async fn dry_run(&self, by: &Operator, id: MemoryId) -> Result<DryRun> {
        by.need(OperatorRole::Operator)?;
        let trace = self.trace(by, id).await?;
        let agent = trace.turn.item.entry.memory.agent_id;
        let orchestrator = self.running()?;
        let (models, usage) = orchestrator.models_for(agent, "dry-run")?;
        let done = ask_again(&trace, &models).await;
        self.store.add_usage(&usage.take()).await?;
        let done = done?;
        self.record(by, "turn.dry-run", id, None, Some(json!({ "model": done.model }))).await?;
        Ok(done)
    }

    async fn traced(
        &self,
        item: InboxItem,
        traces: &[Trace],
        names: &mut Names,
    ) -> Result<TracedTurn> {
        let memory = &item.entry.memory;
        let (agent, room, person) = (memory.agent_id, memory.room_id, memory.entity_id);
        if names.agents.is_empty() {
            names.agents = self.store.agents().await?.into_iter().collect();
        }
        if let std::collections::hash_map::Entry::Vacant(free) = names.rooms.entry(room) {
            free.insert(self.store.room(room).await?.map(|room| room.name).unwrap_or_default());
        }
        if let std::collections::hash_map::Entry::Vacant(free) = names.people.entry(person) {
            let entity = self.store.entities(&[person]).await?.pop();
            free.insert(
                entity.and_then(|entity| entity.names.first().cloned()).unwrap_or_default(),
            );
        }
        let (figures, model) = compose::figures(&item, traces);
        Ok(TracedTurn {
            figures,
            model,
            agent: names.agents.get(&agent).cloned().unwrap_or_default(),
            room: names.rooms.get(&room).cloned().unwrap_or_default(),
            person: names.people.get(&person).cloned().unwrap_or_default(),
            item,
        })
    }
}

/// Names of a list's agents, Rooms and people, read once each.
#[derive(Default)]
struct Names {
    agents: HashMap<galatea_core::AgentId, String>,
    rooms: HashMap<galatea_core::RoomId, String>,
    people: HashMap<galatea_core::EntityId, String>,
}

/// Asks the large model with the prompt of the first question of a trace.
///
/// # Errors
/// `NotFound` (`GAL-TRACE-PROMPT`) if no prompt is kept, and those of the model.
pub async fn ask_again(trace: &TurnTrace, models: &Models) -> Result<DryRun> {
    let texts = trace.texts.iter().find(|texts| !texts.prompt.is_empty());
    let texts = texts.ok_or_else(no_prompt)?;
    let model = &models.large;
    let answer = model.generate(&request(&texts.prompt), &|_| {}).await?;
    let info = model.info();
    let micros = answer.price.or(info.known_price()).map(|price| price.of(answer.usage));
    Ok(DryRun {
        model: answer
            .by
            .as_ref()
            .map_or_else(|| info.full_name(), |by| format!("{} {}", by.provider, by.model)),
        used: StepUse {
            input: answer.usage.input,
            cached: answer.usage.cached,
            output: answer.usage.output,
            micros,
        },
        text: answer.text,
        is_whole: !texts.prompt.iter().any(|block| block.text.contains(" bytes left out]\n")),
    })
}

fn no_prompt() -> Error {
    Error::new(ErrorKind::NotFound, "no prompt of this turn is kept")
        .with_code("GAL-TRACE-PROMPT")
        .with_fix("a turn without a model has none; others lose theirs with the days (TRACE_DAYS), under flood, and when somebody is forgotten; TRACES=full keeps them")
}

/// The request of a prompt.
fn request(blocks: &[PromptBlock]) -> TextRequest {
    let mut system = Vec::new();
    let mut messages = Vec::new();
    for PromptBlock { from, role, text } in blocks {
        match role.as_str() {
            "system" if messages.is_empty() => system.push(text.clone()),
            "system" => messages.push(ChatMessage::system(text.clone())),
            "assistant" => messages.push(ChatMessage::assistant(text.clone())),
            // Results of tools have no calls to stand behind any more.
            "tool" => messages.push(ChatMessage::user(format!("(Results of tools: {text})"))),
            _ if from == "people" => messages.push(ChatMessage::user(text.clone())),
            _ => messages.push(ChatMessage::user(text.clone()).named(from.clone())),
        }
    }
    let system = (!system.is_empty()).then(|| system.join("\n\n"));
    TextRequest { system, messages: messages.into(), ..TextRequest::default() }
}

/// What became of a message, in one word.
pub fn outcome(item: &InboxItem) -> &'static str {
    match item.state {
        InboxState::New if item.attempts > 0 => "running",
        InboxState::New => "waiting",
        InboxState::Done => "replied",
        InboxState::Skipped | InboxState::Expired => "ignored",
        InboxState::Dead => "failed",
    }
}

/// Why, in one sentence: the step of the verdict that decided.
pub fn reason(item: &InboxItem) -> Option<&str> {
    use galatea_core::StepOutcome::{Answer, Failed, Skip};
    let steps = &item.verdict.as_ref()?.steps;
    let last = |wanted: &[galatea_core::StepOutcome]| {
        steps.iter().rev().find(|step| wanted.contains(&step.outcome))
    };
    let step = match item.state {
        InboxState::Dead => last(&[Failed]),
        InboxState::Skipped | InboxState::Expired => last(&[Skip]),
        InboxState::New | InboxState::Done => last(&[Answer]),
    };
    step.map(|step| &*step.reason)
}

/// Time at which a step ended.
fn end(step: &TraceStep) -> Timestamp {
    Timestamp(step.at.0.saturating_add(i64::try_from(step.millis).unwrap_or(i64::MAX)))
}

/// A step that takes no time.
fn moment(kind: StepKind, name: &str, at: Timestamp, note: Option<String>) -> TraceStep {
    TraceStep { kind, name: name.to_owned(), at, note, ..TraceStep::default() }
}
