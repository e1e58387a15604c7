//! Sound, pictures and speech against strict loopback servers.

use galatea_core::{
    Error, ErrorKind, Severity,
    model::{ImageRequest, MediaModels, Sound, SpeechRequest},
};
use galatea_models::{config::MediaUse, wire::codes};
use galatea_testkit::models::{Fault, GoogleServer, OpenAi, OpenAiServer, Reply};

use crate::ask::{KEY, clean, configure};

fn sound() -> Sound {
    Sound {
        bytes: b"OggS voice".to_vec(),
        mime: "audio/ogg",
        name: "sound.ogg".into(),
        millis: 9_000,
    }
}

fn picture() -> ImageRequest {
    ImageRequest { prompt: "a green loom".into() }
}

fn speech() -> SpeechRequest {
    SpeechRequest { text: "Good morning.".into() }
}

async fn server() -> OpenAiServer {
    OpenAiServer::start(KEY).await.unwrap()
}

/// A server with OpenAI's API, its transcription model named, and further settings.
fn at(server: &OpenAiServer, more: &[(&str, &str)]) -> MediaModels {
    let base = server.base_url();
    let named = [
        ("OPENAI_API_KEY", KEY),
        ("OPENAI_BASE_URL", &base),
        ("OPENAI_TRANSCRIPTION_MODEL", "gpt-transcribe"),
        // A link with another behind it gets half of this, which the clock of these tests takes for
        // endless.
        ("MODEL_TOTAL_TIMEOUT", "120"),
    ];
    let settings: Vec<(&str, &str)> = named.iter().chain(more).copied().collect();
    configure(&settings).models.media
}

async fn heard(models: &MediaModels) -> Result<String, Error> {
    let model = models.transcription.as_ref().unwrap();
    model.run(&sound(), None).await.map(|made| made.output)
}

#[tokio::test]
async fn sound_becomes_words_and_its_price_is_known() {
    let server = server().await;
    server.enqueue(Reply::text(" bring the spare belt \n"));
    let models = at(&server, &[]);
    let made = models.transcription.unwrap().run(&sound(), None).await.unwrap();
    assert_eq!(made.output, "bring the spare belt");
    assert_eq!(made.used.sound_ms, 4_000, "as the service counts");
    assert_eq!(made.micros, Some(300), "0.45 cents a minute");
    assert_eq!(made.by.as_deref(), Some("openai gpt-transcribe"));
    let asked = server.last().unwrap().body;
    assert_eq!(asked["model"], "gpt-transcribe");
    assert_eq!(asked["file"]["bytes"], 10);
}

#[tokio::test]
async fn every_failure_of_a_transcription_is_reported_without_secrets() {
    let server = server().await;
    let cases = [
        (Fault::BadKey, codes::KEY),
        (Fault::NoMoney, codes::QUOTA),
        (Fault::UnknownModel, codes::UNKNOWN),
        (Fault::TooBig, codes::TOO_LONG),
        (Fault::Overloaded, codes::FAULT),
        (Fault::Garbage, codes::GARBAGE),
        (Fault::Html, codes::GARBAGE),
        (Fault::OtherShape, codes::GARBAGE),
        (Fault::CutAfter(5), codes::CUT),
    ];
    for (fault, code) in cases {
        server.answer_with(move |_| Reply::Fault(fault.clone()));
        // A breaker must not hide a later fault.
        let error = heard(&at(&server, &[])).await.unwrap_err();
        assert_eq!(error.code(), Some(code), "{error:?}");
        clean(&error);
    }
}

#[tokio::test]
async fn a_busy_service_is_asked_again_and_then_the_next_one() {
    let (first, second) = (server().await, server().await);
    first.enqueue(Fault::Overloaded);
    first.enqueue(Reply::text("at once again"));
    let base = second.base_url();
    let groq = [("GROQ_API_KEY", KEY), ("GROQ_BASE_URL", &base)];
    let models = at(&first, &groq);
    // At a server of one's own nothing else is asked by itself.
    assert_eq!(heard(&models).await.unwrap(), "at once again");
    assert_eq!((first.count(), second.count()), (2, 0));

    let in_order = [&groq[..], &[("TRANSCRIPTION_PROVIDER", "openai, groq")]].concat();
    first.answer_with(|_| Reply::Fault(Fault::BadKey));
    second.enqueue(Reply::text("from the second"));
    assert_eq!(heard(&at(&first, &in_order)).await.unwrap(), "from the second");
    assert_eq!(second.last().unwrap().body["model"], "whisper-large-v3-turbo");
}

#[tokio::test]
async fn google_reads_sound_inside_the_prompt() {
    let server = GoogleServer::start(KEY).await.unwrap();
    server.enqueue(Reply::text("guten Morgen"));
    let base = server.base_url();
    let built = configure(&[
        ("GOOGLE_GENERATIVE_AI_API_KEY", KEY),
        ("GOOGLE_GENERATIVE_AI_BASE_URL", &base),
    ]);
    let made = built.models.media.transcription.unwrap().run(&sound(), None).await.unwrap();
    assert_eq!((made.output.as_str(), made.micros), ("guten Morgen", None));
    assert_eq!((made.used.tokens.input, made.used.tokens.output), (11, 7));
    let parts = server.last().unwrap().body["contents"][0]["parts"].clone();
    assert_eq!(parts[0]["inlineData"]["mimeType"], "audio/ogg");
}

#[test]
fn settings_say_who_transcribes() {
    let of = |settings: &[(&str, &str)]| {
        let built = configure(settings);
        let names: Vec<String> = built
            .media
            .iter()
            .map(|MediaUse { provider, name, .. }| format!("{provider} {name}"))
            .collect();
        (names.join(", "), built.notes.join("; "))
    };
    let openai = ("OPENAI_API_KEY", KEY);
    let groq = ("GROQ_API_KEY", KEY);
    let alone = "openai gpt-transcribe";
    assert_eq!(of(&[openai]).0, alone);
    assert_eq!(of(&[openai, groq]).0, alone, "MODEL_FALLBACK=none in these tests");
    assert_eq!(
        of(&[openai, groq, ("MODEL_FALLBACK", "auto")]).0,
        "openai gpt-transcribe, groq whisper-large-v3-turbo"
    );
    assert_eq!(of(&[("ANTHROPIC_API_KEY", KEY), groq]).0, "groq whisper-large-v3-turbo");
    assert_eq!(of(&[openai, ("TRANSCRIPTION_PROVIDER", "none")]).0, "");
    let (used, notes) = of(&[openai, ("TRANSCRIPTION_PROVIDER", "deepgram,groq,openai")]);
    assert_eq!(used, alone);
    assert!(notes.contains("\"deepgram\"") && notes.contains("groq, which is not"), "{notes}");
    // A model on this machine: voices stay there, unless a setting says otherwise.
    let local = ("OLLAMA_API_ENDPOINT", "http://127.0.0.1:9/api");
    let by_ollama = ("GALATEA_MODEL_PROVIDER", "ollama");
    assert_eq!(of(&[local, by_ollama, openai]).0, "");
    assert_eq!(of(&[local, by_ollama, openai, ("TRANSCRIPTION_PROVIDER", "openai")]).0, alone);
    let whisper = [
        ("OPENAI_TRANSCRIPTION_URL", "http://127.0.0.1:9/v1"),
        ("OPENAI_TRANSCRIPTION_MODEL", "whisper"),
    ];
    assert_eq!(of(&[&[local, by_ollama][..], &whisper].concat()).0, "openai whisper");
}

#[tokio::test]
async fn pictures_are_made_and_paid_once() {
    let server = server().await;
    let models = at(&server, &[("OPENAI_IMAGE_MODEL", "gpt-image-1-mini")]);
    let made = models.image.as_ref().unwrap().run(&picture(), None).await.unwrap();
    assert_eq!((made.output.mime, made.output.ending), ("image/png", "png"));
    assert_eq!((made.used.tokens.input, made.used.tokens.output), (20, 1_056));
    assert_eq!(made.micros, None, "no page states the price that this program has read");

    // A connection that broke may have cost a picture: it is not asked for again.
    for fault in [Fault::CutAfter(4), Fault::OtherShape, Fault::ServerTimeout] {
        let before = server.count();
        server.enqueue(fault.clone());
        let keys = [("OPENAI_IMAGE_MODEL", "dall-e-3"), ("OPENAI_API_KEY_2", KEY)];
        let error = at(&server, &keys).image.unwrap().run(&picture(), None).await.unwrap_err();
        clean(&error);
        assert_eq!(server.count(), before + 1, "{fault:?}");
    }
    // A refusal cost nothing: the next key is asked.
    let before = server.count();
    server.enqueue(Fault::RateLimited(Some("60")));
    let keys = [("OPENAI_IMAGE_MODEL", "dall-e-3"), ("OPENAI_API_KEY_2", KEY)];
    let models = at(&server, &keys);
    let made = models.image.unwrap().run(&picture(), None).await.unwrap();
    assert_eq!((made.used.images, made.micros), (1, None), "the price of dall-e-3 is not known");
    assert_eq!(server.count(), before + 2);
    assert_eq!(server.last().unwrap().body["response_format"], "b64_json");
}

#[tokio::test]
async fn speech_is_made_where_a_model_is_named() {
    let server = server().await;
    assert!(at(&server, &[]).speech.is_none() && at(&server, &[]).image.is_none());
    let models = at(&server, &[("OPENAI_TTS_MODEL", "tts-1")]);
    let model = models.speech.unwrap();
    let made = model.run(&speech(), None).await.unwrap();
    assert_eq!((made.output.mime, made.output.ending), ("audio/mpeg", "mp3"));
    assert_eq!(made.micros, Some(13 * 15));
    let asked = server.last().unwrap().body;
    assert_eq!((&asked["voice"], &asked["response_format"]), (&"nova".into(), &"mp3".into()));
    let long = SpeechRequest { text: "é".repeat(4_097) };
    assert_eq!(model.run(&long, None).await.unwrap_err().kind(), ErrorKind::Invalid);
    assert_eq!(server.count(), 1, "the service is not asked");
    server.enqueue(Fault::Html);
    assert_eq!(model.run(&speech(), None).await.unwrap_err().code(), Some(codes::GARBAGE));
}

#[tokio::test]
async fn doctor_checks_media_models_like_text_models() {
    let server = server().await;
    let listed = ["gpt-4o", "text-embedding-3-small", "gpt-transcribe", "tts-1"]
        .map(|id| serde_json::json!({ "id": id, "object": "model" }));
    server.answer_with(move |_| {
        Reply::Json(serde_json::json!({ "object": "list", "data": listed.to_vec() }))
    });
    let base = server.base_url();
    let settings = [
        ("OPENAI_API_KEY", KEY),
        ("OPENAI_BASE_URL", base.as_str()),
        ("OPENAI_SMALL_MODEL", "gpt-4o"),
        ("OPENAI_LARGE_MODEL", "gpt-4o"),
        ("OPENAI_TRANSCRIPTION_MODEL", "gpt-transcribe"),
        ("OPENAI_IMAGE_MODEL", "gpt-image-9"),
        ("OPENAI_TTS_MODEL", "tts-1"),
    ];
    let findings = configure(&settings).check().await;
    let told = |part: &str| {
        let found = findings.iter().find(|finding| finding.message.contains(part));
        found.map(|finding| (finding.severity, finding.id.as_str()))
    };
    assert_eq!(told("gpt-transcribe"), Some((Severity::Ok, "GAL-MODEL-OK")), "{findings:?}");
    assert_eq!(told("tts-1"), Some((Severity::Ok, "GAL-MODEL-OK")));
    assert_eq!(told("gpt-image-9"), Some((Severity::Warning, codes::UNKNOWN)));
    // The key is refused once for all of them.
    server.answer_with(|_| Reply::Fault(Fault::BadKey));
    let findings = configure(&settings).check().await;
    let refused: Vec<_> = findings.iter().filter(|f| f.id == codes::KEY).collect();
    assert_eq!(refused.len(), 1, "{findings:?}");
}

#[tokio::test]
async fn a_server_of_another_kind_is_refused_by_the_test_server() {
    // The strictness of the server is what the tests above rest on.
    let server = OpenAiServer::with(OpenAi::default(), Some(KEY)).await.unwrap();
    let models = at(&server, &[]);
    let wrong = Sound { name: "sound.txt".into(), ..sound() };
    assert!(models.transcription.unwrap().run(&wrong, None).await.is_err());
    assert_eq!(server.take_violations(), ["file: unrecognized file format"]);
}
