//! Entry points for the fuzzer (`fuzz/`) into the decoding and encoding of Telegram's formats.
//! Compiled only with the feature `fuzz`.

use galatea_core::{Content, Outgoing, Timestamp};
use teloxide::types::Update;

use crate::{
    decode::{self, Me, raw},
    encode,
};

/// Longest text of a message in UTF-16 code units (Bot API, sendMessage).
const LONGEST: usize = 4_096;

/// Parses and decodes an answer of getUpdates.
pub fn updates(body: &[u8]) {
    let answer = raw::answer(body);
    answer
        .into_iter()
        .flat_map(|answer| answer.items)
        .filter_map(|item| item.update)
        .for_each(|update| read(&update));
    let _ = raw::first_of(body);
}

/// Parses and decodes the body of a webhook call.
pub fn webhook(body: &[u8]) {
    if let Some(update) = raw::single(body).and_then(|item| item.update) {
        read(&update);
    }
    let _ = raw::cut(body);
}

/// Encodes an answer and asserts that every part respects Telegram's length limit and that its
/// entities lie inside its text.
pub fn markdown(text: &str) {
    let outgoing = Outgoing::Message { content: Content::text(text), reply_to: None };
    for part in encode::encode_parts(&outgoing).unwrap_or_default() {
        let text = part.params.get("text").and_then(|text| text.as_str()).unwrap_or_default();
        let length = text.encode_utf16().count();
        assert!(length <= LONGEST, "{length} code units");
        let entities = part.params.get("entities").and_then(|list| list.as_array());
        for entity in entities.into_iter().flatten() {
            let number = |name: &str| {
                entity.get(name).and_then(|n| n.as_u64()).and_then(|n| usize::try_from(n).ok())
            };
            let end =
                number("offset").zip(number("length")).map(|(offset, length)| offset + length);
            assert!(end.is_some_and(|end| end <= length), "{entity} in {length} code units");
        }
    }
}

fn read(update: &Update) {
    let me = Me { id: 1, user_name: "galatea_test_bot".to_owned() };
    let _ = decode::decode(update, &me, Timestamp(1_700_000_000_000));
}
