//! Live checks for `doctor`: whether key, address and models work. They cost no tokens.

use galatea_core::{Error, Finding, Result, Severity};
use serde_json::Value;

use crate::{
    anthropic,
    choices::{ListedModel, closest, list},
    embedding_offer, google, ollama, openai,
    wire::{Call, Endpoint, Hint, Refusal, codes},
};

/// Consequence of a missing embedding model, for people.
pub const NO_EMBEDDING: &str = "memory search uses keywords until an embedding model is set: what was said in other words than the question is not found";

type Read = fn(u16, &[u8]) -> Refusal;

/// A check of one service.
#[derive(Clone)]
pub(crate) enum Probe {
    OpenAi { endpoint: Endpoint, models: Vec<String> },
    OpenRouter { endpoint: Endpoint, models: Vec<String> },
    Anthropic { endpoint: Endpoint, models: Vec<String> },
    Google { endpoint: Endpoint, models: Vec<String> },
    Ollama { endpoint: Endpoint, models: Vec<String> },
    Offline,
}

impl Probe {
    /// The endpoint it checks; `None` for the offline script.
    pub(crate) fn endpoint(&self) -> Option<&Endpoint> {
        match self {
            Self::OpenAi { endpoint, .. }
            | Self::OpenRouter { endpoint, .. }
            | Self::Anthropic { endpoint, .. }
            | Self::Google { endpoint, .. }
            | Self::Ollama { endpoint, .. } => Some(endpoint),
            Self::Offline => None,
        }
    }

    /// The provider's list of models.
    pub(crate) async fn list(&self) -> Result<Vec<ListedModel>> {
        let (endpoint, path, read, decode): (_, _, Read, fn(&Value) -> Vec<ListedModel>) =
            match self {
                Self::OpenAi { endpoint, .. } | Self::OpenRouter { endpoint, .. } => {
                    (endpoint, "/models", openai::read_error, list::by_id)
                }
                Self::Anthropic { endpoint, .. } => {
                    (endpoint, "/models?limit=1000", anthropic::read_error, list::by_id)
                }
                Self::Google { endpoint, .. } => {
                    (endpoint, "/models?pageSize=1000", google::read_error, list::by_google)
                }
                Self::Ollama { endpoint, .. } => {
                    (endpoint, "/tags", ollama::read_error, list::by_name)
                }
                Self::Offline => return Ok(Vec::new()),
            };
        Ok(decode(&get(endpoint, path, "", read).await?))
    }

    pub(crate) async fn run(&self, embedding: bool) -> Vec<Finding> {
        let mut findings = match self {
            Self::OpenAi { endpoint, models } => self.listed(endpoint, models, Severity::Warning).await,
            Self::OpenRouter { endpoint, models } => {
                // OpenRouter lists its models without a valid key, so the key is checked first.
                match get(endpoint, "/key", "", openai::read_error).await {
                    Ok(_) => self.listed(endpoint, models, Severity::Warning).await,
                    Err(error) => vec![failure(&error)],
                }
            }
            Self::Anthropic { endpoint, models } => self.listed(endpoint, models, Severity::Warning).await,
            // Ollama's list is always complete, so a missing model is an error there.
            Self::Ollama { endpoint, models } => self.listed(endpoint, models, Severity::Error).await,
            Self::Google { endpoint, models } => self.each(endpoint, models).await,
            Self::Offline => vec![
                Finding::new(Severity::Info, "GAL-MODEL-OFFLINE", "model", "no model is configured: the offline script answers, by pattern matching")
                    .with_fix("set OPENAI_API_KEY, ANTHROPIC_API_KEY or another key, or OLLAMA_API_ENDPOINT for a model on this machine"),
            ],
        };
        if let Some(endpoint) = self.endpoint().filter(|_| !embedding) {
            let fix = embedding_offer(endpoint.names().provider);
            findings.push(
                Finding::new(Severity::Info, "GAL-MODEL-EMBEDDING", "model", NO_EMBEDDING)
                    .with_fix(fix),
            );
        }
        findings
    }
}

async fn get(
    endpoint: &Endpoint,
    path: &str,
    model: &str,
    read: fn(u16, &[u8]) -> Refusal,
) -> galatea_core::Result<Value> {
    let bytes = endpoint.get(path, &Call { model, read }).await?;
    serde_json::from_slice(&bytes)
        .map_err(|_| endpoint.fail(crate::wire::Fail::Garbage("a list of models"), model))
}

impl Probe {
    /// Checks models against the service's list.
    async fn listed(
        &self,
        endpoint: &Endpoint,
        models: &[String],
        severity: Severity,
    ) -> Vec<Finding> {
        let list = match self.list().await {
            Ok(list) => list,
            Err(error) => return vec![failure(&error)],
        };
        let names: Vec<String> = list.iter().map(|model| model.id.clone()).collect();
        let mut findings = Vec::new();
        for model in once(models) {
            findings.push(if list.iter().any(|listed| listed.has_name(model)) {
                works(endpoint, model)
            } else {
                match self.by_name(model).await {
                    Some(Ok(())) => works(endpoint, model),
                    Some(Err(error)) if error.code() == Some(codes::UNKNOWN) => {
                        unknown(endpoint, model, &names, Severity::Error)
                    }
                    Some(Err(_)) | None => unknown(endpoint, model, &names, severity),
                }
            });
        }
        findings
    }

    /// Asks for a model that the list does not contain by its name, where the service documents
    /// that (Anthropic, "Get a Model"; OpenAI, "Retrieve model"): lists leave out aliases. `None`
    /// for others, such as servers of OpenAI's format, and where something else answers, such as the
    /// whole list.
    async fn by_name(&self, model: &str) -> Option<Result<()>> {
        let (endpoint, read): (_, Read) = match self {
            Self::Anthropic { endpoint, .. } => (endpoint, anthropic::read_error),
            Self::OpenAi { endpoint, .. } if endpoint.names().label == "OpenAI" => {
                (endpoint, openai::read_error)
            }
            _ => return None,
        };
        match get(endpoint, &google::path(model), model, read).await {
            Ok(answer) => answer["id"].is_string().then_some(Ok(())),
            Err(error) => Some(Err(error)),
        }
    }

    /// Checks models one by one: Google is asked for each by name.
    async fn each(&self, endpoint: &Endpoint, models: &[String]) -> Vec<Finding> {
        let mut findings: Vec<Finding> = Vec::new();
        for model in once(models) {
            match get(endpoint, &google::path(model), model, google::read_error).await {
                Ok(_) => findings.push(works(endpoint, model)),
                Err(error) if error.code() == Some(codes::UNKNOWN) => {
                    let list = self.list().await.unwrap_or_default();
                    let names: Vec<String> = list.into_iter().map(|model| model.id).collect();
                    let severity = Severity::Error;
                    findings.push(Finding {
                        fix: unknown(endpoint, model, &names, severity).fix,
                        ..failure(&error)
                    });
                }
                Err(error) => {
                    findings.push(failure(&error));
                    break;
                }
            }
        }
        findings
    }
}

/// Removes repeated names, keeping the order.
fn once(models: &[String]) -> Vec<&String> {
    let mut seen = Vec::new();
    for model in models {
        if !seen.contains(&model) {
            seen.push(model);
        }
    }
    seen
}

/// The fix, with names that exist.
pub(crate) fn with_names(provider: &str, fix: &str, names: &[String]) -> String {
    match (names, provider) {
        ([], _) => fix.to_owned(),
        (_, "ollama") => format!("{fix}, or name one that is there: {}", names.join(", ")),
        _ => format!("{fix}, such as {}", names.join(", ")),
    }
}

/// The finding for a model that the list does not contain, with similar names from the list.
pub(crate) fn unknown(
    endpoint: &Endpoint,
    model: &str,
    names: &[String],
    severity: Severity,
) -> Finding {
    let refusal = Refusal::new(Some(Hint::UnknownModel), None, "");
    let mut finding = failure(&endpoint.refused(404, None, &refusal, model));
    finding.severity = severity;
    finding.cause = Some(format!("{} models are listed, this one is not", names.len()));
    finding.fix =
        finding.fix.map(|fix| with_names(endpoint.names().provider, &fix, &closest(model, names)));
    finding
}

fn works(endpoint: &Endpoint, model: &str) -> Finding {
    Finding::ok("GAL-MODEL-OK", "model", format!("{} offers {model}", endpoint.names().label))
}

fn failure(error: &Error) -> Finding {
    Finding::failure("model", error)
}
