//! State that the builders of providers share: settings, time limits, and the construction of endpoints
//! from settings.

use std::{sync::Arc, time::Duration};

use galatea_core::{
    Clock, EmbeddingModel, ModelInfo, Result, SecretString, Settings, Timestamp, Variable,
    model::{MediaModel, MediaTask, ModelLimits},
};
use galatea_http::HttpClient;

use super::{
    endpoints::Endpoints,
    named::{Named, Why},
    nearby::is_nearby,
    siblings::Siblings,
    variables::{
        self as var, LARGE_MODEL, REASONING_LARGE_MODEL, REASONING_SMALL_MODEL, SMALL_MODEL,
    },
    windows::Windows,
};
use crate::{
    dependencies::Dependencies,
    families::{self, Role, Rules, Wire},
    guarded::{Allowed, Guarded, limits},
    ollama::show::DEFAULT_WINDOW,
    retry::{RetryPolicy, Retrying},
    wire::{Adjusting, Auth, Endpoint, Names, Origins, Times},
};

/// Suffixes of further keys, the same as for further accounts of a platform.
const FURTHER_KEYS: std::ops::RangeInclusive<u8> = 2..=9;

/// Longest time of one call for vectors. Embedding models are small, and a caller without a result
/// falls back to another order.
pub(super) const EMBEDDING: Duration = Duration::from_secs(30);

/// Reads a time limit.
///
/// # Errors
/// `Invalid` for a value out of range.
pub(super) fn seconds(settings: &Settings, variable: &Variable) -> Result<Duration> {
    let seconds: f64 = settings.parse(variable, "a number of seconds")?.unwrap_or(30.0);
    // A day is longer than any answer takes, and keeps sums of times in range.
    if (0.001..=86_400.0).contains(&seconds) {
        Ok(Duration::from_secs_f64(seconds))
    } else {
        Err(settings
            .invalid_setting(variable, "is not a number of seconds between 0.001 and 86400"))
    }
}

/// Settings and shared state that the builders need.
pub(super) struct Context<'a> {
    pub(super) settings: &'a Settings,
    http: &'a HttpClient,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) dependencies: &'a Dependencies,
    times: Times,
    tools: Option<bool>,
    /// Format of OpenAI's API, if a setting chooses one.
    wire: Option<Wire>,
    windows: Windows,
    /// True if answers are streamed internally.
    pub(super) stream: bool,
}

impl<'a> Context<'a> {
    pub(super) fn new(
        settings: &'a Settings,
        http: &'a HttpClient,
        clock: Arc<dyn Clock>,
        dependencies: &'a Dependencies,
    ) -> Result<Self> {
        let seconds = |variable: &Variable| seconds(settings, variable);
        let times = Times {
            first: seconds(&var::MODEL_FIRST_TOKEN_TIMEOUT)?,
            idle: seconds(&var::MODEL_IDLE_TIMEOUT)?,
            total: seconds(&var::MODEL_TOTAL_TIMEOUT)?,
        };
        let tools = match settings.text(&var::MODEL_TOOLS) {
            Some(text) if text.trim().eq_ignore_ascii_case("auto") => None,
            _ => Some(settings.flag(&var::MODEL_TOOLS)?),
        };
        let wire = match settings.text(&var::OPENAI_API).as_deref().map(str::trim) {
            None | Some("auto") => None,
            Some("chat") => Some(Wire::Chat),
            Some("responses") => Some(Wire::Responses),
            Some(_) => {
                return Err(settings
                    .invalid_setting(&var::OPENAI_API, "is neither auto, chat nor responses"));
            }
        };
        let stream = settings.flag(&var::MODEL_STREAM)?;
        let windows = Windows::read(settings)?;
        Ok(Self { settings, http, clock, dependencies, times, tools, wire, windows, stream })
    }

    /// The endpoints, one per key: `OPENAI_API_KEY`, then `OPENAI_API_KEY_2`, … Without a key, the first
    /// endpoint has none, for a server that needs none.
    pub(super) fn endpoints(
        &self,
        names: Names,
        base: &str,
        key: &Variable,
        auth: fn(SecretString) -> Auth,
    ) -> Result<Endpoints> {
        let first =
            self.endpoint(names, base, self.settings.secret(key).map_or(Auth::None, auth), key)?;
        let mut further = Vec::new();
        for number in FURTHER_KEYS {
            let spellings = std::iter::once(&key.name)
                .chain(key.aliases)
                .map(|name| format!("{name}_{number}"));
            for name in spellings {
                let Some(setting) = self.settings.raw(&name) else { continue };
                let origin = setting.origin.to_string();
                further.push(first.clone().with_key(auth(setting.secret()), name, origin));
            }
        }
        Ok(Endpoints { first, further })
    }

    pub(super) fn endpoint(
        &self,
        names: Names,
        base: &str,
        auth: Auth,
        key: &Variable,
    ) -> Result<Endpoint> {
        // On the owner's hardware a long prompt takes as long as it takes, and a model may have to be
        // loaded first: a processor reads some fifty tokens per second.
        let slow = (names.provider == "ollama" || is_nearby(base))
            && self.settings.find(&var::MODEL_FIRST_TOKEN_TIMEOUT).is_none();
        let times = if slow { Times { first: self.times.total, ..self.times } } else { self.times };
        let adjusting =
            Adjusting::new(self.dependencies.choices().clone(), Arc::clone(&self.clock));
        Ok(Endpoint::new(self.http.clone(), names, base, auth, times)?
            .with_adjusting(adjusting)
            .with_origins(self.origins(names, key)))
    }

    /// The origins of a provider's key, address and model names.
    fn origins(&self, names: Names, key: &Variable) -> Origins {
        let from = |variable: &Variable| {
            self.settings
                .find(variable)
                .map(|setting| format!("{} from {}", variable.name, setting.origin))
        };
        let all = || var::VARIABLES.iter().flat_map(|(_, list)| list.iter());
        let own = format!("{}_", names.provider.to_uppercase());
        let named = all().filter(|v| {
            v.name.ends_with("_MODEL")
                && (v.name.starts_with(&own)
                    || [SMALL_MODEL.name, LARGE_MODEL.name].contains(&v.name)
                    || [REASONING_SMALL_MODEL.name, REASONING_LARGE_MODEL.name].contains(&v.name))
        });
        let models = named
            .filter_map(|v| {
                Some((self.settings.find(v)?.text().trim().to_owned(), v.name, from(v)?))
            })
            .collect();
        Origins {
            key: Some(self.settings.origin(key).to_string()),
            url: all().find(|v| v.name == names.url).and_then(from),
            models,
        }
    }

    /// The model for a purpose. The first of these applies: the provider's own variable, the common
    /// variable, the choice from the provider's list, the newest model in the table of families.
    pub(super) fn model(
        &self,
        endpoint: &Endpoint,
        role: Role,
        own: &Variable,
        common: Option<&Variable>,
    ) -> Named {
        let set = self.settings.find(own).map(|setting| (own.name, setting)).or_else(|| {
            let common = common?;
            self.settings.find(common).map(|setting| (common.name, setting))
        });
        if let Some((variable, setting)) = set {
            return Named { name: setting.text().trim().to_owned(), why: Why::Set(variable) };
        }
        if let Some((name, on)) = self.dependencies.choices().chosen(&endpoint.service(), role) {
            return Named { name, why: Why::Chosen(on) };
        }
        // A self-hosted server may not have OpenAI's models, and many accept any name for the one
        // they have.
        let Names { provider, label, .. } = endpoint.names();
        let elsewhere =
            provider == "openai" && label != "OpenAI" && matches!(role, Role::Small | Role::Large);
        let built_in = if elsewhere {
            "default"
        } else {
            families::known().built_in(provider, role).unwrap_or_default()
        };
        Named { name: built_in.to_owned(), why: Why::BuiltIn }
    }

    /// The reasoning model for a purpose: the one that the provider's own or the common variable
    /// names. `auto` takes the choice from the provider's list, or the newest model in the table of
    /// families. `None` means the large model.
    pub(super) fn reasoning(
        &self,
        endpoint: &Endpoint,
        role: Role,
        own: &Variable,
        common: &Variable,
    ) -> Option<Named> {
        let (variable, name) = [own, common]
            .into_iter()
            .find_map(|variable| Some((variable.name, self.set(variable)?)))?;
        if !name.eq_ignore_ascii_case("auto") {
            return Some(Named { name, why: Why::Set(variable) });
        }
        if let Some((name, on)) = self.dependencies.choices().chosen(&endpoint.service(), role) {
            return Some(Named { name, why: Why::Chosen(on) });
        }
        let Names { provider, label, .. } = endpoint.names();
        let elsewhere = provider == "openai" && label != "OpenAI";
        let built_in = families::known().built_in(provider, role).filter(|_| !elsewhere)?;
        Some(Named { name: built_in.to_owned(), why: Why::BuiltIn })
    }

    pub(super) fn set(&self, variable: &Variable) -> Option<String> {
        self.settings.find(variable).map(|setting| setting.text().trim().to_owned())
    }

    pub(super) fn text_or_default(&self, variable: &Variable) -> String {
        self.settings.text(variable).unwrap_or_default()
    }

    pub(super) fn info(
        &self,
        endpoint: &Endpoint,
        model: &str,
        vision: bool,
        tools: bool,
    ) -> ModelInfo {
        let known = info(self.dependencies, endpoint, model, self.clock.now());
        // A window from settings has precedence. Each call to Ollama sets a window, smaller than
        // the model's maximum: each token of it uses the machine's memory.
        let provider = endpoint.names().provider;
        let reported = if provider == "ollama" {
            let service = endpoint.service();
            let facts = self.dependencies.choices().facts(&service, model).unwrap_or_default();
            facts.limits.window.or(Some(DEFAULT_WINDOW))
        } else {
            known.limits.window
        };
        let window = self.windows.of(provider, model).or(reported);
        ModelInfo {
            tools: self.tools.unwrap_or(tools),
            vision,
            limits: ModelLimits { window, ..known.limits },
            ..known
        }
    }

    /// True if no setting says which models are offered tools.
    pub(super) fn chooses_tools(&self) -> bool {
        self.tools.is_none()
    }

    /// The format for a model behind OpenAI's API: the one that OPENAI_API sets, otherwise the one
    /// its family demands, otherwise Chat Completions.
    pub(super) fn wire(&self, rules: &Rules) -> Wire {
        self.wire.unwrap_or(rules.wire)
    }

    /// Longest time of one answer.
    pub(super) fn total(&self) -> Duration {
        self.times.total
    }

    /// Longest time of one answer, and the shortest that a timeout is judged by. The longer loading
    /// time of a local model is not used here, so that a model that always hangs is detected.
    pub(super) fn allowed(&self) -> Allowed {
        Allowed { total: self.times.total, fair: self.times.first.min(self.times.total) }
    }

    /// The retry policy; `patience` is set if other links can answer.
    pub(super) fn policy(&self, patience: Option<Duration>) -> RetryPolicy {
        RetryPolicy { total: self.times.total, patience, ..RetryPolicy::default() }
    }

    /// True if no other model answers in place of the first (`MODEL_FALLBACK=none`).
    pub(super) fn is_alone(&self) -> bool {
        self.set(&var::MODEL_FALLBACK).is_some_and(|text| text.eq_ignore_ascii_case("none"))
    }

    /// Wraps a media model in its breaker and retries. What could be paid twice is not retried.
    pub(super) fn media<T: MediaTask>(
        &self,
        endpoint: &Endpoint,
        model: Arc<dyn MediaModel<T>>,
        patience: Option<Duration>,
    ) -> Arc<dyn MediaModel<T>> {
        let (total, info) = (self.times.total, model.info().clone());
        let name = info.full_name();
        let now = self.clock.now();
        let breaker = self.dependencies.breaker(endpoint, &info.model, &name, limits(total), now);
        let guarded = Guarded::new(model, breaker, self.allowed(), false, Arc::clone(&self.clock));
        let attempts = if T::REPEATABLE { RetryPolicy::default().attempts } else { 1 };
        let policy = RetryPolicy { attempts, ..self.policy(patience) };
        let budget = self.dependencies.budget(endpoint);
        Arc::new(Retrying::new(Arc::new(guarded), policy, budget, Arc::clone(&self.clock)))
    }

    /// Builds an embedding model in its breaker and retries, and the way to its siblings. Vectors
    /// are not streamed, since no wire format supports it. `width` is the width that the settings
    /// ask for; siblings are asked for their own, since an older model may refuse the parameter.
    pub(super) fn embedding<M: EmbeddingModel + 'static>(
        &self,
        endpoint: &Endpoint,
        model: &str,
        width: Option<u32>,
        make: impl Fn(Endpoint, ModelInfo, Option<u32>) -> M + Send + Sync + 'static,
    ) -> Arc<dyn EmbeddingModel> {
        let total = self.times.total.min(EMBEDDING);
        let policy = RetryPolicy { total, ..self.policy(None) };
        let wrap = {
            let (dependencies, clock) = (self.dependencies.clone(), Arc::clone(&self.clock));
            let endpoint = endpoint.clone();
            move |model: M| -> Arc<dyn EmbeddingModel> {
                let info = model.info();
                let (name, now) = (info.full_name(), clock.now());
                let breaker =
                    dependencies.breaker(&endpoint, &info.model, &name, limits(total), now);
                let allowed = Allowed { total, fair: total };
                let guarded =
                    Guarded::new(Arc::new(model), breaker, allowed, false, Arc::clone(&clock));
                let budget = dependencies.budget(&endpoint);
                Arc::new(Retrying::new(Arc::new(guarded), policy, budget, Arc::clone(&clock)))
            }
        };
        let configured =
            wrap(make(endpoint.clone(), self.info(endpoint, model, false, false), width));
        let (dependencies, clock) = (self.dependencies.clone(), Arc::clone(&self.clock));
        let endpoint = endpoint.clone();
        let build = move |model: &str| {
            let info = info(&dependencies, &endpoint, model, clock.now());
            wrap(make(endpoint.clone(), info, None))
        };
        Arc::new(Siblings::new(configured, build))
    }
}

/// Facts about a model without the settings: the provider's list is more current than the
/// table.
fn info(
    dependencies: &Dependencies,
    endpoint: &Endpoint,
    model: &str,
    now: Timestamp,
) -> ModelInfo {
    let provider = endpoint.names().provider;
    let family = families::known().of(provider, model);
    let facts = dependencies.choices().facts(&endpoint.service(), model).unwrap_or_default();
    let table = family.map(|family| family.limits).unwrap_or_default();
    ModelInfo {
        provider: provider.to_owned(),
        model: model.to_owned(),
        limits: ModelLimits {
            window: facts.limits.window.or(table.window),
            output: facts.limits.output.or(table.output),
        },
        price: facts
            .price
            .or_else(|| family.and_then(|family| family.price_on(families::day(now)))),
        unit_price: family.and_then(|family| family.unit),
        ..ModelInfo::default()
    }
}
