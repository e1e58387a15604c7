//! CHOICE: choices that are open in this room.

use async_trait::async_trait;
use galatea_core::{Fragment, Provider, ProviderUse, Result, Turn, rights::Authorship};

use crate::{actions::choices, words};

pub(crate) struct Choice;

#[async_trait]
impl Provider for Choice {
    fn name(&self) -> &'static str {
        "CHOICE"
    }
    fn description(&self) -> &'static str {
        "Decisions that wait for an answer in this room"
    }
    fn position(&self) -> i32 {
        50
    }
    fn when(&self) -> ProviderUse {
        ProviderUse::Always
    }
    fn authorship(&self) -> Authorship {
        Authorship::Own
    }
    async fn provide(&self, turn: &Turn<'_>) -> Result<Fragment> {
        if !choices::are_open(turn) {
            return Ok(Fragment::default());
        }
        let open = choices::open(turn).await?;
        if open.is_empty() {
            return Ok(Fragment::default());
        }
        let list: Vec<String> = open
            .iter()
            .map(|task| {
                format!(
                    "{} ({}) can be answered with {}.",
                    words::quoted(&words::name(&task.name)),
                    &task.id.to_string()[..8],
                    choices::options(task).join(" | ")
                )
            })
            .collect();
        let text = format!("A decision is open here. {}", list.join(" "));
        Ok(Fragment::text(text.clone()).value("choice", text))
    }
}
