//! Compares what a character asks for with what is here, and reports plugins and documents that are
//! missing.

use galatea_core::{Character, plugin::plain_name as plain};
use galatea_knowledge::{Place, of_character};
use std::path::Path;

use crate::{platforms::Platform, report::Report};

/// Plugins of elizaOS that have a counterpart here, without scope and prefix.
const BUILT_IN: &[&str] = &[
    "bootstrap",
    "sql",
    "openai",
    "anthropic",
    "ollama",
    "google-genai",
    "openrouter",
    "groq",
    "xai",
    "grok",
    "mistral",
    "telegram",
    "discord",
    "twitter",
    "x",
    "sqlite",
    "postgres",
    "pglite",
    "direct",
    "node",
    "knowledge",
    "rag",
    "mcp",
];

/// Warnings about missing plugins and documents. `file` is the character file; paths are
/// relative to it.
pub fn remarks(character: &Character, file: Option<&Path>, working_dir: &Path) -> Vec<Report> {
    let place = file.map(|file| file.display().to_string()).unwrap_or_default();
    plugins(character)
        .into_iter()
        .map(|name| missing(name).line("where", format!("plugins in {place}")))
        .chain(knowledge(character, file, working_dir))
        .collect()
}

/// The same findings in a few words, for the banner.
pub fn brief(character: &Character) -> Option<String> {
    let parts: Vec<&str> = plugins(character).into_iter().map(plain).collect();
    (!parts.is_empty()).then(|| format!("it asks for what is not here: {}", parts.join(", ")))
}

/// Whether the character lists this platform's plugin.
pub fn asks_for(character: &Character, platform: &Platform) -> bool {
    let source = platform.source.as_str();
    character
        .plugins
        .iter()
        .map(|name| plain(name))
        .any(|name| name == source || (source == "x" && name == "twitter"))
}

fn plugins(character: &Character) -> Vec<&str> {
    let known = crate::plugin_list::known();
    character
        .plugins
        .iter()
        .map(String::as_str)
        .filter(|name| !BUILT_IN.contains(&plain(name)))
        .filter(|name| known.iter().all(|known| known.name != plain(name)))
        .collect()
}

fn missing(name: &str) -> Report {
    let fix = match plain(name) {
        "local-ai" | "llama" => "use Ollama: OLLAMA_API_ENDPOINT",
        _ => "remove it, or do without: plugins of elizaOS are TypeScript, which does not run here",
    };
    Report::warning(format!("the character asks for the plugin {name}, which is not here"))
        .code("GAL-CHAR-PLUGIN")
        .fix(fix)
}

/// Files and folders under `knowledge` that do not exist.
fn knowledge(character: &Character, file: Option<&Path>, working_dir: &Path) -> Option<Report> {
    let folder = working_dir.join(file.and_then(Path::parent).unwrap_or(Path::new("")));
    let lost: Vec<String> = of_character(character, &folder)
        .into_iter()
        .filter_map(|source| match source.place {
            Place::Path(path) if !path.exists() => {
                Some(path.strip_prefix(&folder).unwrap_or(&path).display().to_string())
            }
            _ => None,
        })
        .collect();
    if lost.is_empty() {
        return None;
    }
    let place = file.map(|file| format!("knowledge in {}", file.display())).unwrap_or_default();
    Some(
        Report::warning(format!("documents of the character are missing: {}", lost.join(", ")))
            .code("GAL-CHAR-KNOWLEDGE")
            .line("where", place)
            .fix("correct the path: it starts at the folder of the character file"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::platforms::PLATFORMS;
    use galatea_core::character::Knowledge;

    fn character(plugins: &[&str], knowledge: Vec<Knowledge>) -> Character {
        Character {
            name: "Ada".into(),
            plugins: plugins.iter().map(|p| (*p).to_owned()).collect(),
            knowledge,
            ..Character::default()
        }
    }

    #[test]
    fn what_is_here_is_no_news() {
        let ours = [
            "@elizaos/plugin-bootstrap",
            "@elizaos/plugin-sql",
            "@elizaos-plugins/client-twitter",
            "plugin-openai",
            "@elizaos/adapter-sqlite",
            "@elizaos/plugin-knowledge",
        ];
        let ada = character(&ours, vec![Knowledge::Text("a line".into())]);
        assert_eq!((remarks(&ada, None, Path::new(".")), brief(&ada)), (Vec::new(), None));
    }

    #[test]
    fn what_is_not_here_is_named_with_a_way_out() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("there.md"), "x").unwrap();
        let paths = ["there.md", "gone.md"]
            .map(|path| Knowledge::File { path: path.into(), shared: false });
        let ada = character(&["@elizaos/plugin-solana", "@elizaos/plugin-evm"], paths.to_vec());
        let text: String = remarks(&ada, Some(Path::new("ada.json")), dir.path())
            .iter()
            .map(ToString::to_string)
            .collect();
        for part in [
            "plugin-solana",
            "TypeScript",
            "documents of the character are missing: gone.md",
            "knowledge in ada.json",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert_eq!(brief(&ada).unwrap(), "it asks for what is not here: solana, evm");
    }

    #[test]
    fn platforms_that_are_asked_for_are_known() {
        let ada = character(&["@elizaos/plugin-twitter", "@elizaos/plugin-telegram"], Vec::new());
        let asked: Vec<_> = PLATFORMS
            .iter()
            .filter(|platform| asks_for(&ada, platform))
            .map(|platform| platform.title)
            .collect();
        assert_eq!(asked, ["Telegram", "X"]);
    }
}
