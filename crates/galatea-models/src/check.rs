//! Live checks for `doctor`: do key, address and models work? They cost no tokens.

use galatea_core::{Error, Finding, Severity};
use serde_json::Value;

use crate::{
    anthropic, google, ollama, openai,
    wire::{Call, Endpoint, Hint, Refusal, codes},
};

/// What it means that no embedding model is set.
pub const NO_EMBEDDING: &str = "memory search uses keywords until an embedding model is set";

/// What is asked of which service.
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
    pub(crate) async fn run(&self, embedding: bool) -> Vec<Finding> {
        let mut findings = match self {
            Self::OpenAi { endpoint, models } => listed(endpoint, models, "/models", openai::read_error, by_id, Severity::Warning).await,
            Self::OpenRouter { endpoint, models } => {
                // OpenRouter lists its models to anyone, so the key is asked after first.
                match get(endpoint, "/key", "", openai::read_error).await {
                    Ok(_) => listed(endpoint, models, "/models", openai::read_error, by_id, Severity::Warning).await,
                    Err(error) => vec![failure(&error)],
                }
            }
            Self::Anthropic { endpoint, models } => listed(endpoint, models, "/models?limit=1000", anthropic::read_error, by_id, Severity::Warning).await,
            Self::Ollama { endpoint, models } => listed(endpoint, models, "/tags", ollama::read_error, by_name, Severity::Error).await,
            Self::Google { endpoint, models } => each(endpoint, models).await,
            Self::Offline => vec![
                Finding::new(Severity::Info, "GAL-MODEL-OFFLINE", "model", "no model is configured: the offline script answers, by pattern matching")
                    .with_fix("set OPENAI_API_KEY, ANTHROPIC_API_KEY or another key, or OLLAMA_API_ENDPOINT for a model on this machine"),
            ],
        };
        if !embedding && !matches!(self, Self::Offline) {
            findings.push(Finding::new(Severity::Info, "GAL-MODEL-EMBEDDING", "model", NO_EMBEDDING));
        }
        findings
    }
}

async fn get(endpoint: &Endpoint, path: &str, model: &str, read: fn(u16, &[u8]) -> Refusal) -> galatea_core::Result<Value> {
    let bytes = endpoint.get(path, &Call { model, read }).await?;
    serde_json::from_slice(&bytes).map_err(|_| endpoint.fail(crate::wire::Fail::Garbage("a list of models"), model))
}

/// Services that list their models.
async fn listed(
    endpoint: &Endpoint,
    models: &[String],
    path: &str,
    read: fn(u16, &[u8]) -> Refusal,
    names: fn(&Value) -> Vec<String>,
    severity: Severity,
) -> Vec<Finding> {
    let list = match get(endpoint, path, "", read).await {
        Ok(list) => names(&list),
        Err(error) => return vec![failure(&error)],
    };
    let has = |model: &String| list.iter().any(|name| name == model || name.strip_suffix(":latest") == Some(model));
    let mut seen = Vec::new();
    let mut findings = Vec::new();
    for model in models {
        if seen.contains(&model) {
            continue;
        }
        seen.push(model);
        findings.push(if has(model) {
            works(endpoint, model)
        } else {
            let refusal = Refusal::new(Some(Hint::UnknownModel), None, "");
            let error = endpoint.refused(404, None, &refusal, model);
            let mut finding = failure(&error);
            // Lists are not always complete; only Ollama's is.
            finding.severity = severity;
            finding.cause = Some(format!("{} models are listed, this one is not", list.len()));
            finding
        });
    }
    findings
}

/// Google is asked for each model by name.
async fn each(endpoint: &Endpoint, models: &[String]) -> Vec<Finding> {
    let mut findings: Vec<Finding> = Vec::new();
    let mut seen = Vec::new();
    for model in models {
        if seen.contains(&model) {
            continue;
        }
        seen.push(model);
        match get(endpoint, &google::path(model), model, google::read_error).await {
            Ok(_) => findings.push(works(endpoint, model)),
            Err(error) => {
                let fatal = error.code() != Some(codes::UNKNOWN);
                findings.push(failure(&error));
                if fatal {
                    break;
                }
            }
        }
    }
    findings
}

fn works(endpoint: &Endpoint, model: &str) -> Finding {
    Finding::ok("GAL-MODEL-OK", "model", format!("{} offers {model}", endpoint.names().label))
}

fn failure(error: &Error) -> Finding {
    Finding::failure("model", error)
}

fn by_id(list: &Value) -> Vec<String> {
    strings(&list["data"], "id")
}

fn by_name(list: &Value) -> Vec<String> {
    strings(&list["models"], "name")
}

fn strings(list: &Value, field: &str) -> Vec<String> {
    list.as_array().into_iter().flatten().filter_map(|item| item[field].as_str().map(str::to_owned)).collect()
}
