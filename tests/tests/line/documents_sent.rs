//! Documents that people send: they are read, or the prompt says why they are not.

use async_trait::async_trait;
use galatea_core::{Error, FileReader, IncomingEvent, Media, MemoryId, Plugin, Result, SentFile};
use galatea_knowledge::{Parser, SentFiles};
use galatea_testkit::models::ScriptedModel;
use std::sync::{Arc, Mutex};

use crate::{
    house::{House, Plan, dm},
    models,
};

/// A person sends a file.
async fn sends(house: &House, title: &str, mime: Option<&str>, size: Option<u64>) -> MemoryId {
    let mut incoming = house.message(&dm("7"), "what does it say?");
    let IncomingEvent::Message(message) = &mut incoming.event else { panic!("no message") };
    message.content.attachments.push(Media {
        id: title.to_owned(),
        url: format!("x:{title}"),
        title: title.to_owned(),
        mime: mime.map(str::to_owned),
        size,
        source: "Document".into(),
        ..Media::default()
    });
    let id = house.id_of(&incoming);
    house.receive(vec![incoming]).await;
    house.quiet().await;
    id
}

fn last(model: &ScriptedModel) -> String {
    models::asked(model.requests().last().unwrap())
}

#[tokio::test]
async fn what_is_not_read_is_said_in_the_prompt_and_in_the_verdict() {
    let model = Arc::new(ScriptedModel::saying("I see."));
    let reader = SentFiles::new(Parser::new("/nonexistent".into()));
    let plugin = Plugin::new("files", "1.0.0", "").file_reader(reader);
    let house = Plan::new(Arc::clone(&model) as _).plugin(plugin).build().await;
    house.platform.offers("x:blob.xyz", b"ab\0\x01\x02\xff".to_vec());
    house.platform.offers("x:empty.txt", Vec::new());
    house.platform.offers("x:scan.pdf", b"\x89PNG\r\n\x1a\n".to_vec());
    house.platform.offers("x:dos.txt", b"Gr\x94\xe1e der T\x81r f\x81r K\x81che".repeat(4));
    for (name, mime, size, reason) in [
        ("large.pdf", None, Some(21 << 20), "it is too large (large.pdf)"),
        ("gone.pdf", None, None, "it could not be read just now (gone.pdf)"),
        (
            "all.zip",
            None,
            None,
            "it is an archive: the files in it have to be sent one by one (all.zip)",
        ),
        (
            "old.doc",
            Some("application/msword"),
            None,
            "it is a document of a kind that is not read: DOCX and PDF are (old.doc)",
        ),
        ("blob.xyz", None, None, "the file holds binary data and not text (blob.xyz)"),
        ("empty.txt", Some("text/plain"), None, "the file is empty (empty.txt)"),
        ("scan.pdf", Some("application/pdf"), None, "it is a picture (scan.pdf)"),
    ] {
        let id = sends(&house, name, mime, size).await;
        let asked = last(&model);
        assert!(asked.contains(&format!("[attachment: document, not read: {reason}]")), "{asked}");
        let steps = house.explain(id).await.steps;
        assert!(steps.iter().any(|step| step.rule == "attachment"), "{name}: {steps:?}");
    }
    sends(&house, "dos.txt", Some("text/plain"), None).await;
    let asked = last(&model);
    assert!(asked.contains("not read: the encoding of the text cannot be told"), "{asked}");
}

#[tokio::test]
async fn text_in_an_old_encoding_is_read_as_what_it_says() {
    let model = Arc::new(ScriptedModel::saying("I see."));
    let reader = SentFiles::new(Parser::new("/nonexistent".into()));
    let plugin = Plugin::new("files", "1.0.0", "").file_reader(reader);
    let house = Plan::new(Arc::clone(&model) as _).plugin(plugin).build().await;
    // "Магазин открыт" in Windows-1251, KOI8-R, and "店は九時から" in Shift_JIS.
    let windows = b"\xcc\xe0\xe3\xe0\xe7\xe8\xed \xee\xf2\xea\xf0\xfb\xf2 \xf1 \xe4\xe5\xe2\xff\xf2\xe8 \xe4\xee \xf8\xe5\xf1\xf2\xe8";
    let koi = b"\xed\xc1\xc7\xc1\xda\xc9\xce \xcf\xd4\xcb\xd2\xd9\xd4 \xd3 \xc4\xc5\xd7\xd1\xd4\xc9 \xc4\xcf \xdb\xc5\xd3\xd4\xc9";
    for (name, bytes) in [("windows.txt", windows.to_vec()), ("koi.log", koi.to_vec())] {
        house.platform.offers(&format!("x:{name}"), bytes);
        let id = sends(&house, name, None, None).await;
        let asked = last(&model);
        assert!(asked.contains("Магазин открыт с девяти до шести"), "{name}: {asked}");
        let stored = house.store.memory(id).await.unwrap().unwrap();
        assert_eq!(stored.content.attachments[0].text, "Магазин открыт с девяти до шести");
    }
}

/// Reads nothing, and remembers what it was asked to read.
#[derive(Default)]
struct Recorder(Arc<Mutex<Vec<String>>>);

#[async_trait]
impl FileReader for Recorder {
    fn largest(&self) -> usize {
        10
    }

    fn refuses(&self, _: SentFile<'_>) -> Option<Error> {
        None
    }

    async fn read(&self, file: SentFile<'_>, bytes: Vec<u8>, most: usize) -> Result<String> {
        self.0.lock().unwrap().push(format!("{} {}", file.name, bytes.len()));
        Ok("word ".repeat(most))
    }
}

#[tokio::test]
async fn a_document_is_read_once_and_cut_and_a_sticker_never() {
    let model = Arc::new(ScriptedModel::saying("I see."));
    let recorder = Recorder::default();
    let seen = Arc::clone(&recorder.0);
    let plugin = Plugin::new("files", "1.0.0", "").file_reader(recorder);
    let house = Plan::new(Arc::clone(&model) as _).plugin(plugin).build().await;
    house.platform.offers("x:a.pdf", b"1234".to_vec());
    let id = sends(&house, "a.pdf", Some("application/pdf"), Some(4)).await;
    house.say(&dm("7"), "and again?").await;
    house.quiet().await;
    let stored = house.store.memory(id).await.unwrap().unwrap();
    let text = &stored.content.attachments[0].text;
    assert!(text.ends_with(" […]") && text.chars().count() < 8_100, "{}", text.len());
    let mut incoming = house.message(&dm("7"), "");
    let IncomingEvent::Message(message) = &mut incoming.event else { panic!("no message") };
    message.content.attachments.push(Media {
        id: "s".into(),
        url: "x:s".into(),
        title: "Sticker".into(),
        source: "Sticker".into(),
        description: "A sticker: 🙂".into(),
        ..Media::default()
    });
    house.receive(vec![incoming]).await;
    house.quiet().await;
    assert!(last(&model).contains("A sticker"), "{}", last(&model));
    assert_eq!(*seen.lock().unwrap(), ["a.pdf 4"]);
}

/// Without a plugin that reads documents, UTF-8 text is read and the rest is said.
#[tokio::test]
async fn without_a_reader_plain_text_is_read() {
    let model = Arc::new(ScriptedModel::saying("I see."));
    let house = Plan::new(Arc::clone(&model) as _).build().await;
    house.platform.offers("x:a.txt", b"the key is here".to_vec());
    house.platform.offers("x:b.txt", b"caf\xe9".to_vec());
    sends(&house, "a.txt", None, None).await;
    assert!(last(&model).contains("the key is here"));
    sends(&house, "b.txt", None, None).await;
    assert!(last(&model).contains("not read: the encoding of its text is not UTF-8 (b.txt)"));
    sends(&house, "c.pdf", None, None).await;
    assert!(last(&model).contains("not read: documents of this kind are not read here (c.pdf)"));
}
