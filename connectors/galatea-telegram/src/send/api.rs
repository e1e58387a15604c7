//! Calls the Bot API through the shared HTTP client, with one POST per call. Only this module
//! handles the token.

use bytes::{Bytes, BytesMut};
use futures::StreamExt as _;
use galatea_core::{Clock, Error, ErrorKind, ExposeSecret, Result, SecretString, SendPermit};
use galatea_http::{Form, HttpClient, HttpOptions, Origins, Response};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use std::{fmt, sync::Arc, time::Duration};
use teloxide::{
    requests::Payload,
    types::{Chat, ChatId, User},
};
use url::Url;

use crate::{
    config::TelegramConfig,
    decode::{
        ALLOWED,
        raw::{self, ApiAnswer},
    },
    error::{Failure, Parameters, Refusal, codes},
};
use galatea_core::world::Role;

/// Timeouts for connecting and for an ordinary call.
const CONNECT: Duration = Duration::from_secs(3);
const TOTAL: Duration = Duration::from_secs(20);
/// Timeout for uploads and downloads: 50 MB over a slow line.
const UPLOAD: Duration = Duration::from_secs(120);
/// Timeout of a poll, on top of the time for which Telegram may hold it open.
const POLL_EXTRA: Duration = Duration::from_secs(10);
/// Largest answer in bytes; 100 updates of full size stay far below it.
const MAX_ANSWER: usize = 16 << 20;
/// Largest file a bot may download (Bot API, getFile).
pub(crate) const MAX_DOWNLOAD: usize = 20 << 20;

/// The result of a poll.
pub(crate) enum Fetched {
    Answer(ApiAnswer),
    /// The beginning of an answer that was too long to read.
    TooLong(Bytes),
}

/// The Bot API client of one bot. Clones share the connection pool.
#[derive(Clone)]
pub(crate) struct BotApi {
    http: HttpClient,
    clock: Arc<dyn Clock>,
    methods: Arc<SecretString>,
    files: Arc<SecretString>,
    host: Arc<str>,
    origins: Arc<Origins>,
}

impl fmt::Debug for BotApi {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Api").field("host", &self.host).finish_non_exhaustive()
    }
}

#[derive(Deserialize)]
struct Reply<T> {
    ok: bool,
    #[serde(default = "none")]
    result: Option<T>,
    #[serde(default)]
    error_code: Option<u16>,
    #[serde(default)]
    description: Option<String>,
    #[serde(default)]
    parameters: Option<Parameters>,
}

fn none<T>() -> Option<T> {
    None
}

/// The bot, as getMe returns it. More lenient than teloxide's type, so that older Bot API servers
/// work.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Myself {
    pub(crate) id: i64,
    /// Its user name without `@`.
    #[serde(default)]
    pub(crate) username: String,
    /// False while privacy mode is on.
    #[serde(default)]
    pub(crate) can_read_all_group_messages: bool,
}

/// The webhook, as getWebhookInfo returns it.
#[derive(Debug, Clone, Default, Deserialize)]
pub(crate) struct Webhook {
    /// Its address; empty if no webhook is set.
    #[serde(default)]
    pub(crate) url: String,
    /// Number of pending updates.
    #[serde(default)]
    pub(crate) pending_update_count: u64,
    /// Why Telegram's last call failed.
    #[serde(default)]
    pub(crate) last_error_message: Option<String>,
}

impl Webhook {
    /// The webhook's host, for messages.
    pub(crate) fn host(&self) -> String {
        Url::parse(&self.url)
            .ok()
            .and_then(|u| u.host_str().map(str::to_owned))
            .unwrap_or_else(|| "an unknown host".to_owned())
    }
}

impl BotApi {
    /// Builds the client. Makes no network calls.
    ///
    /// # Errors
    /// Those of [`HttpClient::new`].
    pub(crate) fn new(config: &TelegramConfig, clock: Arc<dyn Clock>) -> Result<Self> {
        let (root, token) = (&config.api_root, &config.token);
        let base = root.as_str().trim_end_matches('/');
        let token = token.expose_secret();
        Ok(Self {
            http: client(clock.clone())?,
            clock,
            methods: Arc::new(SecretString::from(format!("{base}/bot{token}/"))),
            files: Arc::new(SecretString::from(format!("{base}/file/bot{token}/"))),
            host: root.host_str().unwrap_or("unknown host").into(),
            origins: Arc::new(config.origins.clone()),
        })
    }

    /// This client with new connections.
    ///
    /// # Errors
    /// Those of [`HttpClient::new`].
    pub(crate) fn reconnected(&self) -> Result<Self> {
        Ok(Self { http: client(self.clock.clone())?, ..self.clone() })
    }

    /// Converts a failure to an error that names the place of the setting it is about.
    pub(crate) fn error(&self, failure: Failure, method: &'static str) -> Error {
        self.origins.add(failure.into_error(method))
    }

    /// Adds to an error the place of the setting it is about.
    pub(crate) fn placed(&self, error: Error) -> Error {
        self.origins.add(error)
    }

    /// The Bot API server's host, for messages.
    pub(crate) fn host(&self) -> &str {
        &self.host
    }

    fn address(&self, method: &str) -> SecretString {
        SecretString::from(format!("{}{method}", self.methods.expose_secret()))
    }

    /// Makes one call with JSON parameters.
    pub(crate) async fn call<T: DeserializeOwned>(
        &self,
        method: &str,
        params: &impl Serialize,
    ) -> Result<T, Failure> {
        self.call_with(method, params, &SendPermit::always()).await
    }

    /// Makes one call, if `permit` still allows it when the request is sent.
    pub(crate) async fn call_with<T: DeserializeOwned>(
        &self,
        method: &str,
        params: &impl Serialize,
        permit: &SendPermit,
    ) -> Result<T, Failure> {
        let request =
            self.http.post(self.address(method).expose_secret()).only_with(permit).json(params);
        let response = request.total_timeout(TOTAL).send().await.map_err(Failure::Transport)?;
        answer(response).await
    }

    /// Makes one of teloxide's requests and reads the result as `T`.
    pub(crate) async fn request<P: Payload + Serialize, T: DeserializeOwned>(
        &self,
        payload: &P,
    ) -> Result<T, Failure> {
        self.call(&method_name(P::NAME), payload).await
    }

    /// Makes one call with files.
    pub(crate) async fn upload<T: DeserializeOwned>(
        &self,
        method: &str,
        form: Form,
    ) -> Result<T, Failure> {
        let response = self
            .http
            .post(self.address(method).expose_secret())
            .multipart(form)
            .total_timeout(UPLOAD)
            .send()
            .await
            .map_err(Failure::Transport)?;
        answer(response).await
    }

    /// Fetches at most `limit` updates from the number `offset` on. Telegram may hold the call open
    /// for `hold`; the timeout is ten seconds longer.
    pub(crate) async fn updates(
        &self,
        offset: Option<i64>,
        limit: u8,
        hold: Duration,
    ) -> Result<Fetched, Failure> {
        // Not teloxide's request, because its offset has only 32 bits.
        let mut params = serde_json::json!({ "limit": limit, "timeout": hold.as_secs(), "allowed_updates": ALLOWED });
        if let Some(offset) = offset {
            params["offset"] = offset.into();
        }
        let address = self.address("getUpdates");
        let request =
            self.http.post(address.expose_secret()).json(&params).total_timeout(hold + POLL_EXTRA);
        let response = request.max_body(MAX_ANSWER).send().await.map_err(Failure::Transport)?;
        let (status, place) = (response.status(), response.place().to_owned());
        let mut pieces = response.stream();
        let mut body = BytesMut::new();
        while let Some(piece) = pieces.next().await {
            match piece {
                Ok(piece) => body.extend_from_slice(&piece),
                Err(error) if error.code() == Some(galatea_http::codes::TOO_BIG) => {
                    return Ok(Fetched::TooLong(body.freeze()));
                }
                Err(error) => return Err(Failure::Transport(error)),
            }
        }
        if status == 200
            && let Some(answer) = raw::answer(&body)
        {
            return Ok(Fetched::Answer(answer));
        }
        match read::<serde_json::Value>(status, &place, &body) {
            Err(failure) => Err(failure),
            Ok(_) => Err(Failure::Garbage { status, place }),
        }
    }

    /// Calls getMe.
    pub(crate) async fn me(&self) -> Result<Myself, Failure> {
        self.request(&teloxide::payloads::GetMe::new()).await
    }

    /// Calls getWebhookInfo.
    pub(crate) async fn webhook(&self) -> Result<Webhook, Failure> {
        self.request(&teloxide::payloads::GetWebhookInfo::new()).await
    }

    /// The administrators of a group or channel, with their roles.
    pub(crate) async fn administrators(&self, chat: &Chat) -> Result<Vec<(User, Role)>, Failure> {
        #[derive(Deserialize)]
        struct BotMember {
            user: User,
            status: String,
        }
        let members: Vec<serde_json::Value> = self
            .request(&teloxide::payloads::GetChatAdministrators::new(ChatId(chat.id.0)))
            .await?;
        let role = |status: &str| if status == "creator" { Role::Owner } else { Role::Admin };
        Ok(members
            .iter()
            .filter_map(|m| BotMember::deserialize(m).ok())
            .map(|m| (m.user, role(&m.status)))
            .collect())
    }

    /// The clock of the process.
    pub(crate) fn clock(&self) -> &dyn Clock {
        &*self.clock
    }

    /// Downloads a file that was sent to the bot, at most 20 MB.
    ///
    /// # Errors
    /// `TooLong` if the file is larger; `NotFound` if Telegram no longer has it. No error contains
    /// its address.
    pub(crate) async fn download(&self, file_id: &str) -> Result<Bytes> {
        #[derive(Deserialize)]
        struct File {
            #[serde(default)]
            file_path: Option<String>,
            #[serde(default)]
            file_size: Option<u64>,
        }
        let too_large = || {
            const MESSAGE: &str = "a file is larger than the 20 MB a Telegram bot may download";
            Error::new(ErrorKind::TooLong, MESSAGE).with_code(codes::INVALID)
        };
        let file: File = self
            .call("getFile", &serde_json::json!({ "file_id": file_id }))
            .await
            .map_err(|failure| {
                match failure.refusal() {
                    Some(r) if r.says("file is too big") => return too_large(),
                    Some(r) if r.code == 400 => {
                        return Error::not_found("Telegram does not have this file any more")
                            .with_code(codes::NOT_FOUND);
                    }
                    _ => {}
                }
                failure.into_error("getFile")
            })?;
        if file.file_size.is_some_and(|size| size > MAX_DOWNLOAD as u64) {
            return Err(too_large());
        }
        let path = file.file_path.ok_or_else(|| {
            Error::not_found("Telegram does not offer this file").with_code(codes::NOT_FOUND)
        })?;
        // Accept plain relative paths only, so that a hostile server cannot redirect the download.
        if path.starts_with('/')
            || path.split('/').any(|p| p == "..")
            || path.contains(['?', '#', '\\', ':'])
        {
            return Err(Error::unexpected(
                "the Bot API server names a file by an address of its own",
            )
            .with_code(codes::GARBAGE));
        }
        let address = SecretString::from(format!("{}{path}", self.files.expose_secret()));
        let response = self
            .http
            .get(address.expose_secret())
            .total_timeout(UPLOAD)
            .max_body(MAX_DOWNLOAD)
            .send()
            .await;
        let response = response.map_err(|e| Failure::Transport(e).into_error("download"))?;
        response.ok()?.bytes().await.map_err(|error| {
            if error.code() == Some(galatea_http::codes::TOO_BIG) {
                return too_large();
            }
            Failure::Transport(error).into_error("download")
        })
    }
}

fn client(clock: Arc<dyn Clock>) -> Result<HttpClient> {
    HttpClient::new(HttpOptions {
        connect_timeout: CONNECT,
        total_timeout: TOTAL,
        max_body: MAX_ANSWER,
        clock,
        ..HttpOptions::default()
    })
}

/// Converts teloxide's `GetMe` to the Bot API's `getMe`.
fn method_name(name: &str) -> String {
    let mut name = name.to_owned();
    if let Some(first) = name.get_mut(..1) {
        first.make_ascii_lowercase();
    }
    name
}

async fn answer<T: DeserializeOwned>(response: Response) -> Result<T, Failure> {
    let status = response.status();
    let place = response.place().to_owned();
    let body = response.bytes().await.map_err(Failure::Transport)?;
    read(status, &place, &body)
}

/// Parses an answer. Ignores the content type, because proxies change it.
fn read<T: DeserializeOwned>(status: u16, place: &str, body: &[u8]) -> Result<T, Failure> {
    let garbage = || Failure::Garbage { status, place: place.to_owned() };
    match galatea_http::json::read::<Reply<T>>(body) {
        Ok(Reply { ok: true, result: Some(result), .. }) if (200..300).contains(&status) => {
            Ok(result)
        }
        Ok(Reply { ok: false, error_code, description, parameters, .. }) => {
            let parameters = parameters.unwrap_or_default();
            Err(Failure::Refused(Refusal {
                code: error_code.filter(|c| *c >= 400).unwrap_or(status),
                description: description.unwrap_or_default(),
                retry_after: parameters.retry_after,
                migrate_to: parameters.migrate_to_chat_id,
            }))
        }
        _ => Err(garbage()),
    }
}

#[cfg(test)]
mod tests;
