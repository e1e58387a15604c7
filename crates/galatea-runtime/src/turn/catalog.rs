//! What a turn offers its model.

use futures::{FutureExt, future::join_all};
use galatea_core::{State, rights::Scope, turn::Catalog};
use std::panic::AssertUnwindSafe;

use super::{act, context::TurnContext, engine::Engine};

/// The providers, evaluators and actions that this turn's model may use. Actions validate
/// themselves side by side, each with a deadline; one that fails is not offered.
pub(super) async fn catalog(engine: &Engine, context: &TurnContext) -> Catalog {
    let (state, none) = (State::default(), Catalog::default());
    let turn = context.turn(engine, &state, &none);
    let mut catalog = Catalog {
        providers: engine
            .registry
            .providers
            .iter()
            .filter(|p| p.when() == galatea_core::ProviderUse::OnRequest)
            .map(|p| (p.name().to_owned(), p.description().to_owned()))
            .collect(),
        evaluators: engine
            .registry
            .evaluators
            .iter()
            .map(|e| (e.name().to_owned(), e.description().to_owned()))
            .collect(),
        ..Catalog::default()
    };
    // A script can do nothing but talk.
    if engine.models.large.info().scripted {
        return catalog;
    }
    let allowed = engine
        .registry
        .actions
        .iter()
        .filter(|(_, action)| act::may_be_offered(&turn, engine, &**action));
    let offered = join_all(allowed.map(async |(docs, action)| {
        let turn = action.turn(&turn);
        let work = AssertUnwindSafe(action.validate(&turn)).catch_unwind();
        match tokio::time::timeout(engine.limits.provider, work).await {
            Ok(Ok(Ok(offered))) => offered.then_some((is_by_role(action.scope()), docs)),
            Ok(Ok(Err(error))) => {
                tracing::warn!(turn = %context.turn, action = docs.name, error = %error.report(), "an action could not be validated and is not offered");
                None
            }
            Ok(Err(_)) | Err(_) => {
                tracing::warn!(turn = %context.turn, action = docs.name, "an action crashed or took too long while being validated and is not offered");
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

/// Whether an action is offered to some people of a room only.
fn is_by_role(scope: Scope) -> bool {
    matches!(scope, Scope::Room | Scope::World | Scope::Outside)
}
