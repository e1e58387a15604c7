//! Context: what the builders of providers share: settings, time limits, and the way from a setting to an endpoint.

use std::{sync::Arc, time::Duration};

use galatea_core::{Clock, EmbeddingModel, ModelInfo, Result, SecretString, Settings, Variable};
use galatea_http::HttpClient;

use super::{
    links::Endpoints,
    variables::{self as var, LARGE_MODEL, SMALL_MODEL},
};
use crate::{
    dependencies::Dependencies,
    guarded::{Allowed, Guarded, limits},
    retry::{RetryPolicy, Retrying},
    wire::{Auth, Endpoint, Names, Origins, Times},
};

/// Numbers that further keys may have, as further accounts of a platform do.
const FURTHER_KEYS: std::ops::RangeInclusive<u8> = 2..=9;

/// Longest time of one call for vectors: they are small models, and whoever waits for one shows things in another order instead.
const EMBEDDING: Duration = Duration::from_secs(30);

/// What builders need.
pub(super) struct Context<'a> {
    pub(super) settings: &'a Settings,
    http: &'a HttpClient,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) dependencies: &'a Dependencies,
    times: Times,
    tools: Option<bool>,
    /// Answers are streamed inside.
    pub(super) stream: bool,
}

impl<'a> Context<'a> {
    pub(super) fn new(settings: &'a Settings, http: &'a HttpClient, clock: Arc<dyn Clock>, dependencies: &'a Dependencies) -> Result<Self> {
        let seconds = |variable: &Variable| -> Result<Duration> {
            let seconds: f64 = settings.parse(variable, "a number of seconds")?.unwrap_or(30.0);
            // A day is more than any answer takes, and keeps sums of times in range.
            if (0.001..=86_400.0).contains(&seconds) {
                Ok(Duration::from_secs_f64(seconds))
            } else {
                Err(settings.complain(variable, "is not a number of seconds between 0.001 and 86400"))
            }
        };
        let times =
            Times { first: seconds(&var::MODEL_FIRST_TOKEN_TIMEOUT)?, idle: seconds(&var::MODEL_IDLE_TIMEOUT)?, total: seconds(&var::MODEL_TOTAL_TIMEOUT)? };
        let tools = match settings.text(&var::MODEL_TOOLS) {
            Some(text) if text.trim().eq_ignore_ascii_case("auto") => None,
            _ => Some(settings.flag(&var::MODEL_TOOLS)?),
        };
        let stream = settings.flag(&var::MODEL_STREAM)?;
        Ok(Self { settings, http, clock, dependencies, times, tools, stream })
    }

    /// One endpoint per key: `OPENAI_API_KEY`, then `OPENAI_API_KEY_2`, … The first stands for a server that needs none.
    pub(super) fn endpoints(&self, names: Names, base: &str, key: &Variable, auth: fn(SecretString) -> Auth) -> Result<Endpoints> {
        let first = self.endpoint(names, base, self.settings.secret(key).map_or(Auth::None, auth), key)?;
        let mut further = Vec::new();
        for number in FURTHER_KEYS {
            let spellings = std::iter::once(&key.name).chain(key.aliases).map(|name| format!("{name}_{number}"));
            for name in spellings {
                let Some(setting) = self.settings.raw(&name) else { continue };
                let origin = setting.origin.to_string();
                further.push(first.clone().with_key(auth(setting.secret()), name, origin));
            }
        }
        Ok(Endpoints { first, further })
    }

    pub(super) fn endpoint(&self, names: Names, base: &str, auth: Auth, key: &Variable) -> Result<Endpoint> {
        // A model on this machine may have to be loaded first, which takes as long as it takes.
        let loads = names.provider == "ollama" && self.settings.find(&var::MODEL_FIRST_TOKEN_TIMEOUT).is_none();
        let times = if loads { Times { first: self.times.total, ..self.times } } else { self.times };
        Ok(Endpoint::new(self.http.clone(), names, base, auth, times)?.with_origins(self.origins(names, key)))
    }

    /// Where key, address and model names of a provider come from.
    fn origins(&self, names: Names, key: &Variable) -> Origins {
        let from = |variable: &Variable| self.settings.find(variable).map(|setting| format!("{} from {}", variable.name, setting.origin));
        let all = || var::VARIABLES.iter().flat_map(|(_, list)| list.iter());
        let own = format!("{}_", names.provider.to_uppercase());
        let named = all().filter(|v| v.name.ends_with("_MODEL") && (v.name.starts_with(&own) || [SMALL_MODEL.name, LARGE_MODEL.name].contains(&v.name)));
        // What somebody set explains a name better than a default that happens to be the same.
        let (set, unset): (Vec<_>, Vec<_>) = named.partition(|v| self.settings.find(v).is_some());
        let place = |v: &Variable| from(v).unwrap_or_else(|| format!("the default of {}", v.name));
        let models = set.into_iter().chain(unset).filter_map(|v| Some((self.settings.text(v)?.trim().to_owned(), v.name, place(v)))).collect();
        Origins { key: Some(self.settings.origin(key).to_string()), url: all().find(|v| v.name == names.url).and_then(from), models }
    }

    /// The provider's own variable, the common one, the default.
    pub(super) fn model(&self, own: &Variable, common: &Variable) -> String {
        let set = self.settings.find(own).or_else(|| self.settings.find(common));
        set.map_or_else(|| own.default.unwrap_or_default().to_owned(), |setting| setting.text().trim().to_owned())
    }

    pub(super) fn set(&self, variable: &Variable) -> Option<String> {
        self.settings.find(variable).map(|setting| setting.text().trim().to_owned())
    }

    pub(super) fn text_or_default(&self, variable: &Variable) -> String {
        self.settings.text(variable).unwrap_or_default()
    }

    pub(super) fn info(&self, provider: &str, model: &str, vision: bool, tools: bool) -> ModelInfo {
        ModelInfo { provider: provider.to_owned(), model: model.to_owned(), tools: self.tools.unwrap_or(tools), vision, scripted: false }
    }

    /// Longest time of one answer.
    pub(super) fn total(&self) -> Duration {
        self.times.total
    }

    /// Longest time of one answer, and the least that is a fair chance. Not a local model's longer one: one that always hangs has to be found out.
    pub(super) fn allowed(&self) -> Allowed {
        Allowed { total: self.times.total, fair: self.times.first.min(self.times.total) }
    }

    /// How often and how long; `patience` where others can answer instead.
    pub(super) fn policy(&self, patience: Option<Duration>) -> RetryPolicy {
        RetryPolicy { total: self.times.total, patience, ..RetryPolicy::default() }
    }

    /// Behind its breaker and budget. Vectors are not streamed: no wire format has it.
    pub(super) fn embedding(&self, endpoint: &Endpoint, model: impl EmbeddingModel + 'static) -> Arc<dyn EmbeddingModel> {
        let (total, info) = (self.times.total.min(EMBEDDING), model.info().clone());
        let name = info.full_name();
        let breaker = self.dependencies.breaker(endpoint, &info.model, &name, limits(total), self.clock.now());
        let guarded = Guarded::new(Arc::new(model), breaker, Allowed { total, fair: total }, false, Arc::clone(&self.clock));
        let policy = RetryPolicy { total, ..self.policy(None) };
        Arc::new(Retrying::new(Arc::new(guarded), policy, self.dependencies.budget(endpoint), Arc::clone(&self.clock)))
    }
}
