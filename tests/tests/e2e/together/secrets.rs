//! With every platform connected and everything logged, no secret is printed or stored.

use galatea_testkit::{discord, telegram, x};

use super::Everywhere;
use crate::secrets::search;

#[tokio::test]
async fn no_secret_of_any_platform_is_logged_or_stored() {
    let all = Everywhere::set().await;
    let mut galatea =
        all.run(all.program().arg("-vv").env("RUST_LOG", "trace").env("LOG_LEVEL", "trace")).await;
    all.stage.telegram.fault(
        telegram::Fault::new(telegram::Effect::ServerError(500, telegram::ErrorBody::Json))
            .on("sendMessage"),
    );
    all.discord
        .fault(discord::Fault::new(discord::Effect::LoseResponse).on("POST /channels/{}/messages"));
    all.x
        .fault(x::Fault::new(x::Effect::ServerError(503, x::ErrorBody::Html)).on("POST /2/tweets"));
    tokio::join!(all.telegram_answers(1), all.discord_answers(2), all.x_answers(3));
    all.stage.telegram.set_reachable(false);
    all.discord.set_reachable(false);
    all.x.set_reachable(false);
    galatea.wait_for_line("GAL-DC-").await;
    galatea.terminate();
    let finished = galatea.finish().await;
    let mut canaries = all.stage.canaries();
    canaries.push(all.discord.token());
    canaries.extend(all.x.secrets());
    for line in finished.stdout.lines().chain(finished.stderr.lines()) {
        assert!(
            !canaries.iter().any(|c| line.contains(c)),
            "a secret is logged: {}",
            canaries.iter().fold(line.to_owned(), |l, c| l.replace(c, "<SECRET>"))
        );
    }
    let mut found = Vec::new();
    search(all.stage.home.path(), &canaries, &mut found);
    assert!(found.is_empty(), "a secret is stored in {found:?}");
}
