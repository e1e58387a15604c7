//! `memory show`: one memory with its sources, and what was made from it.

use galatea_core::{
    Derived, Error, Store, fact,
    visible::{one_line, visible},
};
use serde_json::json;
use std::{fmt::Write as _, process::ExitCode};

use super::{
    list::Names,
    select::{self, clipped},
};
use crate::{cli::audit::utc, context::Context, report::failure::Result};

pub(super) async fn show(
    store: &dyn Store,
    asked: &str,
    json: bool,
    context: &Context,
) -> Result<ExitCode> {
    let (mut derived, made) = find(store, asked).await?;
    if let Some(confidence) = fact::confidence(&derived) {
        derived.memory.metadata.insert("confidence".to_owned(), json!(confidence));
    }
    let sources = store.derived(derived.memory.agent_id, &derived.sources).await?;
    if json {
        context.output.json(
            "galatea.memory.show/1",
            json!({ "memory": derived, "sources": sources, "madeFromIt": made }),
        );
    } else {
        let names = Names::of(store, std::slice::from_ref(&derived.memory)).await?;
        context.output.data(render(&derived, &sources, &made, &names).trim_end());
    }
    Ok(ExitCode::SUCCESS)
}

/// The memory, and what was made from it.
///
/// # Errors
/// `NotFound` (`GAL-MEMORY-UNKNOWN`).
pub(super) async fn find(store: &dyn Store, asked: &str) -> Result<(Derived, Vec<Derived>)> {
    let id = select::memory(store, asked).await?;
    let memory = store.memory(id).await?;
    let agent = memory.as_ref().map(|memory| memory.agent_id);
    let found = match agent {
        Some(agent) => store.derived(agent, &[id]).await?.pop(),
        None => None,
    };
    let (Some(agent), Some(found)) = (agent, found) else {
        return Err(Error::not_found("no memory has this id")
            .with_code("GAL-MEMORY-UNKNOWN")
            .with("asked for", asked)
            .with_fix("give the id that `galatea memory ls` shows, or its beginning")
            .into());
    };
    let made = store.derived_from(agent, &[id]).await?;
    Ok((found, made))
}

fn render(of: &Derived, sources: &[Derived], made: &[Derived], names: &Names) -> String {
    let Derived { memory, scope, valid_until, superseded_by, .. } = of;
    let mut text = String::new();
    let mut line = |name: &str, value: &str| {
        let _ = writeln!(text, "{name:<12}{value}");
    };
    line("id", &memory.id.to_string());
    line("kind", &one_line(memory.kind.as_str()));
    line("time", &utc(memory.created_at));
    line("person", &format!("{}  {}", names.person(memory), memory.entity_id));
    line("room", &format!("{}  {}", names.room(memory), memory.room_id));
    line("visible to", scope.as_str());
    if let Some(until) = valid_until {
        line("true until", &utc(*until));
    }
    if let Some(by) = superseded_by {
        line("replaced by", &by.to_string());
    }
    for (key, value) in &memory.metadata {
        line(&one_line(key), &one_line(&value.to_string()));
    }
    let _ = writeln!(text, "\n{}", visible(&memory.content.text));
    for (title, list) in [("made from", sources), ("made from it", made)] {
        if !list.is_empty() {
            let _ = writeln!(text, "\n{title}");
        }
        for other in list {
            let said = clipped(&one_line(&other.memory.content.text), 80);
            let kind = one_line(other.memory.kind.as_str());
            let _ = writeln!(text, "  {}  {kind}  {said}", other.memory.id);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use galatea_core::{
        AgentId, Content, EntityId, Memory, MemoryId, MemoryKind, MemoryScope, RoomId, Timestamp,
    };

    #[test]
    fn nothing_that_is_shown_reaches_the_terminal_as_an_escape() {
        let evil = "\u{1b}[2J\u{9b}31m\u{202e}\u{7}x\ny";
        let mut memory = Memory {
            id: MemoryId::fresh(),
            kind: MemoryKind::from_stored(evil),
            agent_id: AgentId::fresh(),
            entity_id: EntityId::fresh(),
            room_id: RoomId::fresh(),
            world_id: None,
            content: Content::text(evil),
            metadata: serde_json::Map::new(),
            created_at: Timestamp(0),
        };
        memory.metadata.insert(evil.to_owned(), json!(evil));
        let names = Names::given(&memory, evil, evil);
        let derived = Derived::new(memory, MemoryScope::Room, Vec::new());
        let text = render(&derived, std::slice::from_ref(&derived), &[], &names);
        assert!(text.contains("person      [2J31mx y"), "{text}");
        assert!(text.chars().all(|c| c == '\n' || !c.is_control()), "{text:?}");
        assert!(!text.contains('\u{202e}'), "{text:?}");
    }
}
