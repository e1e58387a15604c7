//! Encodes buttons as Discord's action rows.

use galatea_core::{Button, Error, Press, Result};
use serde_json::Value;
use serenity::{
    all::ButtonStyle,
    builder::{CreateActionRow, CreateButton},
};
use std::collections::HashSet;

use crate::error::codes;

/// Most characters of a button's label and data, most buttons of a row, and most rows of a message
/// (Discord, "Component Reference").
const MAX_LABEL: usize = 80;
const MAX_DATA: usize = 100;
const PER_ROW: usize = 5;
const MAX_ROWS: usize = 5;

/// The `components` of a message; `None` without buttons. A row that is too long is split.
///
/// # Errors
/// `Invalid`, with the button's place, for an empty or repeated button, data of other than 1–100
/// characters, an address that is neither http nor https, or more than 25 buttons.
pub(super) fn rows(rows: &[Vec<Button>]) -> Result<Option<Value>> {
    let mut made = Vec::new();
    let mut seen = HashSet::new();
    for (r, row) in rows.iter().enumerate() {
        for (group, some) in row.chunks(PER_ROW).enumerate() {
            let one =
                |(c, b): (usize, &Button)| button(b, &mut seen, r + 1, group * PER_ROW + c + 1);
            made.push(CreateActionRow::Buttons(
                some.iter().enumerate().map(one).collect::<Result<_>>()?,
            ));
        }
    }
    if made.len() > MAX_ROWS {
        return Err(Error::invalid("Discord shows at most five rows of buttons")
            .with_code(codes::INVALID)
            .with("rows", made.len()));
    }
    if made.is_empty() {
        return Ok(None);
    }
    serde_json::to_value(made)
        .map(Some)
        .map_err(|e| Error::unexpected("buttons are not JSON").with("cause", e))
}

fn button(
    button: &Button,
    seen: &mut HashSet<String>,
    row: usize,
    place: usize,
) -> Result<CreateButton> {
    let wrong = |what: &'static str| {
        Error::invalid(what).with_code(codes::INVALID).with("row", row).with("button", place)
    };
    let label: String = button.text.trim().chars().take(MAX_LABEL).collect();
    if label.is_empty() {
        return Err(wrong("a button has no words on it"));
    }
    Ok(match &button.press {
        Press::Data(data) if data.is_empty() || data.chars().count() > MAX_DATA => {
            return Err(wrong("a button's data must have 1 to 100 characters"));
        }
        Press::Data(data) if !seen.insert(data.clone()) => {
            return Err(wrong("two buttons of a message have the same data"));
        }
        Press::Data(data) => CreateButton::new(data).label(label).style(ButtonStyle::Secondary),
        Press::Url(address) => {
            let known = url::Url::parse(address)
                .is_ok_and(|u| matches!(u.scheme(), "http" | "https"))
                && address.len() <= 512;
            if !known {
                return Err(wrong(
                    "a button's address must begin with https: or http: and have at most 512 characters",
                ));
            }
            CreateButton::new_link(address).label(label)
        }
    })
}

/// The components of a message with all buttons and menus switched off but links. Forms that are not
/// known stay as they are.
pub(crate) fn disabled(components: &Value) -> Value {
    /// Style of a button that opens an address.
    const LINK: u64 = 5;
    let mut components = components.clone();
    let mut open: Vec<&mut Value> = vec![&mut components];
    while let Some(one) = open.pop() {
        match one {
            Value::Array(all) => open.extend(all),
            Value::Object(fields) => {
                let kind = fields.get("type").and_then(Value::as_u64);
                let link = fields.get("style").and_then(Value::as_u64) == Some(LINK);
                if matches!(kind, Some(2 | 3 | 5..=8)) && !link {
                    fields.insert("disabled".into(), Value::Bool(true));
                }
                let inner = ["components", "accessory"];
                open.extend(
                    fields
                        .iter_mut()
                        .filter(|(name, _)| inner.contains(&name.as_str()))
                        .map(|(_, value)| value),
                );
            }
            _ => {}
        }
    }
    if components.is_array() { components } else { Value::Array(Vec::new()) }
}
