//! Traces: every step of a turn, put together from its verdict, what was recorded of it, and the parts of
//! its answer.

mod compose;
mod shown;

use galatea_core::{
    Error, ErrorKind, MemoryId, Models, Result, TurnId,
    model::{ChatMessage, TextRequest},
    store::{InboxItem, InboxState, OperatorRole, Page, PromptBlock, StepUse, Trace, TurnsQuery},
};
use serde_json::json;
use std::collections::HashMap;

pub use compose::compose;
pub use shown::{ShownStep, TraceFigures, TracedTurn, TurnTrace};

use super::{Operator, Ops};

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
