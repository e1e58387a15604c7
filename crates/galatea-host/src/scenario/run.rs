//! Runs a scenario: an agent in memory, connected to nothing.

use galatea_core::{
    Plugin, Result, TextModel,
    model::{PluginModel, Tier},
    store::{Place, TurnsQuery},
};
use serde_json::Value;
use std::{path::Path, sync::Arc, time::Duration};

use super::{
    compare::{Came, Difference, compare},
    file::{Scenario, Step},
    script::Script,
};
use crate::{Agent, AgentSource, Galatea, Message, Person, Piece, agents::Platforms};

/// Longest wait for an answer: the model answers at once.
const PATIENCE: Duration = Duration::from_secs(20);
/// Who speaks where a step does not say.
const SPEAKER: &str = "ada";
/// Settings of every scenario, weaker than its own: what an agent learns after its turns would be asked
/// of the script, too.
const QUIET: [(&str, &str); 1] = [("EVALUATION_PAUSE_SECONDS", "86400")];

/// A step that went otherwise than expected.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Failed {
    /// Its number, from 1.
    pub step: usize,
    /// Who said it.
    pub person: String,
    /// What was said.
    pub said: String,
    /// The differences.
    pub differences: Vec<Difference>,
}

/// What came of a scenario.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Outcome {
    /// Its name.
    pub name: String,
    /// Steps that were made.
    pub steps: usize,
    /// Steps that went otherwise.
    pub failed: Vec<Failed>,
}

/// Runs a scenario. `folder` is where the paths in it start.
///
/// # Errors
/// Those of the character and of the settings.
pub async fn run(scenario: &Scenario, folder: &Path) -> Result<Outcome> {
    let script = Arc::new(Script::new(&scenario.model));
    let model = || Arc::clone(&script) as Arc<dyn TextModel>;
    let plugin = Plugin::new("scenario", "1.0.0", "Answers by the rules of a scenario")
        .model(1_000, PluginModel::Text(Tier::TextLarge, model()))
        .model(1_000, PluginModel::Text(Tier::TextSmall, model()));
    let mut builder = Galatea::builder()
        .folder(folder)
        .database("sqlite::memory:")
        .platforms(Platforms::None)
        .patience(PATIENCE)
        .plugin(plugin);
    for (name, value) in QUIET {
        builder = builder.setting(name, value);
    }
    for (name, value) in &scenario.settings {
        builder = builder.setting(name, value);
    }
    let galatea = builder.build().await?;
    let outcome = steps(scenario, &galatea, &script).await;
    galatea.shutdown(Duration::from_secs(5)).await;
    outcome
}

async fn steps(scenario: &Scenario, galatea: &Galatea, script: &Script) -> Result<Outcome> {
    let source = match &scenario.character {
        Value::String(file) => AgentSource::from(file.as_str()),
        character => AgentSource::from(character.clone()),
    };
    let agent = galatea.add_agent(source).start().await?;
    let mut failed = Vec::new();
    for (n, step) in scenario.steps.iter().enumerate() {
        script.take_asked();
        let mut came = say(&agent, step).await;
        came.prompts = script.take_asked();
        came.reasons = reasons(galatea).await?;
        let differences = compare(&step.expect, &came);
        if !differences.is_empty() {
            failed.push(Failed {
                step: n + 1,
                person: step.person.clone().unwrap_or_else(|| SPEAKER.to_owned()),
                said: step.say.clone(),
                differences,
            });
        }
    }
    Ok(Outcome { name: scenario.name.clone(), steps: scenario.steps.len(), failed })
}

async fn say(agent: &Agent, step: &Step) -> Came {
    let name = step.person.as_deref().unwrap_or(SPEAKER);
    let person = if step.owner { Person::owner(name) } else { Person::new(name) };
    let mut message = Message::new(person, &step.say);
    if let Some(room) = &step.room {
        message = message.in_room(room);
        if step.aside {
            message = message.aside();
        }
    }
    let mut came = Came::default();
    let mut answering = agent.stream(message);
    while let Some(piece) = answering.next().await {
        match piece {
            Ok(Piece::ToolStarted { name }) => came.tools.push(name),
            Ok(Piece::End(answer)) => came.answer = Some(answer.text),
            Ok(_) => {}
            Err(error) => came.failure = Some(error.to_string()),
        }
    }
    came
}

/// Reasons of the newest decision.
async fn reasons(galatea: &Galatea) -> Result<Vec<String>> {
    let query = TurnsQuery {
        agent: None,
        room: None,
        source: None,
        state: None,
        before: Place::NEWEST,
        limit: 1,
    };
    let newest = galatea.database().store().list_turns(&query).await?.rows.into_iter().next();
    let verdict = newest.and_then(|item| item.verdict);
    let steps = verdict.into_iter().flat_map(|verdict| verdict.steps);
    Ok(steps.map(|step| step.reason.into_owned()).collect())
}
