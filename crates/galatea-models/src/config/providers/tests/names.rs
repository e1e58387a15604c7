//! Names of models, and the variables that set them.

use super::*;

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
