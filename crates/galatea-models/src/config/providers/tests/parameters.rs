//! Parameters of calls: precedence, effort, and what a model does not take.

use super::*;

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
fn one_value_holds_all_parameters_of_a_role() {
    let of = |pairs: &[(&str, Value)]| {
        let settings =
            Settings::from_pairs(pairs.iter().map(|(k, v)| ((*k).to_owned(), v.clone())));
        sampling(&settings, Tier::TextLarge)
    };
    let large = of(&[
        ("TEXT_LARGE_SAMPLING", "temperature=0.7, Max_Tokens = 300, effort=high".into()),
        ("DEFAULT_SAMPLING", "top_k=40, temperature=0.1".into()),
        ("TEXT_LARGE_MAX_TOKENS", "500".into()),
        ("DEFAULT_TOP_K", "20".into()),
    ])
    .unwrap();
    assert_eq!((large.temperature, large.max_tokens), (Some(0.7), Some(500)));
    assert_eq!((large.top_k, large.effort), (Some(20), Some(Effort::High)));
    let object = serde_json::json!({ "temperature": 0.5, "seed": 7 });
    let large = of(&[("TEXT_LARGE_SAMPLING", object)]).unwrap();
    assert_eq!((large.temperature, large.seed), (Some(0.5), Some(7)));
    for wrong in ["warmth=1", "temperature", "temperature=warm", "{'temperature':"] {
        let error = of(&[("TEXT_LARGE_SAMPLING", wrong.into())]).unwrap_err();
        assert!(error.to_string().contains("TEXT_LARGE_SAMPLING"), "{wrong}: {error}");
    }
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
    let messages: Vec<&str> = dropped.iter().map(|f| f.message.as_str()).collect();
    assert_eq!(
        messages,
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
