//! Tests of addressing and remedies, without a network. Tests with one are in the crate's `tests`
//! folder.

use galatea_core::Content;

use super::*;

fn part(outgoing: &Outgoing) -> BotCall {
    encode::encode_parts(outgoing).unwrap().remove(0)
}

fn message(reply_to: Option<&str>) -> BotCall {
    part(&Outgoing::Message {
        content: Content::text("**hi**"),
        reply_to: reply_to.map(|id| RemoteId(id.to_owned())),
    })
}

fn refusal(description: &str) -> Refusal {
    Refusal { code: 400, description: description.to_owned(), ..Refusal::default() }
}

fn sent_to(mut part: BotCall, chat: i64, thread: Option<i32>, forum: bool) -> BotCall {
    address(&mut part, ChatTarget { chat, thread }, forum);
    part
}

#[test]
fn the_method_alone_decides_about_the_priority() {
    let body = |method: &str| Encoded(json!({ "method": method, "params": "not read" }));
    for method in ["editMessageText", "deleteMessage", "setMessageReaction"] {
        assert_eq!(priority(&body(method)), Priority::Change, "{method}");
    }
    for method in ["sendMessage", "sendMediaGroup", "unknown"] {
        assert_eq!(priority(&body(method)), Priority::Answer, "{method}");
    }
    let outgoing = Outgoing::Delete { id: RemoteId("-1005:7".into()) };
    let encoded = encode::encode(&outgoing).unwrap();
    assert_eq!(priority(&encoded[0]), Priority::Change);
}

#[test]
fn topics_and_general_are_named_as_telegram_wants() {
    assert_eq!(sent_to(message(None), -1005, Some(42), true).params["message_thread_id"], 42);
    assert_eq!(
        sent_to(message(None), -1005, None, true).params.get("message_thread_id"),
        None,
        "General is omitted on send"
    );
    assert_eq!(
        sent_to(part(&Outgoing::Typing), -1005, None, true).params["message_thread_id"],
        1,
        "and given for typing"
    );
    assert_eq!(
        sent_to(part(&Outgoing::Typing), -1005, None, false).params.get("message_thread_id"),
        None
    );
    let delete = part(&Outgoing::Delete { id: RemoteId("-1005:7".into()) });
    assert_eq!(sent_to(delete, -1005, Some(42), true).params.get("message_thread_id"), None);
}

#[test]
fn replies_stay_within_their_chat() {
    assert_eq!(
        sent_to(message(Some("5:7")), 5, None, false).params["reply_parameters"],
        json!({"message_id": 7, "allow_sending_without_reply": true})
    );
    assert_eq!(
        sent_to(message(Some("7")), 5, None, false).params["reply_parameters"]["message_id"],
        7,
        "elizaOS ids have no chat"
    );
    assert_eq!(sent_to(message(Some("6:7")), 5, None, false).params.get("reply_parameters"), None);
    assert_eq!(sent_to(message(Some("odd")), 5, None, false).params.get("reply_parameters"), None);
}

#[test]
fn a_gone_topic_or_broken_entities_are_left_out_once() {
    let full = sent_to(message(Some("-1005:7")), -1005, Some(42), true);
    for (words, field) in [
        ("Bad Request: message thread not found", "message_thread_id"),
        ("Bad Request: message to be replied not found", "reply_parameters"),
        ("Bad Request: can't parse entities: odd", "entities"),
    ] {
        let Remedy::Change(changed) = remedy(&full, &refusal(words)) else { panic!("{words}") };
        assert!(!changed.params.contains_key(field) && changed.params.contains_key("text"));
        assert_eq!(remedy(&changed, &refusal(words)), Remedy::None, "once only: {words}");
    }
    assert_eq!(remedy(&full, &refusal("Bad Request: chat not found")), Remedy::None);
    assert_eq!(
        remedy(&full, &Refusal { code: 403, ..refusal("message thread not found") }),
        Remedy::None
    );
}

#[test]
fn an_edit_of_a_caption_and_one_that_changes_nothing() {
    let edit =
        part(&Outgoing::Edit { id: RemoteId("5:7".into()), content: Content::text("**new**") });
    assert_eq!(
        remedy(&edit, &refusal("Bad Request: message is not modified: specified …")),
        Remedy::Done
    );
    let Remedy::Change(caption) =
        remedy(&edit, &refusal("Bad Request: there is no text in the message to edit"))
    else {
        panic!("a caption")
    };
    assert_eq!(caption.method, Method::EditMessageCaption);
    assert_eq!(
        (
            &caption.params["caption"],
            caption.params.get("text"),
            caption.params.get("link_preview_options")
        ),
        (&json!("new"), None, None)
    );
    assert!(caption.params.contains_key("caption_entities"));
    let delete = part(&Outgoing::Delete { id: RemoteId("5:7".into()) });
    assert_eq!(remedy(&delete, &refusal("Bad Request: message to delete not found")), Remedy::Done);
}
