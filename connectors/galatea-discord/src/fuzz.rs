//! Entry points for the fuzzer (`fuzz/`) into the decoding and encoding of Discord's formats.
//! Compiled only with the feature `fuzz`.

use galatea_core::{Content, Outgoing, Timestamp};

use crate::{
    decode::{self, Me, directory::Directory},
    encode::{self, MAX_TEXT, Part},
    receive,
};

/// Parses and decodes one gateway frame.
pub fn event(frame: &[u8]) {
    let Some(frame) = receive::frame(frame) else { return };
    let (directory, me) = (Directory::default(), Me { id: 1, name: "Galatea".to_owned() });
    let name = frame.t.unwrap_or_default();
    let now = Timestamp(1_700_000_000_000);
    let _ = decode::place_of(&frame.d);
    // Decode twice: an interaction adds its channel to the directory in the first pass.
    let _ = decode::decode(&name, &frame.d, &directory, &me, now);
    let _ = decode::decode(&name, &frame.d, &directory, &me, now);
}

/// Encodes an answer and asserts that every message respects Discord's length limit.
pub fn markdown(text: &str) {
    let outgoing = Outgoing::Message { content: Content::text(text), reply_to: None };
    for encoded in encode::encode(&outgoing).unwrap_or_default() {
        if let Ok(Part::Post { body, .. }) = Part::read(&encoded) {
            let text = body.get("content").and_then(|text| text.as_str()).unwrap_or_default();
            let length = text.encode_utf16().count();
            assert!(length <= MAX_TEXT, "{length} code units");
        }
    }
}
