//! Parts that the model of a turn is shown: the names it may use (the catalog), and what providers
//! know (the State).

use futures::{FutureExt, future::join_all};
use galatea_core::{
    Fragment, Provider, ProviderUse, Result, State, Turn,
    rights::{Authorship, Scope},
    store::StepKind,
    turn::Catalog,
};
use std::{panic::AssertUnwindSafe, time::Duration};

use crate::{
    plugins::unit::Extension,
    trace::{Recorder, StepClock},
    turn::{act, engine::Engine},
};

/// The providers, evaluators and actions that this turn's model may use. Actions validate
/// themselves side by side, each with a deadline; one that fails is not offered.
pub(crate) async fn catalog(engine: &Engine, turn: &Turn<'_>) -> Catalog {
    let mut catalog = Catalog {
        providers: engine
            .thinking
            .registry
            .providers
            .iter()
            .filter(|p| p.when() == ProviderUse::OnRequest)
            .map(|p| (p.name().to_owned(), p.description().to_owned()))
            .collect(),
        evaluators: engine
            .thinking
            .registry
            .evaluators
            .iter()
            .map(|(_, e)| (e.name().to_owned(), e.description().to_owned()))
            .collect(),
        ..Catalog::default()
    };
    // A script can do nothing but talk.
    if engine.thinking.is_scripted() {
        return catalog;
    }
    let grants = act::grants(engine).await;
    let allowed = engine.thinking.registry.actions.iter().filter(|(docs, action)| {
        act::may_be_offered(turn, engine, grants.as_ref(), &docs.name, action)
    });
    let offered = join_all(allowed.map(async |(docs, action)| {
        let turn = action.turn(turn);
        let work = AssertUnwindSafe(action.validate(&turn)).catch_unwind();
        match tokio::time::timeout(engine.limits.provider, work).await {
            Ok(Ok(Ok(offered))) => offered.then_some((is_by_role(action.scope()), docs)),
            Ok(Ok(Err(error))) => {
                tracing::warn!(turn = %turn.id, action = docs.name, error = %error.report(), "an action could not be validated and is not offered");
                None
            }
            Ok(Err(_)) | Err(_) => {
                tracing::warn!(turn = %turn.id, action = docs.name, "an action crashed or took too long while being validated and is not offered");
                None
            }
        }
    }))
    .await;
    let mut offered: Vec<_> = offered.into_iter().flatten().collect();
    // Actions offered to every speaker come first, so that prompts of different speakers share
    // their beginning.
    offered.sort_by_key(|(by_role, _)| *by_role);
    catalog.actions = offered.into_iter().map(|(_, docs)| docs).cloned().collect();
    catalog
}

/// True if an action is offered to some people of a room only.
fn is_by_role(scope: Scope) -> bool {
    matches!(scope, Scope::Room | Scope::World | Scope::Outside)
}

/// elizaOS `composeState`: runs these providers side by side, each with a deadline. One that fails
/// is left out and noted.
pub(crate) async fn compose_state(
    turn: &Turn<'_>,
    providers: impl Iterator<Item = &Extension<dyn Provider>>,
    deadline: Duration,
    trace: &Recorder,
) -> State {
    let parts = join_all(providers.map(async |provider| {
        let time = StepClock::start(&**turn.clock);
        let part = provide(&**provider, &provider.turn(turn), deadline).await;
        let mut step = time.step(StepKind::Provider, provider.name());
        match &part {
            Ok(fragment) => step.bytes = u64::try_from(fragment.text.len()).ok(),
            Err(reason) => {
                step.failed = true;
                step.note = Some(format!("left out: {reason}"));
            }
        }
        trace.add(step);
        (provider.name(), part)
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
