//! answerCallbackQuery.

use serde_json::json;

use crate::telegram::{
    answer::{Answer, Refusal},
    params::Params,
    state::State,
};

/// Longest notification, in characters (Bot API, answerCallbackQuery.text).
const MAX_NOTE: usize = 200;

/// answerCallbackQuery: each query can be answered once.
pub(super) fn answer(state: &mut State, params: &Params) -> Answer {
    let id = params.required_text("callback_query_id")?;
    if params.text("text")?.is_some_and(|t| t.chars().count() > MAX_NOTE) {
        return Err(Refusal::broken("MESSAGE_TOO_LONG"));
    }
    params.flag("show_alert")?;
    params.int("cache_time")?;
    match state.callbacks.get_mut(id) {
        Some(answered) if !*answered => {
            *answered = true;
            Ok(json!(true))
        }
        _ => Err(Refusal::bad(
            "query is too old and response timeout expired or query ID is invalid",
        )),
    }
}
