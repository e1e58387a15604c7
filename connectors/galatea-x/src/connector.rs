//! The X connector: builds its parts from the settings, checks the account, and runs the tasks that
//! receive mentions and schedule posts.

mod build;

use async_trait::async_trait;
use galatea_core::{
    Account, BrowserLogin, Capabilities, Connector, ConnectorInfo, Error, Finding, Gateway, Host,
    ReadBack, Result, SendHandler, Severity, StateKeeper, TextUnit,
};
use std::{
    fmt,
    path::PathBuf,
    sync::{Arc, OnceLock},
};
use tokio_util::sync::CancellationToken;

use crate::{
    SOURCE,
    config::{Credentials, HASHED, Tier, XConfig},
    decode::{Me, snowflake::number},
    encode::MAX_WEIGHT,
    error::{codes, read_only},
    receive::{PostIntake, poll, posts},
    send::{
        XSender,
        api::{self, Api},
        auth::{
            Auth,
            login::Login,
            oauth1::Keys,
            oauth2::{App, Session, login_needed},
            tokens::TokenFile,
        },
        budget::DailyBudget,
        calls,
    },
};

/// The connector of one X account.
pub struct XConnector {
    info: ConnectorInfo,
    config: Arc<XConfig>,
    api: Arc<Api>,
    me: Arc<OnceLock<Me>>,
    sender: Arc<XSender>,
}

impl fmt::Debug for XConnector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("XConnector")
            .field("info", &self.info)
            .field("api", &self.api)
            .finish_non_exhaustive()
    }
}

/// The account of an OAuth 2 app before its login.
const NOT_LOGGED_IN: &str = "not-logged-in";

/// Key of the connector state that holds the account's id and handle.
const ME: &str = "me";

/// Data folder of an OAuth 2 login. It is named after the agent, since the account is unknown
/// before the login.
fn login_folder(host: &Host) -> PathBuf {
    host.account_dir(&SOURCE, &format!("login-{}", host.agent.id()))
}

fn app(config: &XConfig, host: &Host) -> Result<Option<App>> {
    let Credentials::OAuth2 { client_id, client_secret, .. } = &config.credentials else {
        return Ok(None);
    };
    Ok(Some(App {
        http: api::client(host.clock.clone())?,
        endpoint: format!("{}/2/oauth2/token", api::base(&config.api_root)),
        client_id: client_id.clone(),
        client_secret: client_secret.clone(),
        clock: host.clock.clone(),
    }))
}

impl XConnector {
    pub(crate) fn new(config: XConfig, host: &Host) -> Result<Self> {
        let clock = host.clock.clone();
        let (auth, account, known, folder) = match (&config.credentials, app(&config, host)?) {
            (Credentials::OAuth1 { api_key, api_secret, token, token_secret }, _) => {
                let account = config.account()?.unwrap_or_else(|| Account("unknown".into()));
                let folder = host.account_dir(&SOURCE, &account.0);
                let keys = Keys {
                    api_key: api_key.clone(),
                    api_secret: api_secret.clone(),
                    token: token.clone(),
                    token_secret: token_secret.clone(),
                };
                (Auth::OAuth1(keys), account, None, folder)
            }
            (Credentials::OAuth2 { .. }, Some(app)) => {
                let folder = login_folder(host);
                let file = TokenFile::in_folder(&folder);
                // Construction cannot report a broken file as a finding; the first call does.
                let known =
                    file.read().ok().flatten().and_then(|t| {
                        number(&t.user_id).map(|id| Me { id, user_name: t.user_name })
                    });
                let account = Account(
                    known.as_ref().map_or_else(|| NOT_LOGGED_IN.to_owned(), |me| me.id.to_string()),
                );
                (Auth::OAuth2(Session::new(app, file)), account, known, folder)
            }
            (Credentials::OAuth2 { .. }, None) => {
                return Err(Error::unexpected("OAuth 2 without an app"));
            }
        };
        let capabilities = Capabilities {
            max_text: MAX_WEIGHT,
            text_unit: TextUnit::Weighted,
            edit: false,
            delete: true,
            react: config.tier == Tier::Enterprise,
            typing: false,
            buttons: false,
            files: true,
            threads: false,
            read_back: ReadBack::Find,
            public: true,
        };
        let budget =
            DailyBudget::open(config.daily_limit, folder.join("spent.json"), clock.clone());
        let api = Arc::new(Api::new(api::client(clock.clone())?, &config, auth, budget, clock));
        let me = Arc::new(known.map_or_else(OnceLock::new, OnceLock::from));
        let config = Arc::new(config);
        let sender = Arc::new(XSender::new(api.clone(), config.clone(), me.clone(), folder));
        Ok(Self {
            info: ConnectorInfo { source: SOURCE, account, capabilities },
            config,
            api,
            me,
            sender,
        })
    }

    /// The send handler that is registered on the gateway.
    pub fn send_handler(&self) -> Arc<dyn SendHandler> {
        self.sender.clone()
    }

    /// The browser login of an OAuth 2 app; `None` for an app that uses the four keys of OAuth
    /// 1.0a.
    ///
    /// # Errors
    /// `Unexpected` when the HTTP client cannot be set up.
    pub(crate) fn login(config: &XConfig, host: &Host) -> Result<Option<Box<dyn BrowserLogin>>> {
        let (Some(app), Credentials::OAuth2 { redirect, .. }) =
            (app(config, host)?, &config.credentials)
        else {
            return Ok(None);
        };
        let file = TokenFile::in_folder(&login_folder(host));
        Ok(Some(Box::new(Login::begin(
            app,
            api::base(&config.api_root),
            &config.authorize_url,
            redirect.clone(),
            file,
        ))))
    }

    /// The account's id and handle. Asked for once and kept as state of the account, since the call
    /// costs money.
    async fn who(&self, gateway: &Gateway) -> Result<Me> {
        let keeper = StateKeeper::new(ME);
        let stored = keeper.restore::<Me>(gateway).await?;
        let stored = stored.filter(|me| self.is_ours(me));
        let is_stored = stored.is_some();
        let me = match self.me.get().cloned().or(stored) {
            Some(me) => me,
            None => self.ask().await?,
        };
        if !is_stored {
            keeper.keep_now(gateway, Some(&me)).await;
        }
        Ok(self.me.get_or_init(|| me).clone())
    }

    /// True if an account is the one of the credentials, as far as they tell which one it is.
    fn is_ours(&self, me: &Me) -> bool {
        let configured = &self.info.account.0;
        configured.starts_with(HASHED) || me.id.to_string() == *configured
    }

    async fn ask(&self) -> Result<Me> {
        let me = calls::me(&self.api, &self.config.prices).await?;
        if !self.is_ours(&me) {
            let error = Error::unexpected("the server says these keys belong to another account")
                .with_code(codes::GARBAGE);
            return Err(self.api.placed(error.with(
                "cause",
                format!("GET /2/users/me at {} answered with another id", self.api.host()),
            )));
        }
        Ok(me)
    }
}

#[async_trait]
impl Connector for XConnector {
    fn info(&self) -> &ConnectorInfo {
        &self.info
    }

    fn check_cost(&self) -> Option<String> {
        Some(format!("This makes one paid read (about {}).", self.config.prices.user))
    }

    fn remarks(&self) -> Vec<Finding> {
        self.api
            .budget
            .exhausted()
            .map(|error| Finding { severity: Severity::Warning, ..failed(&error) })
            .into_iter()
            .collect()
    }

    async fn check(&self) -> Vec<Finding> {
        self.api.release();
        let me = match self.ask().await {
            Ok(me) => me,
            Err(error) => return vec![failed(&error)],
        };
        let mut findings = vec![
            Finding::ok(
                codes::TOKEN,
                "connector",
                format!("keys sign correctly: @{}", me.user_name),
            )
            .with_cause(format!("GET /2/users/me answered on {}", self.api.host())),
        ];
        if self.api.is_read_only() {
            // The `x-access-level` header has been wrong before; only a refused post proves the
            // missing permission.
            findings.push(Finding {
                severity: Severity::Warning,
                ..failed(&self.api.placed(read_only().with("cause", "X says x-access-level: read")))
            });
        }
        if self.config.dry_run {
            findings.push(
                Finding::new(
                    Severity::Warning,
                    codes::DRY_RUN,
                    "connector",
                    "posting is a dry run until TWITTER_DRY_RUN=false",
                )
                .with_fix(
                    "set TWITTER_DRY_RUN=false once the log shows what you want to read on X",
                ),
            );
        }
        findings.extend(self.remarks());
        let prices = &self.config.prices;
        let cap = format!(
            "cap {}/day: mention read {}*, post {}, with link {}, reply when summoned {}      *only for the app owner's account",
            self.config.daily_limit, prices.mention, prices.post, prices.link, prices.reply
        );
        findings.push(Finding::new(Severity::Info, codes::BUDGET, "connector", cap));
        findings
    }

    fn send_handler(&self) -> Option<Arc<dyn SendHandler>> {
        Some(Self::send_handler(self))
    }

    fn login_needed(&self) -> Option<Error> {
        (self.info.account.0 == NOT_LOGGED_IN)
            .then(|| self.api.placed(login_needed("no account is logged in to X yet")))
    }

    async fn run(&self, gateway: Gateway, stop: CancellationToken) -> Result<()> {
        // The owner may have fixed the cause of a latched refusal since the last run.
        self.api.release();
        self.sender.restore(&gateway).await?;
        let Some(me) = stop.run_until_cancelled(self.who(&gateway)).await else { return Ok(()) };
        let me = me?;
        gateway.register_send_handler(self.sender.clone());
        if self.config.dry_run {
            tracing::warn!(
                code = codes::DRY_RUN,
                "X runs as a dry run: the agent writes answers and posts, and none is posted until TWITTER_DRY_RUN=false"
            );
        }
        // Cancels both receiving tasks when this run ends for any reason.
        let inner = stop.child_token();
        let _guard = inner.clone().drop_guard();
        let intake = PostIntake::new(
            self.api.clone(),
            self.config.clone(),
            self.sender.journal.clone(),
            me,
            gateway.clone(),
            inner,
        );
        let ended = tokio::select! {
            ended = async { tokio::try_join!(poll::run(intake.clone()), posts::run(intake)) } => ended.map(drop),
            never = self.sender.keep(&gateway) => match never {},
        };
        self.sender.keep_now(&gateway).await;
        ended
    }
}

fn failed(error: &Error) -> Finding {
    Finding::failure("connector", error)
}
