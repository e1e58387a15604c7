//! The Telegram connector: start-up checks, the command menu, and the choice between polling and
//! webhook.

mod build;

use async_trait::async_trait;
use bytes::Bytes;
use galatea_core::{
    COMMANDS, Capabilities, Connector, ConnectorInfo, Error, ErrorKind, ExposeSecret, Finding,
    Gateway, Health, Host, ReadBack, Result, SendHandler, Severity, TextUnit,
};
use std::{fmt, path::PathBuf, sync::Arc};
use teloxide::{
    payloads::{
        DeleteWebhook, DeleteWebhookSetters, GetMyCommands, SetMyCommands, SetWebhook,
        SetWebhookSetters,
    },
    types::BotCommand,
};
use tokio_util::sync::CancellationToken;
use url::Url;

use crate::{
    SOURCE,
    config::{Mode, TelegramConfig},
    decode::{ALLOWED, Me},
    encode::MAX_TEXT,
    error::codes,
    receive::{UpdateIntake, poll, webhook},
    send::{
        TelegramSender,
        api::{BotApi, Myself, Webhook},
        chat_state::ChatState,
    },
};

/// Meaning of privacy mode and the way to change it, for `check` and the health report.
const PRIVACY: &str = "privacy mode is on: in groups it sees commands, replies and @mentions only";
const PRIVACY_FIX: &str = "fine for a helper; to change: @BotFather → /setprivacy → Disable, then remove and re-add the bot to each group";

/// The connector of one bot. [`TelegramConfig::connector`] builds it.
pub struct TelegramConnector {
    info: ConnectorInfo,
    config: TelegramConfig,
    api: BotApi,
    chat_state: Arc<ChatState>,
    sender: Arc<TelegramSender>,
    /// The account's own folder.
    folder: PathBuf,
}

impl fmt::Debug for TelegramConnector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TelegramConnector")
            .field("info", &self.info)
            .field("api", &self.api)
            .finish_non_exhaustive()
    }
}

impl TelegramConnector {
    pub(crate) fn new(config: TelegramConfig, host: &Host) -> Result<Self> {
        let account = config.account()?;
        let api = BotApi::new(&config, host.clock.clone())?;
        let chat_state = Arc::new(ChatState::default());
        let sender = Arc::new(TelegramSender::new(api.clone(), chat_state.clone(), &host.data_dir));
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
            read_back: ReadBack::Find,
            public: true,
        };
        let folder = host.account_dir(&SOURCE, &account.0);
        Ok(Self {
            info: ConnectorInfo { source: SOURCE, account, capabilities },
            config,
            api,
            chat_state,
            sender,
            folder,
        })
    }

    /// The send handler that `run` registers on the gateway.
    pub fn send_handler(&self) -> Arc<dyn SendHandler> {
        self.sender.clone()
    }

    /// Downloads an attachment whose address is `telegram:<file_id>`, at most 20 MB (Bot API,
    /// getFile).
    ///
    /// # Errors
    /// `Invalid` for another kind of address; `TooLong` for a larger file; `NotFound` if Telegram no
    /// longer has the file. No error contains the file's address.
    pub async fn download(&self, url: &str) -> Result<Bytes> {
        self.sender.download(url).await
    }

    /// Removes the bot's webhook, whichever program set it. Ask the user first, because another
    /// program may depend on it. Pending updates are kept.
    ///
    /// # Errors
    /// Those of any Bot API call.
    pub async fn remove_webhook(&self) -> Result<()> {
        let request = DeleteWebhook::new().drop_pending_updates(false);
        self.api
            .request::<_, bool>(&request)
            .await
            .map_err(|f| self.api.error(f, "deleteWebhook"))?;
        Ok(())
    }

    async fn me(&self) -> Result<Myself> {
        let me = self.api.me().await.map_err(|f| self.api.error(f, "getMe"))?;
        // Compare only if the token contains the id; see [`TelegramConfig::account`].
        let is_numeric = self.info.account.0.bytes().all(|b| b.is_ascii_digit());
        if is_numeric && me.id.to_string() != self.info.account.0 {
            let error =
                Error::unexpected("the Bot API server says this token belongs to another bot")
                    .with_code(codes::GARBAGE);
            return Err(self.api.placed(
                error.with(
                    "cause",
                    format!("getMe at {} answered with another id", self.api.host()),
                ),
            ));
        }
        Ok(me)
    }

    /// True if the webhook was set by this connector.
    fn is_ours(&self, found: &Webhook) -> bool {
        let same = |url: &str| Url::parse(url).ok() == Url::parse(&found.url).ok();
        self.config.webhook_url.as_ref().is_some_and(|u| same(u.as_str()))
            || self.kept_webhook().url().is_some_and(same)
    }

    /// State of our webhook from earlier runs.
    fn kept_webhook(&self) -> webhook::Keep {
        webhook::Keep::open(&self.folder)
    }

    async fn clear_the_way(&self) -> Result<()> {
        let found = self.api.webhook().await.map_err(|f| self.api.error(f, "getWebhookInfo"))?;
        if !found.url.is_empty() && !self.is_ours(&found) {
            return Err(self.api.placed(in_the_way(&found)));
        }
        if !found.url.is_empty() || (self.config.drop_pending && found.pending_update_count > 0) {
            let request = DeleteWebhook::new().drop_pending_updates(self.config.drop_pending);
            self.api
                .request::<_, bool>(&request)
                .await
                .map_err(|f| self.api.error(f, "deleteWebhook"))?;
        }
        Ok(())
    }

    /// Sets the commands if they differ from [`COMMANDS`]. A failure is only logged, because the
    /// bot works without a command menu.
    async fn set_commands(&self) {
        let wanted: Vec<BotCommand> =
            COMMANDS.iter().map(|(name, what)| BotCommand::new(*name, *what)).collect();
        let known = self.api.request::<_, Vec<BotCommand>>(&GetMyCommands::new()).await;
        if known.as_ref().is_ok_and(|known| *known == wanted) {
            return;
        }
        if let Err(failure) = self.api.request::<_, bool>(&SetMyCommands::new(wanted)).await {
            tracing::warn!(error = %self.api.error(failure, "setMyCommands"), "failed to set the command menu; retrying at the next start");
        }
    }

    async fn webhook(&self, intake: UpdateIntake, up: Health) -> Result<()> {
        let address = self.config.webhook_url.clone().ok_or_else(|| {
            Error::invalid("webhook mode needs TELEGRAM_WEBHOOK_URL").with_code(codes::WEBHOOK)
        })?;
        let listener = webhook::bind(self.config.webhook_listen).await?;
        let mut keep = self.kept_webhook();
        let secret = match &self.config.webhook_secret {
            Some(secret) => secret.clone(),
            None => keep.secret(),
        };
        keep.save(Some(&address))?;
        let set = SetWebhook::new(address.clone())
            .allowed_updates(ALLOWED)
            .drop_pending_updates(self.config.drop_pending)
            .secret_token(secret.expose_secret().to_owned());
        let register = async {
            self.api.request::<_, bool>(&set).await.map_err(|f| {
                let fix = "Telegram calls https addresses on ports 443, 80, 88 or 8443 only; check TELEGRAM_WEBHOOK_URL";
                let error = self.api.error(f, "setWebhook");
                if error.kind() == ErrorKind::Invalid { error.with_code(codes::WEBHOOK).with_fix(fix) } else { error }
            })?;
            intake.gateway.report(up.clone());
            Ok(())
        };
        // Serve while registering, because Telegram may call at once.
        let serve = webhook::serve(intake.clone(), listener, &address, secret, up.clone());
        let stop = intake.stop.clone();
        let register = async { stop.run_until_cancelled(register).await.unwrap_or(Ok(())) };
        tokio::try_join!(register, serve)?;
        Ok(())
    }
}

fn in_the_way(found: &Webhook) -> Error {
    Error::new(ErrorKind::Conflict, format!("A webhook to {} owns this bot", found.host()))
        .with_code(codes::WEBHOOK)
        .with("cause", "getWebhookInfo names it; while it is set, messages cannot be polled")
        .with_fix("`galatea connector check telegram --fix` removes it; or stop here and leave the bot to that program")
}

/// The question before the repair. It names the webhook's host, because another program may depend
/// on it.
fn question(found: &Webhook) -> String {
    format!("Remove the webhook to {}?", found.host())
}

#[async_trait]
impl Connector for TelegramConnector {
    fn info(&self) -> &ConnectorInfo {
        &self.info
    }

    async fn check(&self) -> Vec<Finding> {
        let me = match self.me().await {
            Ok(me) => me,
            Err(error) => return vec![failed(&error)],
        };
        let mut findings = vec![
            Finding::ok("GAL-TG-TOKEN", "connector", format!("@{}", me.username))
                .with_cause(format!("getMe answered on {}", self.api.host())),
        ];
        findings.push(match self.api.webhook().await {
            Err(failure) => failed(&self.api.error(failure, "getWebhookInfo")),
            Ok(found) if found.url.is_empty() => {
                Finding::ok(codes::WEBHOOK, "connector", "no webhook in the way")
            }
            Ok(found) if self.is_ours(&found) => {
                match (self.config.mode, &found.last_error_message) {
                    (Mode::Webhook, Some(why)) => Finding::new(
                        Severity::Warning,
                        codes::WEBHOOK,
                        "connector",
                        "the webhook is set, but Telegram's last call failed",
                    )
                    .with_cause(galatea_http::redact(&galatea_http::shorten(why, 200), &[]))
                    .with_fix("check that TELEGRAM_WEBHOOK_URL reaches this machine"),
                    (Mode::Webhook, None) => Finding::ok(
                        codes::WEBHOOK,
                        "connector",
                        format!("webhook to {} is ours", found.host()),
                    ),
                    (Mode::Polling, _) => Finding::ok(
                        codes::WEBHOOK,
                        "connector",
                        "our earlier webhook is removed at the next start",
                    ),
                }
            }
            Ok(found) if self.config.mode == Mode::Webhook => Finding::new(
                Severity::Warning,
                codes::WEBHOOK,
                "connector",
                format!("a webhook to {} is replaced at the next start", found.host()),
            ),
            Ok(found) => failed(&self.api.placed(in_the_way(&found))).with_repair(question(&found)),
        });
        findings.push(if me.can_read_all_group_messages {
            Finding::ok(
                codes::PRIVACY,
                "connector",
                "privacy mode is off: it sees every message of its groups",
            )
        } else {
            Finding::new(Severity::Info, codes::PRIVACY, "connector", PRIVACY).with_fix(PRIVACY_FIX)
        });
        findings
    }

    async fn repair(&self, finding: &Finding) -> Result<()> {
        let Some(agreed) = finding.repair.as_ref().filter(|_| finding.id == codes::WEBHOOK) else {
            return Err(
                Error::invalid("this cannot be repaired from here").with("finding", &finding.id)
            );
        };
        let found = self.api.webhook().await.map_err(|f| self.api.error(f, "getWebhookInfo"))?;
        if found.url.is_empty() {
            return Ok(());
        }
        // The user agreed to remove that webhook, not one that was set since.
        if question(&found) != *agreed {
            return Err(self.api.placed(in_the_way(&found)));
        }
        self.remove_webhook().await
    }

    fn send_handler(&self) -> Option<Arc<dyn SendHandler>> {
        Some(Self::send_handler(self))
    }

    async fn run(&self, gateway: Gateway, stop: CancellationToken) -> Result<()> {
        let start = async {
            let me = self.me().await?;
            if self.config.mode == Mode::Polling {
                self.clear_the_way().await?;
                self.chat_state.set_behind(true);
            }
            gateway.register_send_handler(self.sender.clone());
            self.set_commands().await;
            Ok::<_, Error>(me)
        };
        let Some(me) = stop.run_until_cancelled(start).await else { return Ok(()) };
        let me = me?;
        let mode = if self.config.mode == Mode::Polling { "polling" } else { "webhook" };
        let privacy =
            if me.can_read_all_group_messages { String::new() } else { format!("; {PRIVACY}") };
        let detail = format!("@{}, {mode}{privacy}", me.username);
        let up = Health::Up { detail: detail.clone() };
        self.chat_state.introduce(&me.username);
        let me = Arc::new(Me { id: me.id, user_name: me.username });
        // Stops background tasks when this run ends, whatever the reason.
        let inner = stop.child_token();
        let intake = UpdateIntake::new(
            self.api.clone(),
            self.chat_state.clone(),
            me,
            gateway.clone(),
            inner.clone(),
        );
        intake.report_closed(&detail);
        let outcome = match self.config.mode {
            Mode::Polling => {
                gateway.report(up);
                poll::run(intake.clone(), self.config.poll(), &detail).await
            }
            Mode::Webhook => self.webhook(intake.clone(), up).await,
        };
        inner.cancel();
        intake.finish().await;
        outcome
    }
}

fn failed(error: &Error) -> Finding {
    Finding::failure("connector", error)
}
