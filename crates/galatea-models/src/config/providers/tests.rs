//! Tests of the chosen provider, its models and their parameters.

mod invalid;
mod names;
mod parameters;

use crate::{
    Dependencies,
    config::{Configured, build, parameters::sampling, variables},
};
use galatea_core::{
    ErrorKind, Settings, SystemClock,
    model::{Effort, Sampling, Tier},
};
use galatea_http::{HttpClient, HttpOptions};
use serde_json::Value;
use std::sync::Arc;

use super::*;

fn configured_by(pairs: &[(&str, &str)]) -> Result<Configured> {
    let settings =
        Settings::from_pairs(pairs.iter().map(|(k, v)| ((*k).to_owned(), Value::from(*v))));
    build(
        &settings,
        &HttpClient::new(HttpOptions::default()).unwrap(),
        Arc::new(SystemClock),
        &Dependencies::default(),
    )
}

fn of(pairs: &[(&str, &str)]) -> Configured {
    configured_by(pairs).unwrap()
}

#[test]
fn nothing_configured_is_the_offline_script() {
    let none = of(&[]);
    assert!(none.is_offline() && none.models.large.info().scripted && !none.offline_public);
    assert_eq!(none.description, "offline script (built-in rules): pattern matching, not AI");
    assert!(of(&[("OFFLINE_RESPONDER_PUBLIC", "true")]).offline_public);
    assert!(of(&[("OPENAI_API_KEY", "k"), ("GALATEA_MODEL_PROVIDER", "offline")]).is_offline());
    assert!(
        of(&[("OPENAI_API_KEY", "")]).is_offline(),
        "an empty line of a template configures nothing"
    );
}

#[test]
fn the_first_configured_is_taken() {
    let order = [
        ("ANTHROPIC_API_KEY", "anthropic", "claude-sonnet-5-5"),
        ("OPENROUTER_API_KEY", "openrouter", "google/gemini-3.8-flash"),
        ("OPENAI_API_KEY", "openai", "gpt-6.1-terra"),
        ("GOOGLE_GENERATIVE_AI_API_KEY", "google", "gemini-3.8-flash"),
        ("GROQ_API_KEY", "groq", "openai/gpt-oss-120b"),
        ("XAI_API_KEY", "xai", "grok-4.7"),
        ("MISTRAL_API_KEY", "mistral", "mistral-large-latest"),
        ("OLLAMA_API_ENDPOINT", "ollama", "gemma3:latest"),
    ];
    let value =
        |key: &str| if key.ends_with("ENDPOINT") { "http://localhost:11434/api" } else { "k" };
    for from in 0..order.len() {
        let pairs: Vec<(&str, &str)> =
            order[from..].iter().map(|(key, _, _)| (*key, value(key))).collect();
        let chosen = of(&pairs);
        assert_eq!(
            (chosen.provider, chosen.models.large.info().model.as_str()),
            (order[from].1, order[from].2)
        );
    }
}

#[test]
fn explicit_and_older_choices() {
    let both = [("OPENAI_API_KEY", "k"), ("ANTHROPIC_API_KEY", "k")];
    let with = |pair: (&'static str, &'static str)| of(&[both[0], both[1], pair]);
    assert_eq!(with(("GALATEA_MODEL_PROVIDER", "OpenAI")).provider, "openai");
    assert_eq!(with(("MODEL_PROVIDER", "openai")).provider, "openai");
    let kept = with(("MODEL_PROVIDER", "groq"));
    assert_eq!((kept.provider, kept.notes.len()), ("anthropic", 2), "and the fallbacks");
    assert!(with(("MODEL_PROVIDER", "eternalai")).notes[0].contains("eternalai"));
    assert_eq!(
        of(&[("GALATEA_MODEL_PROVIDER", "ollama")]).provider,
        "ollama",
        "its address has a default"
    );
    let error = configured_by(&[("GALATEA_MODEL_PROVIDER", "groq")]).err().unwrap();
    assert_eq!((error.code(), error.fix()), (Some("GAL-MODEL-CONFIG"), Some("set GROQ_API_KEY")));
    assert_eq!(
        configured_by(&[("GALATEA_MODEL_PROVIDER", "skynet")]).err().unwrap().kind(),
        ErrorKind::Invalid
    );
}

#[test]
fn others_stand_in_as_the_setting_says() {
    let stand_ins = |pairs: &[(&str, &str)]| of(pairs).notes;
    let both = [("OPENAI_API_KEY", "k"), ("ANTHROPIC_API_KEY", "k"), ("GROQ_API_KEY", "k")];
    let with =
        |value: &'static str| stand_ins(&[both[0], both[1], both[2], ("MODEL_FALLBACK", value)]);
    assert_eq!(
        stand_ins(&both),
        [
            "when anthropic does not answer: openai gpt-6.1-terra, then groq openai/gpt-oss-120b (MODEL_FALLBACK)"
        ]
    );
    assert_eq!(with("none"), [""; 0]);
    assert_eq!(
        with("Sibling, groq"),
        ["when anthropic does not answer: groq openai/gpt-oss-120b (MODEL_FALLBACK)"]
    );
    for value in ["skynet", "google", "auto, groq"] {
        let error = configured_by(&[both[0], ("MODEL_FALLBACK", value)]).err().unwrap();
        assert!(error.to_string().contains("MODEL_FALLBACK"), "{error}");
    }
}

#[test]
fn what_a_local_model_reads_stays_local_unless_a_setting_allows_more() {
    let home = [("GALATEA_MODEL_PROVIDER", "ollama"), ("OPENAI_API_KEY", "k")];
    assert_eq!(of(&home).notes, [""; 0]);
    assert_eq!(
        of(&[home[0], home[1], ("MODEL_FALLBACK", "openai")]).notes,
        ["when ollama does not answer: openai gpt-6.1-terra (MODEL_FALLBACK)"]
    );
    let near = of(&[
        home[0],
        ("OPENAI_BASE_URL", "http://192.168.1.7:1234/v1"),
        ("OPENAI_LARGE_MODEL", "qwen"),
    ]);
    assert_eq!(near.notes, ["when ollama does not answer: openai qwen (MODEL_FALLBACK)"]);
    assert_eq!(of(&[home[0], ("OPENAI_BASE_URL", "https://api.example.com/v1")]).notes, [""; 0]);
}

#[test]
fn a_local_server_needs_no_key_but_openai_does() {
    let local =
        of(&[("OPENAI_BASE_URL", "http://localhost:1234/v1"), ("OPENAI_LARGE_MODEL", "qwen")]);
    assert_eq!(
        (local.provider, local.description.as_str()),
        ("openai", "openai qwen at http://localhost:1234")
    );
    assert!(
        local.models.embedding.is_none() && local.models.vision.is_none(),
        "it need not have OpenAI's models"
    );
    assert!(of(&[("OPENAI_BASE_URL", "https://api.openai.com/v1")]).is_offline());
    let openai = of(&[("OPENAI_API_KEY", "k")]);
    assert_eq!(openai.models.embedding.unwrap().info().model, "text-embedding-3-small");
    assert_eq!(openai.models.vision.unwrap().info().model, "gpt-6-luna");
}

#[test]
fn a_remembered_choice_is_taken_and_a_name_from_the_settings_is_never_replaced() {
    use crate::choices::{Choices, ListReading, ListedModel, When};
    let choices = Choices::default();
    let list: Vec<ListedModel> =
        ["gpt-7-luna", "gpt-7-terra"].iter().map(|id| ListedModel::of(id)).collect();
    let open = [crate::families::Role::Small, crate::families::Role::Large];
    let today = time::macros::date!(2027 - 01 - 02);
    let service = "openai https://api.openai.com/v1";
    choices
        .apply(
            &ListReading {
                service,
                provider: "openai",
                list: &list,
                open: &open,
                in_use: &[],
                any: false,
                today,
            },
            When::Needed,
        )
        .unwrap();
    let dependencies = Dependencies::remembering(galatea_core::EventBus::default(), choices);
    let built = |pairs: &[(&str, &str)]| {
        let settings =
            Settings::from_pairs(pairs.iter().map(|(k, v)| ((*k).to_owned(), Value::from(*v))));
        build(
            &settings,
            &HttpClient::new(HttpOptions::default()).unwrap(),
            Arc::new(SystemClock),
            &dependencies,
        )
        .unwrap()
    };
    let chosen = built(&[("OPENAI_API_KEY", "k")]);
    assert_eq!(
        (chosen.models.small.info().model.as_str(), chosen.models.large.info().model.as_str()),
        ("gpt-7-luna", "gpt-7-terra")
    );
    assert_eq!(chosen.reason(), "chosen from the provider's list on 2027-01-02");
    let named = built(&[("OPENAI_API_KEY", "k"), ("OPENAI_LARGE_MODEL", "gpt-5")]);
    assert_eq!(
        (named.models.large.info().model.as_str(), named.reason().as_str()),
        ("gpt-5", "set by OPENAI_LARGE_MODEL")
    );
    assert!(
        named.chooses()
            && !built(&[
                ("OPENAI_BASE_URL", "http://localhost:1/v1"),
                ("SMALL_MODEL", "a"),
                ("LARGE_MODEL", "b")
            ])
            .chooses()
    );
    assert_eq!(
        built(&[("ANTHROPIC_API_KEY", "k")]).reason(),
        format!("newest known on {}", crate::families::known().date)
    );
}
