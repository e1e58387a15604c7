//! Runs providers side by side, each with a deadline, and makes the State of what they return. One
//! that fails is left out and noted.

use futures::{FutureExt, future::join_all};
use galatea_core::{Fragment, Provider, Result, State, Turn, rights::Authorship};
use std::{panic::AssertUnwindSafe, time::Duration};

use crate::registry::Extension;

/// elizaOS `composeState`: runs these providers.
pub(crate) async fn compose_state(
    turn: &Turn<'_>,
    providers: impl Iterator<Item = &Extension<dyn Provider>>,
    deadline: Duration,
) -> State {
    let parts = join_all(providers.map(async |provider| {
        (provider.name(), provide(&**provider, &provider.turn(turn), deadline).await)
    }))
    .await;
    let mut state = State::default();
    for (name, part) in parts {
        match part {
            Ok(fragment) => state.fragments.push((name.to_owned(), fragment)),
            Err(reason) => {
                tracing::warn!(turn = %turn.id, provider = name, reason, "a provider is left out of this turn");
                state.left_out.push((name.to_owned(), reason));
            }
        }
    }
    state
}

async fn provide(
    provider: &dyn Provider,
    turn: &Turn<'_>,
    deadline: Duration,
) -> Result<Fragment, String> {
    let work = AssertUnwindSafe(provider.provide(turn)).catch_unwind();
    let deadline = provider.patience(deadline);
    match tokio::time::timeout(deadline, work).await {
        Ok(Ok(Ok(fragment))) => {
            let instructs = provider.authorship() == Authorship::Own;
            let authorship = if instructs { Authorship::Own } else { fragment.authorship };
            Ok(Fragment { authorship, instructs, lasting: provider.lasting(), ..fragment })
        }
        Ok(Ok(Err(error))) => Err(error.report()),
        Ok(Err(_)) => Err("it panicked".to_owned()),
        Err(_) => Err(format!("it took longer than {} ms", deadline.as_millis())),
    }
}
