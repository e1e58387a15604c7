//! Chooses the newest generally available model of a preferred family from a provider's list. Pure.

use std::cmp::Reverse;

use super::ListedModel;
use crate::families::{Families, Role, pattern::without_date};

/// Most names suggested for one that does not exist.
const SUGGESTED: usize = 3;
/// Parts of the names of models that do not write text.
const OTHER_WORK: [&str; 13] = [
    "embed",
    "minilm",
    "bge-",
    "rerank",
    "whisper",
    "tts",
    "transcribe",
    "audio",
    "realtime",
    "image",
    "moderation",
    "dall-e",
    "guard",
];

/// The model for a purpose. `None` if the list has no preferred family and `any` is false.
pub(super) fn choose(
    families: &Families,
    provider: &str,
    role: Role,
    list: &[&ListedModel],
    any: bool,
) -> Option<String> {
    let available: Vec<&&ListedModel> =
        list.iter().filter(|model| !model.ends && !is_preview(&model.id)).collect();
    // A colon marks a tag at Ollama, and elsewhere a variant of a model, such as a free one with
    // other terms.
    let plain = |model: &&&&ListedModel| provider == "ollama" || !model.id.contains(':');
    let wanted =
        families.preference(provider).map(|preference| preference.of(role)).unwrap_or_default();
    for pattern in wanted {
        let fitting = available
            .iter()
            .filter(plain)
            .filter_map(|model| Some((pattern.version_of(&model.id)?, model)));
        // Within a version, names without a date are preferred to dated ones, and newer dated ones
        // to older ones.
        let best = fitting.max_by_key(|(version, model)| {
            (version.clone(), Reverse(is_dated(&model.id)), model.created, model.id.clone())
        });
        if let Some((_, model)) = best {
            return Some(model.id.clone());
        }
    }
    let writes = |model: &&&&ListedModel| {
        !OTHER_WORK.iter().any(|part| model.id.to_lowercase().contains(part))
    };
    let writers = || available.iter().filter(writes);
    let picked = writers()
        .max_by_key(|model| model.created)
        .filter(|model| model.created.is_some())
        .or_else(|| writers().next());
    picked.filter(|_| any && role != Role::Embedding).map(|model| model.id.clone())
}

/// True if a model of this name may be withdrawn or replaced at short notice.
fn is_preview(name: &str) -> bool {
    let name = name.to_lowercase();
    let moves = name.ends_with("-latest") || name.starts_with('~');
    moves || ["preview", "-exp", "experimental", "-beta"].iter().any(|part| name.contains(part))
}

fn is_dated(name: &str) -> bool {
    without_date(name).len() < name.trim_end_matches(":latest").len()
}

/// The names of a list that are most similar to `name`; a common beginning counts most.
pub(crate) fn closest(name: &str, names: &[String]) -> Vec<String> {
    let plain = |name: &str| name.rsplit('/').next().unwrap_or(name).to_lowercase();
    let wanted = plain(name);
    let other_work = |name: &str| OTHER_WORK.iter().find(|part| name.contains(**part));
    let mut scored: Vec<(f64, &String)> = names
        .iter()
        .filter(|other| {
            other_work(&plain(other)) == other_work(&wanted)
                && is_preview(other) == is_preview(name)
        })
        .map(|other| (strsim::jaro_winkler(&wanted, &plain(other)), other))
        .collect();
    scored.sort_by(|(a, x), (b, y)| b.total_cmp(a).then_with(|| y.cmp(x)));
    scored.into_iter().take(SUGGESTED).map(|(_, name)| name.clone()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::families;

    fn listed(ids: &[&str]) -> Vec<ListedModel> {
        ids.iter().map(|id| ListedModel::of(id)).collect()
    }

    fn chosen(provider: &str, role: Role, list: &[ListedModel], any: bool) -> Option<String> {
        choose(families::known(), provider, role, &list.iter().collect::<Vec<_>>(), any)
    }

    #[test]
    fn the_newest_generally_available_of_the_first_family_listed() {
        let cases: [(&str, Role, &[&str], Option<&str>); 14] = [
            (
                "xai",
                Role::Large,
                &["grok-4-0709", "grok-4.5", "grok-4.7", "grok-4.7-beta", "grok-imagine-image"],
                Some("grok-4.7"),
            ),
            (
                "mistral",
                Role::Small,
                &[
                    "mistral-small-latest",
                    "mistral-small-2506",
                    "mistral-small-2603",
                    "mistral-large-2512",
                ],
                Some("mistral-small-2603"),
            ),
            (
                "openai",
                Role::Small,
                &["gpt-6-luna", "gpt-6.1-luna", "gpt-6.2-luna-preview", "gpt-4o"],
                Some("gpt-6.1-luna"),
            ),
            (
                "openai",
                Role::Small,
                &["gpt-9-luna", "gpt-10-luna", "gpt-10-luna-2029-01-01"],
                Some("gpt-10-luna"),
            ),
            ("openai", Role::Large, &["gpt-6-luna", "gpt-6.1-sol"], Some("gpt-6.1-sol")),
            ("openai", Role::Large, &["gpt-4o", "whisper-1"], None),
            (
                "openai",
                Role::Embedding,
                &["text-embedding-3-large", "text-embedding-3-small"],
                Some("text-embedding-3-small"),
            ),
            (
                "anthropic",
                Role::Large,
                &["claude-sonnet-4-5-20250929", "claude-sonnet-5-5", "claude-opus-5-5"],
                Some("claude-sonnet-5-5"),
            ),
            (
                "anthropic",
                Role::Small,
                &["claude-haiku-4-5-20251001", "claude-3-5-haiku-20241022"],
                Some("claude-haiku-4-5-20251001"),
            ),
            (
                "google",
                Role::Large,
                &[
                    "gemini-flash-latest",
                    "gemini-3.5-flash",
                    "gemini-3.8-flash",
                    "gemini-4.0-flash-preview",
                ],
                Some("gemini-3.8-flash"),
            ),
            (
                "google",
                Role::Small,
                &["gemini-3.8-flash", "gemini-3.5-flash-lite"],
                Some("gemini-3.5-flash-lite"),
            ),
            (
                "groq",
                Role::Large,
                &["llama-3.1-8b-instant", "openai/gpt-oss-20b"],
                Some("openai/gpt-oss-20b"),
            ),
            (
                "openrouter",
                Role::Large,
                &[
                    "~google/gemini-flash-latest",
                    "google/gemini-3.8-flash",
                    "google/gemini-3.9-flash:free",
                ],
                Some("google/gemini-3.8-flash"),
            ),
            (
                "ollama",
                Role::Small,
                &["nomic-embed-text:latest", "qwen3:8b", "llama3.2:latest"],
                Some("qwen3:8b"),
            ),
        ];
        for (provider, role, names, expected) in cases {
            let list = listed(names);
            assert_eq!(
                chosen(provider, role, &list, false).as_deref(),
                expected,
                "{provider} {role:?} {names:?}"
            );
        }
    }

    #[test]
    fn what_has_an_end_is_not_chosen() {
        let mut list = listed(&["gpt-6-luna", "gpt-6.1-luna"]);
        list[1].ends = true;
        assert_eq!(chosen("openai", Role::Small, &list, false).as_deref(), Some("gpt-6-luna"));
    }

    #[test]
    fn on_a_server_of_ones_own_any_model_that_writes_will_do() {
        let list = listed(&["nomic-embed-text:latest", "phi4:latest"]);
        assert_eq!(chosen("ollama", Role::Large, &list, true).as_deref(), Some("phi4:latest"));
        assert_eq!(chosen("ollama", Role::Large, &list, false), None);
        assert_eq!(
            chosen("openai", Role::Embedding, &list, true),
            None,
            "vectors of another model would be another space"
        );
        let tagged = listed(&["phi4:latest", "gemma3:latest", "gemma2:latest"]);
        assert_eq!(chosen("ollama", Role::Large, &tagged, true).as_deref(), Some("gemma3:latest"));
    }

    #[test]
    fn names_that_exist_are_suggested() {
        let names: Vec<String> = [
            "gpt-6-luna",
            "gpt-6.1-terra",
            "gpt-4.1",
            "gpt-4o-realtime",
            "whisper-1",
            "text-embedding-3-small",
        ]
        .map(str::to_owned)
        .to_vec();
        assert_eq!(closest("gpt-4o", &names)[0], "gpt-4.1");
        assert_eq!(closest("text-embedding-2", &names), ["text-embedding-3-small"]);
        let routed = ["anthropic/claude-sonnet-5.5".to_owned(), "openai/gpt-6-luna".to_owned()];
        assert_eq!(closest("claude-sonnet-4", &routed)[0], "anthropic/claude-sonnet-5.5");
    }
}
