//! Entry points for the fuzzer (`fuzz/`) into the decoder and the encoder. Compiled only with the
//! feature `fuzz`.

use galatea_core::{Content, Outgoing};

use crate::{
    config::Tier,
    decode::{self, Me, raw},
    encode::{self, MAX_WEIGHT, Part, weight},
};

/// Decodes a page of posts.
pub fn page(body: &[u8]) {
    let Ok(body) = galatea_http::json::read(body) else { return };
    let me = Me { id: 1, user_name: "galatea".to_owned() };
    let page = raw::page(body);
    for post in &page.posts {
        let _ = decode::decode(post, &page.includes, &me);
    }
}

/// Encodes an answer and checks that every post keeps X's limit.
pub fn post(text: &str) {
    let outgoing = Outgoing::Message { content: Content::text(text), reply_to: None };
    for part in encode::encode_parts(&outgoing, Tier::SelfServe).unwrap_or_default() {
        if let Part::Post(post) = part {
            let weight = weight(&post.text);
            assert!(weight <= MAX_WEIGHT, "a post weighs {weight}");
        }
    }
}
