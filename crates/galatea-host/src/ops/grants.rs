//! Grants of tools: who may use which tool where, and whether it asks first.

use galatea_core::{
    AgentId, EntityId, Error, Result, RoomId, WorldId,
    ids::uuid_of,
    rights::{Grant, GrantAsk, Standing, ToolPattern, least_as_str},
    store::OperatorRole,
};
use galatea_runtime::tools;
use serde_json::{Value, json};
use uuid::Uuid;

use super::{Operator, Ops};

/// A grant to add.
#[derive(Debug, Clone)]
pub struct NewGrant {
    /// The tools, such as `weather/forecast` or `weather/*`.
    pub tools: ToolPattern,
    /// The least standing that may use them; none is nobody.
    pub from: Option<Standing>,
    /// When they ask first.
    pub ask: GrantAsk,
    /// Only in this World.
    pub world: Option<WorldId>,
    /// Only in this Room.
    pub room: Option<RoomId>,
    /// Only for this person.
    pub person: Option<EntityId>,
}

/// Name of a grant in addresses: it follows from what makes a grant the same.
pub fn grant_id(grant: &Grant) -> Uuid {
    let nil = Uuid::nil();
    uuid_of(&format!(
        "grant:{}:{}:{}:{}:{}:{}",
        grant.agent,
        grant.kind.as_str(),
        grant.tools.to_string().to_ascii_lowercase(),
        grant.world.map_or(nil, |id| id.0),
        grant.room.map_or(nil, |id| id.0),
        grant.person.map_or(nil, |id| id.0),
    ))
}

impl Ops {
    /// Grants of an agent, by kind, tools and place.
    ///
    /// # Errors
    /// Failures of the store.
    pub async fn grants(&self, by: &Operator, agent: AgentId) -> Result<Vec<Grant>> {
        by.need(OperatorRole::Viewer)?;
        self.store.grants(agent).await
    }

    /// Grants tools. It takes effect within two seconds, in every process.
    ///
    /// # Errors
    /// `NotFound` (`GAL-GRANT-TOOL`) for a pattern that means no tool of the agent, or for a place that
    /// the agent does not know.
    pub async fn add_grant(&self, by: &Operator, agent: AgentId, new: NewGrant) -> Result<Grant> {
        by.need_on(OperatorRole::Owner, agent)?;
        let now = self.clock.now();
        let known = tools::known(&*self.store, agent, now).await?;
        new.tools.check(known.iter().map(|known| &known.tool))?;
        let unknown =
            || Error::not_found("the agent knows no such place").with_code("GAL-GRANT-PLACE");
        if let Some(world) = new.world {
            let world = self.store.world(world).await?;
            world.filter(|world| world.agent_id == agent).ok_or_else(unknown)?;
        }
        if let Some(room) = new.room {
            let room = self.store.room(room).await?;
            room.filter(|room| room.agent_id == agent).ok_or_else(unknown)?;
        }
        let pin = known.iter().find(|tool| new.tools.is_exact() && new.tools.matches(&tool.tool));
        let grant = Grant {
            world: new.world,
            room: new.room,
            person: new.person,
            ask: new.ask,
            pin: pin.and_then(|tool| tool.tool.pin.clone()),
            ..Grant::rule(agent, new.tools, new.from, now)
        };
        let id = grant_id(&grant);
        let before = self.store.grants(agent).await?.into_iter().find(|old| grant_id(old) == id);
        self.store.save_grant(&grant).await?;
        let (before, after) = (before.as_ref().map(shown), Some(shown(&grant)));
        self.record(by, "grant.add", id, before, after).await?;
        Ok(grant)
    }

    /// Takes a grant back.
    ///
    /// # Errors
    /// `NotFound` (`GAL-GRANT-UNKNOWN`) if there is none.
    pub async fn remove_grant(&self, by: &Operator, agent: AgentId, id: Uuid) -> Result<()> {
        by.need_on(OperatorRole::Owner, agent)?;
        let unknown = || Error::not_found("there is no such grant").with_code("GAL-GRANT-UNKNOWN");
        let grants = self.store.grants(agent).await?;
        let grant = grants.into_iter().find(|grant| grant_id(grant) == id).ok_or_else(unknown)?;
        if !self.store.remove_grant(&grant).await? {
            return Err(unknown());
        }
        self.record(by, "grant.remove", id, Some(shown(&grant)), None).await
    }
}

fn shown(grant: &Grant) -> Value {
    json!({
        "agent": grant.agent,
        "kind": grant.kind,
        "tools": grant.tools.to_string(),
        "from": least_as_str(grant.from),
        "ask": grant.ask,
        "world": grant.world,
        "room": grant.room,
        "person": grant.person,
    })
}
