//! The Discord connector: start-up checks, gateway intents and the shards.

mod build;
mod check;
mod commands;
mod invite;

use async_trait::async_trait;
use galatea_core::{
    Capabilities, Connector, ConnectorInfo, Error, Finding, Gateway, Host, ReadBack, Result,
    SecretString, SendHandler, TextUnit, Timestamp,
};
use galatea_http::Tunnels;
use serde::Deserialize;
use serde_json::{Value, json};
use serenity::all::GatewayIntents;
use std::{
    convert::Infallible,
    fmt,
    sync::{Arc, OnceLock},
};
use tokio::{sync::watch, task::JoinSet};
use tokio_util::sync::CancellationToken;
use url::Url;

use crate::{
    SOURCE,
    config::DiscordConfig,
    decode::{Me, directory::Directory, raw::id},
    encode::MAX_TEXT,
    error::codes,
    receive::{
        ShardIntake,
        fleet::Fleet,
        quota::{Quota, StartLimit},
        restore_asked, shard,
        shard_health::ShardHealth,
    },
    send::{
        DiscordSender,
        api::{Call, DiscordApi},
        send_state::SendState,
    },
};

/// Application flags that grant a privileged intent: Server Members and Message Content (Discord,
/// "Application Flags"). Each intent has two flags: granted in full and, below 10,000 users,
/// limited.
const MEMBERS: u64 = 1 << 14 | 1 << 15;
const CONTENT: u64 = 1 << 18 | 1 << 19;
/// The flag that `--fix` sets. An application can set only the limited form itself (Discord, "Edit
/// Current Application").
const CONTENT_LIMITED: u64 = 1 << 19;
/// The limitation that `check` and the health report name when the intent is missing.
const NO_CONTENT: &str =
    "without Message Content it hears direct messages and messages that mention it only";

/// The `User-Agent` in the form Discord asks for ("User Agent"): a page about the bot, and the
/// version. The page is the operator's setting, else the program's homepage or repository, else the
/// bot's profile on Discord, which always exists.
fn user_agent(page: Option<&Url>, bot: Option<u64>) -> String {
    let project = [env!("CARGO_PKG_HOMEPAGE"), env!("CARGO_PKG_REPOSITORY")]
        .into_iter()
        .find(|url| !url.is_empty());
    let page = page
        .map(ToString::to_string)
        .or_else(|| project.map(str::to_owned))
        .or_else(|| bot.map(|bot| format!("https://discord.com/users/{bot}")))
        .unwrap_or_else(|| "https://discord.com".to_owned());
    format!("DiscordBot ({page}, {})", env!("CARGO_PKG_VERSION"))
}

/// The connector of one Discord application. [`DiscordConfig::connector`] builds it.
pub struct DiscordConnector {
    info: ConnectorInfo,
    config: DiscordConfig,
    api: DiscordApi,
    send_state: Arc<SendState>,
    sender: Arc<DiscordSender>,
    directory: Arc<Directory>,
    token: Arc<SecretString>,
    /// The bot's id: known from the token, or from the API if the token does not tell it.
    id: Arc<OnceLock<u64>>,
}

impl fmt::Debug for DiscordConnector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DiscordConnector")
            .field("info", &self.info)
            .field("api", &self.api)
            .finish_non_exhaustive()
    }
}

/// The application, as `GET /applications/@me` returns it.
#[derive(Debug, Deserialize)]
struct Application {
    #[serde(deserialize_with = "number")]
    id: u64,
    #[serde(default)]
    name: String,
    #[serde(default)]
    flags: u64,
    #[serde(default)]
    approximate_guild_count: Option<u64>,
}

fn number<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    let value = Value::deserialize(deserializer)?;
    id(&value).ok_or_else(|| serde::de::Error::custom("an id"))
}

impl DiscordConnector {
    pub(crate) fn new(config: DiscordConfig, host: &Host) -> Result<Self> {
        let account = config.account()?;
        let known = config.bot_id();
        let agent = user_agent(config.bot_url.as_ref(), known);
        let api = DiscordApi::new(&config, agent, host.clock.clone())?;
        let id = Arc::new(known.map_or_else(OnceLock::new, OnceLock::from));
        let send_state = Arc::new(SendState::default());
        let directory = Arc::new(Directory::default());
        directory.set_proxies(config.proxies.clone());
        let sender = Arc::new(DiscordSender::new(
            api.clone(),
            send_state.clone(),
            directory.clone(),
            id.clone(),
            host.data_dir.clone(),
        ));
        let capabilities = Capabilities {
            max_text: MAX_TEXT,
            text_unit: TextUnit::Utf16,
            edit: true,
            delete: true,
            react: true,
            typing: true,
            buttons: true,
            files: true,
            threads: true,
            read_back: ReadBack::Key,
            public: true,
        };
        let token = Arc::new(config.token.clone());
        Ok(Self {
            info: ConnectorInfo { source: SOURCE, account, capabilities },
            config,
            api,
            send_state,
            sender,
            directory,
            token,
            id,
        })
    }

    /// The send handler that `run` registers on the gateway.
    pub fn send_handler(&self) -> Arc<dyn SendHandler> {
        self.sender.clone()
    }

    async fn get(&self, template: &'static str, path: &str) -> Result<Value> {
        self.api
            .call(Call::new(template, "", path.to_owned()))
            .await
            .map_err(|f| self.api.error(f, template))
    }

    fn garbage(&self, what: &'static str) -> Error {
        let error = Error::unexpected(what)
            .with_code(codes::GARBAGE)
            .with("cause", format!("{} answered so", self.api.host()));
        self.api.placed(
            error.with_fix("check DISCORD_API_ROOT: it must be the address of the Discord API"),
        )
    }

    async fn me(&self) -> Result<Me> {
        let me = self.get("GET /users/@me", "/users/@me").await?;
        let Some(own) = id(&me["id"]) else {
            return Err(self.garbage("the API does not say which bot this token belongs to"));
        };
        if *self.id.get_or_init(|| own) != own {
            return Err(self.garbage("the API says this token belongs to another bot"));
        }
        let name = me["global_name"]
            .as_str()
            .or_else(|| me["username"].as_str())
            .unwrap_or("the bot")
            .to_owned();
        Ok(Me { id: own, name })
    }

    async fn application(&self) -> Result<Application> {
        let answer = self.get("GET /applications/@me", "/applications/@me").await?;
        let application = Application::deserialize(answer).map_err(|_| {
            self.garbage("the API describes the application in an undocumented way")
        })?;
        if let Some(wanted) = self.config.application.filter(|wanted| *wanted != application.id) {
            tracing::warn!(
                wanted,
                found = application.id,
                "DISCORD_APPLICATION_ID names another application; using the token's"
            );
        }
        Ok(application)
    }

    /// The gateway's address, the number of shards Discord recommends, and the session start limit.
    async fn entry(&self) -> Result<(Url, u16, StartLimit)> {
        let answer = self.get("GET /gateway/bot", "/gateway/bot").await?;
        let address = answer["url"].as_str().and_then(|u| Url::parse(u).ok());
        let address = address.filter(|u| {
            u.scheme() == "wss" || (u.scheme() == "ws" && self.api.root().scheme() == "http")
        });
        let address =
            address.ok_or_else(|| self.garbage("the API names no gateway that can be trusted"))?;
        let shards =
            answer["shards"].as_u64().and_then(|n| u16::try_from(n).ok()).unwrap_or(1).max(1);
        Ok((
            address,
            shards,
            StartLimit::deserialize(&answer["session_start_limit"]).unwrap_or_default(),
        ))
    }

    /// Checks the account, sets the commands and runs the shards until the last one ends.
    async fn connected(&self, gateway: Gateway, stop: CancellationToken) -> Result<()> {
        self.directory.clear();
        let start = async {
            let me = self.me().await?;
            self.send_state.introduce(&me.name);
            let application = self.application().await?;
            restore_asked(&gateway, &self.send_state).await?;
            gateway.register_send_handler(self.sender.clone());
            self.set_commands(application.id).await;
            let entry = self.entry().await?;
            Ok::<_, Error>((me, application, entry))
        };
        let Some(started) = stop.run_until_cancelled(start).await else { return Ok(()) };
        let (me, application, (address, shards, limit)) = started?;
        // Stops the shards and their tasks when this run ends, whatever the reason.
        let inner = stop.child_token();
        let quota = Arc::new(Quota::open(&gateway, shards, &limit).await?);
        let lacking = (application.flags & CONTENT == 0).then_some(NO_CONTENT);
        self.directory.set_reads_content(application.flags & CONTENT != 0);
        let name = me.name.clone();
        let intake = ShardIntake::new(
            self.api.clone(),
            self.send_state.clone(),
            self.directory.clone(),
            Arc::new(me),
            gateway.clone(),
            inner.clone(),
        );
        let shard_health = Arc::new(ShardHealth::new(
            gateway,
            name,
            shards,
            lacking,
            (application.approximate_guild_count, invite::invite(application.id)),
        ));
        let intents = intents(application.flags).bits();
        let fleet = Fleet {
            intake,
            token: self.token.clone(),
            address,
            tunnels: Tunnels::from_environment(),
            shards,
            intents,
            quota,
            shard_health: shard_health.clone(),
            patience: self.config.patience,
        };
        let mut tasks = JoinSet::new();
        for number in 0..shards {
            tasks.spawn(shard::run(fleet.clone(), number));
        }
        let running = async {
            let mut outcome = Ok(());
            while let Some(ended) = tasks.join_next().await {
                let ended = ended.unwrap_or_else(|e| {
                    Err(Error::unexpected("a shard ended in a panic").with_source(e))
                });
                inner.cancel();
                // The first failure is the cause; the other shards ended because of it.
                outcome = outcome.and(ended.map_err(|e| self.api.placed(e)));
            }
            outcome
        };
        tokio::select! {
            outcome = running => outcome,
            never = watch_guard(self.api.guard().resting(), &shard_health) => match never {},
            never = watch_muted(&self.send_state, &shard_health) => match never {},
        }
    }
}

/// The intents to identify with. A privileged intent is included only if the flags grant it,
/// because Discord closes the connection otherwise.
fn intents(flags: u64) -> GatewayIntents {
    let mut intents = GatewayIntents::GUILDS
        | GatewayIntents::GUILD_MESSAGES
        | GatewayIntents::GUILD_MESSAGE_REACTIONS
        | GatewayIntents::DIRECT_MESSAGES
        | GatewayIntents::DIRECT_MESSAGE_REACTIONS;
    if flags & CONTENT != 0 {
        intents |= GatewayIntents::MESSAGE_CONTENT;
    }
    if flags & MEMBERS != 0 {
        intents |= GatewayIntents::GUILD_MEMBERS;
    }
    intents
}

#[async_trait]
impl Connector for DiscordConnector {
    fn info(&self) -> &ConnectorInfo {
        &self.info
    }

    async fn check(&self) -> Vec<Finding> {
        self.findings().await
    }

    async fn repair(&self, finding: &Finding) -> Result<()> {
        if finding.id != codes::INTENTS {
            return Err(
                Error::invalid("this cannot be repaired from here").with("finding", &finding.id)
            );
        }
        let flags = self.application().await?.flags | CONTENT_LIMITED;
        let call = Call::new("PATCH /applications/@me", "", "/applications/@me".to_owned())
            .json(json!({ "flags": flags }));
        self.api.call(call).await.map_err(|f| self.api.error(f, "PATCH /applications/@me"))?;
        Ok(())
    }

    fn send_handler(&self) -> Option<Arc<dyn SendHandler>> {
        Some(Self::send_handler(self))
    }

    async fn run(&self, gateway: Gateway, stop: CancellationToken) -> Result<()> {
        let guard = self.api.guard();
        guard.restore(&gateway).await?;
        let outcome = tokio::select! {
            outcome = self.connected(gateway.clone(), stop) => outcome,
            never = guard.keep(&gateway) => match never {},
        };
        // Save the count once more: the last refused calls may be the reason why the run ended.
        guard.keep_now(&gateway).await;
        outcome
    }
}

/// Reports to the shard health when the guard pauses all calls and when it lets them continue.
async fn watch_guard(
    mut resting: watch::Receiver<Option<Timestamp>>,
    shard_health: &ShardHealth,
) -> Infallible {
    loop {
        shard_health.rests(resting.borrow_and_update().is_some());
        if resting.changed().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

/// Reports to the shard health in which channels the bot was addressed but cannot write.
async fn watch_muted(send_state: &SendState, shard_health: &ShardHealth) -> Infallible {
    let mut changes = send_state.muted.changes();
    loop {
        shard_health.muted(send_state.muted.summary());
        if changes.changed().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}
