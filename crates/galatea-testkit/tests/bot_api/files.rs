//! Uploads and downloads.

use super::*;
use galatea_testkit::telegram::{BotApi, Options};
use reqwest::multipart::{Form, Part};

async fn upload(api: &BotApi, method: &str, form: Form) -> (u16, Value) {
    let url = format!("{}/bot{}/{method}", api.url(), api.token());
    let response = client().post(url).multipart(form).send().await.unwrap();
    (response.status().as_u16(), response.json().await.unwrap())
}

#[tokio::test]
async fn uploads_are_kept_and_can_be_sent_again_by_id() {
    let api = BotApi::start().await;
    let ann = api.user("Ann", "");
    ann.says(&ann.direct(), "hi").send();
    let form = Form::new()
        .text("chat_id", ann.id.to_string())
        .text("caption", "look")
        .part("document", Part::bytes(b"abc".to_vec()).file_name("a.txt"));
    let (_, body) = upload(&api, "sendDocument", form).await;
    let id = body["result"]["document"]["file_id"].clone();
    assert_eq!(body["result"]["document"]["file_name"], "a.txt");
    let form = Form::new()
        .text("chat_id", ann.id.to_string())
        .text("photo", "attach://pic")
        .part("pic", Part::bytes(b"png".to_vec()).file_name("p.png"));
    assert_eq!(upload(&api, "sendPhoto", form).await.0, 200);
    ok(&api, "sendDocument", json!({ "chat_id": ann.id, "document": id })).await;
    let shown = api.shown(ann.id);
    assert_eq!(shown[0].file.as_ref().unwrap().2, &b"abc"[..]);
    assert_eq!(shown[1].file.as_ref().unwrap().0, "photo");
    assert_eq!(shown[2].file.as_ref().unwrap().2, &b"abc"[..]);
    assert_eq!(
        violates(&api, "sendDocument", json!({ "chat_id": ann.id, "document": "nope" })).await.1,
        "Bad Request: wrong file identifier/HTTP URL specified"
    );
    assert_eq!(
        violates(&api, "sendPhoto", json!({ "chat_id": ann.id })).await.1,
        "Bad Request: there is no photo in the request"
    );
}

#[tokio::test]
async fn downloads_go_by_file_path_and_have_a_limit() {
    let api = BotApi::start().await;
    let ann = api.user("Ann", "");
    ann.sends_document(&ann.direct(), "n.txt", "text/plain", &b"hello"[..], "").send();
    ann.sends_large_document(
        &ann.direct(),
        "big.bin",
        "application/octet-stream",
        &b""[..],
        20 * 1024 * 1024 + 1,
        "",
    )
    .send();
    let got = updates(&api, json!({})).await;
    let file =
        ok(&api, "getFile", json!({ "file_id": got[0]["message"]["document"]["file_id"] })).await;
    let url =
        format!("{}/file/bot{}/{}", api.url(), api.token(), file["file_path"].as_str().unwrap());
    assert_eq!(client().get(url).send().await.unwrap().bytes().await.unwrap(), &b"hello"[..]);
    let big = json!({ "file_id": got[1]["message"]["document"]["file_id"] });
    assert_eq!(refused(&api, "getFile", big).await, "Bad Request: file is too big");
    assert_eq!(
        refused(&api, "getFile", json!({ "file_id": "x" })).await,
        "Bad Request: invalid file_id"
    );
}

#[tokio::test]
async fn albums_hold_two_to_ten_of_a_kind() {
    let api = BotApi::start().await;
    let ann = api.user("Ann", "");
    ann.says(&ann.direct(), "hi").send();
    let item = |kind: &str| json!({ "type": kind, "media": "https://a.b/c" });
    let album = |items: Vec<Value>| json!({ "chat_id": ann.id, "media": items });
    let sent = ok(&api, "sendMediaGroup", album(vec![item("photo"), item("video")])).await;
    assert_eq!(sent[0]["media_group_id"], sent[1]["media_group_id"]);
    violates(&api, "sendMediaGroup", album(vec![item("photo"); 11])).await;
    violates(&api, "sendMediaGroup", album(vec![item("photo"), item("document")])).await;
    ann.sends_album(&ann.direct(), &[b"a", b"b"], "two");
    let got = updates(&api, json!({ "offset": -2 })).await;
    assert_eq!(got[0]["message"]["media_group_id"], got[1]["message"]["media_group_id"]);
    assert_eq!(
        (got[0]["message"]["caption"].as_str(), got[1]["message"].get("caption")),
        (Some("two"), None)
    );
}

#[tokio::test]
async fn uploads_over_the_limit_are_413() {
    let api = BotApi::with(Options { max_upload: 10_000, ..Options::default() }).await;
    let ann = api.user("Ann", "");
    ann.says(&ann.direct(), "hi").send();
    let form = Form::new()
        .text("chat_id", ann.id.to_string())
        .part("document", Part::bytes(vec![0; 20_000]).file_name("a"));
    let (status, body) = upload(&api, "sendDocument", form).await;
    assert_eq!((status, body["description"].as_str()), (413, Some("Request Entity Too Large")));
    api.allow_violation("over the limit");
}
