//! The PostgreSQL server is stopped, restarted or killed while people write.

use galatea_testkit::{
    postgres::{Database, Server},
    telegram::Handle,
};

use super::{all, sound, until_status};
use crate::stage::Stage;

#[derive(Debug, Clone, Copy)]
enum Fault {
    /// A clean restart, as an administrator does.
    Restart,
    /// An immediate stop, like a power cut.
    Cut,
    /// SIGKILL to all its processes.
    Kill,
}

async fn on(server: &Server, work: impl FnOnce(&Server) + Send + 'static) {
    let server = server.clone();
    tokio::task::spawn_blocking(move || work(&server)).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn restarted_cut_off_and_killed_under_load_nothing_is_lost_or_said_twice() {
    let server = tokio::task::spawn_blocking(Server::private).await.unwrap();
    let (stage, database) = (Stage::set().await, Database::on(server.clone()).await);
    let program = stage.program().env("DATABASE_URL", database.url());
    let mut galatea = program.clone().arg("start").spawn();
    galatea.wait_for_line("ready in").await;
    let people: Vec<_> = (0..8).map(|n| stage.telegram.user(&format!("Person {n}"), "")).collect();
    for (round, fault) in [Fault::Restart, Fault::Cut, Fault::Kill].into_iter().enumerate() {
        let before = stage.telegram.calls_of("sendMessage").len();
        for (n, person) in people.iter().enumerate() {
            person.says(&person.direct(), &format!("Q{}", round * 100 + n)).send();
            person.says(&person.direct(), &format!("Q{}", round * 100 + 10 + n)).send();
        }
        stage
            .telegram
            .wait_for("an answer", |t: &Handle| {
                (t.calls_of("sendMessage").len() > before).then_some(())
            })
            .await;
        match fault {
            Fault::Restart => on(&server, Server::stop_fast).await,
            Fault::Cut => on(&server, Server::stop).await,
            Fault::Kill => on(&server, Server::kill_9).await,
        }
        for (n, person) in people.iter().enumerate() {
            person.says(&person.direct(), &format!("Q{}", round * 100 + 20 + n)).send();
        }
        if matches!(fault, Fault::Cut) {
            galatea.wait_for_line("GAL-DB-HOST").await;
            until_status(&program, false, "GAL-DB-HOST").await;
            assert!(
                stage.telegram.pending_updates() > 0,
                "{fault:?}: an update that is not stored is not confirmed"
            );
        }
        on(&server, Server::start).await;
        for (n, person) in people.iter().enumerate() {
            stage.wait_text(&person.direct(), &format!("A{}", round * 100 + 20 + n)).await;
        }
        until_status(&program, true, "ready").await;
    }
    for (n, person) in people.iter().enumerate() {
        let expected: Vec<_> = (0..3)
            .flat_map(|round| [0, 10, 20].map(|add| format!("A{}", round * 100 + add + n)))
            .collect();
        assert_eq!(stage.texts(&person.direct()), expected, "{}", galatea.output());
    }
    stage.telegram.wait_confirmed().await;
    sound(&program, 72).await;
    galatea.terminate();
    let ended = galatea.finish().await;
    assert_eq!(ended.code, Some(0), "{}", all(&ended));
    drop(database);
    on(&server, Server::end).await;
}
