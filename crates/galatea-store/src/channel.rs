//! Channels of elizaOS's API.

use async_trait::async_trait;
use galatea_core::{
    AgentId, Result, Timestamp,
    store::{CHANNELS_LISTED, Channel, ChannelMessage, ChannelServer, ChannelStore},
};
use sqlx::FromRow;
use uuid::Uuid;

use crate::{
    Database,
    change::{Change, Write},
    convert::{from_json, to_json},
    dialect::{Dialects, Statement, Value, values},
};

pub(crate) const SERVERS: Dialects = Dialects::same(
    "SELECT id, name, source_type, source_id, CAST(metadata AS text) AS metadata, created_at, updated_at FROM channel_servers \
     ORDER BY created_at, id LIMIT +$1",
);
pub(crate) const ADD_SERVER: Dialects = Dialects::same(
    "INSERT INTO channel_servers (id, name, source_type, source_id, metadata, created_at, updated_at) VALUES ($1, $2, $3, $4, $5, $6, $6) \
     ON CONFLICT DO NOTHING",
);
pub(crate) const SERVER_AGENTS: Dialects = Dialects::same(
    "SELECT agent_id FROM channel_server_agents WHERE server_id = $1 ORDER BY agent_id",
);
pub(crate) const SERVERS_OF_AGENT: Dialects = Dialects::same(
    "SELECT server_id FROM channel_server_agents WHERE agent_id = $1 ORDER BY server_id",
);
pub(crate) const ADD_SERVER_AGENT: Dialects = Dialects::same(
    "INSERT INTO channel_server_agents (server_id, agent_id) VALUES ($1, $2) ON CONFLICT DO NOTHING",
);
pub(crate) const REMOVE_SERVER_AGENT: Dialects =
    Dialects::same("DELETE FROM channel_server_agents WHERE server_id = $1 AND agent_id = $2");

macro_rules! channels {
    ($which:literal) => {
        Dialects::same(concat!(
            "SELECT id, server_id, name, type AS kind, source_type, source_id, topic, CAST(metadata AS text) AS metadata, created_at, updated_at \
             FROM channels WHERE ",
            $which
        ))
    };
}
pub(crate) const CHANNEL: Dialects = channels!("id = $1");
pub(crate) const CHANNELS: Dialects = channels!("server_id = $1 ORDER BY created_at, id LIMIT +$2");
pub(crate) const ADD_CHANNEL: Dialects = Dialects::same(
    "INSERT INTO channels (id, server_id, name, type, source_type, source_id, topic, metadata, created_at, updated_at) \
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $9) ON CONFLICT DO NOTHING",
);
pub(crate) const CHANGE_CHANNEL: Dialects = Dialects::same(
    "UPDATE channels SET name = $2, topic = $3, metadata = $4, updated_at = $5 WHERE id = $1",
);
pub(crate) const REMOVE_CHANNEL: Dialects = Dialects::same("DELETE FROM channels WHERE id = $1");
pub(crate) const REMOVE_PEOPLE: Dialects =
    Dialects::same("DELETE FROM channel_people WHERE channel_id = $1");
pub(crate) const REMOVE_SESSIONS: Dialects =
    Dialects::same("DELETE FROM chat_sessions WHERE channel_id = $1");
pub(crate) const REMOVE_JOBS: Dialects = Dialects::same("DELETE FROM jobs WHERE channel_id = $1");
pub(crate) const PEOPLE: Dialects =
    Dialects::same("SELECT person FROM channel_people WHERE channel_id = $1 ORDER BY place");
// A person who is there keeps the place. The channel has to be there.
pub(crate) const ADD_PEOPLE: Dialects = Dialects {
    sqlite: "INSERT INTO channel_people (channel_id, person, place) \
             SELECT $1, unhex(value), (SELECT coalesce(max(place), 0) FROM channel_people WHERE channel_id = $1) + 1 + key FROM json_each($2) \
             WHERE EXISTS (SELECT 1 FROM channels WHERE id = $1) ORDER BY key ON CONFLICT DO NOTHING",
    postgres: "INSERT INTO channel_people (channel_id, person, place) \
               SELECT $1, person, (SELECT coalesce(max(place), 0) FROM channel_people WHERE channel_id = $1) + n \
               FROM unnest($2::uuid[]) WITH ORDINALITY list (person, n) WHERE EXISTS (SELECT 1 FROM channels WHERE id = $1) \
               ORDER BY n ON CONFLICT DO NOTHING",
};

macro_rules! messages {
    ($which:literal) => {
        Dialects::same(concat!(
            "SELECT id, channel_id, author, text, CAST(raw AS text) AS raw, source_type, source_id, CAST(metadata AS text) AS metadata, reply_to, \
             created_at, updated_at FROM channel_messages WHERE ",
            $which
        ))
    };
}
pub(crate) const MESSAGES: Dialects =
    messages!("channel_id = $1 AND created_at < $2 ORDER BY created_at DESC, id DESC LIMIT +$3");
pub(crate) const MESSAGE: Dialects = messages!("id = $1");
pub(crate) const ADD_MESSAGE: Dialects = Dialects::same(
    "INSERT INTO channel_messages (id, channel_id, author, text, raw, source_type, source_id, metadata, reply_to, created_at, updated_at) \
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $10) ON CONFLICT DO NOTHING",
);
pub(crate) const CHANGE_MESSAGE: Dialects = Dialects::same(
    "UPDATE channel_messages SET text = $2, raw = $3, source_type = $4, metadata = $5, reply_to = $6, updated_at = $7 WHERE id = $1",
);
pub(crate) const REMOVE_MESSAGE: Dialects =
    Dialects::same("DELETE FROM channel_messages WHERE id = $1");
pub(crate) const CLEAR: Dialects =
    Dialects::same("DELETE FROM channel_messages WHERE channel_id = $1");

/// What a person wrote, where the agent knows them by the id that the program gave them.
macro_rules! of_person {
    ($from:literal, $column:literal, $id:literal) => {
        concat!(
            "DELETE FROM ",
            $from,
            " WHERE ",
            $column,
            " = (SELECT ",
            $id,
            " FROM entities e WHERE e.id = $2 AND e.agent_id = $1)"
        )
    };
}
macro_rules! forget {
    ($from:literal, $column:literal) => {
        Dialects {
            sqlite: of_person!($from, $column, "unhex(replace(replace(e.metadata ->> '$.web.id', 'web/', ''), '-', ''))"),
            postgres: of_person!(
                $from,
                $column,
                "CASE WHEN replace(e.metadata -> 'web' ->> 'id', 'web/', '') ~ '^[0-9a-fA-F-]{36}$' \
                 THEN replace(e.metadata -> 'web' ->> 'id', 'web/', '')::uuid END"
            ),
        }
    };
}
pub(crate) const FORGET_MESSAGES: Dialects = forget!("channel_messages", "author");
pub(crate) const FORGET_SESSIONS: Dialects = forget!("chat_sessions", "person");
pub(crate) const FORGET_ASKED: Dialects = forget!("jobs", "person");
/// All that a person wrote and asked here. The names of the person are still there.
pub(crate) fn forget() -> [Dialects; 3] {
    [FORGET_MESSAGES, FORGET_SESSIONS, FORGET_ASKED]
}

#[derive(FromRow)]
struct ServerRow {
    id: Uuid,
    name: String,
    source_type: String,
    source_id: Option<String>,
    metadata: String,
    created_at: i64,
    updated_at: i64,
}

impl ServerRow {
    fn decode(self) -> Result<ChannelServer> {
        Ok(ChannelServer {
            id: self.id,
            name: self.name,
            source_type: self.source_type,
            source_id: self.source_id,
            metadata: from_json("message server", &self.metadata)?,
            created_at: Timestamp(self.created_at),
            updated_at: Timestamp(self.updated_at),
        })
    }
}

#[derive(FromRow)]
struct ChannelRow {
    id: Uuid,
    server_id: Uuid,
    name: String,
    kind: String,
    source_type: Option<String>,
    source_id: Option<String>,
    topic: Option<String>,
    metadata: String,
    created_at: i64,
    updated_at: i64,
}

impl ChannelRow {
    fn decode(self) -> Result<Channel> {
        Ok(Channel {
            id: self.id,
            server: self.server_id,
            name: self.name,
            kind: self.kind,
            source_type: self.source_type,
            source_id: self.source_id,
            topic: self.topic,
            metadata: from_json("channel", &self.metadata)?,
            created_at: Timestamp(self.created_at),
            updated_at: Timestamp(self.updated_at),
        })
    }
}

#[derive(FromRow)]
struct MessageRow {
    id: Uuid,
    channel_id: Uuid,
    author: Uuid,
    text: String,
    raw: String,
    source_type: Option<String>,
    source_id: Option<String>,
    metadata: String,
    reply_to: Option<Uuid>,
    created_at: i64,
    updated_at: i64,
}

impl MessageRow {
    fn decode(self) -> Result<ChannelMessage> {
        Ok(ChannelMessage {
            id: self.id,
            channel: self.channel_id,
            author: self.author,
            text: self.text,
            raw: from_json("message of a channel", &self.raw)?,
            source_type: self.source_type,
            source_id: self.source_id,
            metadata: from_json("message of a channel", &self.metadata)?,
            reply_to: self.reply_to,
            created_at: Timestamp(self.created_at),
            updated_at: Timestamp(self.updated_at),
        })
    }
}

/// A JSON column.
pub(crate) fn json(value: &impl serde::Serialize) -> Result<Value> {
    Ok(Value::Json(Some(to_json(value)?)))
}

impl Database {
    /// Commits statements, and tells whether the one of a number touched a row.
    pub(crate) async fn together(
        &self,
        statements: Vec<Statement>,
        counted: usize,
    ) -> Result<bool> {
        let mut change = Change::default();
        change.push(Write::Other { statements, counted: Some(counted) })?;
        Ok(self.write(change).await?.first().is_some_and(|rows| *rows > 0))
    }
}

#[async_trait]
impl ChannelStore for Database {
    async fn channel_servers(&self) -> Result<Vec<ChannelServer>> {
        let rows = self.all::<ServerRow>(SERVERS.with(values![CHANNELS_LISTED])).await?;
        rows.into_iter().map(ServerRow::decode).collect()
    }

    async fn add_channel_server(&self, server: &ChannelServer) -> Result<bool> {
        let mut values = values![
            server.id,
            server.name.as_str(),
            server.source_type.as_str(),
            server.source_id.clone()
        ];
        values.extend([json(&server.metadata)?, server.created_at.0.into()]);
        Ok(self.write_one(ADD_SERVER.with(values)).await? > 0)
    }

    async fn channel_server_agents(&self, server: Uuid) -> Result<Vec<AgentId>> {
        let rows: Vec<(Uuid,)> = self.all(SERVER_AGENTS.with(values![server])).await?;
        Ok(rows.into_iter().map(|(id,)| AgentId(id)).collect())
    }

    async fn servers_of_agent(&self, agent: AgentId) -> Result<Vec<Uuid>> {
        let rows: Vec<(Uuid,)> = self.all(SERVERS_OF_AGENT.with(values![agent.0])).await?;
        Ok(rows.into_iter().map(|(id,)| id).collect())
    }

    async fn set_server_agent(&self, server: Uuid, agent: AgentId, takes_part: bool) -> Result<()> {
        let statement = if takes_part { ADD_SERVER_AGENT } else { REMOVE_SERVER_AGENT };
        self.write_one(statement.with(values![server, agent.0])).await.map(drop)
    }

    async fn channel(&self, id: Uuid) -> Result<Option<Channel>> {
        let row = self.fetch_one::<ChannelRow>(CHANNEL.with(values![id])).await?;
        row.map(ChannelRow::decode).transpose()
    }

    async fn channels(&self, server: Uuid, limit: u32) -> Result<Vec<Channel>> {
        let rows = self.all::<ChannelRow>(CHANNELS.with(values![server, limit])).await?;
        rows.into_iter().map(ChannelRow::decode).collect()
    }

    async fn add_channel(&self, channel: &Channel, people: &[Uuid]) -> Result<bool> {
        let mut values = values![
            channel.id,
            channel.server,
            channel.name.as_str(),
            channel.kind.as_str(),
            channel.source_type.clone(),
            channel.source_id.clone(),
            channel.topic.clone()
        ];
        values.extend([json(&channel.metadata)?, channel.created_at.0.into()]);
        let added = self.write_one(ADD_CHANNEL.with(values)).await? > 0;
        if added && !people.is_empty() {
            self.add_channel_people(channel.id, people).await?;
        }
        Ok(added)
    }

    async fn change_channel(&self, channel: &Channel, people: Option<&[Uuid]>) -> Result<bool> {
        let mut values = values![channel.id, channel.name.as_str(), channel.topic.clone()];
        values.extend([json(&channel.metadata)?, channel.updated_at.0.into()]);
        let mut statements = vec![CHANGE_CHANNEL.with(values)];
        if let Some(people) = people {
            statements.push(REMOVE_PEOPLE.with(values![channel.id]));
            let people = Value::Ids(people.to_vec());
            statements.push(ADD_PEOPLE.with(vec![channel.id.into(), people]));
        }
        self.together(statements, 0).await
    }

    async fn remove_channel(&self, id: Uuid) -> Result<bool> {
        let statements = [REMOVE_CHANNEL, REMOVE_PEOPLE, REMOVE_SESSIONS, REMOVE_JOBS, CLEAR];
        self.together(statements.map(|statement| statement.with(values![id])).into(), 0).await
    }

    async fn channel_people(&self, channel: Uuid) -> Result<Vec<Uuid>> {
        let rows: Vec<(Uuid,)> = self.all(PEOPLE.with(values![channel])).await?;
        Ok(rows.into_iter().map(|(id,)| id).collect())
    }

    async fn add_channel_people(&self, channel: Uuid, people: &[Uuid]) -> Result<()> {
        let people = Value::Ids(people.to_vec());
        self.write_one(ADD_PEOPLE.with(vec![channel.into(), people])).await.map(drop)
    }

    async fn channel_messages(
        &self,
        channel: Uuid,
        before: Timestamp,
        limit: u32,
    ) -> Result<Vec<ChannelMessage>> {
        let values = values![channel, before.0, limit];
        let rows = self.all::<MessageRow>(MESSAGES.with(values)).await?;
        rows.into_iter().map(MessageRow::decode).collect()
    }

    async fn channel_message(&self, id: Uuid) -> Result<Option<ChannelMessage>> {
        let row = self.fetch_one::<MessageRow>(MESSAGE.with(values![id])).await?;
        row.map(MessageRow::decode).transpose()
    }

    async fn add_channel_message(&self, message: &ChannelMessage) -> Result<bool> {
        let mut values =
            values![message.id, message.channel, message.author, message.text.as_str()];
        values.push(json(&message.raw)?);
        values.extend(values![message.source_type.clone(), message.source_id.clone()]);
        values.push(json(&message.metadata)?);
        values.extend(values![message.reply_to, message.created_at.0]);
        Ok(self.write_one(ADD_MESSAGE.with(values)).await? > 0)
    }

    async fn change_channel_message(&self, message: &ChannelMessage) -> Result<bool> {
        let mut values = values![message.id, message.text.as_str()];
        values.extend([json(&message.raw)?, message.source_type.clone().into()]);
        values.push(json(&message.metadata)?);
        values.extend(values![message.reply_to, message.updated_at.0]);
        Ok(self.write_one(CHANGE_MESSAGE.with(values)).await? > 0)
    }

    async fn remove_channel_message(&self, id: Uuid) -> Result<bool> {
        Ok(self.write_one(REMOVE_MESSAGE.with(values![id])).await? > 0)
    }

    async fn clear_channel(&self, channel: Uuid) -> Result<u64> {
        self.write_one(CLEAR.with(values![channel])).await
    }
}
