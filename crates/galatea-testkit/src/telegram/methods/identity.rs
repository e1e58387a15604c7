//! getMe.

use serde_json::{Value, json};

use crate::telegram::state::State;

/// The bot's own `User` object.
pub(crate) fn me(state: &State) -> Value {
    let mut me = state.world.person_json(state.world.bot);
    me["can_join_groups"] = json!(true);
    me["can_read_all_group_messages"] = json!(!state.options.privacy);
    for off in [
        "supports_inline_queries",
        "can_connect_to_business",
        "has_main_web_app",
        "has_topics_enabled",
    ] {
        me[off] = json!(false);
    }
    me
}
