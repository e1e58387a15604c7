//! What people do, as events.

use crate::support::{Running, config};
use galatea_testkit::discord::DiscordApi;

#[tokio::test]
async fn first() {
    let api = DiscordApi::start().await;
    let ann = api.user("Ann", "ann_b");
    let running = Running::start(config(&api));
    tokio::time::sleep(std::time::Duration::from_secs(3)).await;
    eprintln!("{}", api.story());
    ann.says(&ann.direct(), "hello").send();
    tokio::time::sleep(std::time::Duration::from_secs(1)).await;
    eprintln!("{} {:?}", api.story(), running.backend.seen.lock().unwrap().health);
    running.backend.messages(1).await;
}
