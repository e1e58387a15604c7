//! Process roles: which one connects, which one answers, which one serves the API.

use galatea_testkit::{
    models::{Fault, Recorded, Reply},
    process::Home,
};
use std::time::Duration;

use super::crowd::{Crowd, spread};
use crate::stage::Stage;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_connects_another_answers_and_a_third_tells() {
    let mut crowd = Crowd::of(3).await;
    let ingress = crowd.node("ingress").await;
    crowd.discord.wait_connected(1).await;
    let worker = crowd.node("worker").await;
    let api = crowd.node("api").await;
    crowd.talk(3, Duration::ZERO).await;
    crowd.is_all_answered().await;
    // The API process reports what happens in the worker.
    api.running.wait_for_line("answered").await;
    let status = crowd.status().await;
    let mut roles: Vec<_> = status["members"]
        .as_array()
        .unwrap()
        .iter()
        .map(|m| m["role"].as_str().unwrap().to_owned())
        .collect();
    roles.sort();
    assert_eq!(roles, ["api", "ingress", "worker"]);
    assert_eq!(status["idle"], serde_json::json!([]), "{status:#}");
    let states = |status: &serde_json::Value| -> Vec<String> {
        let connectors = status["agents"][0]["connectors"].as_array().unwrap().clone();
        connectors
            .iter()
            .map(|c| format!("{} {}", c["source"].as_str().unwrap(), c["state"].as_str().unwrap()))
            .collect()
    };
    let (ingress, worker) = (ingress.status(&crowd).await, worker.status(&crowd).await);
    for source in ["discord", "telegram"] {
        assert!(states(&ingress).contains(&format!("{source} up")), "{ingress:#}");
        assert!(states(&worker).contains(&format!("{source} elsewhere")), "{worker:#}");
    }
    assert!(worker["ready"] == true, "{worker:#}");
    crowd.is_accounted_for().await;
}

/// More messages wait in one Room than a process keeps in memory, and the Room's turn does not end.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_flooded_room_keeps_no_other_room_waiting() {
    const MORE_THAN_MEMORY: usize = 600;
    let crowd = Crowd::of(0).await;
    let stage = &crowd.stage;
    let is_flood = |request: &Recorded| request.body["messages"].to_string().contains("flood");
    stage.model.answer_with(move |request| {
        if is_flood(request) { Reply::Fault(Fault::Hang) } else { Reply::text("calm as well") }
    });
    let _ingress = crowd.node("ingress").await;
    let _worker = crowd.node("worker").await;
    let (flooded, calm) = (stage.ann.direct(), stage.telegram.user("Cal", "calm_c"));
    for n in 0..MORE_THAN_MEMORY {
        stage.ann.says(&flooded, &format!("flood {n}")).send();
    }
    let quiet = calm.direct();
    calm.says(&quiet, "calm").send();
    stage.wait_text(&quiet, "calm as well").await;
    assert_eq!(stage.texts(&flooded), [""; 0], "and not because the flood was over");
}

/// Discord shows that an answer is coming. The process that decides not to answer has no connection
/// to Discord, so the one that has it tells the person.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_command_reports_that_another_process_does_not_answer() {
    let crowd = Crowd::of(1).await;
    let (general, listens) = (crowd.guild.general(), crowd.guild.channel("quiet", 0));
    let mut nodes = Vec::new();
    for role in ["ingress", "worker"] {
        let home = Home::new();
        let program =
            crowd.program(&home).env("DISCORD_LISTEN_CHANNEL_IDS", listens.id.to_string());
        let running = program.args(["start", "--role", role]).spawn();
        running.wait_for_line("ready in").await;
        nodes.push((running, home));
    }
    crowd.discord.wait_connected(1).await;
    let dora = crowd.discord.user("Dee", "dee_d");
    dora.joins(&crowd.guild);
    dora.uses(&general, "ask", Some("Q1: are you there?"));
    crowd
        .discord
        .wait_for("the answer to a command", |api| {
            Some(()).filter(|()| api.shown(general.id).iter().any(|s| s.text == "A1"))
        })
        .await;
    dora.uses(&listens, "ask", Some("Q2: and here?"));
    let reported = crowd
        .discord
        .wait_for("the reason in private", |api| {
            Some(api.whispered(listens.id)).filter(|reported| !reported.is_empty())
        })
        .await;
    assert_eq!(reported, ["I do not answer this: in this room the agent only listens."]);
    assert_eq!((crowd.discord.thinking(general.id), crowd.discord.thinking(listens.id)), (0, 0));
    assert!(crowd.discord.shown(listens.id).is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_role_needs_a_database_that_can_be_shared() {
    let stage = Stage::set().await;
    let reported = stage.program().args(["start", "--role", "worker"]).run().await;
    assert!(
        reported.code == Some(3)
            && reported.stderr.contains("GAL-ROLE")
            && reported.stderr.contains("DATABASE_URL"),
        "{}{}",
        reported.stdout,
        reported.stderr
    );
    let alone = stage.program().args(["start", "--role", "all"]).spawn();
    alone.wait_for_line("ready in").await;
    let reported = stage.program().args(["cluster", "status"]).run().await;
    assert!(
        reported.code == Some(0) && reported.stdout.contains("one process"),
        "{}{}",
        reported.stdout,
        reported.stderr
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_restart_does_not_wait_for_its_own_leases() {
    let mut crowd = Crowd::of(1).await;
    let home = Home::new();
    let program = crowd.program(&home).arg("start");
    let mut running = program.spawn();
    running.wait_for_line("ready in").await;
    crowd.discord.wait_connected(1).await;
    crowd.ask();
    crowd.is_all_answered().await;
    running.kill_9().await;
    crowd.ask();
    let _again = program.spawn();
    let took = crowd.is_all_answered().await;
    assert!(took < Duration::from_secs(60), "{took:?}");
    let status =
        crowd.wait_status("one member with everything", |status| spread(status) == [64]).await;
    assert_eq!(status["idle"], serde_json::json!([]));
}
