//! Providers of the standard plugin, one per file.

mod action_state;
mod actions;
mod anxiety;
mod attachments;
mod character;
mod choice;
mod entities;
mod facts;
mod memories;
mod menu;
mod recent_messages;
mod relationships;
mod roles;
mod settings;
mod summary;
mod time;
mod world;

pub(crate) use action_state::ActionState;
pub(crate) use actions::Actions;
pub(crate) use anxiety::Anxiety;
pub(crate) use attachments::Attachments;
pub(crate) use character::CharacterProvider;
pub(crate) use choice::Choice;
pub(crate) use entities::Entities;
pub(crate) use facts::Facts;
pub(crate) use memories::Memories;
pub(crate) use menu::{Evaluators, Providers};
pub(crate) use recent_messages::RecentMessages;
pub(crate) use relationships::Relationships;
pub(crate) use roles::Roles;
pub(crate) use settings::WorldSettings;
pub(crate) use summary::SummarizedContext;
pub(crate) use time::Time;
pub(crate) use world::WorldProvider;
