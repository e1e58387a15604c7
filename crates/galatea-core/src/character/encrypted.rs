//! Recognises values that elizaOS stored under its SECRET_SALT. Whoever has the salt opens them; until
//! then they must not be taken for keys.

use serde_json::Value;

use super::{
    diagnostic::ENCRYPTED,
    node::{Field, Kind},
    notes::Notes,
};

/// Remarks on every such value in a field, at any depth.
pub(super) fn remark(entry: &Field, notes: &mut Notes<'_>) {
    match &entry.value.kind {
        Kind::Text(text) if is_cipher(text) => {
            let help = "set elizaOS's SECRET_SALT in the environment, or write the plain value there or into `.env` under the same name; until then this one is not used";
            notes.warn(
                ENCRYPTED,
                &entry.key_range,
                "this value was encrypted by elizaOS and cannot be read without its SECRET_SALT",
                Some(help.to_owned()),
            );
        }
        Kind::Object(entries) => entries.iter().for_each(|entry| remark(entry, notes)),
        _ => {}
    }
}

/// True if a setting is a value that elizaOS encrypted (`iv:cipher`). One that is would hide the plain
/// one elsewhere.
pub fn is_encrypted(value: &Value) -> bool {
    value.as_str().is_some_and(is_cipher)
}

/// elizaOS writes `iv:cipher` in hexadecimal, AES-256-CBC: an iv of 16 bytes, a cipher in blocks of 16.
fn is_cipher(text: &str) -> bool {
    let hex = |part: &str| part.bytes().all(|b| b.is_ascii_hexdigit());
    text.split_once(':').is_some_and(|(iv, cipher)| {
        iv.len() == 32 && !cipher.is_empty() && cipher.len() % 32 == 0 && hex(iv) && hex(cipher)
    })
}
