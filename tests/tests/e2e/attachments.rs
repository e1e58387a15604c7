//! Pictures and files that people send.

use galatea_testkit::{documents, models::Reply};

use crate::stage::Stage;

/// PNG signature (RFC 2083 §3.1); the loopback model checks nothing else.
const PNG: &[u8] = b"\x89PNG\r\n\x1a\n rest";

#[tokio::test]
async fn a_picture_is_looked_at_and_remembered() {
    let stage = Stage::set().await;
    stage.model.answer_with(|request| {
        let body = request.body.to_string();
        let picture = body.contains("data:image/png;base64,");
        Reply::text(match (picture, body.contains("A red bicycle.")) {
            (true, _) => "A red bicycle.",
            (false, true) => "Nice bicycle!",
            (false, false) => "What picture?",
        })
    });
    let _galatea = stage.start().await;
    let direct = stage.ann.direct();
    stage.ann.sends_photo(&direct, PNG, "how do you like it?").send();
    stage.wait_text(&direct, "Nice bicycle!").await;
    let looks = || {
        stage.model.requests().iter().filter(|r| r.body.to_string().contains("data:image")).count()
    };
    assert_eq!(looks(), 1);
    stage.ann.says(&direct, "and the colour?").send();
    stage.telegram.wait_shown(direct.id, 2).await;
    assert_eq!(
        stage.texts(&direct),
        ["Nice bicycle!", "Nice bicycle!"],
        "its description stays in the conversation"
    );
    assert_eq!(looks(), 1, "the picture is described once");
}

#[tokio::test]
async fn a_text_file_is_read_and_what_is_no_picture_is_said_so() {
    let stage = Stage::set().await;
    stage.model.answer_with(|request| {
        let body = request.body.to_string();
        Reply::text(if body.contains("the key is under the mat") {
            "Under the mat."
        } else {
            "I cannot see it."
        })
    });
    let _galatea = stage.start().await;
    let direct = stage.ann.direct();
    stage
        .ann
        .sends_document(
            &direct,
            "note.txt",
            "text/plain",
            &b"the key is under the mat"[..],
            "where is the key?",
        )
        .send();
    stage.wait_text(&direct, "Under the mat.").await;
    let odd = stage.ann.sends_photo(&direct, &b"<html>"[..], "and this?").send();
    stage.telegram.wait_shown(direct.id, 2).await;
    let output = stage.program().args(["explain", &format!("{}:{odd}", direct.id)]).run().await;
    assert!(output.stdout.contains("it is none of PNG, JPEG, GIF and WebP"), "{}", output.stdout);
}

#[tokio::test]
async fn a_voice_message_is_heard() {
    let stage = Stage::set().await;
    stage.model.answer_with(|request| {
        if request.path.ends_with("/audio/transcriptions") {
            return Reply::text("where is the key");
        }
        let heard = request.body.to_string().contains("[voice message: where is the key]");
        Reply::text(if heard { "Under the mat." } else { "Pardon?" })
    });
    let program = stage.program().env("OPENAI_TRANSCRIPTION_MODEL", "gpt-transcribe");
    let galatea = program.arg("start").spawn();
    galatea.wait_for_line("ready in").await;
    let direct = stage.ann.direct();
    stage.ann.sends_voice(&direct, &b"OggS voice"[..], 3).send();
    stage.wait_text(&direct, "Under the mat.").await;
    let sounds = stage.model.requests();
    let sound = sounds.iter().find(|r| r.path.ends_with("/audio/transcriptions")).unwrap();
    assert_eq!(sound.body["file"]["name"], "sound.ogg");
}

/// The program starts its child for each of them.
#[tokio::test]
async fn a_pdf_and_a_word_document_are_read_and_a_broken_one_is_said_so() {
    let stage = Stage::set().await;
    stage.model.answer_with(|request| {
        let body = request.body.to_string();
        Reply::text(if body.contains("not read: ") {
            "It is damaged."
        } else if body.contains("spare key hangs in the shed") {
            "In the shed."
        } else if body.contains("rent is 840 euros") {
            "840 euros."
        } else {
            "I cannot read it."
        })
    });
    let _galatea = stage.start().await;
    let direct = stage.ann.direct();
    let pdf = documents::pdf(["# Lease", "The rent is 840 euros a month."]);
    let sends = |name: &'static str, mime: &'static str, bytes: Vec<u8>| {
        stage.ann.sends_document(&direct, name, mime, bytes, "what does it say?").send()
    };
    sends("lease.pdf", "application/pdf", pdf.clone());
    stage.wait_text(&direct, "840 euros.").await;
    let word = documents::docx("<w:p><w:r><w:t>The spare key hangs in the shed.</w:t></w:r></w:p>");
    // Telegram leaves the type of files from some apps out.
    sends("keys.docx", "application/octet-stream", word);
    stage.telegram.wait_shown(direct.id, 2).await;
    assert_eq!(stage.texts(&direct)[1], "In the shed.");
    sends("broken.pdf", "application/pdf", pdf[..200].to_vec());
    stage.telegram.wait_shown(direct.id, 3).await;
    assert_eq!(stage.texts(&direct)[2], "It is damaged.");
}
