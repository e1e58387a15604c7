//! Actions of the standard plugin, one per file; made_file is what two of them share.

pub(crate) mod choices;
mod choose_option;
mod contact;
mod generate_image;
mod made_file;
mod open_choice;
mod reply;
mod role;
mod room_state;
mod send_message;
mod settings;
mod speak;

pub(crate) use choose_option::ChooseOption;
pub(crate) use contact::UpdateContact;
pub(crate) use generate_image::GenerateImage;
pub(crate) use open_choice::OpenChoice;
pub(crate) use reply::{Ignore, Nothing, Reply};
pub(crate) use role::UpdateRole;
pub(crate) use room_state::{FollowRoom, MuteRoom, UnfollowRoom, UnmuteRoom};
pub(crate) use send_message::SendMessage;
pub(crate) use settings::UpdateSettings;
pub(crate) use speak::Speak;
