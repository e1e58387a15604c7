//! Receives updates by webhook: Telegram calls this server. An update is stored before the call is
//! answered with 200. If storing fails, the answer is 503, so that Telegram keeps the update and
//! retries. A body is read only if the call has the right secret.

use axum::{
    Router,
    extract::{Request, State},
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse, Response},
    routing::post,
};
use galatea_core::{Error, ErrorKind, ExposeSecret, Health, Result, SecretString, private_file};
use galatea_http::listen::{Body, Limits, read_body};
use serde::{Deserialize, Serialize};
use std::{
    net::SocketAddr,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};
use subtle::ConstantTimeEq;
use tokio::net::TcpListener;
use url::Url;

use super::UpdateIntake;
use crate::{
    decode::raw::{self, RawUpdate},
    error::codes,
};

/// Header that carries the secret (Bot API, setWebhook.secret_token).
const SECRET_HEADER: &str = "x-telegram-bot-api-secret-token";
/// Largest update that is decoded, in bytes. A message has 4,096 characters and up to 100 entities;
/// quoted replies double that.
const MAX_BODY: usize = 1 << 20;
/// Length of a larger body that is read, so that it can be answered with 200. If it were refused,
/// Telegram would send it forever and block the updates behind it.
const MAX_TAKEN: usize = 16 << 20;
/// Timeout for reading a body. An update is a few packets.
const BODY: Duration = Duration::from_secs(15);

#[derive(Clone)]
struct Hook {
    intake: UpdateIntake,
    secret: Arc<SecretString>,
    up: Arc<Health>,
    failing: Arc<AtomicBool>,
}

/// Opens the port. Called before the webhook is registered with Telegram.
///
/// # Errors
/// `Conflict` if the port is in use; `Invalid` if it cannot be opened for another reason, such as
/// an address that this machine does not have.
pub(crate) async fn bind(listen: SocketAddr) -> Result<TcpListener> {
    TcpListener::bind(listen).await.map_err(|e| {
        let kind = if e.kind() == std::io::ErrorKind::AddrInUse {
            ErrorKind::Conflict
        } else {
            ErrorKind::Invalid
        };
        Error::new(kind, "the webhook cannot listen there")
            .with_code(codes::WEBHOOK)
            .with("address", listen)
            .with("cause", e)
            .with_fix(
                "choose another TELEGRAM_WEBHOOK_LISTEN, or stop the program that uses this one",
            )
    })
}

/// Serves calls until stopped.
///
/// # Errors
/// `Unavailable` if the listener fails.
pub(crate) async fn serve(
    intake: UpdateIntake,
    listener: TcpListener,
    address: &Url,
    secret: SecretString,
    up: Health,
) -> Result<()> {
    let stop = intake.stop.clone();
    let hook = Hook { intake, secret: Arc::new(secret), up: Arc::new(up), failing: Arc::default() };
    let router = router(hook, address.path());
    galatea_http::listen::serve(listener, router, Limits::WEBHOOK, stop.cancelled_owned())
        .await
        .map_err(|e| {
            Error::new(ErrorKind::Unavailable, "the webhook's listener broke")
                .with_code(codes::WEBHOOK)
                .with("cause", e)
        })
}

fn router(hook: Hook, path: &str) -> Router {
    // The operator chooses the path, and axum would read braces and colons in it as patterns. So
    // every path is routed here and compared.
    let path: Arc<str> = path.trim_end_matches('/').into();
    let guard = move |State(hook): State<Hook>, request: Request| async move {
        if request.uri().path().trim_end_matches('/') != &*path {
            return refused(StatusCode::NOT_FOUND);
        }
        if !hook.knows(request.headers()) {
            return refused(StatusCode::UNAUTHORIZED);
        }
        hook.receive(request).await
    };
    let handler = post(guard);
    Router::new().route("/", handler.clone()).route("/{*rest}", handler).with_state(hook)
}

/// The answer to a caller that is not Telegram; the connection is closed.
fn refused(status: StatusCode) -> Response {
    (status, [(header::CONNECTION, "close")]).into_response()
}

impl Hook {
    fn knows(&self, headers: &HeaderMap) -> bool {
        let given =
            headers.get(SECRET_HEADER).map(axum::http::HeaderValue::as_bytes).unwrap_or_default();
        given.ct_eq(self.secret.expose_secret().as_bytes()).into()
    }

    async fn receive(&self, request: Request) -> Response {
        // The caller is Telegram. Do not refuse a malformed body: Telegram would send it again and
        // block the updates behind it.
        let (length, item) = match read_body(request.into_body(), MAX_BODY, MAX_TAKEN, BODY).await {
            Body::Whole(body) => (body.len(), raw::single(&body)),
            Body::TooLong(beginning) => (beginning.len(), raw::cut(&beginning)),
            Body::Broken => return refused(StatusCode::REQUEST_TIMEOUT),
        };
        let Some(item) = item else {
            tracing::warn!(bytes = length, "webhook call without an update; skipping it");
            return StatusCode::OK.into_response();
        };
        self.store(item).await.into_response()
    }

    async fn store(&self, item: RawUpdate) -> StatusCode {
        let items = [item];
        let decoded = self.intake.decode(&items);
        let ready = self.intake.prepare(&items, decoded);
        match self.intake.store(ready, None).await {
            Ok(()) => {
                if self.failing.swap(false, Ordering::Relaxed) {
                    let up = match &*self.up {
                        Health::Up { detail } => self.intake.health(detail),
                        other => other.clone(),
                    };
                    self.intake.gateway.report(up);
                }
                StatusCode::OK
            }
            Err(error) => {
                self.failing.store(true, Ordering::Relaxed);
                tracing::warn!(error = %error.report(), "failed to store an update; Telegram keeps it and retries");
                let reason =
                    "messages cannot be stored; Telegram keeps them and tries again".to_owned();
                self.intake.gateway.report(Health::Degraded { reason });
                StatusCode::SERVICE_UNAVAILABLE
            }
        }
    }
}

/// The content of the webhook file.
#[derive(Debug, Default, Serialize, Deserialize)]
struct KeptWebhook {
    secret: Option<String>,
    url: Option<String>,
}

/// The file in the account's folder that keeps our webhook's secret and address between runs.
pub(crate) struct Keep {
    path: std::path::PathBuf,
    kept: KeptWebhook,
}

impl Keep {
    /// Reads the file in the account's folder. A missing or malformed file counts as empty.
    pub(crate) fn open(folder: &Path) -> Self {
        let path = folder.join("webhook.json");
        let kept = std::fs::read(&path).ok().and_then(|kept| serde_json::from_slice(&kept).ok());
        Self { path, kept: kept.unwrap_or_default() }
    }

    /// The address that was registered last.
    pub(crate) fn url(&self) -> Option<&str> {
        self.kept.url.as_deref()
    }

    /// The stored secret, or a new one: 43 random letters and digits from a cryptographic
    /// generator. [`Self::save`] stores a new one.
    pub(crate) fn secret(&mut self) -> SecretString {
        use rand::{RngExt, distr::Alphanumeric};
        let secret = self.kept.secret.take().filter(|s| s.len() >= 16).unwrap_or_else(|| {
            rand::rng().sample_iter(Alphanumeric).take(43).map(char::from).collect()
        });
        self.kept.secret = Some(secret.clone());
        SecretString::from(secret)
    }

    /// Stores the registered address and the secret in a file that only this user can read. Durable,
    /// because Telegram keeps both.
    ///
    /// # Errors
    /// `Unexpected` if the folder cannot be written.
    pub(crate) fn save(&mut self, url: Option<&Url>) -> Result<()> {
        self.kept.url = url.map(Url::to_string);
        let bytes = serde_json::to_vec(&self.kept).unwrap_or_default();
        private_file::replace_durably(&self.path, &bytes).map_err(|e| e.with_code(codes::WEBHOOK))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ADDRESS: &str = "https://bot.example/telegram";

    #[test]
    fn a_made_up_secret_is_kept_and_private() {
        let data = tempfile::tempdir().unwrap();
        let folder = data.path().join("telegram-7");
        let mut keep = Keep::open(&folder);
        let secret = keep.secret();
        let url = Url::parse(ADDRESS).unwrap();
        keep.save(Some(&url)).unwrap();
        let mut again = Keep::open(&folder);
        assert_eq!(again.url(), Some(url.as_str()));
        assert_eq!(again.secret().expose_secret(), secret.expose_secret());
        assert!(secret.expose_secret().len() >= 43);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let mode = std::fs::metadata(folder.join("webhook.json")).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600);
        }
    }
}
