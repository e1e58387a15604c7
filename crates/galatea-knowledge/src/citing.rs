//! Checks the references of an answer before it is stored and sent.

use async_trait::async_trait;
use galatea_core::{ChannelType, Content, Middleware, Result, Turn, Verdict};

use crate::{
    cite::{Citation, CiteForm, cite},
    provider::{CITATIONS, NAME},
};

/// Leaves only references to pieces that were in the prompt, and names their sources.
pub(crate) struct Citing;

#[async_trait]
impl Middleware for Citing {
    fn name(&self) -> &'static str {
        "citations"
    }
    async fn before(&self, _: &Turn<'_>, _: &mut Verdict) -> Result<()> {
        Ok(())
    }
    fn allows_drafts(&self) -> bool {
        true
    }

    async fn answered(&self, turn: &Turn<'_>, answer: &mut Content) -> Result<()> {
        let Some(known) = turn.state.fragment(NAME).and_then(|f| f.data.get(CITATIONS)) else {
            return Ok(());
        };
        let citations: Vec<Citation> = serde_json::from_value(known.clone()).unwrap_or_default();
        let form = match turn.room.kind {
            ChannelType::Feed => CiteForm::Short,
            _ => CiteForm::List,
        };
        answer.text = cite(&answer.text, &citations, form);
        Ok(())
    }
}
