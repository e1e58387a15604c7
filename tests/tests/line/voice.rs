//! Voice messages and pictures: they become words, are read once, cost money, and say why they are not
//! understood.

use galatea_core::{
    Error, IncomingEvent, Media, MediaKind, MemoryId, Result,
    model::{Finish, MediaModels, Sound, TextAnswer, Transcription},
    store::{Amount, Day},
};
use galatea_testkit::models::{ScriptedMedia, ScriptedModel};
use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use crate::{
    house::{House, Plan, Spot, dm},
    models,
};

/// A sound file of this length, with the words in it.
fn flac(seconds: u64, words: &str) -> Vec<u8> {
    let mut flac = b"fLaC".to_vec();
    flac.extend([0; 14]);
    flac.extend(((1_000_u64 << 44) | (1_000 * seconds)).to_be_bytes());
    flac.extend(words.as_bytes());
    flac
}

fn spoken(sound: &Sound) -> Result<String> {
    Ok(String::from_utf8_lossy(&sound.bytes[26..]).into_owned())
}

async fn house(
    model: &Arc<ScriptedModel>,
    ear: &Arc<ScriptedMedia<Transcription>>,
    settings: &[(&'static str, &'static str)],
) -> House {
    let mut plan = Plan::new(Arc::clone(model) as _);
    plan.settings.extend(settings);
    plan.models.media =
        MediaModels { transcription: Some(Arc::clone(ear) as _), ..MediaModels::default() };
    plan.build().await
}

/// A person sends a voice message.
async fn speaks(house: &House, at: &Spot, address: &str) -> MemoryId {
    let mut incoming = house.message(at, "");
    let IncomingEvent::Message(message) = &mut incoming.event else { panic!("no message") };
    message.content.attachments.push(Media {
        id: address.to_owned(),
        url: address.to_owned(),
        title: "Voice message, 30 s".into(),
        content_type: MediaKind::Audio,
        source: "Voice".into(),
        ..Media::default()
    });
    let id = house.id_of(&incoming);
    house.receive(vec![incoming]).await;
    house.quiet().await;
    id
}

async fn used(house: &House) -> Amount {
    let rows = house.store.usage(Some(house.agent), Day(0)).await.unwrap();
    rows.into_iter()
        .find(|row| row.model == "scripted media")
        .map(|row| row.amount)
        .unwrap_or_default()
}

#[tokio::test]
async fn a_voice_message_is_read_once_and_paid() {
    let model = Arc::new(ScriptedModel::saying("On the second shelf."));
    let ear = Arc::new(ScriptedMedia::answering(spoken));
    let house = house(&model, &ear, &[("LIMITS", "on")]).await;
    house.platform.offers("x:1", flac(30, "where is the spare belt?"));
    let id = speaks(&house, &dm("7"), "x:1").await;
    assert_eq!(models::asked(&model.requests()[0]), "[voice message: where is the spare belt?]");
    assert_eq!(house.platform.texts("7"), ["On the second shelf."]);
    let stored = house.store.memory(id).await.unwrap().unwrap();
    assert_eq!(stored.content.attachments[0].text, "where is the spare belt?");
    house.say(&dm("7"), "thanks").await;
    house.quiet().await;
    assert!(models::prompt(&model.requests()[1]).contains("[voice message: where is the spare"));
    assert_eq!(ear.calls(), 1);
    // Half a minute at 0.6 cents.
    let Amount { calls, micros, .. } = used(&house).await;
    assert_eq!((calls, micros), (1, 3_000));
}

#[tokio::test]
async fn what_is_not_understood_is_said_in_prompt_and_verdict_and_answered() {
    let model = Arc::new(ScriptedModel::saying("Could you write that?"));
    let works = Arc::new(AtomicBool::new(false));
    let up = Arc::clone(&works);
    let ear = Arc::new(ScriptedMedia::answering(move |sound: &Sound| {
        if up.load(Ordering::Relaxed) {
            spoken(sound)
        } else {
            Err(Error::unexpected("the service at SECRET_HOST is down"))
        }
    }));
    let house = house(&model, &ear, &[]).await;
    for (address, file) in
        [("x:page", b"<html>".to_vec()), ("x:long", flac(3_000, "")), ("x:down", flac(3, "hi"))]
    {
        house.platform.offers(address, file);
    }
    let mut reasons = Vec::new();
    for address in ["x:page", "x:long", "x:down", "x:gone"] {
        let id = speaks(&house, &dm("7"), address).await;
        let asked = models::asked(model.requests().last().unwrap());
        let (_, reason) = asked.split_once("[voice message, not understood: ").unwrap();
        reasons.push(reason.trim_end_matches(']').to_owned());
        assert!(house.explain(id).await.steps.iter().any(|step| step.rule == "attachment"));
    }
    let later = "it could not be read just now";
    assert_eq!(reasons, ["its format is not known", "it is longer than 30 minutes", later, later]);
    assert_eq!(house.platform.texts("7").len(), 4, "each is answered all the same");
    assert_eq!(used(&house).await, Amount::default(), "a failure costs nothing");
    let prompts = model.requests().iter().map(models::prompt).collect::<String>();
    assert!(!prompts.contains("SECRET_HOST"));
    assert_eq!(ear.calls(), 1, "only what may be understood is sent to the service");
}

/// A fault of the platform that is over at the third attempt.
#[tokio::test]
async fn a_download_that_fails_twice_loses_no_voice_message() {
    let model = Arc::new(ScriptedModel::saying("On the second shelf."));
    let ear = Arc::new(ScriptedMedia::answering(spoken));
    let house = house(&model, &ear, &[]).await;
    house.platform.offers("x:1", flac(3, "where is it?"));
    house.platform.fails_downloads(2);
    speaks(&house, &dm("7"), "x:1").await;
    assert!(models::asked(&model.requests()[0]).ends_with("[voice message: where is it?]"));
}

/// The model reads why it does not know what a picture shows.
#[tokio::test]
async fn a_picture_that_is_not_seen_is_no_secret() {
    let model = Arc::new(ScriptedModel::saying("I cannot see it."));
    let eye = Arc::new(ScriptedModel::answering(|_| {
        let finish = Finish::Filtered;
        Ok(TextAnswer { finish, ..ScriptedModel::text("I'm sorry, I can't help with that.") })
    }));
    let mut plan = Plan::new(Arc::clone(&model) as _);
    plan.models.vision = Some(Arc::clone(&eye) as _);
    let house = plan.build().await;
    house.platform.offers("x:page", b"<html>".to_vec());
    house.platform.offers("x:picture", b"\x89PNG".to_vec());
    for (address, reason) in [
        ("x:page", "it is none of PNG, JPEG, GIF and WebP"),
        ("x:picture", "the model's filter withheld the description"),
        ("x:gone", "it could not be read just now"),
    ] {
        let mut incoming = house.message(&dm("7"), "what is this?");
        let IncomingEvent::Message(message) = &mut incoming.event else { panic!("no message") };
        message.content.attachments.push(Media {
            id: address.to_owned(),
            url: address.to_owned(),
            content_type: MediaKind::Image,
            ..Media::default()
        });
        house.receive(vec![incoming]).await;
        house.quiet().await;
        let asked = models::asked(model.requests().last().unwrap());
        assert!(asked.contains(&format!("[attachment: image, not seen: {reason}]")), "{asked}");
    }
    assert_eq!(eye.requests().len(), 1);
}

#[tokio::test]
async fn a_cap_that_is_reached_stops_listening() {
    let model = Arc::new(ScriptedModel::saying("Yes."));
    let ear = Arc::new(ScriptedMedia::answering(spoken));
    // A minute costs 0.6 cents, so ten minutes cost more than the room may.
    let settings = [("LIMITS", "on"), ("BUDGET_ROOM", "0.05")];
    let house = house(&model, &ear, &settings).await;
    house.platform.offers("x:1", flac(600, "a long story"));
    speaks(&house, &dm("7"), "x:1").await;
    assert_eq!((ear.calls(), used(&house).await.micros), (0, 0));
}
