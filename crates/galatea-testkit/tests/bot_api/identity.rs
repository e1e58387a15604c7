//! Tokens, methods, parameters.

use super::*;
use galatea_testkit::telegram::BotApi;

#[tokio::test]
async fn get_me_tells_who_we_are_whatever_the_method_s_case_and_verb() {
    let api = BotApi::start().await;
    let me = ok(&api, "GETME", json!({})).await;
    assert_eq!(me["username"], api.bot_username());
    assert_eq!(
        (me["is_bot"].clone(), me["can_read_all_group_messages"].clone()),
        (json!(true), json!(false))
    );
    let got: Value = reqwest::get(format!("{}/bot{}/getMe", api.url(), api.token()))
        .await
        .unwrap()
        .json()
        .await
        .unwrap();
    assert_eq!(got["result"], me);
}

#[tokio::test]
async fn a_wrong_token_is_401_and_a_malformed_one_404() {
    let api = BotApi::start().await;
    for (token, status, text) in
        [("7000000001:AAwrong", 401, "Unauthorized"), ("nonsense", 404, "Not Found")]
    {
        let response = reqwest::get(format!("{}/bot{token}/getMe", api.url())).await.unwrap();
        assert_eq!(response.status(), status);
        let body: Value = response.json().await.unwrap();
        assert_eq!(body, json!({ "ok": false, "error_code": status, "description": text }));
    }
    assert_eq!(
        api.violations().len(),
        1,
        "a malformed token is a mistake of the client, a wrong one may be the person's"
    );
    api.allow_violation("token");
}

#[tokio::test]
async fn unknown_methods_and_parameters_are_violations() {
    let api = BotApi::start().await;
    assert_eq!(violates(&api, "sendTelepathy", json!({})).await.0, 404);
    let ann = api.user("Ann", "");
    ann.says(&ann.direct(), "hi").send();
    let before = api.violations().len();
    ok(&api, "sendMessage", json!({ "chat_id": ann.id, "text": "x", "reply_to_message_id": 1 }))
        .await;
    assert!(
        api.violations()[before].contains("unknown parameter \"reply_to_message_id\""),
        "noted, yet answered as the real server does"
    );
}

#[tokio::test]
#[should_panic(expected = "unknown parameter \"colour\"")]
async fn dropping_the_server_fails_on_a_violation() {
    let api = BotApi::start().await;
    let _ = call(&api, "getMe", json!({ "colour": "red" })).await;
    drop(api);
}

#[tokio::test]
async fn parameters_come_by_query_form_and_multipart_too() {
    let api = BotApi::start().await;
    let ann = api.user("Ann", "");
    ann.says(&ann.direct(), "hi").send();
    let url = format!("{}/bot{}/sendMessage", api.url(), api.token());
    let client = client();
    let id = ann.id.to_string();
    client.get(&url).query(&[("chat_id", id.as_str()), ("text", "by query")]).send().await.unwrap();
    client.post(&url).form(&[("chat_id", id.as_str()), ("text", "by form")]).send().await.unwrap();
    client
        .post(&url)
        .multipart(reqwest::multipart::Form::new().text("chat_id", id).text("text", "by multipart"))
        .send()
        .await
        .unwrap();
    let texts: Vec<_> = api.shown(ann.id).into_iter().map(|s| s.text).collect();
    assert_eq!(texts, ["by query", "by form", "by multipart"]);
}

#[tokio::test]
async fn commands_follow_their_rules() {
    let api = BotApi::start().await;
    let command = |name: &str, about: &str| json!({ "commands": [{ "command": name, "description": about }] });
    ok(&api, "setMyCommands", command("help", "Helps")).await;
    assert_eq!(ok(&api, "getMyCommands", json!({})).await[0]["command"], "help");
    for (params, text) in [
        (command("Help", "x"), "BOT_COMMAND_INVALID"),
        (command("", "x"), "BOT_COMMAND_INVALID"),
        (command(&"a".repeat(33), "x"), "BOT_COMMAND_INVALID"),
        (command("a-b", "x"), "BOT_COMMAND_INVALID"),
        (command("a", ""), "BOT_COMMAND_DESCRIPTION_INVALID"),
        (command("a", &"x".repeat(257)), "BOT_COMMAND_DESCRIPTION_INVALID"),
    ] {
        assert_eq!(violates(&api, "setMyCommands", params).await.1, format!("Bad Request: {text}"));
    }
    let many: Vec<_> =
        (0..101).map(|i| json!({ "command": format!("c{i}"), "description": "x" })).collect();
    violates(&api, "setMyCommands", json!({ "commands": many })).await;
    ok(&api, "deleteMyCommands", json!({})).await;
    assert_eq!(ok(&api, "getMyCommands", json!({})).await, json!([]));
}
