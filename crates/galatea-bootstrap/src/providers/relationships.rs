//! RELATIONSHIPS: the people the speaker knows, as far as it was said in this room.

use async_trait::async_trait;
use galatea_core::{
    Fragment, Provider, ProviderUse, Relationship, Result, Speakers, Turn, sections::Section,
};
use std::sync::Arc;

use crate::{learning_cache::LearningCache, ties, words};

pub(crate) struct Relationships(pub(crate) Arc<LearningCache>);

/// elizaOS shows the 30 with most interactions.
const MOST: usize = 30;

#[async_trait]
impl Provider for Relationships {
    fn name(&self) -> &'static str {
        "RELATIONSHIPS"
    }
    fn description(&self) -> &'static str {
        "Whom the speaker knows, and how"
    }
    fn position(&self) -> i32 {
        30
    }
    fn when(&self) -> ProviderUse {
        // A room where nothing was learnt needs no query, see `LearningCache`.
        ProviderUse::Always
    }
    async fn provide(&self, turn: &Turn<'_>) -> Result<Fragment> {
        if !self.0.may_have_ties(turn).await? {
            return Ok(Fragment::default());
        }
        let speaker = turn.message.entity_id;
        let all = turn.store.relationships(turn.agent.identity.id(), speaker).await?;
        // Relationships learnt in other rooms must not appear here.
        let mut here: Vec<(Relationship, Vec<String>)> = all
            .into_iter()
            .filter_map(|tie| ties::tags_in(&tie, turn.room.id).map(|tags| (tie, tags)))
            .collect();
        here.sort_by_key(|(tie, _)| std::cmp::Reverse(ties::interactions(tie)));
        here.truncate(MOST);
        let others: Vec<_> = here
            .iter()
            .map(|(tie, _)| {
                if tie.source_entity_id == speaker {
                    tie.target_entity_id
                } else {
                    tie.source_entity_id
                }
            })
            .collect();
        let known = turn.store.entities(&others).await?;
        let called: Vec<_> = known.iter().map(|e| (e.id, e.display_name())).collect();
        let called = called.iter().map(|(id, name)| (*id, Some(name.as_str())));
        let names = Speakers::beside(turn, called);
        // Short: in a small window the section has some forty tokens.
        let title = format!("By hearsay {} knows", names.of_memory(turn.message));
        let list = here
            .iter()
            .zip(&others)
            .filter_map(|((_, tags), other)| {
                known.iter().find(|e| e.id == *other).map(|e| (tags, e))
            })
            .map(|(tags, e)| {
                let tags: Vec<String> = tags.iter().map(|t| words::name(t)).collect();
                let name = names.name(e.id);
                if tags.is_empty() { name } else { format!("{name} ({})", tags.join(", ")) }
            });
        let most = turn.budget(Section::Relationships).saturating_sub(words::tokens(&title));
        let list = words::first_within(list, most, |line| words::tokens(line));
        if list.is_empty() {
            return Ok(Fragment::default());
        }
        let text = format!("{title} {}.", list.join("; "));
        Ok(Fragment::text(text.clone()).value("relationships", text))
    }
}
