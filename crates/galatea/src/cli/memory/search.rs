//! `memory search`: by words, and by meaning where an embedding model is configured.

use galatea_core::{
    AgentIdentity, Clock, EmbeddingModel, Entity, EntityId, Memory, ModelInfo, Settings, Source,
    Store, SystemClock, Visibility,
    fusion::{self, Fusion, Named, Ranked},
    question_models::{Answers, LONGEST, QuestionModels, Searched},
    store::{Day, MOST_RECALLED, RecallQuery, Recalled},
};
use galatea_http::{HttpClient, HttpOptions};
use galatea_knowledge::embedding_cost;
use serde_json::{Value, json};
use std::{collections::BTreeMap, process::ExitCode, sync::Arc};
use tokio::time::Instant;

use super::{
    list::{Names, USUAL},
    select::{self, Selection, Which},
};
use crate::{
    context::Context,
    report::failure::{Failure, Result},
};
use galatea_host::{agents::plugins, characters::personas};

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
    let limit = limit(which.limit)?;
    let selection = which.select(store).await?;
    let settings = settings(&selection, context)?;
    let named = named(store, &selection, text).await?;
    let names: Vec<&str> = named.names.iter().map(String::as_str).collect();
    let asked = fusion::embedded_question(text, &names);
    let mut query = question(&selection, text, limit);
    query.fusion = Fusion::of(&settings)?;
    match meanings(store, &query, &asked, &settings).await {
        Ok(Some(answers)) => {
            query.meanings = answers.meanings();
            answers.note.into_iter().for_each(|note| context.output.say(note));
        }
        Ok(None) => {
            context.output.say("searched by words only: no embedding model is configured");
        }
        Err(error) => context.output.say(format!("searched by words only: {error}")),
    }
    let query = query.naming(named);
    while !store.index_words().await? {}
    let found = store.recall(&query).await?;
    if !found.is_empty() && found.iter().all(|hit| hit.words.is_none() && hit.meaning.is_none()) {
        context
            .output
            .say("the question has no words that can be looked for; these are the newest");
    }
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

/// How many hits are asked for.
///
/// # Errors
/// For more than a search returns.
fn limit(asked: Option<u32>) -> Result<u32> {
    match asked {
        Some(asked) if asked > MOST_RECALLED => Err(Failure::usage(
            format!("--limit {asked} is more than a search finds"),
            format!(
                "a search finds {MOST_RECALLED} at most; `galatea memory ls` and `galatea memory export` list more"
            ),
        )),
        asked => Ok(asked.unwrap_or(USUAL)),
    }
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

/// Whom the question names, of the people in the rooms that are searched.
async fn named(store: &dyn Store, selection: &Selection, text: &str) -> Result<Named> {
    let rooms = match selection.room {
        Some(room) => vec![room],
        None => {
            select::rooms(store, selection.agent).await?.into_iter().map(|room| room.id).collect()
        }
    };
    let mut people: BTreeMap<EntityId, Entity> = BTreeMap::new();
    for room in rooms {
        // More are not compared.
        if people.len() >= fusion::MOST_KNOWN {
            break;
        }
        let inside = store.entities_in_room(room).await?;
        people.extend(inside.into_iter().map(|entity| (entity.id, entity)));
    }
    let named = fusion::named(text, people.values().flat_map(Entity::called));
    let own: EntityId = selection.agent.0.into();
    let names = people.get(&own).into_iter().flat_map(Entity::called).map(|(_, name)| name);
    Ok(named.addressing(text, own, names))
}

/// What a question means to the present embedding model, and to those before it while memories have
/// embeddings of them; their cost goes into the ledger. None without an embedding model.
async fn meanings(
    store: &dyn Store,
    query: &RecallQuery,
    asked: &str,
    settings: &Settings,
) -> galatea_core::Result<Option<Answers>> {
    let Some(model) = model(settings)? else { return Ok(None) };
    if asked.is_empty() {
        return Ok(Some(Answers::default()));
    }
    let (agents, now) = ([query.visible.agent()], SystemClock.now());
    let searched = Searched { store, agents: &agents, now };
    let models = QuestionModels::of(query.sorts());
    let deadline = Instant::now() + LONGEST;
    let answers = models.embed(searched, &model, asked, &|_, _| Vec::new(), deadline).await?;
    // An id is its own text.
    let identity = AgentIdentity::new(Some(&query.visible.agent().to_string()), "");
    let cost = |(info, texts): &(ModelInfo, Vec<String>)| {
        embedding_cost(&identity, SOURCE, Day::of(now), info, texts)
    };
    store.add_usage(&answers.calls.iter().map(cost).collect::<Vec<_>>()).await?;
    Ok(Some(answers))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_than_a_search_finds_is_refused() {
        assert_eq!(limit(None).unwrap(), USUAL);
        assert_eq!(limit(Some(MOST_RECALLED)).unwrap(), MOST_RECALLED);
        let failure = limit(Some(400)).unwrap_err();
        assert!(format!("{failure:?}").contains("200 at most"), "{failure:?}");
    }
}
