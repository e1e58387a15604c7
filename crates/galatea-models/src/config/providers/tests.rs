//! Tests of the chosen provider, its models and their parameters.

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
fn model_names_by_elizaos_rules() {
    let chosen = of(&[
        ("OPENAI_API_KEY", "k"),
        ("SMALL_MODEL", "s"),
        ("LARGE_MODEL", "l"),
        ("OPENAI_LARGE_MODEL", "own"),
    ]);
    assert_eq!(
        (chosen.models.small.info().model.as_str(), chosen.models.large.info().model.as_str()),
        ("s", "own")
    );
    let ollama = of(&[
        ("OLLAMA_API_URL", "http://h:1"),
        ("OLLAMA_MEDIUM_MODEL", "m"),
        ("OLLAMA_EMBEDDING_MODEL", "e"),
    ]);
    assert_eq!(ollama.models.large.info().model, "m");
    assert_eq!(ollama.models.embedding.unwrap().info().model, "e");
    assert_eq!(ollama.description, "ollama m at http://h:1");
    assert!(!ollama.models.small.info().tools);
    assert!(
        of(&[("OLLAMA_API_URL", "http://h:1"), ("MODEL_TOOLS", "true")]).models.small.info().tools
    );
}

#[test]
fn parameters_by_precedence() {
    let settings = Settings::from_pairs([
        ("TEXT_SMALL_TEMPERATURE", "0.1"),
        ("DEFAULT_TEMPERATURE", "0.2"),
        ("MODEL_TEMPERATURE", "0.3"),
        ("MODEL_MAX_TOKEN", "100"),
        ("DEFAULT_MAX_TOKENS", "200"),
        ("MODEL_FREQ_PENALTY", "0.5"),
    ]);
    let small = sampling(&settings, Tier::TextSmall).unwrap();
    let large = sampling(&settings, Tier::TextLarge).unwrap();
    assert_eq!((small.temperature, large.temperature), (Some(0.1), Some(0.2)));
    assert_eq!(
        (small.max_tokens, large.frequency_penalty, large.top_k),
        (Some(200), Some(0.5), None)
    );
    let mut call = Sampling { temperature: Some(0.9), ..Sampling::default() };
    crate::tuned::fill(&mut call, &small);
    assert_eq!((call.temperature, call.max_tokens), (Some(0.9), Some(200)));
    let error =
        sampling(&Settings::from_pairs([("DEFAULT_TOP_K", "many")]), Tier::TextLarge).unwrap_err();
    assert!(error.to_string().contains("DEFAULT_TOP_K"));
}

#[test]
fn a_reasoning_model_is_named_chosen_or_the_large_one() {
    let key = ("ANTHROPIC_API_KEY", "k");
    let names = |configured: &Configured| {
        let name = |tier| configured.models.text(tier).info().model.clone();
        (name(Tier::ReasoningSmall), name(Tier::ReasoningLarge))
    };
    let pair = |small: &str, large: &str| (small.to_owned(), large.to_owned());
    let unset = of(&[key]);
    assert_eq!(names(&unset), pair("claude-sonnet-5-5", "claude-sonnet-5-5"));
    assert_eq!(unset.uses.len(), 2, "the large model has one row");
    let set = of(&[
        key,
        ("REASONING_LARGE_MODEL", "auto"),
        ("REASONING_SMALL_MODEL", "a"),
        ("ANTHROPIC_REASONING_SMALL_MODEL", "b"),
    ]);
    assert_eq!(names(&set), pair("b", "claude-opus-5-5"));
    let why: Vec<_> = set.uses.iter().map(|one| (one.role, one.named.why.clone())).collect();
    assert_eq!(
        why[2..],
        [
            (Role::ReasoningSmall, Why::Set("ANTHROPIC_REASONING_SMALL_MODEL")),
            (Role::ReasoningLarge, Why::BuiltIn),
        ]
    );
    // A server of one's own does not have OpenAI's models.
    let own = of(&[
        ("OPENAI_BASE_URL", "http://localhost:1234/v1"),
        ("OPENAI_LARGE_MODEL", "mine"),
        ("REASONING_LARGE_MODEL", "auto"),
    ]);
    assert_eq!(names(&own), pair("mine", "mine"));
}

#[test]
fn reasoning_models_think_unless_a_setting_says_otherwise() {
    let effort = |pairs: &[(&str, &str)], tier| {
        let settings =
            Settings::from_pairs(pairs.iter().map(|(k, v)| ((*k).to_owned(), Value::from(*v))));
        sampling(&settings, tier).unwrap().effort
    };
    assert_eq!(effort(&[], Tier::TextLarge), None);
    assert_eq!(effort(&[], Tier::ReasoningSmall), Some(Effort::Medium));
    assert_eq!(effort(&[], Tier::ReasoningLarge), Some(Effort::High));
    let low = [("DEFAULT_EFFORT", "low")];
    assert_eq!(effort(&low, Tier::ReasoningLarge), Some(Effort::Low));
    let own = [("DEFAULT_EFFORT", "low"), ("REASONING_LARGE_EFFORT", "max")];
    assert_eq!(effort(&own, Tier::ReasoningLarge), Some(Effort::Max));
    // Only what is set can be left out.
    let plain =
        of(&[("OLLAMA_API_ENDPOINT", "http://localhost:11434"), ("REASONING_LARGE_MODEL", "r")]);
    assert_eq!(plain.findings, []);
}

#[test]
fn a_folder_for_embeddings_is_read_or_refused_but_not_ignored() {
    let error = configured_by(&[("LOCAL_EMBEDDING_FOLDER", "/nonexistent")]).err().unwrap();
    let told = error.report().to_string();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    if cfg!(feature = "local-embeddings") {
        assert!(told.contains("/nonexistent/model.safetensors"), "{told}");
    } else {
        let fix = error.fix().unwrap();
        assert!(fix.contains("--features local-embeddings"), "{fix}");
    }
}

#[test]
fn bad_values_name_their_variable_and_repeat_no_secret() {
    for (name, value) in [
        ("OPENAI_BASE_URL", "not a url CANARY"),
        ("OPENAI_BASE_URL", "ftp://CANARY/"),
        ("OPENAI_BASE_URL", "https://user:CANARY@host/v1"),
        ("OPENAI_BASE_URL", "https://host/v1?key=CANARY"),
        ("MODEL_TOTAL_TIMEOUT", "CANARY"),
        ("MODEL_IDLE_TIMEOUT", "-1"),
        ("MODEL_TOOLS", "CANARY"),
        ("MODEL_STREAM", "CANARY"),
        ("MODEL_FALLBACK", "CANARY"),
        ("OPENAI_EMBEDDING_DIMENSIONS", "CANARY"),
    ] {
        let error = configured_by(&[
            ("OPENAI_API_KEY", "k"),
            ("OPENAI_EMBEDDING_MODEL", "e"),
            (name, value),
        ])
        .err()
        .unwrap();
        let told = format!("{error} {error:?}");
        assert!(told.contains(name) && !told.contains("CANARY"), "{name}: {told}");
    }
}

#[test]
fn a_script_of_ones_own() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("rules.txt");
    std::fs::write(&path, "greeting: Ahoy.\nnone:\n  say: Arr.\n").unwrap();
    let text = path.to_str().unwrap();
    assert!(of(&[("OFFLINE_SCRIPT", text)]).description.contains("own rules"));
    std::fs::write(&path, "greeting: Ahoy.\nnone:\n  say: {1}\n").unwrap();
    let error = configured_by(&[("OFFLINE_SCRIPT", text)]).err().unwrap();
    assert!(error.to_string().contains("line=3, column=8"), "{error}");
    assert!(
        configured_by(&[("OFFLINE_SCRIPT", "/nowhere/at/all")])
            .err()
            .unwrap()
            .to_string()
            .contains("OFFLINE_SCRIPT")
    );
}

#[test]
fn variables_are_declared_once_and_explained() {
    let mut names: Vec<&str> = variables::VARIABLES
        .iter()
        .flat_map(|(_, list)| list.iter())
        .flat_map(|v| std::iter::once(v.name).chain(v.aliases.iter().copied()))
        .collect();
    let count = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), count);
    assert!(
        variables::VARIABLES
            .iter()
            .flat_map(|(_, list)| list.iter())
            .all(|v| v.help.ends_with('.') && v.secret == v.name.ends_with("_API_KEY"))
    );
}

#[test]
fn families_that_see() {
    for name in [
        "gpt-4o",
        "openai/gpt-4.1",
        "o3-mini",
        "claude-sonnet-4-20250514",
        "google/gemini-2.5-flash",
        "gemma3:latest",
        "llama3.2-vision",
        "qwen2.5vl:7b",
    ] {
        assert!(sees(name), "{name}");
    }
    for name in ["llama3.2", "mistral", "llama-3.3-70b-versatile", "foo1"] {
        assert!(!sees(name), "{name}");
    }
}

#[test]
fn a_remembered_choice_is_taken_and_a_name_from_the_settings_is_never_replaced() {
    use crate::choices::{Choices, Listed, Reading, When};
    let choices = Choices::default();
    let list: Vec<Listed> = ["gpt-7-luna", "gpt-7-terra"].iter().map(|id| Listed::of(id)).collect();
    let open = [crate::families::Role::Small, crate::families::Role::Large];
    let today = time::macros::date!(2027 - 01 - 02);
    let service = "openai https://api.openai.com/v1";
    choices
        .take(
            &Reading {
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

#[test]
fn ends_and_parameters_that_are_left_out_are_reported() {
    let of_code = |pairs: &[(&str, &str)], code: &str| {
        of(pairs).findings.into_iter().filter(|f| f.id == code).collect::<Vec<_>>()
    };
    let key = ("OPENAI_API_KEY", "k");
    let ends = of_code(&[key, ("OPENAI_LARGE_MODEL", "gpt-4o")], "GAL-MODEL-ENDS");
    assert!(
        ends[0].message.contains("gpt-4o at openai end")
            && ends[0].fix.as_ref().unwrap().contains("gpt-6.1-terra"),
        "{ends:?}"
    );
    let dropped = of_code(
        &[key, ("DEFAULT_TEMPERATURE", "0.5"), ("TEXT_LARGE_EFFORT", "minimal")],
        "GAL-MODEL-DROPPED",
    );
    let told: Vec<&str> = dropped.iter().map(|f| f.message.as_str()).collect();
    assert_eq!(
        told,
        [
            "gpt-6-luna takes no temperature as set: left out",
            "gpt-6.1-terra takes no temperature, effort as set: left out"
        ]
    );
    assert!(
        of_code(
            &[key, ("DEFAULT_TEMPERATURE", "0.5"), ("DEFAULT_EFFORT", "none")],
            "GAL-MODEL-DROPPED"
        )
        .is_empty()
    );
    assert!(
        of_code(&[("ANTHROPIC_API_KEY", "k")], "GAL-MODEL-DATA").is_empty()
            || crate::families::known().is_old(time::OffsetDateTime::now_utc().date())
    );
}
