//! `galatea mcp serve`: an agent as an MCP server for other programs of this machine.

use async_trait::async_trait;
use clap::Args;
use galatea_core::{
    AgentId, Clock, EntityId, Error, ErrorKind, Host, Memory, MemoryKind, RemoteId, Result, Room,
    RoomId, Store, SystemClock, Visibility,
    rights::{self, Authorship, OWNERS, Ruling, Scope, Site, Standing},
    store::{MemoryQuery, RecallQuery},
};
use galatea_host::{
    catalogue,
    characters::personas::Persona,
    platforms::{Built, PLATFORMS, Taken, accounts},
    storage::{data_dir::DataDir, database},
};
use galatea_mcp::serve::{Backend, Outgoing, Permission, serve};
use galatea_runtime::{
    explain::{ExplainQuery, explain},
    send_beside,
};
use serde_json::{Value, json};
use std::{collections::BTreeMap, process::ExitCode, sync::Arc};

use super::found;
use crate::{
    cli::flags::Characters,
    context::Context,
    report::failure::{Failure, Result as Done},
};

/// Longest text of a listed message, in characters.
const TEXT: usize = 2_000;

#[derive(Debug, Clone, Args)]
pub(super) struct Serve {
    #[command(flatten)]
    characters: Characters,
    /// With the rights of this person, such as telegram:5000000001, in place of the agent's owner
    #[arg(long, value_name = "PLATFORM:ID")]
    person: Option<String>,
    /// Send messages without asking a person at the client first
    #[arg(long)]
    send: bool,
}

impl Serve {
    pub(super) async fn run(&self, context: &Context) -> Done<ExitCode> {
        let found = found::find(&self.characters, context)?;
        let (agent, persona) = found::only_agent(&found)?;
        let settings = &context.configuration()?.settings;
        let data_dir = DataDir::locate(settings, &context.working_dir);
        let database = database::open_beside(settings, &data_dir).await?;
        let person = match self.person.as_deref().map(|person| person.split_once(':')) {
            None => None,
            Some(Some((source, id))) => Some(Person::of(persona, source, id)?),
            Some(None) => {
                return Err(Failure::usage(
                    "the person has no platform",
                    "write telegram:5000000001",
                ));
            }
        };
        let rooms = Arc::new(Rooms {
            store: database.store(),
            agent,
            persona: persona.clone(),
            data_dir,
            person,
            sends: self.send,
        });
        let served = tokio::select! {
            served = serve(rooms, tokio::io::stdin(), tokio::io::stdout()) => served,
            _ = tokio::signal::ctrl_c() => Ok(()),
        };
        database.close().await;
        served?;
        Ok(ExitCode::SUCCESS)
    }
}

/// A person whose rights apply.
struct Person {
    entity: EntityId,
    owns_agent: bool,
}

impl Person {
    fn of(persona: &Persona, source: &str, id: &str) -> Result<Self> {
        let identity = persona.character.identity();
        let remote = RemoteId::new(id);
        let listed = persona.settings.list(&OWNERS)?.unwrap_or_default();
        let owns = |entry: &String| {
            entry.split_once(':').is_some_and(|(platform, person)| {
                platform.trim().eq_ignore_ascii_case(source) && person.trim() == id
            })
        };
        Ok(Self {
            entity: EntityId(identity.swizzle(remote.as_str())),
            owns_agent: listed.iter().any(owns),
        })
    }
}

/// The rooms of an agent, as the database has them.
struct Rooms {
    store: Arc<dyn Store>,
    agent: AgentId,
    persona: Persona,
    data_dir: DataDir,
    /// None is the agent's owner: who starts this command may read the database anyway.
    person: Option<Person>,
    /// Whether messages go out without a question.
    sends: bool,
}

impl Rooms {
    /// Rooms that may be read.
    async fn rooms(&self) -> Result<Vec<Room>> {
        match &self.person {
            Some(person) if !person.owns_agent => {
                self.store.rooms_of(self.agent, person.entity).await
            }
            _ => {
                let mut rooms = Vec::new();
                for world in self.store.worlds(self.agent).await? {
                    rooms.extend(self.store.rooms(world.id).await?);
                }
                Ok(rooms)
            }
        }
    }

    /// A room that may be read, by its id or its only name.
    async fn room(&self, wanted: &str) -> Result<Room> {
        let rooms = self.rooms().await?;
        if let Some(room) = rooms.iter().find(|room| room.id.to_string() == wanted) {
            return Ok(room.clone());
        }
        let mut named = rooms.iter().filter(|room| room.name.eq_ignore_ascii_case(wanted));
        match (named.next(), named.next()) {
            (Some(room), None) => Ok(room.clone()),
            (Some(_), Some(_)) => Err(Error::invalid("several rooms have this name")
                .with_fix("give the id, which list_rooms shows")),
            _ => Err(Error::not_found("there is no such room, or it may not be read")),
        }
    }

    async fn names(&self, memories: &[Memory]) -> Result<BTreeMap<EntityId, String>> {
        let mut ids: Vec<EntityId> = memories.iter().map(|memory| memory.entity_id).collect();
        ids.sort_unstable();
        ids.dedup();
        let people = self.store.entities(&ids).await?;
        Ok(people
            .iter()
            .filter_map(|person| Some((person.id, person.names.first()?.clone())))
            .collect())
    }

    async fn shown(&self, memories: &[Memory]) -> Result<Vec<Value>> {
        let names = self.names(memories).await?;
        let own = self.persona.character.identity().entity();
        Ok(memories
            .iter()
            .map(|memory| {
                let by = if memory.entity_id == own {
                    self.persona.character.name.clone()
                } else {
                    names.get(&memory.entity_id).cloned().unwrap_or_default()
                };
                json!({
                    "id": memory.id.to_string(), "room": memory.room_id.to_string(), "by": by,
                    "kind": memory.kind.as_str(), "at": galatea_host::look::when(memory.created_at.0),
                    "text": galatea_http::redact::shorten(&memory.content.text, TEXT),
                })
            })
            .collect())
    }

    /// The ruling of the table of rights on a message for a room. The client's words may be anybody's.
    async fn ruling(&self, room: &Room) -> Result<Ruling> {
        let Some(person) = &self.person else {
            return Ok(rights::rule(
                Scope::Elsewhere,
                Standing::AgentOwner,
                Site::Foreign,
                Authorship::Others,
            ));
        };
        let world = self.store.world(room.world_id).await?;
        let standing = if person.owns_agent {
            Standing::AgentOwner
        } else {
            Standing::from(rights::role(world.as_ref(), person.entity))
        };
        let inside = self.store.participants(room.id).await?;
        let takes_part = inside.iter().any(|participant| participant.entity_id == person.entity);
        let site = match (room.kind.is_direct(), takes_part) {
            (true, true) => Site::OwnPrivate,
            (true, false) => Site::OthersPrivate,
            (false, true) => Site::Joined,
            (false, false) => Site::Foreign,
        };
        Ok(rights::rule(Scope::Elsewhere, standing, site, Authorship::Others))
    }
}

#[async_trait]
impl Backend for Rooms {
    async fn list_rooms(&self, limit: u64) -> Result<Value> {
        let rooms = self.rooms().await?;
        let all = rooms.len();
        let listed: Vec<Value> = rooms
            .iter()
            .take(usize::try_from(limit).unwrap_or(usize::MAX))
            .map(|room| {
                json!({ "id": room.id.to_string(), "name": room.name, "platform": room.source.to_string(), "private": room.kind.is_direct() })
            })
            .collect();
        Ok(json!({ "rooms": listed, "all": all }))
    }

    async fn read_room(&self, room: &str, limit: u64) -> Result<Value> {
        let room = self.room(room).await?;
        let limit = u32::try_from(limit).unwrap_or(u32::MAX);
        let query = MemoryQuery::new(self.agent, limit).room(room.id).kind(MemoryKind::Messages);
        let mut memories = self.store.memories(&query).await?;
        memories.sort_by_key(|memory| memory.created_at);
        Ok(json!({ "room": room.name, "messages": self.shown(&memories).await? }))
    }

    async fn search_memory(&self, query: &str, limit: u64) -> Result<Value> {
        let limit =
            u32::try_from(limit).unwrap_or(u32::MAX).min(galatea_core::store::MOST_RECALLED);
        let visible = Visibility::operator(self.agent);
        let asked = RecallQuery::new(visible, query, limit, SystemClock.now());
        while !self.store.index_words().await? {}
        let found = self.store.recall(&asked).await?;
        let mut memories: Vec<Memory> = found.into_iter().map(|hit| hit.memory).collect();
        if self.person.as_ref().is_some_and(|person| !person.owns_agent) {
            let own: Vec<RoomId> = self.rooms().await?.iter().map(|room| room.id).collect();
            memories.retain(|memory| own.contains(&memory.room_id));
        }
        Ok(json!({ "memories": self.shown(&memories).await? }))
    }

    async fn explain(&self, what: &str) -> Result<Value> {
        if what.to_ascii_uppercase().starts_with("GAL-") {
            return Ok(match catalogue::find(what) {
                Some(entry) => json!(entry),
                None => return Err(catalogue::unknown(what)),
            });
        }
        let id = what.parse().map_err(|_| {
            Error::invalid("this is neither a message's id nor a code")
                .with_fix("give the id of a message, which read_room shows")
        })?;
        if let Some(memory) = self.store.memory(id).await? {
            self.room(&memory.room_id.to_string()).await?;
        }
        let found = explain(&*self.store, &ExplainQuery::Memory(id)).await?;
        if found.is_empty() {
            return Err(Error::not_found("there is no such message"));
        }
        Ok(json!({ "messages": found }))
    }

    async fn may_send(&self, message: &Outgoing) -> Result<Permission> {
        let room = self.room(&message.room).await?;
        match self.ruling(&room).await? {
            Ruling::Refuse => {
                Err(Error::new(ErrorKind::Forbidden, "this person may not write there"))
            }
            Ruling::Allow | Ruling::Confirm if self.sends => Ok(Permission::Granted),
            Ruling::Allow => Ok(Permission::Granted),
            Ruling::Confirm => {
                let text = galatea_http::redact::shorten(&message.text, TEXT);
                Ok(Permission::Ask(format!(
                    "{} is about to write into {} ({}):\n\n{text}",
                    self.persona.character.name, room.name, room.source
                )))
            }
        }
    }

    async fn send_message(&self, message: &Outgoing) -> Result<Value> {
        let room = self.room(&message.room).await?;
        let identity = self.persona.character.identity();
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let host = Host {
            agent: identity.clone(),
            agent_name: self.persona.character.name.clone(),
            data_dir: self.data_dir.path().to_owned(),
            clock: Arc::clone(&clock),
        };
        let platform = PLATFORMS.iter().find(|platform| platform.source == room.source);
        let mut taken = Taken::default();
        for account in platform.into_iter().flat_map(|p| accounts::of(p, &self.persona.settings)) {
            let Some(platform) = platform else { break };
            let Built::On(connector) = platform.connector(&account, &host, &mut taken)? else {
                continue;
            };
            let Some(handler) = connector.send_handler() else { continue };
            let name = (&identity, self.persona.character.name.as_str());
            let turn =
                send_beside(&*self.store, name, &room, &*handler, &message.text, clock.now())
                    .await?;
            return Ok(json!({
                "queued": true, "turn": turn.to_string(),
                "note": "A running galatea sends it; explain tells whether it arrived.",
            }));
        }
        Err(Error::new(ErrorKind::Unavailable, "the platform of this room is not configured here")
            .with_fix("galatea connector ls shows what is on and why"))
    }
}
