//! Who opens a socket. A program shows its token in the handshake (`auth.apiKey` as elizaOS's client does, or
//! `auth.token`) or in a header; a browser has its session.

use galatea_core::store::{CredentialKind, OperatorRole};
use galatea_host::ops::Operator;
use serde_json::Value;
use socketioxide::extract::MaybeHttpExtension;
use uuid::Uuid;

use crate::{app::App, eliza::uuid_in, presented::Presented};

/// The credential that the request of a handshake has.
pub(super) type MaybePresented = MaybeHttpExtension<Presented>;
/// The presented credential of a handshake.
pub(super) type Shown = Option<Presented>;

/// elizaOS's refusals, to the letter.
const NO_KEY: &str = "Invalid or missing API Key";
const NO_ENTITY: &str = "Valid entityId required";
const FAILED: &str = "Authentication failed";

/// Somebody who opened a socket.
pub(super) struct Opened {
    pub(super) by: Operator,
    /// For checking again while the socket lasts.
    pub(super) presented: Presented,
    /// Who the program says it is; the nil id in `/live`.
    pub(super) entity: Uuid,
}

async fn identified(
    app: &App,
    auth: Option<&Value>,
    presented: Option<Presented>,
) -> Result<(Operator, Presented), String> {
    let token = auth.and_then(|auth| {
        let text = |key: &str| auth.get(key)?.as_str().filter(|text| !text.is_empty());
        text("apiKey").or_else(|| text("token"))
    });
    let shown = token.map(|token| Presented::new(CredentialKind::Token, token));
    let presented = shown.or(presented).ok_or(NO_KEY)?;
    match presented.identify(app).await {
        Ok(Some(by)) => Ok((by, presented)),
        Ok(None) => Err(NO_KEY.to_owned()),
        Err(_) => Err(FAILED.to_owned()),
    }
}

/// Admits a program of elizaOS.
///
/// # Errors
/// elizaOS's words, which its client shows.
pub(super) async fn elizaos(
    app: &App,
    auth: Option<&Value>,
    presented: Option<Presented>,
) -> Result<Opened, String> {
    let (by, presented) = identified(app, auth, presented).await?;
    by.need(OperatorRole::Viewer).map_err(|_| FAILED)?;
    let entity = auth.and_then(|auth| uuid_in(auth, "entityId")).ok_or(NO_ENTITY)?;
    Ok(Opened { by, presented, entity })
}

/// Admits a reader of live events.
///
/// # Errors
/// Why not.
pub(super) async fn live(
    app: &App,
    auth: Option<&Value>,
    presented: Option<Presented>,
) -> Result<Opened, String> {
    let (by, presented) = identified(app, auth, presented).await?;
    by.need(OperatorRole::Viewer).map_err(|error| error.to_string())?;
    Ok(Opened { by, presented, entity: Uuid::nil() })
}
