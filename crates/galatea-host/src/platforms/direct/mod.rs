//! Conversations within this process: the program that contains an agent asks it, and waits for the
//! answer.

mod ask;
mod meeting;
mod message;
mod way;

pub use self::message::{Answer, Message, Person, Piece};
pub(crate) use self::{
    ask::Asked,
    meeting::MeetingRoom,
    way::{Direct, defaults},
};
