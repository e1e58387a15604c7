//! The targets and their properties.

use galatea_core::{
    ActionDocs, Archive, IncomingEvent, character,
    model::{Finish, TextAnswer},
};
use galatea_runtime::plan::{self, AnswerForm};
use serde_json::Value;
use std::sync::Arc;

use crate::Target;

pub(crate) const ALL: &[Target] = &[
    Target { name: "telegram_updates", run: galatea_telegram::fuzz::updates },
    Target { name: "telegram_webhook", run: galatea_telegram::fuzz::webhook },
    Target {
        name: "telegram_markdown",
        run: |bytes| galatea_telegram::fuzz::markdown(&text(bytes)),
    },
    Target { name: "discord_event", run: galatea_discord::fuzz::event },
    Target { name: "discord_markdown", run: |bytes| galatea_discord::fuzz::markdown(&text(bytes)) },
    Target { name: "x_page", run: galatea_x::fuzz::page },
    Target { name: "x_post", run: |bytes| galatea_x::fuzz::post(&text(bytes)) },
    Target { name: "model_openai_chat", run: galatea_models::fuzz::openai_chat },
    Target { name: "model_openai_responses", run: galatea_models::fuzz::openai_responses },
    Target { name: "model_anthropic", run: galatea_models::fuzz::anthropic },
    Target { name: "model_google", run: galatea_models::fuzz::google },
    Target { name: "model_ollama", run: galatea_models::fuzz::ollama },
    Target { name: "plan", run: plan },
    Target { name: "character", run: character },
    Target { name: "character_card", run: card },
    Target { name: "dotenv", run: galatea::fuzz::dotenv },
    Target { name: "document_text", run: galatea_knowledge::fuzz::text },
    Target { name: "document_markdown", run: galatea_knowledge::fuzz::markdown },
    Target { name: "document_html", run: galatea_knowledge::fuzz::html },
    Target { name: "document_csv", run: galatea_knowledge::fuzz::csv },
    Target { name: "document_code", run: galatea_knowledge::fuzz::code },
    Target { name: "document_docx", run: galatea_knowledge::fuzz::docx },
    Target { name: "document_epub", run: galatea_knowledge::fuzz::epub },
    Target { name: "document_pdf", run: galatea_knowledge::fuzz::pdf },
    Target { name: "import_log", run: galatea_import::fuzz::import_log },
    Target { name: "import_galatea", run: galatea_import::fuzz::import_galatea },
    Target { name: "import_elizaos", run: galatea_import::fuzz::import_elizaos },
    Target { name: "import_telegram", run: |bytes| export(bytes, galatea_telegram::read_export) },
    Target { name: "import_discord", run: |bytes| export(bytes, galatea_discord::read_export) },
];

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Parses a model's answer as a plan; the same answer must give the same plan.
fn plan(bytes: &[u8]) {
    let known: Vec<Arc<ActionDocs>> = ["SEND_MESSAGE", "MUTE_ROOM"]
        .map(|name| {
            let name = name.to_owned();
            let parameters = Arc::new(serde_json::json!({ "type": "object" }));
            Arc::new(ActionDocs {
                name,
                similes: Vec::new(),
                description: String::new(),
                parameters,
            })
        })
        .into();
    for finish in [Finish::Stop, Finish::Length] {
        let answer = TextAnswer { text: text(bytes), finish, ..TextAnswer::default() };
        for form in [AnswerForm::Envelope, AnswerForm::JsonOrWords, AnswerForm::Words] {
            assert_eq!(plan::parse(&answer, &known, form), plan::parse(&answer, &known, form));
        }
    }
}

/// Reads a character file; a character that loads must be writable and readable again.
fn character(bytes: &[u8]) {
    for name in ["fuzz.json", "fuzz.toml"] {
        if let Ok(loaded) = character::load_bytes(name, bytes) {
            let written = character::convert(&loaded.character);
            assert!(character::load("again.json", &written).is_ok(), "{written}");
        }
    }
}

/// Reads a picture with a character card: the bytes as a picture, and as the text of each sort of
/// chunk. The fuzzer does not find the lengths of chunks by itself.
fn card(bytes: &[u8]) {
    character(bytes);
    let heads: [(&[u8; 4], &[u8]); 4] = [
        (b"tEXt", b"chara\0"),
        (b"zTXt", b"ccv3\0\0"),
        (b"iTXt", b"chara\0"),
        (b"iTXt", b"ccv3\0\x01\0\0\0"),
    ];
    for (kind, head) in heads {
        let length = u32::try_from(head.len() + bytes.len()).unwrap_or(u32::MAX).to_be_bytes();
        let parts: [&[u8]; 6] = [b"\x89PNG\r\n\x1a\n", &length, kind, head, bytes, &[0; 4]];
        character(&parts.concat());
    }
}

/// A connector's reader of exports.
type ReadExport = fn(&Value) -> Option<Archive>;

/// Reads an export of a chat with a connector's reader. Every message has content.
fn export(file: &[u8], read: ReadExport) {
    let Ok(value) = serde_json::from_slice(file) else { return };
    for incoming in read(&value).unwrap_or_default().messages {
        let IncomingEvent::Message(message) = incoming.event else {
            panic!("an export has messages only");
        };
        assert!(!message.content.is_empty(), "{message:?}");
    }
}
