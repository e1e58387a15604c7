//! Tests with posts in the form X sends.

use super::*;
use proptest::prelude::*;
use serde_json::{Value, json};

fn me() -> Me {
    Me { id: 99, user_name: "Galatea_x".into() }
}

fn decoded(body: Value) -> Option<Incoming> {
    let page = raw::page(body);
    decode(&page.posts[0], &page.includes, &me())
}

fn message(incoming: &Incoming) -> &IncomingMessage {
    let IncomingEvent::Message(message) = &incoming.event else { panic!("a message") };
    message
}

fn mention() -> Value {
    json!({
        "data": [{
            "id": "1541815603606036480", "text": "@galatea_x is this true? https://t.co/p", "author_id": "5", "conversation_id": "1541815603606036000",
            "created_at": "2022-06-28T16:07:40.000Z", "in_reply_to_user_id": "6",
            "referenced_tweets": [{"type": "replied_to", "id": "1541815603606036000"}],
            "attachments": {"media_keys": ["3_1"]},
            "entities": {
                "mentions": [{"start": 0, "end": 10, "username": "galatea_x", "id": "99"}],
                "urls": [{"start": 25, "end": 39, "url": "https://t.co/p", "expanded_url": "https://x.com/ann/status/1/photo/1", "display_url": "pic.x.com/p"}]
            }
        }],
        "includes": {
            "users": [{"id": "5", "name": "Ann", "username": "ann"}, {"id": "6", "name": "Bob", "username": "bob"}],
            "tweets": [{"id": "1541815603606036000", "text": "The moon is\ncheese", "author_id": "6"}],
            "media": [{"media_key": "3_1", "type": "photo", "url": "https://pbs.twimg.com/media/a.jpg", "alt_text": "a moon"}]
        }
    })
}

#[test]
fn a_mention_has_elizaos_ids() {
    let incoming = decoded(mention()).unwrap();
    let connection = &incoming.connection;
    assert_eq!(
        (connection.world.remote.as_str(), connection.room.remote.as_str(), connection.room.kind),
        ("5", "1541815603606036000", ChannelType::Feed)
    );
    let entity = connection.entity.as_ref().unwrap();
    assert_eq!(
        (entity.remote.as_str(), entity.name.as_deref(), entity.user_name.as_deref()),
        ("5", Some("Ann"), Some("ann"))
    );
    assert_eq!(incoming.at, Timestamp(1_656_432_460_000));
    let message = message(&incoming);
    assert_eq!(message.id.as_str(), "1541815603606036480");
    assert_eq!(message.reply_to.as_ref().unwrap().as_str(), "1541815603606036000");
    assert_eq!(
        (message.addressed.mention, message.addressed.reply, message.from_self),
        (true, false, false)
    );
    assert_eq!(message.content.text, "@galatea_x is this true?");
    let quote = &message.content.quotes[0];
    assert_eq!((quote.by.as_deref(), quote.text.as_str()), (Some("@bob"), "The moon is\ncheese"));
    assert_eq!(
        message.content.url.as_deref(),
        Some("https://x.com/ann/status/1541815603606036480")
    );
    assert_eq!(
        (
            message.content.attachments[0].url.as_str(),
            message.content.attachments[0].description.as_str()
        ),
        ("https://pbs.twimg.com/media/a.jpg", "a moon")
    );
}

#[test]
fn a_reply_to_us_is_one_and_our_words_are_not_repeated() {
    let mut body = mention();
    body["data"][0]["in_reply_to_user_id"] = json!("99");
    body["includes"]["tweets"][0]["author_id"] = json!("99");
    let incoming = decoded(body).unwrap();
    assert!(message(&incoming).addressed.reply);
    assert_eq!(message(&incoming).content.text, "@galatea_x is this true?");
}

#[test]
fn a_quotation_of_ours_is_a_summons() {
    let incoming = decoded(json!({
        "data": [{"id": "7", "text": "well said", "author_id": "5", "referenced_tweets": [{"type": "quoted", "id": "6"}], "entities": {}}],
        "includes": {"tweets": [{"id": "6", "text": "ours", "author_id": "99"}]}
    }))
    .unwrap();
    assert!(message(&incoming).addressed.mention && !message(&incoming).addressed.reply);
    assert_eq!(
        incoming.connection.room.remote.as_str(),
        "7",
        "without a conversation id it begins a conversation"
    );
}

#[test]
fn reposts_and_posts_without_an_author_are_skipped() {
    assert!(decoded(json!({"data": [{"id": "7", "text": "RT", "author_id": "5", "referenced_tweets": [{"type": "retweeted", "id": "6"}]}]})).is_none());
    assert!(decoded(json!({"data": [{"id": "7", "text": "x"}]})).is_none());
    let own =
        decoded(json!({"data": [{"id": "7", "text": "@galatea_x", "author_id": "99"}]})).unwrap();
    assert!(message(&own).from_self);
}

#[test]
fn names_are_whole_words() {
    let post = |text: &str| {
        raw::page(json!({"data": [{"id": "7", "text": text, "author_id": "5"}]})).posts.remove(0)
    };
    assert!(mentions(&post("hi @GALATEA_X!"), &me()));
    assert!(!mentions(&post("hi @galatea_x2"), &me()) && !mentions(&post("galatea_x"), &me()));
}

#[test]
fn long_posts_are_read_whole() {
    let incoming =
        decoded(json!({"data": [{"id": "7", "text": "short…", "author_id": "5", "note_tweet": {"text": "short and long @galatea_x"}, "entities": {}}]})).unwrap();
    assert_eq!(
        (message(&incoming).content.text.as_str(), message(&incoming).addressed.mention),
        ("short and long @galatea_x", true)
    );
}

#[test]
fn links_to_posts_are_understood() {
    for (link, id) in [
        ("https://x.com/ann/status/123?s=20", Some("123")),
        ("https://twitter.com/ann/status/123/photo/1", Some("123")),
        ("https://mobile.twitter.com/ann/status/9", Some("9")),
        ("https://x.com/ann", None),
        ("https://y.com/ann/status/123", None),
        ("https://x.com/ann/status/12a", None),
    ] {
        assert_eq!(
            parse_link(link).map(|(room, id)| (room, id.0)),
            id.map(|id| (None, id.to_owned())),
            "{link}"
        );
    }
}

#[test]
fn replay() {
    use galatea_testkit::replay::{recordings, show};
    let me = Me { id: 1_500_000_000_000_000_099, user_name: "acme_helper".into() };
    for recording in recordings("x") {
        let pages = recording.events.iter().map(|body| raw::page(body.clone()));
        let found: Vec<Value> = pages
            .flat_map(|p| {
                p.posts
                    .iter()
                    .filter_map(|post| decode(post, &p.includes, &me))
                    .map(|i| show(&i))
                    .collect::<Vec<_>>()
            })
            .collect();
        recording.check(&found);
    }
}

proptest! {
    #[test]
    fn mutilated_posts_do_not_panic(field in 0_usize..11, odd in 0_usize..6) {
        let mut body = mention();
        let post = body["data"][0].as_object_mut().unwrap();
        let name = post.keys().nth(field % post.len()).unwrap().clone();
        post[&name] = [json!(null), json!(5), json!("x"), json!([]), json!({}), json!([{"id": 5}])][odd].clone();
        let page = raw::page(body);
        for post in &page.posts {
            let _ = decode(post, &page.includes, &me());
        }
    }
}
