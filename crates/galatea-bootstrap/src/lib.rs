//! The standard plugin of every agent (elizaOS `plugin-bootstrap`): its basic actions, prompt
//! providers, the evaluators that learn facts and summarise, and the service that embeds.

mod actions;
mod asked_people;
mod choose;
mod embedding;
mod evaluators;
mod fact;
mod fold;
mod learning_cache;
mod meaning;
mod profile;
mod providers;
mod reflection_cursor;
mod rights;
mod summary;
mod ties;
mod timed;
mod words;

use galatea_core::{
    AgentId, Finding, Plugin, Result, Settings, Timestamp, Variable,
    store::{CacheStore, PluginCache},
};
use std::sync::Arc;

/// Every setting this plugin reads.
pub const VARIABLES: &[Variable] =
    &[evaluators::INTERVAL, galatea_core::fusion::HALF_LIFE, galatea_core::rights::OWNERS];

/// Checks the settings of this plugin. Called at the start, for each agent: otherwise the first turn
/// that needs one would report it.
///
/// # Errors
/// `Invalid` for the first setting that cannot be read.
pub fn check(settings: &Settings) -> Result<()> {
    settings.parse::<u64>(&evaluators::INTERVAL, "a whole number")?;
    galatea_core::fusion::Fusion::of(settings).map(drop)
}

/// The name of the plugin, under which it keeps values.
const NAME: &str = "bootstrap";

/// Says that an agent learns no facts for a while, since its small model cannot derive any. `None`
/// while it is asked.
///
/// # Errors
/// Those of the store.
pub async fn learns_nothing(
    store: Arc<dyn CacheStore>,
    agent: AgentId,
    now: Timestamp,
) -> Result<Option<Finding>> {
    learning_cache::learns_nothing(&PluginCache::new(store, agent, NAME), now).await
}

/// Creates the plugin. Called once per agent.
pub fn plugin() -> Plugin {
    let (cache, meaning) = (
        Arc::new(learning_cache::LearningCache::default()),
        Arc::new(meaning::PromptMeaning::default()),
    );
    Plugin::new(
        NAME,
        env!("CARGO_PKG_VERSION"),
        "What an agent knows and does without any other plugin",
    )
    .declares(VARIABLES)
    .action(actions::Reply)
    .action(actions::Ignore)
    .action(actions::Nothing)
    .action(actions::FollowRoom)
    .action(actions::UnfollowRoom)
    .action(actions::MuteRoom)
    .action(actions::UnmuteRoom)
    .action(actions::SendMessage)
    .action(actions::UpdateContact(Arc::clone(&cache)))
    .action(actions::ChooseOption)
    .action(actions::OpenChoice)
    .action(timed::RemindMe)
    .action(timed::SchedulePost)
    .action(timed::FollowUp)
    .task_worker(timed::ReminderWorker)
    .task_worker(timed::PostWorker)
    .task_worker(timed::FollowUpWorker)
    .action(actions::UpdateRole)
    .action(actions::UpdateSettings)
    .action(actions::GenerateImage)
    .action(actions::Speak)
    .provider(providers::CharacterProvider::default())
    .provider(providers::Time)
    .provider(providers::Place)
    .provider(providers::Topic)
    .provider(providers::WorldProvider)
    .provider(providers::Entities)
    .provider(providers::Relationships(Arc::clone(&cache)))
    .provider(providers::Facts(Arc::clone(&cache), Arc::clone(&meaning)))
    .provider(providers::Memories(Arc::clone(&meaning)))
    .provider(providers::SummarizedContext)
    .provider(providers::Roles)
    .provider(providers::WorldSettings)
    .provider(providers::Choice)
    .provider(providers::Anxiety)
    .provider(providers::Attachments)
    .provider(providers::Actions)
    .provider(providers::Providers)
    .provider(providers::Evaluators)
    .provider(providers::ActionState)
    .provider(providers::RecentMessages)
    .evaluator(evaluators::Reflection(Arc::clone(&cache)))
    .evaluator(evaluators::Profiles(cache))
    .evaluator(evaluators::Summarization::default())
    .service(Arc::new(embedding::EmbeddingService::new(meaning)))
}
