//! Checks `reply_markup` field by field.

use serde_json::Value;

use super::{answer::Refusal, params::Params};

/// Button kinds of an inline keyboard (Bot API, InlineKeyboardButton).
const INLINE: &[&str] = &[
    "url",
    "callback_data",
    "web_app",
    "login_url",
    "switch_inline_query",
    "switch_inline_query_current_chat",
    "switch_inline_query_chosen_chat",
    "copy_text",
    "callback_game",
    "pay",
];
/// Further fields that every inline button may have.
const PLAIN: &[&str] = &["text", "style", "icon_custom_emoji_id"];
/// Buttons one keyboard can hold (tdlib: inline keyboards over 100 buttons are cut).
const MAX_BUTTONS: usize = 100;

/// Checks `reply_markup`. `Ok(None)` when there is none or an empty inline keyboard.
pub(crate) fn read(params: &Params, inline_only: bool) -> Result<Option<Value>, Refusal> {
    let Some(markup) = params.json("reply_markup")? else { return Ok(None) };
    let Some(map) = markup.as_object() else {
        return Err(Refusal::broken("object expected as reply markup"));
    };
    let forms = ["inline_keyboard", "keyboard", "remove_keyboard", "force_reply"];
    let given: Vec<_> = forms.into_iter().filter(|f| map.contains_key(*f)).collect();
    let [form] = given[..] else {
        return Err(Refusal::broken("can't parse reply markup: exactly one kind is expected"));
    };
    if form != "inline_keyboard" {
        if inline_only {
            return Err(Refusal::broken("inline keyboard expected"));
        }
        return Ok(None);
    }
    let rows = markup[form].as_array().ok_or_else(|| {
        Refusal::broken(
            "can't parse inline keyboard: Field \"inline_keyboard\" must be of type Array",
        )
    })?;
    let mut count = 0;
    for row in rows {
        let row = row.as_array().ok_or_else(|| {
            Refusal::broken(
                "can't parse inline keyboard: Inline keyboard button row must be an Array",
            )
        })?;
        if row.is_empty() {
            params.note("an inline keyboard has an empty row");
        }
        for button in row {
            check_button(button)?;
            count += 1;
        }
    }
    if count > MAX_BUTTONS {
        params.note(format!("{count} buttons; a keyboard holds {MAX_BUTTONS}"));
    }
    Ok((count > 0).then(|| markup.clone()))
}

fn check_button(button: &Value) -> Result<(), Refusal> {
    let wrong = |why: &str| Refusal::broken(format!("can't parse inline keyboard button: {why}"));
    let map = button.as_object().ok_or_else(|| wrong("InlineKeyboardButton must be an Object"))?;
    let text = map
        .get("text")
        .and_then(Value::as_str)
        .ok_or_else(|| wrong("Can't find field \"text\""))?;
    if text.is_empty() {
        return Err(wrong("Field \"text\" must be non-empty"));
    }
    if let Some(odd) =
        map.keys().find(|k| !INLINE.contains(&k.as_str()) && !PLAIN.contains(&k.as_str()))
    {
        return Err(wrong(&format!("unknown field \"{odd}\"")));
    }
    let kinds = map.keys().filter(|k| INLINE.contains(&k.as_str())).count();
    if kinds == 0 {
        return Err(wrong("Text buttons are unallowed in the inline keyboard"));
    }
    if kinds > 1 {
        return Err(wrong("exactly one action is allowed"));
    }
    if let Some(data) = map.get("callback_data") {
        // 1-64 bytes (Bot API, InlineKeyboardButton.callback_data).
        if !data.as_str().is_some_and(|d| (1..=64).contains(&d.len())) {
            return Err(Refusal::broken("BUTTON_DATA_INVALID"));
        }
    }
    if let Some(address) = map.get("url") {
        let address = address.as_str().unwrap_or_default();
        let fine = url::Url::parse(address)
            .is_ok_and(|u| ["http", "https", "tg", "ton"].contains(&u.scheme()));
        if !fine {
            return Err(Refusal::broken(format!(
                "inline keyboard button URL '{address}' is invalid: Wrong HTTP URL specified"
            )));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;
    use serde_json::json;

    fn markup(value: Value) -> Result<Option<Value>, Refusal> {
        let body = Bytes::from(json!({ "reply_markup": value }).to_string());
        read(&Params::read(None, "application/json", &body).unwrap(), false)
    }

    #[test]
    fn callback_data_is_1_to_64_bytes() {
        let button = |data: String| {
            markup(json!({ "inline_keyboard": [[{ "text": "x", "callback_data": data }]] }))
        };
        assert!(button("x".repeat(64)).unwrap().is_some());
        assert_eq!(
            button("é".repeat(33)).unwrap_err().description,
            "Bad Request: BUTTON_DATA_INVALID"
        );
        assert!(button(String::new()).is_err());
    }

    #[test]
    fn buttons_have_text_and_exactly_one_action() {
        for broken in [
            json!({"callback_data":"x"}),
            json!({"text":"x"}),
            json!({"text":"x","url":"https://a.b","callback_data":"x"}),
            json!({"text":"x","url":"foo"}),
        ] {
            let refusal = markup(json!({ "inline_keyboard": [[broken]] })).unwrap_err();
            assert!(refusal.violation, "{refusal:?}");
        }
    }

    #[test]
    fn an_empty_keyboard_counts_as_none() {
        assert_eq!(markup(json!({ "inline_keyboard": [] })).unwrap(), None);
    }
}
