//! Tests of OAuth 2 with PKCE: the login, the rotating refresh token, and that a kill does not lose
//! the login.

use galatea_core::{BrowserLogin, Connector, ConnectorConfig, ErrorKind, Retry, SystemClock};
use galatea_testkit::x::{Effect, Fault, Options, XApi};
use galatea_x::{Credentials, XConfig, XConnector};
use std::{path::Path, sync::Arc};

use super::support::{gateway, reply, send, start, with};
use galatea_testkit::connector_suite::running::host;

fn config(api: &XApi, secret: Option<&str>) -> XConfig {
    let redirect = "http://127.0.0.1:8765/callback".parse().unwrap();
    with(
        Credentials::OAuth2 {
            client_id: "testkitClient".into(),
            client_secret: secret.map(|s| s.to_owned().into()),
            redirect,
        },
        api,
    )
}

fn begin(api: &XApi, folder: &Path) -> Box<dyn BrowserLogin> {
    config(api, None).login(&host(folder, Arc::new(SystemClock))).unwrap().unwrap()
}

/// A connector as another process with the same data folder has it.
fn connector(api: &XApi, folder: &Path) -> XConnector {
    config(api, None).connector(&host(folder, Arc::new(SystemClock))).unwrap()
}

async fn logged_in(api: &XApi) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let login = begin(api, folder.path());
    assert_eq!(login.finish(&api.allow(login.page())).await.unwrap(), "@galatea_test");
    folder
}

#[tokio::test]
async fn a_person_logs_in_once_and_answers_go_out() {
    let api = XApi::start().await;
    let folder = logged_in(&api).await;
    let asked = api.user("Ann", "ann_b").posts("@galatea_test hello");
    let running = start(config(&api, None), folder.path(), &gateway());
    running.messages(1).await;
    send(&*running.handler().await, &api, &asked.to_string(), &reply("hi", asked))
        .await
        .remove(0)
        .unwrap();
    assert_eq!((api.shown().len(), api.refreshed()), (1, 0));
    assert_eq!(running.connector.info().account.0, api.account().to_string());
    running.end().await;
}

#[cfg(unix)]
#[tokio::test]
async fn tokens_are_their_owners_alone() {
    use std::os::unix::fs::PermissionsExt;
    let api = XApi::start().await;
    let folder = logged_in(&api).await;
    let inner = std::fs::read_dir(folder.path()).unwrap().next().unwrap().unwrap().path();
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&inner), mode(&inner.join("oauth2.json"))), (0o700, 0o600));
}

#[tokio::test]
async fn a_confidential_client_shows_its_secret() {
    let api = XApi::with(Options {
        client_secret: Some("clientCanarySecret".into()),
        ..Options::default()
    })
    .await;
    let folder = tempfile::tempdir().unwrap();
    let login = config(&api, Some("clientCanarySecret"))
        .login(&host(folder.path(), Arc::new(SystemClock)))
        .unwrap()
        .unwrap();
    login.finish(&api.allow(login.page())).await.unwrap();
}

#[tokio::test]
async fn answers_to_other_logins_are_refused() {
    let api = XApi::start().await;
    let folder = tempfile::tempdir().unwrap();
    let (ours, other) = (begin(&api, folder.path()), begin(&api, folder.path()));
    let theirs = api.allow(other.page());
    for wrong in [
        theirs.as_str(),
        "http://127.0.0.1:8765/callback?error=access_denied",
        "http://127.0.0.1:8765/callback?state=x",
        "two words",
        "",
    ] {
        let error = ours.finish(wrong).await.unwrap_err();
        assert_eq!(
            (error.code(), error.kind()),
            (Some("GAL-X-LOGIN"), ErrorKind::Invalid),
            "{wrong}"
        );
    }
    assert!(api.calls().is_empty(), "X was not asked");
    let code = api.allow(ours.page()).split("code=").nth(1).unwrap().to_owned();
    assert_eq!(ours.finish(&code).await.unwrap(), "@galatea_test", "the code alone is accepted");
}

#[tokio::test]
async fn a_missing_login_is_reported_and_nothing_is_asked() {
    let api = XApi::start().await;
    let folder = tempfile::tempdir().unwrap();
    let error = start(config(&api, None), folder.path(), &gateway()).failure().await;
    assert_eq!(
        (error.code(), error.kind(), error.retry()),
        (Some("GAL-X-LOGIN"), ErrorKind::Unauthorized, Retry::Never)
    );
    assert!(error.fix().unwrap().contains("galatea connector login x") && api.calls().is_empty());
}

#[tokio::test]
async fn a_refreshed_token_is_on_disk_before_it_is_used() {
    let api = XApi::start().await;
    let folder = logged_in(&api).await;
    let ann = api.user("Ann", "ann_b");
    let gateway = gateway();
    api.expire_tokens();
    // Every call with the new token hangs, so that the process dies between refresh and use.
    api.fault(Fault::new(Effect::Hang).on("GET /2/users/:id/mentions").nth(2));
    let running = start(config(&api, None), folder.path(), &gateway);
    api.wait_for("a use of the fresh token", |h| {
        (h.calls_of("GET /2/users/:id/mentions").len() == 2).then_some(())
    })
    .await;
    assert_eq!(api.refreshed(), 1);
    running.kill().await;
    let said = ann.posts("@galatea_test after the kill");
    let running = start(config(&api, None), folder.path(), &gateway);
    assert_eq!(running.messages(1).await[0].1.id.0, said.to_string());
    assert_eq!(api.refreshed(), 1, "the stored token is valid");
    api.expire_tokens();
    let next = ann.posts("@galatea_test and again");
    assert_eq!(running.messages(2).await[1].1.id.0, next.to_string());
    assert_eq!(api.refreshed(), 2, "the refresh token of the first renewal was kept");
    running.end().await;
}

#[tokio::test]
async fn several_calls_at_once_renew_once() {
    let api = XApi::start().await;
    let folder = logged_in(&api).await;
    let ann = api.user("Ann", "ann_b");
    let asked: Vec<u64> = (0..6).map(|n| ann.posts(&format!("@galatea_test {n}"))).collect();
    let running = start(config(&api, None), folder.path(), &gateway());
    running.messages(6).await;
    let handler = running.handler().await;
    api.expire_tokens();
    let answers = asked.iter().map(|id| {
        let (handler, api, id) = (handler.clone(), &api, *id);
        async move {
            send(&*handler, api, &id.to_string(), &reply(&format!("to {id}"), id)).await.remove(0)
        }
    });
    for answer in futures_join(answers).await {
        answer.unwrap();
    }
    assert_eq!((api.shown().len(), api.refreshed()), (6, 1));
    running.end().await;
}

async fn futures_join<T>(all: impl Iterator<Item = impl Future<Output = T>>) -> Vec<T> {
    let mut pinned: Vec<_> = all.map(Box::pin).collect();
    let mut done: Vec<Option<T>> = pinned.iter().map(|_| None).collect();
    std::future::poll_fn(|cx| {
        for (future, slot) in pinned.iter_mut().zip(&mut done) {
            if slot.is_none()
                && let std::task::Poll::Ready(value) = future.as_mut().poll(cx)
            {
                *slot = Some(value);
            }
        }
        if done.iter().all(Option::is_some) {
            std::task::Poll::Ready(())
        } else {
            std::task::Poll::Pending
        }
    })
    .await;
    done.into_iter().flatten().collect()
}

#[tokio::test]
async fn two_processes_do_not_end_each_others_login() {
    let api = XApi::start().await;
    let folder = logged_in(&api).await;
    let (one, two) = (connector(&api, folder.path()), connector(&api, folder.path()));
    api.expire_tokens();
    let findings = futures_join([one.check(), two.check()].into_iter()).await;
    assert!(findings.iter().all(|f| f[0].id == "GAL-X-TOKEN"), "{findings:?}");
    assert_eq!(api.refreshed(), 1, "the second caller used the first caller's token");
}

const RENEWAL: &str = "POST /2/oauth2/token";

/// X has invalidated the old token by then; the one in its answer is the only valid one.
#[tokio::test]
async fn a_renewal_whose_asker_is_gone_is_kept() {
    let api = XApi::start().await;
    let folder = logged_in(&api).await;
    let (gone, next) = (connector(&api, folder.path()), connector(&api, folder.path()));
    let before = api.calls_of(RENEWAL).len();
    api.expire_tokens();
    tokio::select! {
        biased;
        () = api.wait_for("the renewal", |api| (api.calls_of(RENEWAL).len() > before).then_some(())) => {}
        findings = gone.check() => panic!("it was answered before X had heard of it: {findings:?}"),
    }
    let findings = next.check().await;
    assert_eq!((findings[0].id.as_str(), api.refreshed()), ("GAL-X-TOKEN", 1), "{findings:?}");
}

#[tokio::test]
async fn a_renewal_that_cannot_be_written_is_used_and_written_later() {
    let api = XApi::start().await;
    let folder = logged_in(&api).await;
    let account = std::fs::read_dir(folder.path()).unwrap().next().unwrap().unwrap().path();
    // Blocks the temporary file that is written beside the token file.
    let in_the_way = account.join("oauth2.new");
    std::fs::create_dir(&in_the_way).unwrap();
    let stored = std::fs::read(account.join("oauth2.json")).unwrap();
    let running = connector(&api, folder.path());
    for renewals in 1..=2 {
        api.expire_tokens();
        let findings = running.check().await;
        assert_eq!(
            (findings[0].id.as_str(), api.refreshed()),
            ("GAL-X-TOKEN", renewals),
            "{findings:?}"
        );
    }
    assert_eq!(
        std::fs::read(account.join("oauth2.json")).unwrap(),
        stored,
        "nothing could be written"
    );
    std::fs::remove_dir(&in_the_way).unwrap();
    assert_eq!(running.check().await[0].id, "GAL-X-TOKEN");
    let findings = connector(&api, folder.path()).check().await;
    assert_eq!(
        (findings[0].id.as_str(), api.refreshed()),
        ("GAL-X-TOKEN", 2),
        "the newest tokens are on disk: {findings:?}"
    );
}

#[tokio::test]
async fn a_login_that_ended_is_reported_once() {
    let api = XApi::start().await;
    let folder = logged_in(&api).await;
    api.revoke_login();
    let error = start(config(&api, None), folder.path(), &gateway()).failure().await;
    assert_eq!((error.code(), error.retry()), (Some("GAL-X-LOGIN"), Retry::Never));
    let reported = format!("{} {error:?}", error.report());
    assert!(api.secrets().iter().all(|s| !reported.contains(s)));
}
