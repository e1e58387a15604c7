//! Chooses and builds the models for sound, pictures and speech.

use std::sync::Arc;

use galatea_core::{
    Result, Variable,
    model::{ImageGeneration, MediaModel, MediaModels, MediaTask, TextToSpeech, Transcription},
};

use super::{
    context::Context, endpoints::Endpoints, links::is_private, media_use::MediaUse,
    providers::Provider, variables as var,
};
use crate::{
    check::Probe,
    dependencies::fingerprint,
    families,
    google::GoogleTranscription,
    media::{MediaChain, MediaLink},
    openai::{OpenAiImage, OpenAiSpeech, OpenAiTranscription},
    retry::PATIENCE,
    wire::{Auth, Endpoint, Names},
};

/// The media models of an agent.
#[derive(Default)]
pub(super) struct Built {
    pub(super) models: MediaModels,
    /// The models in use, most preferred first.
    pub(super) uses: Vec<MediaUse>,
    /// Notes for the owner.
    pub(super) notes: Vec<String>,
    /// Checks of the services' keys and models, one for each model.
    pub(super) probes: Vec<Probe>,
}

/// Services that make sound readable, in order of preference.
const TRANSCRIBERS: [Transcriber; 3] =
    [Transcriber::OpenAi, Transcriber::Groq, Transcriber::Google];

#[derive(Clone, Copy, PartialEq, Eq)]
enum Transcriber {
    OpenAi,
    Groq,
    Google,
}

impl Transcriber {
    const fn name(self) -> &'static str {
        match self {
            Self::OpenAi => "openai",
            Self::Groq => "groq",
            Self::Google => "google",
        }
    }
}

/// A model at the endpoints of a service.
struct Service {
    endpoints: Endpoints,
    model: String,
}

/// Builds the media models. `main` is the provider that answers; `at_home` says that it is a server
/// of one's own.
pub(super) fn build(context: &Context<'_>, main: &str, at_home: bool) -> Result<Built> {
    let mut built = Built::default();
    transcription(context, main, at_home, &mut built)?;
    image(context, &mut built)?;
    speech(context, &mut built)?;
    Ok(built)
}

fn transcription(
    context: &Context<'_>,
    main: &str,
    at_home: bool,
    built: &mut Built,
) -> Result<()> {
    let named = context.set(&var::TRANSCRIPTION_PROVIDER);
    let wanted: Vec<Transcriber> = match &named {
        Some(list) => list
            .split(',')
            .map(|name| name.trim().to_ascii_lowercase())
            .filter(|name| !name.is_empty() && name != "none")
            .filter_map(|name| {
                let known = TRANSCRIBERS.into_iter().find(|service| service.name() == name);
                if known.is_none() {
                    built.notes.push(format!(
                        "TRANSCRIPTION_PROVIDER names {:?}, which is not known here",
                        galatea_http::shorten(&name, 40)
                    ));
                }
                known
            })
            .collect(),
        None => {
            let mut all = TRANSCRIBERS.to_vec();
            all.sort_by_key(|service| service.name() != main);
            all
        }
    };
    let mut rungs: Vec<(Endpoint, Arc<dyn MediaModel<Transcription>>)> = Vec::new();
    for service in wanted {
        let Some(Service { endpoints, model }) = transcriber(context, service)? else {
            if named.is_some() {
                built.notes.push(format!(
                    "TRANSCRIPTION_PROVIDER names {}, which is not configured",
                    service.name()
                ));
            }
            continue;
        };
        // Like answers, voices leave a server of one's own only if a setting says so.
        if named.is_none() && at_home && !is_private(endpoints.first.site()) {
            continue;
        }
        built.uses.push(MediaUse {
            kind: Transcription::TYPE,
            provider: service.name(),
            name: model.clone(),
        });
        built.probes.push(probe(&endpoints, &model));
        for endpoint in endpoints.all() {
            let info = context.info(endpoint, &model, false, false);
            let service_model: Arc<dyn MediaModel<Transcription>> = match service {
                Transcriber::Google => {
                    // The table does not say what it charges for tokens of sound.
                    let info = galatea_core::ModelInfo { price: None, ..info };
                    Arc::new(GoogleTranscription::new(endpoint.clone(), info))
                }
                _ => Arc::new(OpenAiTranscription::new(endpoint.clone(), info)),
            };
            rungs.push((endpoint.clone(), service_model));
        }
        if named.is_none() && context.is_alone() {
            break;
        }
    }
    built.models.transcription = chain(context, rungs);
    Ok(())
}

fn transcriber(context: &Context<'_>, service: Transcriber) -> Result<Option<Service>> {
    let default = || {
        families::known()
            .preference(service.name())
            .and_then(|preference| preference.transcription.clone())
            .unwrap_or_default()
    };
    let (variable, elsewhere) = match service {
        Transcriber::OpenAi => {
            (&var::OPENAI_TRANSCRIPTION_MODEL, context.set(&var::OPENAI_TRANSCRIPTION_URL))
        }
        Transcriber::Groq => (&var::GROQ_TRANSCRIPTION_MODEL, None),
        Transcriber::Google => (&var::GOOGLE_TRANSCRIPTION_MODEL, None),
    };
    let model = context.set(variable);
    let found = match elsewhere {
        Some(url) => {
            const KEY: &Variable = &var::OPENAI_TRANSCRIPTION_API_KEY;
            const NAMES: Names = Names {
                provider: "openai",
                label: "the transcription server",
                key: KEY.name,
                url: var::OPENAI_TRANSCRIPTION_URL.name,
            };
            Some(context.endpoints(NAMES, &url, KEY, Auth::Bearer)?)
        }
        None => endpoints(context, service.name())?
            .filter(|(_, own)| *own || model.is_some())
            .map(|(endpoints, _)| endpoints),
    };
    Ok(found.map(|endpoints| Service { endpoints, model: model.unwrap_or_else(default) }))
}

/// A provider's endpoints, and whether they are its own rather than another server's with its API.
/// None if it is not configured.
fn endpoints(context: &Context<'_>, provider: &str) -> Result<Option<(Endpoints, bool)>> {
    Provider::named(provider)
        .filter(|provider| provider.configured(context.settings))
        .map(|provider| provider.endpoints(context).map(|(found, is_other)| (found, !is_other)))
        .transpose()
}

fn image(context: &Context<'_>, built: &mut Built) -> Result<()> {
    let Some(model) = context.set(&var::OPENAI_IMAGE_MODEL) else { return Ok(()) };
    let Some((endpoints, _)) = endpoints(context, "openai")? else {
        built.notes.push("OPENAI_IMAGE_MODEL is set, but OPENAI_API_KEY is not".to_owned());
        return Ok(());
    };
    built.probes.push(probe(&endpoints, &model));
    let rungs = endpoints.all().map(|endpoint| {
        let info = context.info(endpoint, &model, false, false);
        let service_model: Arc<dyn MediaModel<_>> =
            Arc::new(OpenAiImage::new(endpoint.clone(), info));
        (endpoint.clone(), service_model)
    });
    built.models.image = chain(context, rungs.collect());
    built.uses.push(MediaUse { kind: ImageGeneration::TYPE, provider: "openai", name: model });
    Ok(())
}

fn speech(context: &Context<'_>, built: &mut Built) -> Result<()> {
    let at_openai = context.set(&var::OPENAI_TTS_MODEL).map(|model| (model, "openai"));
    let at_groq = context.set(&var::GROQ_TTS_MODEL).map(|model| (model, "groq"));
    let mut rungs = Vec::new();
    for (model, provider) in at_openai.into_iter().chain(at_groq) {
        let voice = if provider == "groq" { &var::GROQ_TTS_VOICE } else { &var::OPENAI_TTS_VOICE };
        let Some((endpoints, own)) = endpoints(context, provider)? else {
            built.notes.push(format!("a model of {provider} is to speak, which has no key"));
            continue;
        };
        built.probes.push(probe(&endpoints, &model));
        for endpoint in endpoints.all() {
            let info = context.info(endpoint, &model, false, false);
            let (voice, format) = (context.text_or_default(voice), speech_format(provider, own));
            let service_model: Arc<dyn MediaModel<_>> =
                Arc::new(OpenAiSpeech::new(endpoint.clone(), info, voice, format));
            rungs.push((endpoint.clone(), service_model));
        }
        built.uses.push(MediaUse { kind: TextToSpeech::TYPE, provider, name: model });
    }
    built.models.speech = chain(context, rungs);
    Ok(())
}

/// The format to ask for. Groq makes no other than wav (API reference, "Create speech"). OpenAI makes
/// opus, the format of voice messages; another server with its API may know mp3 only.
fn speech_format(provider: &str, own: bool) -> &'static str {
    match provider {
        "groq" => "wav",
        _ if own => "opus",
        _ => "mp3",
    }
}

/// The check of a service's key and of one model.
fn probe(endpoints: &Endpoints, model: &str) -> Probe {
    let (endpoint, models) = (endpoints.first.clone(), vec![model.to_owned()]);
    if endpoint.names().provider == "google" {
        Probe::Google { endpoint, models }
    } else {
        Probe::OpenAi { endpoint, models }
    }
}

/// A chain of these models, each behind its breaker and retries; none without any.
fn chain<T: MediaTask>(
    context: &Context<'_>,
    rungs: Vec<(Endpoint, Arc<dyn MediaModel<T>>)>,
) -> Option<Arc<dyn MediaModel<T>>> {
    let patience = (rungs.len() > 1).then_some(PATIENCE);
    let mut links = rungs.into_iter().map(|(endpoint, model)| MediaLink {
        site: endpoint.site().to_owned(),
        key: fingerprint(endpoint.auth()),
        model: context.media(&endpoint, model, patience),
    });
    let first = links.next()?;
    let others = links.collect();
    Some(Arc::new(MediaChain::new(first, others, context.total(), Arc::clone(&context.clock))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn openai_is_asked_for_the_format_of_voice_messages() {
        let of = [("openai", true), ("openai", false), ("groq", false)];
        assert_eq!(of.map(|(at, own)| speech_format(at, own)), ["opus", "mp3", "wav"]);
    }
}
