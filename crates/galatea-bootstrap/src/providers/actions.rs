//! ACTIONS: the actions available in this turn.

use async_trait::async_trait;
use galatea_core::{
    Fragment, Provider, ProviderUse, Result, Turn, model::text_actions, rights::Authorship,
};

pub(crate) struct Actions;

#[async_trait]
impl Provider for Actions {
    fn name(&self) -> &'static str {
        "ACTIONS"
    }
    fn description(&self) -> &'static str {
        "What the agent can do in this turn"
    }
    fn position(&self) -> i32 {
        80
    }
    fn when(&self) -> ProviderUse {
        ProviderUse::Always
    }
    fn authorship(&self) -> Authorship {
        Authorship::Own
    }
    async fn provide(&self, turn: &Turn<'_>) -> Result<Fragment> {
        let tools = turn.models.large.info().tools;
        // A model with tool calls gets the actions as tools. Only templates and other models need
        // the list.
        if tools && turn.agent.character.templates.is_empty() {
            return Ok(Fragment::default());
        }
        let names: Vec<&str> = turn.catalog.actions.iter().map(|a| a.name.as_str()).collect();
        let actions = turn.catalog.actions.iter();
        let text = text_actions::list(
            actions.map(|action| (&*action.name, &*action.description, &*action.parameters)),
        );
        Ok(Fragment::text(text.clone())
            .value("actionNames", names.join(", "))
            .value("actionsWithDescriptions", text.clone())
            .value("actions", text))
    }
}
