//! Entry points for the fuzzer (`fuzz/`) into the readers of model answers. Compiled only with the
//! feature `fuzz`.

use galatea_core::model::TextAnswer;

use crate::{
    anthropic, google, ollama, openai,
    wire::{Gather, Progress},
};

/// Chat Completions: frames of a stream, one per line, and the same bytes as a whole answer.
pub fn openai_chat(body: &[u8]) {
    stream(openai::ChatPieces::default(), body);
    let _ = openai::decode(body);
}

/// Responses: frames of a stream, one per line, and the same bytes as a whole answer.
pub fn openai_responses(body: &[u8]) {
    stream(openai::responses::ResponsesPieces::default(), body);
    let _ = openai::responses::decode(body);
}

/// Messages: frames of a stream, one per line, and the same bytes as a whole answer.
pub fn anthropic(body: &[u8]) {
    stream(anthropic::AnthropicPieces::default(), body);
    let _ = anthropic::decode(body);
}

/// Generated content: frames of a stream, one per line.
pub fn google(body: &[u8]) {
    stream(google::GooglePieces::default(), body);
}

/// Ollama's chat: lines of a stream, and the same bytes as a whole answer.
pub fn ollama(body: &[u8]) {
    stream(ollama::OllamaPieces::default(), body);
    let _ = ollama::decode_whole(body);
}

/// Feeds a stream frame by frame, and checks that the final text begins with the text shown on the
/// way.
fn stream(mut gather: impl Gather, body: &[u8]) {
    let streamed = std::sync::Mutex::new(String::new());
    let on_text = |piece: &str| {
        if let Ok(mut streamed) = streamed.lock() {
            streamed.push_str(piece);
        }
    };
    for frame in String::from_utf8_lossy(body).lines().filter(|line| !line.trim().is_empty()) {
        match gather.take(frame, &on_text) {
            Ok(Progress::Done) | Err(_) => break,
            Ok(Progress::More | Progress::Nothing) => {}
        }
    }
    let TextAnswer { text, .. } = gather.finish();
    let streamed = streamed.lock().map(|streamed| streamed.clone()).unwrap_or_default();
    assert!(text.starts_with(&streamed), "streamed {streamed:?}, answered {text:?}");
}
