//! Telegram, Discord and X at once: one program, one persona, three platforms.

mod accounts;
mod across;
mod apart;
mod everywhere;
mod handles;
mod long;
mod secrets;
mod side_by_side;
mod two;

use everywhere::Everywhere;
