//! Errors of an address that is not the Discord API's, or does not answer.

use super::{is_told, set, start};
use crate::errors::{http, something_else};

const ROOT_LINE: &str = "where: DISCORD_API_ROOT from .env line 6";

#[tokio::test]
async fn a_page_in_place_of_the_api_is_reported_with_the_address() {
    let (mut scene, _discord, ..) = set().await;
    scene.canary("canary-page");
    let page = "<html><head><title>canary-page</title></head><body>nginx</body></html>";
    scene.env("DISCORD_API_ROOT", &something_else(http("200 OK", "text/html", page)).await);
    let parts = [
        "the answer is not the Discord API's",
        "cause:",
        "at 127.0.0.1",
        "answered 200 and something else",
        ROOT_LINE,
        "fix: check DISCORD_API_ROOT",
    ];
    is_told(&scene, "GAL-DC-GARBAGE", "retrying", &parts).await;
}

#[tokio::test]
async fn an_unreachable_api_is_tried_again_and_no_other_address_is_asked() {
    let (mut scene, discord, ann, _guild) = set().await;
    let right = discord.url().to_owned();
    let nowhere = galatea_testkit::port::RefusedPort::take();
    scene.env("DISCORD_API_ROOT", &nowhere.url());
    let parts = [
        "Discord cannot be reached",
        "cause:",
        "/@me:",
        ROOT_LINE,
        "fix: check the network, the proxy variables and DISCORD_API_ROOT",
    ];
    is_told(&scene, "GAL-DC-CONNECT", "retrying", &parts).await;
    assert!(discord.calls().is_empty());
    scene.env("DISCORD_API_ROOT", &right);
    let running = start(&scene, &discord).await;
    ann.says(&ann.direct(), "Q2").send();
    assert_eq!(discord.wait_shown(ann.direct().id, 1).await[0].text, "A2", "the fix works");
    scene.end(running).await;
}
