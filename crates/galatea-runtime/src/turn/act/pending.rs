//! Actions that wait until the person who asked confirms them. Stored as a task in the commit of
//! the turn that asks, and removed in the commit of the turn that carries them out, so they are
//! done once or not at all.

use galatea_core::{
    ActionResult, AgentId, Button, Content, EntityId, Press, Result, RoomId, Store, Task, TaskId,
    Timestamp, Turn,
    rights::{Grant, ToolIdentity},
    store::RequestedChange,
};
use rand::RngExt;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use std::time::Duration;

use super::attribution::{asker, quoted};
use crate::{directory::Directory, plan::PlannedAction};

/// Tag of a task that waits for a confirmation.
pub(crate) const TAG: &str = "AWAITING_CONFIRMATION";
/// Without letters and digits that look alike.
const ALPHABET: &[u8] = b"23456789ABCDEFGHJKMNPQRSTUVWXYZ";
/// Letters of a code: the answer names what was asked, so that a `yes` to something else never
/// confirms.
const LENGTH: usize = 5;

/// An action that waits.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Request {
    /// The call as the model wrote it.
    pub(crate) call: PlannedAction,
    /// Plugin of the action. Another plugin's action of the same name is not what was confirmed.
    #[serde(default)]
    pub(crate) plugin: String,
    /// Result, if the action changes nothing while it runs: just this is carried out. None: it
    /// is run once it is confirmed.
    pub(crate) result: Option<ActionResult>,
    /// The tool as it described itself when it was asked for: another one is not run.
    pub(crate) tool: ToolIdentity,
    /// The person may allow it for longer than this once.
    pub(crate) may_be_kept: bool,
}

/// Actions of one turn that wait together.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Pending {
    pub(crate) task: TaskId,
    pub(crate) code: String,
    /// Person who asked, and alone may confirm.
    pub(crate) owner: EntityId,
    pub(crate) until: Timestamp,
    pub(crate) requests: Vec<Request>,
}

/// An answer to the question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) code: String,
    pub(crate) said: Said,
}

/// What a person answers to the question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Said {
    /// It is done this once.
    Once,
    /// It is done, and the tool asks this person no more in this Room.
    InThisRoom,
    /// It is done, and the tool asks this person no more.
    Always,
    /// It is dropped.
    No,
}

/// The answer in a message, if it is one: `ok-7K2QM`, `room-7K2QM`, `always-7K2QM` or `no-7K2QM`,
/// alone or beside a mention. A button says the same.
pub(crate) fn answer(text: &str) -> Option<Answer> {
    let mut words = text.split_whitespace();
    let found: Vec<Answer> = words.by_ref().take(3).filter_map(code_in).collect();
    match (&found[..], words.next()) {
        ([only], None) => Some(only.clone()),
        _ => None,
    }
}

fn code_in(word: &str) -> Option<Answer> {
    let word = word.trim_matches(|c: char| !c.is_alphanumeric()).to_ascii_uppercase();
    let (said, code) = word.split_once('-')?;
    let said = match said {
        "OK" => Said::Once,
        "ROOM" => Said::InThisRoom,
        "ALWAYS" => Said::Always,
        "NO" => Said::No,
        _ => return None,
    };
    (code.len() == LENGTH && code.bytes().all(|byte| ALPHABET.contains(&byte)))
        .then(|| Answer { code: code.to_owned(), said })
}

impl Pending {
    /// Asks for what waits: the question, and the changes that keep it and drop what the same
    /// person was asked before in this Room.
    pub(crate) async fn ask(
        store: &dyn Store,
        directory: &Directory,
        turn: &Turn<'_>,
        requests: Vec<Request>,
        life: Duration,
    ) -> Result<(Self, Content, Vec<RequestedChange>)> {
        let code: String = {
            let mut rng = rand::rng();
            (0..LENGTH).map(|_| char::from(ALPHABET[rng.random_range(0..ALPHABET.len())])).collect()
        };
        let pending = Self {
            task: TaskId::fresh(),
            code,
            owner: turn.message.entity_id,
            until: turn.now().plus(life),
            requests,
        };
        let now = turn.now();
        let before = store.tasks(turn.agent.identity.id(), &[TAG.to_owned()]).await?;
        let mine = |task: &Task| {
            task.room_id == Some(turn.room.id) && task.entity_id == Some(pending.owner)
        };
        let gone = before
            .iter()
            .filter(|task| task.due <= now || mine(task))
            .map(|task| RequestedChange::DeleteTask { task: task.id });
        let mut effects: Vec<RequestedChange> = gone.collect();
        effects.push(RequestedChange::SaveTask { task: Box::new(pending.stored(turn)) });
        let question = pending.question(store, directory, turn, life).await;
        Ok((pending, question, effects))
    }

    /// The one of this code in this Room; none when it was answered, replaced or never asked.
    pub(crate) async fn find(
        store: &dyn Store,
        agent: AgentId,
        room: RoomId,
        code: &str,
    ) -> Result<Option<Self>> {
        let tasks = store.tasks(agent, &[TAG.to_owned()]).await?;
        Ok(tasks
            .iter()
            .filter(|task| task.room_id == Some(room))
            .filter_map(Self::read)
            .find(|pending| pending.code == code))
    }

    fn stored(&self, turn: &Turn<'_>) -> Task {
        let metadata = Map::from_iter([
            ("code".to_owned(), json!(self.code)),
            ("requests".to_owned(), json!(self.requests)),
        ]);
        Task {
            id: self.task,
            agent_id: turn.agent.identity.id(),
            name: "CONFIRM_ACTION".to_owned(),
            description: "actions that wait for the confirmation of the person who asked"
                .to_owned(),
            room_id: Some(turn.room.id),
            world_id: Some(turn.room.world_id),
            entity_id: Some(self.owner),
            tags: vec![TAG.to_owned()],
            metadata,
            due: self.until,
            run: None,
        }
    }

    pub(crate) fn read(task: &Task) -> Option<Self> {
        let code = task.metadata.get("code").and_then(Value::as_str)?.to_owned();
        let requests = serde_json::from_value(task.metadata.get("requests")?.clone()).ok()?;
        Some(Self { task: task.id, code, owner: task.entity_id?, until: task.due, requests })
    }

    /// Says what would be done, from what is stored and not from what the model says of it.
    async fn question(
        &self,
        store: &dyn Store,
        directory: &Directory,
        turn: &Turn<'_>,
        life: Duration,
    ) -> Content {
        let why = if self.requests.iter().any(Request::deletes) {
            "It deletes what all members wrote, for good"
        } else {
            "Other people's words were before me when I understood you so"
        };
        let mut text = format!("{}, please confirm this first. {why}:\n", asker(turn));
        for request in &self.requests {
            text.push_str(&format!("\n{}", request.description(store, directory).await));
        }
        let minutes = life.as_secs().div_ceil(60);
        text.push_str(&format!(
            "\n\nSend `ok-{0}` to have it done or `no-{0}` to drop it, within {minutes} minutes.",
            self.code
        ));
        let kept = self.tools_to_keep().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        if !kept.is_empty() {
            text.push_str(&format!(
                " With `room-{0}` it is done, and I do not ask you again about {kept} in this room; with `always-{0}` I do not ask you again anywhere.",
                self.code
            ));
        }
        let button = |text: &str, said: &str| Button {
            text: text.to_owned(),
            press: Press::Data(format!("{said}-{}", self.code)),
        };
        let buttons = if kept.is_empty() {
            vec![vec![button("Confirm", "ok"), button("Drop", "no")]]
        } else {
            vec![
                vec![button("Once", "ok"), button("This room", "room")],
                vec![button("Always", "always"), button("Drop", "no")],
            ]
        };
        Content { buttons, ..Content::text(text) }
    }

    /// The tools that may be allowed for longer, if all that waits may be.
    fn tools_to_keep(&self) -> impl Iterator<Item = &ToolIdentity> {
        let all = self.requests.iter().all(|request| request.may_be_kept);
        self.requests.iter().filter(move |_| all).map(|request| &request.tool)
    }

    /// The grants that this answer of the person gives.
    pub(crate) fn consents(&self, turn: &Turn<'_>, said: Said) -> Vec<Grant> {
        let room = match said {
            Said::InThisRoom => Some(turn.room.id),
            Said::Always => None,
            Said::Once | Said::No => return Vec::new(),
        };
        let (agent, at) = (turn.agent.identity.id(), turn.now());
        self.tools_to_keep().map(|tool| Grant::consent(agent, tool, self.owner, room, at)).collect()
    }
}

impl Request {
    fn deletes(&self) -> bool {
        let sets = |effect: &RequestedChange| matches!(effect, RequestedChange::SetRetention { days, .. } if *days > 0);
        self.result.as_ref().is_some_and(|result| result.effects.iter().any(sets))
    }

    async fn description(&self, store: &dyn Store, directory: &Directory) -> String {
        let name = &self.call.name;
        let Some(result) = &self.result else {
            let params = serde_json::to_string_pretty(&self.call.params).unwrap_or_default();
            return format!("{name} with\n{}\n", quoted(&params));
        };
        let mut lines = Vec::new();
        for (there, content) in &result.elsewhere {
            let info = directory.rooms.load(store, there.room).await.ok().flatten();
            let place = info.map_or_else(|| there.remote.to_string(), |info| place(&info.room));
            lines.push(format!("{name}: say in {place}\n{}\n", quoted(&content.text)));
        }
        for effect in &result.effects {
            let what = serde_json::to_string(effect).unwrap_or_default();
            lines.push(format!(
                "{name}: {}\n{}\n",
                super::attribution::sentence(&result.text),
                quoted(&what)
            ));
        }
        lines.join("\n")
    }
}

fn place(room: &galatea_core::Room) -> String {
    let name = super::attribution::plain(&room.name);
    let kind = if room.kind.is_direct() { "the private chat" } else { "" };
    format!("{kind} {name} on {} (id {})", room.source, room.remote).trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_codes_word_is_an_answer() {
        let yes = Some(Answer { code: "7K2QM".into(), said: Said::Once });
        for text in ["ok-7K2QM", " OK-7k2qm ", "@eliza ok-7K2QM", "`ok-7K2QM`."] {
            assert_eq!(answer(text), yes, "{text}");
        }
        for (text, said) in [
            ("no-7K2QM", Said::No),
            ("room-7K2QM", Said::InThisRoom),
            ("Always-7k2qm", Said::Always),
        ] {
            assert_eq!(answer(text).map(|a| a.said), Some(said), "{text}");
        }
        for text in [
            "ok",
            "yes",
            "ok-7K2Q",
            "ok-7K2QMM",
            "ok-7K2Q0",
            "I say ok-7K2QM to that",
            "ok-7K2QM no-7K2QM",
            "",
        ] {
            assert_eq!(answer(text), None, "{text}");
        }
    }
}
