//! Rounds of tools count like questions: where the budget ends, they end.

use super::*;
use crate::{
    rights::calls,
    steps::{Ledger, plugin},
};
use serde_json::json;

#[tokio::test]
async fn rounds_end_where_the_budget_ends_and_what_was_done_is_said() {
    let ledger = Arc::new(Ledger::default());
    let mut n = 0;
    let always = Arc::new(ScriptedModel::answering(move |_| {
        n += 1;
        Ok(calls([("FIRST", json!({ "n": n }))]))
    }));
    let large = Priced::new("large", always, 500);
    let house = plan(&large)
        .plugin(plugin(&ledger))
        .set("BUDGET_AGENT", "0.015")
        .set("LIMIT_PERSON", "none")
        .set("STRANGERS_SHARE", "100")
        .set("BUDGET_STRANGER", "none")
        .set("TOOL_STEPS", "20")
        .build()
        .await;
    house.say(&dm("7"), "do it").await;
    house.quiet().await;
    assert!((1..6).contains(&ledger.done().len()), "{:?}", ledger.done());
    let said = house.platform.texts("7");
    assert!(said.len() == 1 && said[0].starts_with("first found"), "{said:?}");
}
