//! Actions of the standard plugin, one per file.

pub(crate) mod choices;
mod choose_option;
mod contact;
mod role;
mod room_state;
mod send_message;
mod settings;
mod words;

pub(crate) use choose_option::ChooseOption;
pub(crate) use contact::UpdateContact;
pub(crate) use role::UpdateRole;
pub(crate) use room_state::{FollowRoom, MuteRoom, UnfollowRoom, UnmuteRoom};
pub(crate) use send_message::SendMessage;
pub(crate) use settings::UpdateSettings;
pub(crate) use words::{Ignore, Nothing, Reply};
