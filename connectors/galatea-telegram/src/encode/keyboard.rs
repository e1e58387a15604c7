//! Encodes buttons as an inline keyboard.

use galatea_core::{Button, Error, Press, Result};
use serde_json::Value;
use teloxide::types::{InlineKeyboardButton, InlineKeyboardMarkup};

use super::markdown::linkable;

/// Longest data of a button in bytes (Bot API, InlineKeyboardButton.callback_data: 1–64).
const MAX_DATA: usize = 64;

/// The `reply_markup` parameter; `None` without buttons.
///
/// # Errors
/// `Invalid`, with the button's place, for an empty label, data of other than 1–64 bytes, an
/// address that is not http, https or tg.
pub(super) fn inline(rows: &[Vec<Button>]) -> Result<Option<Value>> {
    let mut keyboard = Vec::new();
    for (r, row) in rows.iter().enumerate() {
        let mut line = Vec::new();
        for (c, button) in row.iter().enumerate() {
            let wrong = |what: &'static str| {
                Error::invalid(what)
                    .with_code("GAL-TG-400")
                    .with("row", r + 1)
                    .with("button", c + 1)
            };
            if button.text.trim().is_empty() {
                return Err(wrong("a button has no words on it"));
            }
            line.push(match &button.press {
                Press::Data(data) if data.is_empty() || data.len() > MAX_DATA => {
                    return Err(
                        wrong("a button's data must have 1 to 64 bytes").with("bytes", data.len())
                    );
                }
                Press::Data(data) => {
                    InlineKeyboardButton::callback(button.text.clone(), data.clone())
                }
                Press::Url(address) => InlineKeyboardButton::url(
                    button.text.clone(),
                    linkable(address).ok_or_else(|| {
                        wrong("a button's address must begin with https:, http: or tg:")
                    })?,
                ),
            });
        }
        if !line.is_empty() {
            keyboard.push(line);
        }
    }
    if keyboard.is_empty() {
        return Ok(None);
    }
    serde_json::to_value(InlineKeyboardMarkup::new(keyboard))
        .map(Some)
        .map_err(|e| Error::unexpected("a keyboard is not JSON").with("cause", e))
}
