//! `memory search`: by words, and by meaning where an embedding model is configured.

use galatea_core::{
    AgentIdentity, Clock, Embedding, EmbeddingModel, Error, ErrorKind, Memory, Settings, Source,
    Store, SystemClock, Visibility,
    fusion::{self, Ranked},
    store::{Day, Meaning, RecallQuery, Recalled},
};
use galatea_http::{HttpClient, HttpOptions};
use galatea_knowledge::embedding_cost;
use serde_json::{Value, json};
use std::{process::ExitCode, sync::Arc, time::Duration};
use tokio::time::timeout;

use super::{
    list::{Names, USUAL},
    select::{Selection, Which},
};
use crate::{context::Context, failure::Result, personas, plugins};

/// Longest wait for the embedding model: a person waits.
const PATIENCE: Duration = Duration::from_secs(20);
/// Source of what searches cost in the ledger, where platforms stand otherwise.
const SOURCE: Source = Source::new("memory");

/// Finds the best matches.
pub(super) async fn search(
    store: &dyn Store,
    text: &str,
    which: &Which,
    json: bool,
    context: &Context,
) -> Result<ExitCode> {
    let selection = which.select(store).await?;
    let mut query = question(&selection, text, which.limit.unwrap_or(USUAL));
    match meaning(store, &selection, text, &settings(&selection, context)?).await {
        Ok(Some(meaning)) => query.meanings.push(meaning),
        Ok(None) => {
            context.output.say("searched by words only: no embedding model is configured");
        }
        Err(error) => context.output.say(format!("searched by words only: {error}")),
    }
    let found = store.recall(&query).await?;
    let memories: Vec<Memory> = found.iter().map(|hit| hit.memory.clone()).collect();
    let names = Names::of(store, &memories).await?;
    if json {
        let hits: Vec<Value> = found.iter().map(hit_json).collect();
        let model = query.meanings.first().map(|meaning| meaning.model.as_str());
        let found = json!({ "hits": hits, "embeddingModel": model });
        context.output.json("galatea.memory.search/1", found);
    } else if found.is_empty() {
        context.output.say("nothing is remembered that matches");
    } else {
        for hit in &found {
            context.output.row(2, &format!("{}  {}", score(hit), names.line(&hit.memory)));
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn question(selection: &Selection, text: &str, limit: u32) -> RecallQuery {
    RecallQuery {
        kinds: selection.kinds.clone(),
        room: selection.room,
        people: selection.people.clone(),
        since: selection.since,
        before: selection.until,
        superseded: true,
        ..RecallQuery::new(Visibility::operator(selection.agent), text, limit, SystemClock.now())
    }
}

/// The meaning of a question; its cost goes into the ledger. None without an embedding model.
async fn meaning(
    store: &dyn Store,
    selection: &Selection,
    text: &str,
    settings: &Settings,
) -> galatea_core::Result<Option<Meaning>> {
    let Some(model) = model(settings)? else { return Ok(None) };
    let asked = fusion::embedded_question(text, &[]);
    if asked.is_empty() {
        return Ok(None);
    }
    let texts = [asked];
    let vectors = timeout(PATIENCE, model.embed(&texts))
        .await
        .map_err(|_| Error::new(ErrorKind::Timeout, "the embedding model took too long"))??;
    let (info, day) = (model.info(), Day::of(SystemClock.now()));
    // An id is its own text.
    let identity = AgentIdentity::new(Some(&selection.agent.to_string()), "");
    store.add_usage(&[embedding_cost(&identity, SOURCE, day, info, &texts)]).await?;
    let embedding = Embedding::new(vectors.into_iter().next().unwrap_or_default())?;
    Ok(Some(Meaning { model: info.full_name(), embedding }))
}

/// The settings of the agent, if its character is one of those configured.
fn settings(selection: &Selection, context: &Context) -> Result<Settings> {
    let configuration = context.configuration()?;
    let personas = personas::load(&[], configuration, &context.working_dir).unwrap_or_default();
    let own = personas
        .into_iter()
        .find(|persona| persona.character.identity().id() == selection.agent)
        .map(|persona| persona.settings);
    Ok(own.unwrap_or_else(|| configuration.settings.clone()))
}

/// The embedding model of these settings.
fn model(settings: &Settings) -> galatea_core::Result<Option<Arc<dyn EmbeddingModel>>> {
    let http = HttpClient::new(HttpOptions::default())?;
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let dependencies = galatea_models::Dependencies::default();
    let built = galatea_models::build(settings, &http, Arc::clone(&clock), &dependencies)?;
    let registered = plugins::models(&plugins::standard());
    let models = galatea_models::with_registered(
        built.models,
        &registered,
        settings,
        &clock,
        &dependencies,
    )?;
    Ok(models.embedding)
}

/// The fused score, and the place by words and by meaning.
fn score(hit: &Recalled) -> String {
    let place = |ranked: Option<Ranked>| {
        ranked.map_or_else(|| "-".to_owned(), |ranked| format!("#{}", ranked.rank))
    };
    format!("{:.3}  words {}  meaning {}", hit.score, place(hit.words), place(hit.meaning))
}

fn hit_json(hit: &Recalled) -> Value {
    let ranked = |of: Option<Ranked>| of.map(|r| json!({ "rank": r.rank, "score": r.score }));
    json!({
        "score": hit.score,
        "words": ranked(hit.words),
        "meaning": ranked(hit.meaning),
        "scope": hit.scope,
        "validUntil": hit.valid_until,
        "memory": hit.memory,
    })
}
