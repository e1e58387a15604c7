//! Receives events: each shard reads them from the gateway, and its worker stores them. This module
//! holds what shards and workers share.

mod catch_up;
mod directs;
pub(crate) mod fleet;
mod intake;
pub(crate) mod quota;
mod session;
pub(crate) mod shard;
pub(crate) mod shard_health;
mod socket;
mod watchdog;
mod work;

#[cfg(feature = "fuzz")]
pub(crate) use socket::frame;

use galatea_core::{Gateway, Result, StateKeeper};

use crate::send::send_state::SendState;
use intake::ASKED;

pub(crate) use self::intake::{ShardEvent, ShardIntake};

/// Loads the commands that still waited for an answer when the previous process ended. Called before
/// the send handler is registered: an answer that is sent without them is refused, or public.
///
/// # Errors
/// Those of the store. The connector then starts again.
pub(crate) async fn restore_asked(gateway: &Gateway, send_state: &SendState) -> Result<()> {
    let kept = StateKeeper::new(ASKED).restore(gateway).await?;
    send_state.restore(kept.unwrap_or_default());
    Ok(())
}
