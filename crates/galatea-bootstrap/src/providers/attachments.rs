//! ATTACHMENTS: files attached to the message.

use async_trait::async_trait;
use galatea_core::{Fragment, Provider, ProviderUse, Result, Turn, rights::Authorship};

use crate::words;

pub(crate) struct Attachments;

#[async_trait]
impl Provider for Attachments {
    fn name(&self) -> &'static str {
        "ATTACHMENTS"
    }
    fn description(&self) -> &'static str {
        "Files that came with the message, with what is known of them"
    }
    fn position(&self) -> i32 {
        70
    }
    fn when(&self) -> ProviderUse {
        ProviderUse::Always
    }
    fn authorship(&self) -> Authorship {
        Authorship::Own
    }
    async fn provide(&self, turn: &Turn<'_>) -> Result<Fragment> {
        let files: Vec<String> = turn
            .merged
            .iter()
            .chain(std::iter::once(turn.message))
            .flat_map(|m| &m.content.attachments)
            .map(|media| {
                let about = [&media.description, &media.text]
                    .into_iter()
                    .filter(|t| !t.is_empty())
                    .map(|t| words::line(t, words::LONGEST))
                    .collect::<Vec<_>>()
                    .join("; ");
                format!("- {:?} {}: {about}", media.content_type, words::name(&media.title))
                    .to_string()
            })
            .collect();
        if files.is_empty() {
            return Ok(Fragment::default());
        }
        Ok(Fragment::text(format!("# Attachments\n{}", files.join("\n")))
            .value("attachments", files.join("\n")))
    }
}
