//! Sessions of a connection: identify and resume with their checks, the greeting, and requests for
//! members.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{Connection, Over};
use crate::discord::{faults::Silent, sessions::intent, state::State};

/// Least time between two identifies of one concurrency bucket: Discord's five seconds, less what a busy
/// machine may take to read the first of them.
const SPACING: Duration = Duration::from_millis(4_200);

impl Connection {
    pub(super) fn identify(&mut self, state: &mut State, data: &Value) -> Result<Vec<Value>, Over> {
        if self.session.is_some() {
            state.violate("gateway", "identified twice");
            return Err(Over::Close(4005));
        }
        if data["token"] != state.options.token() {
            return Err(Over::Close(4004));
        }
        let (Some(intents), true) = (
            data["intents"].as_u64(),
            data["properties"]["os"].is_string() && data["properties"]["browser"].is_string(),
        ) else {
            state.violate("gateway", "identify without intents or properties");
            return Err(Over::Close(4002));
        };
        if intents & !intent::KNOWN != 0 {
            state.violate("gateway", "intents that do not exist");
            return Err(Over::Close(4013));
        }
        let privileged = [
            (intent::CONTENT, state.options.content),
            (intent::MEMBERS, state.options.members),
            (intent::PRESENCES, false),
        ];
        if privileged.iter().any(|(bit, granted)| intents & bit != 0 && !granted) {
            return Err(Over::Close(4014));
        }
        let shard = match (data["shard"][0].as_u64(), data["shard"][1].as_u64()) {
            (Some(number), Some(count)) if number < count => (number, count),
            (None, None) if data.get("shard").is_none() => (0, 1),
            _ => {
                state.violate("gateway", "an impossible shard");
                return Err(Over::Close(4010));
            }
        };
        let now = Instant::now();
        // The server offers a single concurrency bucket.
        if state.options.checks
            && !state.options.own_time
            && state.identified.last().is_some_and(|(at, _)| now - *at < SPACING)
        {
            state.violate("gateway", "identified again within five seconds");
            return Ok(vec![json!({ "op": 9, "d": false })]);
        }
        if state.options.identifies == 0 {
            state.violate("gateway", "identified although session_start_limit.remaining was 0");
            return Err(Over::Close(4004));
        }
        state.options.identifies -= 1;
        state.identified.push((now, shard.0));
        if state.falls_silent(Silent::Ready) {
            return Ok(Vec::new());
        }
        if let Some(code) = state.options.refuse {
            return Err(Over::Close(code));
        }
        let id = state.sessions.begin(intents, shard, self.number);
        self.session = Some(id.clone());
        self.sent = 0;
        self.greet(state, &id, shard, intents);
        Ok(Vec::new())
    }

    /// READY, followed by GUILD_CREATE for each guild.
    fn greet(&self, state: &mut State, id: &str, shard: (u64, u64), intents: u64) {
        let mine: Vec<u64> =
            state.world.guilds.keys().copied().filter(|g| (g >> 22) % shard.1 == shard.0).collect();
        let guilds: Vec<Value> =
            mine.iter().map(|g| json!({ "id": g.to_string(), "unavailable": true })).collect();
        let resume = state.base.replacen("http", "ws", 1);
        let ready = json!({
            "v": 10, "user": state.world.user_json(state.world.bot), "guilds": guilds, "session_id": id, "resume_gateway_url": format!("{resume}/resume"),
            "shard": [shard.0, shard.1], "application": { "id": state.options.application.to_string(), "flags": 0 }, "private_channels": []
        });
        let members = intents & intent::MEMBERS != 0;
        let creates: Vec<Value> = if intents & intent::GUILDS == 0 {
            Vec::new()
        } else {
            mine.iter().map(|g| state.world.guild_create(*g, members)).collect()
        };
        if let Some(session) = state.sessions.all.get_mut(id) {
            session.push("READY", ready);
            for create in creates {
                session.push("GUILD_CREATE", create);
            }
        }
    }

    pub(super) fn resume(&mut self, state: &mut State, data: &Value) -> Result<Vec<Value>, Over> {
        if data["token"] != state.options.token() {
            return Err(Over::Close(4004));
        }
        let (Some(id), Some(sequence)) = (data["session_id"].as_str(), data["seq"].as_u64()) else {
            state.violate("gateway", "resume without session_id or seq");
            return Err(Over::Close(4002));
        };
        if let Some(code) = state.options.refuse {
            return Err(Over::Close(code));
        }
        if state.falls_silent(Silent::Resumed) {
            self.resuming = true;
            return Ok(Vec::new());
        }
        let deaf = state.falls_silent(Silent::Events);
        let Some(session) = state.sessions.all.get_mut(id) else {
            return Ok(vec![json!({ "op": 9, "d": false })]);
        };
        if sequence > session.sequence {
            state.violate("gateway", "resumed after an event that was never sent");
            return Err(Over::Close(4007));
        }
        if !session.resumable(sequence) {
            state.sessions.all.remove(id);
            return Ok(vec![json!({ "op": 9, "d": false })]);
        }
        session.connection = Some(self.number);
        session.push("RESUMED", json!({ "_trace": [] }));
        self.sent = sequence;
        self.session = Some(id.to_owned());
        self.silent = deaf;
        if deaf {
            self.sent = session.sequence;
        }
        // Only RESUMED is sent when the connection is to stay silent afterwards.
        let frames = if deaf {
            vec![json!({ "op": 0, "s": session.sequence, "t": "RESUMED", "d": { "_trace": [] } })]
        } else {
            Vec::new()
        };
        state.resumed.push(sequence);
        Ok(frames)
    }

    /// Members of a guild by their ids (Discord, "Request Guild Members"). This needs no privileged
    /// intent.
    pub(super) fn members(&mut self, state: &mut State, data: &Value) -> Result<Vec<Value>, Over> {
        state.member_requests += 1;
        let number = self.number;
        let guild = data["guild_id"].as_str().and_then(|id| id.parse::<u64>().ok());
        let wanted: Vec<u64> = data["user_ids"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|id| id.as_str()?.parse().ok())
            .collect();
        let (Some(guild), false) =
            (guild, wanted.is_empty() || wanted.len() > 100 || data.get("query").is_some())
        else {
            state.violate("gateway", "requested members without one guild and up to 100 ids");
            return Err(Over::Close(4002));
        };
        let Some(known) =
            state.world.guilds.get(&guild).filter(|g| g.members.contains_key(&state.world.bot))
        else {
            return Ok(Vec::new());
        };
        let (found, gone): (Vec<u64>, Vec<u64>) =
            wanted.into_iter().partition(|id| known.members.contains_key(id));
        let members: Vec<Value> =
            found.into_iter().map(|id| state.world.member_json(guild, id, true)).collect();
        let not_found: Vec<String> = gone.iter().map(u64::to_string).collect();
        let mut chunk = json!({ "guild_id": guild.to_string(), "members": members, "chunk_index": 0, "chunk_count": 1, "not_found": not_found });
        if let Some(nonce) = data.get("nonce") {
            chunk["nonce"] = nonce.clone();
        }
        if let Some(session) = state.sessions.of(number) {
            session.push("GUILD_MEMBERS_CHUNK", chunk);
        }
        Ok(Vec::new())
    }
}
