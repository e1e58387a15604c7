//! Asks the process that runs on this machine through its API, with a token that ends with the
//! command.

use galatea_core::{
    CredentialId, Error, ErrorKind, SecretString, SystemClock, store::OperatorRole,
};
use galatea_host::{
    catalogue,
    ops::{Operator, Ops},
    storage::{
        data_dir::DataDir,
        database::{self, Database},
        lock,
    },
};
use galatea_http::{HttpClient, HttpOptions, Method, Response};
use serde_json::Value;
use std::{sync::Arc, time::Duration};

use crate::{cli::status::not_running, context::Context, report::failure::Result};

/// Longest wait for an answer: an agent that stops drains for 25 seconds.
const PATIENCE: Duration = Duration::from_secs(40);
/// Limit of an answer in bytes.
const MAX_ANSWER: usize = 16 << 20;

/// The running process, as a command asks it.
pub(crate) struct LocalApi {
    http: HttpClient,
    address: String,
    token: SecretString,
    credential: CredentialId,
    ops: Ops,
    database: Database,
}

impl LocalApi {
    /// Makes a token for a command of this name. The token holds for a day, should the command not
    /// come to its end.
    ///
    /// # Errors
    /// `Unavailable` if no process runs with this data folder, and failures of the store.
    pub(crate) async fn open(context: &Context, command: &str) -> Result<Self> {
        let settings = &context.configuration()?.settings;
        let data_dir = DataDir::locate(settings, &context.working_dir);
        let holder = lock::holder(data_dir.path())?;
        let address = holder.and_then(|holder| holder.health);
        let address = address.ok_or_else(|| not_running(&data_dir))?;
        let http = HttpClient::new(HttpOptions {
            total_timeout: PATIENCE,
            max_body: MAX_ANSWER,
            ..HttpOptions::default()
        })?;
        let database = database::open_beside(settings, &data_dir).await?;
        let ops = Ops::new(database.store(), Arc::new(SystemClock), None);
        let by = Operator::command_line();
        let made = ops.make_token(&by, command, OperatorRole::Owner, Some(1)).await?;
        Ok(Self {
            http,
            address: address.to_string(),
            token: made.secret,
            credential: made.credential.id,
            ops,
            database,
        })
    }

    /// Reads from an address of the API, such as `/api/v1/agents`.
    ///
    /// # Errors
    /// The problem that the process answers, and errors of the HTTP call.
    pub(crate) async fn get(&self, path: &str) -> Result<Value> {
        self.ask(Method::GET, path).await
    }

    /// Has the process do something.
    ///
    /// # Errors
    /// As [`Self::get`].
    pub(crate) async fn post(&self, path: &str) -> Result<Value> {
        self.ask(Method::POST, path).await
    }

    async fn ask(&self, method: Method, path: &str) -> Result<Value> {
        let url = format!("http://{}{path}", self.address);
        let answer = self.http.request(method, &url).bearer(&self.token).send().await?;
        read(answer).await
    }

    /// Ends the token.
    pub(crate) async fn close(self) {
        // One that stays ends by itself.
        let _ = self.ops.end_credential(&Operator::command_line(), self.credential).await;
        self.database.close().await;
    }
}

async fn read(answer: Response) -> Result<Value> {
    let (is_success, status) = (answer.is_success(), answer.status());
    let body: Value = answer.json().await?;
    if is_success {
        return Ok(body);
    }
    let text = |name: &str| body.get(name).and_then(Value::as_str).map(str::to_owned);
    let kind = match status {
        400 | 422 => ErrorKind::Invalid,
        401 => ErrorKind::Unauthorized,
        403 => ErrorKind::Forbidden,
        404 => ErrorKind::NotFound,
        409 => ErrorKind::Conflict,
        _ => ErrorKind::Unavailable,
    };
    let mut error =
        Error::new(kind, text("detail").unwrap_or_else(|| "the process refused".into()));
    if let Some(entry) = text("code").as_deref().and_then(catalogue::find) {
        error = error.with_code(entry.code());
    }
    if let Some(fix) = text("fix") {
        error = error.with_fix(fix);
    }
    Err(error.into())
}
