//! Channels, sessions and jobs of elizaOS's API.

use galatea_core::{
    AgentId, MemoryId, Store, Timestamp,
    store::{
        Channel, ChannelMessage, ChannelServer, ChatSession, Job, JobCount, JobState,
        SessionTimeout,
    },
};
use serde_json::json;
use std::sync::Arc;
use uuid::Uuid;

fn channel(server: Uuid, at: i64) -> Channel {
    Channel {
        id: Uuid::new_v4(),
        server,
        name: "Kitchen".to_owned(),
        kind: "GROUP".to_owned(),
        source_type: Some("auto_created".to_owned()),
        source_id: None,
        topic: None,
        metadata: json!({ "a": [1, "ä"] }),
        created_at: Timestamp(at),
        updated_at: Timestamp(at),
    }
}

fn message(channel: &Channel, at: i64) -> ChannelMessage {
    ChannelMessage {
        id: Uuid::new_v4(),
        channel: channel.id,
        author: Uuid::new_v4(),
        text: format!("said at {at}"),
        raw: json!({ "text": "x" }),
        source_type: Some("client".to_owned()),
        source_id: Some("7".to_owned()),
        metadata: json!({}),
        reply_to: Some(Uuid::new_v4()),
        created_at: Timestamp(at),
        updated_at: Timestamp(at),
    }
}

/// Servers and channels are added once and found again; people keep their order.
pub async fn channels_and_their_people_are_kept(store: Arc<dyn Store>) {
    let server = ChannelServer {
        id: Uuid::nil(),
        name: "Default".to_owned(),
        source_type: "eliza_default".to_owned(),
        source_id: None,
        metadata: json!({ "x": 1 }),
        created_at: Timestamp(5),
        updated_at: Timestamp(5),
    };
    assert!(store.add_channel_server(&server).await.unwrap());
    assert!(!store.add_channel_server(&server).await.unwrap(), "it is there");
    assert_eq!(store.channel_servers().await.unwrap(), std::slice::from_ref(&server));
    let agent = AgentId(Uuid::new_v4());
    store.set_server_agent(server.id, agent, true).await.unwrap();
    store.set_server_agent(server.id, agent, true).await.unwrap();
    assert_eq!(store.channel_server_agents(server.id).await.unwrap(), [agent]);
    assert_eq!(store.servers_of_agent(agent).await.unwrap(), [server.id]);
    store.set_server_agent(server.id, agent, false).await.unwrap();
    assert!(store.channel_server_agents(server.id).await.unwrap().is_empty());

    let [ada, bob, cleo] = [1_u128, 2, 3].map(Uuid::from_u128);
    let mut kitchen = channel(server.id, 10);
    assert!(store.add_channel(&kitchen, &[cleo, ada]).await.unwrap());
    assert!(!store.add_channel(&kitchen, &[bob]).await.unwrap());
    assert_eq!(store.channel(kitchen.id).await.unwrap(), Some(kitchen.clone()));
    store.add_channel_people(kitchen.id, &[ada, bob]).await.unwrap();
    assert_eq!(store.channel_people(kitchen.id).await.unwrap(), [cleo, ada, bob]);
    let garden = channel(server.id, 20);
    assert!(store.add_channel(&garden, &[]).await.unwrap());
    store.add_channel_people(Uuid::new_v4(), &[ada]).await.unwrap();
    assert_eq!(
        store.channels(server.id, 10).await.unwrap(),
        [kitchen.clone(), garden.clone()],
        "the oldest first"
    );
    kitchen.name = "Pantry".to_owned();
    kitchen.updated_at = Timestamp(30);
    assert!(store.change_channel(&kitchen, Some(&[bob])).await.unwrap());
    assert_eq!(store.channel(kitchen.id).await.unwrap(), Some(kitchen.clone()));
    assert_eq!(store.channel_people(kitchen.id).await.unwrap(), [bob]);
    assert!(!store.change_channel(&channel(server.id, 1), None).await.unwrap());
    assert!(store.remove_channel(kitchen.id).await.unwrap());
    assert!(!store.remove_channel(kitchen.id).await.unwrap());
    assert!(store.channel_people(kitchen.id).await.unwrap().is_empty());
    assert_eq!(store.channels(server.id, 10).await.unwrap(), [garden]);
}

/// Messages are kept once, listed before a time, changed and removed.
pub async fn messages_of_channels_are_kept(store: Arc<dyn Store>) {
    let kitchen = channel(Uuid::nil(), 1);
    store.add_channel(&kitchen, &[]).await.unwrap();
    let mut all: Vec<ChannelMessage> = (0..5).map(|n| message(&kitchen, n)).collect();
    for said in &all {
        assert!(store.add_channel_message(said).await.unwrap());
    }
    assert!(!store.add_channel_message(&all[0]).await.unwrap(), "a message is kept once");
    let page = store.channel_messages(kitchen.id, Timestamp(4), 2).await.unwrap();
    assert_eq!(page, [all[3].clone(), all[2].clone()], "newest first, before the time");
    all[3].text = "changed".to_owned();
    all[3].metadata = json!({ "thought": "why not" });
    all[3].updated_at = Timestamp(99);
    assert!(store.change_channel_message(&all[3]).await.unwrap());
    assert_eq!(store.channel_message(all[3].id).await.unwrap(), Some(all[3].clone()));
    assert!(store.remove_channel_message(all[3].id).await.unwrap());
    assert!(!store.remove_channel_message(all[3].id).await.unwrap());
    assert!(!store.change_channel_message(&all[3]).await.unwrap());
    assert_eq!(store.clear_channel(kitchen.id).await.unwrap(), 4);
    assert!(store.channel_messages(kitchen.id, Timestamp(99), 9).await.unwrap().is_empty());
}

/// A session that two renew at once is renewed by one of them; ended ones are removed.
pub async fn sessions_are_renewed_once_and_end(store: Arc<dyn Store>) {
    let timeout = SessionTimeout {
        timeout_minutes: 30.0,
        auto_renew: true,
        max_duration_minutes: 720.0,
        warning_threshold_minutes: 2.5,
    };
    let session = |at: i64| ChatSession {
        id: Uuid::new_v4(),
        agent: AgentId(Uuid::new_v4()),
        channel: Uuid::new_v4(),
        user: Uuid::new_v4(),
        metadata: json!({ "from": "test" }),
        timeout,
        created_at: Timestamp(at),
        last_activity: Timestamp(at),
        expires_at: Timestamp(at + 100),
        renewals: 0,
        warned: false,
    };
    let old = session(0);
    store.add_chat_session(&old).await.unwrap();
    assert_eq!(store.chat_session(old.id).await.unwrap(), Some(old.clone()));
    let young = session(50);
    store.add_chat_session(&young).await.unwrap();
    assert_eq!(store.chat_sessions(10).await.unwrap(), [young.clone(), old.clone()]);
    let renewed = ChatSession {
        renewals: 1,
        last_activity: Timestamp(60),
        expires_at: Timestamp(160),
        warned: true,
        ..young.clone()
    };
    let (a, b) = tokio::join!(
        store.change_chat_session(&renewed, 0),
        store.change_chat_session(&renewed, 0)
    );
    assert_ne!(a.unwrap(), b.unwrap(), "one of two");
    assert_eq!(store.chat_session(young.id).await.unwrap(), Some(renewed));
    store.add_chat_session(&session(120)).await.unwrap();
    assert_eq!(store.chat_session(old.id).await.unwrap(), None, "it ended before");
    assert!(store.remove_chat_session(young.id).await.unwrap());
    assert!(!store.remove_chat_session(young.id).await.unwrap());
}

/// A job ends once, and is counted in its state.
pub async fn a_job_ends_once(store: Arc<dyn Store>) {
    let job = |at: i64| Job {
        id: Uuid::new_v4(),
        agent: AgentId(Uuid::new_v4()),
        user: Uuid::new_v4(),
        channel: Uuid::new_v4(),
        message: Uuid::new_v4(),
        state: JobState::Processing,
        created_at: Timestamp(at),
        expires_at: Timestamp(at + 100),
        ended_at: None,
        answer: None,
        error: None,
        metadata: json!({ "n": at }),
    };
    let (first, second) = (job(10), job(20));
    store.add_job(&first, Timestamp(0)).await.unwrap();
    store.add_job(&second, Timestamp(0)).await.unwrap();
    assert_eq!(store.jobs(None, 10).await.unwrap(), [second.clone(), first.clone()]);
    let answered = Job {
        state: JobState::Completed,
        ended_at: Some(Timestamp(14)),
        answer: Some(MemoryId(Uuid::new_v4())),
        ..first.clone()
    };
    let late = Job {
        state: JobState::Timeout,
        ended_at: Some(Timestamp(200)),
        error: Some("too late".to_owned()),
        ..first.clone()
    };
    let (a, b) = tokio::join!(store.end_job(&answered), store.end_job(&late));
    assert!(a.unwrap() != b.unwrap(), "a job ends once");
    let ended = store.job(first.id).await.unwrap().unwrap();
    assert!(ended == answered || ended == late);
    let waiting = store.jobs(Some(JobState::Processing), 10).await.unwrap();
    assert_eq!(waiting, std::slice::from_ref(&second));
    let counts = store.count_jobs().await.unwrap();
    let took = ended.ended_at.unwrap().0 - 10;
    assert!(counts.contains(&JobCount { state: ended.state, jobs: 1, took }), "{counts:?}");
    store.add_job(&job(300), Timestamp(115)).await.unwrap();
    assert_eq!(store.job(first.id).await.unwrap(), None, "long over");
    assert!(store.job(second.id).await.unwrap().is_some());
}
