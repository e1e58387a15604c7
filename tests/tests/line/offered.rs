//! Which tools prompts offer: the same ones to all who talk with each other, whatever they may do.

use galatea_core::model::ChatPart;
use galatea_testkit::models::ScriptedModel;
use serde_json::json;
use std::sync::Arc;

use crate::{
    house::{House, Plan, Spot, group},
    rights::{ADMIN, GROUPS, MEMBER, calls, settle},
};

/// The tools of the last request.
fn tools(model: &ScriptedModel) -> Vec<String> {
    let request = model.requests().pop().unwrap();
    request.tools.iter().map(|tool| tool.name.clone()).collect()
}

async fn asks(house: &House, who: &Spot, text: &str) {
    house.say(&who.clone().mentioning(), text).await;
    house.quiet().await;
}

#[tokio::test]
async fn tools_stay_the_same_while_admins_and_members_talk_and_give_no_right() {
    let model = Arc::new(ScriptedModel::saying("yes"));
    let house =
        Plan::new(Arc::clone(&model) as _).plugin(galatea_bootstrap::plugin()).build().await;
    settle(&house).await;
    let (admin, member) = (group(GROUPS[0], ADMIN), group(GROUPS[0], MEMBER));
    asks(&house, &member, "hello").await;
    let of_members = tools(&model);
    assert!(!of_members.contains(&"UPDATE_SETTINGS".to_owned()), "{of_members:?}");
    asks(&house, &admin, "hello from me").await;
    let of_all = tools(&model);
    assert!(of_all.contains(&"UPDATE_SETTINGS".to_owned()), "{of_all:?}");
    for (who, text) in [(&member, "and then?"), (&admin, "and now?"), (&member, "why?")] {
        asks(&house, who, text).await;
        assert_eq!(tools(&model), of_all, "{text}");
    }
    let change = json!({ "key": "tone", "value": "rude" });
    model.enqueue_result(Ok(calls([("UPDATE_SETTINGS", change)])));
    asks(&house, &member, "be rude").await;
    let said = model.requests().pop().unwrap();
    let results: Vec<&str> = said
        .messages
        .iter()
        .flat_map(|message| &message.parts)
        .filter_map(|part| match part {
            ChatPart::ToolResult { text, .. } => Some(text.as_str()),
            _ => None,
        })
        .collect();
    assert!(
        results.iter().any(|result| result.contains("UPDATE_SETTINGS is not allowed")),
        "the call of a member is refused: {results:?}"
    );
}
