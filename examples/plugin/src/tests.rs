//! The plugin in an agent, with a model that does what the message says.

use async_trait::async_trait;
use galatea_core::{
    ModelInfo, Plugin, Result, TextModel,
    event::Event,
    model::{OnText, PluginModel, TextAnswer, TextRequest, Tier},
};
use galatea_host::{Galatea, Platforms};
use std::{fs, path::Path, sync::Arc, time::Duration};

use super::*;

/// Calls the action that the newest message names, in the form of an answer without tools.
struct Obedient(ModelInfo);

#[async_trait]
impl TextModel for Obedient {
    fn info(&self) -> &ModelInfo {
        &self.0
    }

    async fn generate(&self, request: &TextRequest, _: &OnText<'_>) -> Result<TextAnswer> {
        let said: String = request.messages.iter().map(|message| message.text()).collect();
        let call = |name: &str, params: &str| {
            format!(
                "<response><actions><action><name>{name}</name><params>{params}</params></action></actions></response>"
            )
        };
        let options = "<question>Lunch?</question><options>[\"Pizza\",\"Soup\"]</options>";
        let last = said.rsplit("ORDER:").next().unwrap_or_default();
        let text = match last.split('!').next().unwrap_or_default() {
            "open" => call("OPEN_POLL", options),
            "vote" => call("VOTE", "<option>soup</option>"),
            _ => format!(
                "<response><text>poll shown: {}</text></response>",
                said.contains("# Open poll")
            ),
        };
        Ok(TextAnswer { text, ..TextAnswer::default() })
    }
}

fn model() -> Plugin {
    let info =
        ModelInfo { provider: "test".into(), model: "obedient".into(), ..ModelInfo::default() };
    let model: Arc<dyn TextModel> = Arc::new(Obedient(info));
    [Tier::TextSmall, Tier::TextLarge]
        .into_iter()
        .fold(Plugin::new("obedient", "1.0.0", "Does what it is asked"), |plugin, tier| {
            plugin.model(1, PluginModel::Text(tier, Arc::clone(&model)))
        })
}

#[tokio::test]
async fn a_poll_is_opened_voted_on_and_shown() {
    let folder = tempfile::tempdir().unwrap();
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("characters/ada.json");
    fs::copy(from, folder.path().join("ada.json")).unwrap();
    let galatea = Galatea::builder()
        .folder(folder.path())
        .plugin(model())
        .plugin(plugin())
        .platforms(Platforms::None)
        .build()
        .await
        .unwrap();
    let ada = galatea.add_agent(Path::new("ada.json")).start().await.unwrap();
    let mut events = galatea.events().subscribe();
    let opened = ada.ask("ann", "ORDER:open! a poll").await.unwrap();
    assert_eq!(opened, "Lunch?\n- Pizza: 0\n- Soup: 0");
    let voted = ada.ask("ann", "ORDER:vote! soup").await.unwrap();
    assert_eq!(voted, "Lunch?\n- Pizza: 0\n- Soup: 1");
    let shown = ada.ask("ann", "ORDER:tell! me").await.unwrap();
    assert_eq!(shown, "poll shown: true");
    let mut published = false;
    while let Ok(event) = events.try_recv() {
        published |= matches!(event, Event::Custom { plugin, name, .. } if plugin == NAME && name == "opened");
    }
    assert!(published);

    // Off, its actions and its part of the prompt are gone; what it stored is kept.
    let orchestrator = galatea.orchestrator();
    orchestrator.disable_plugin(ada.id(), NAME).await.unwrap();
    let gone = ada.ask("ann", "ORDER:tell! me").await.unwrap();
    assert_eq!(gone, "poll shown: false");
    orchestrator.enable_plugin(ada.id(), NAME).await.unwrap();
    let back = ada.ask("ann", "ORDER:tell! me").await.unwrap();
    assert_eq!(back, "poll shown: true");
    galatea.shutdown(Duration::from_secs(10)).await;
}

#[test]
fn the_tutorial_shows_what_this_crate_holds() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let tutorial = fs::read_to_string(root.join("../../docs/plugins.md")).unwrap();
    let sources: Vec<String> = fs::read_dir(root.join("src"))
        .unwrap()
        .map(|file| fs::read_to_string(file.unwrap().path()).unwrap())
        .collect();
    let excerpts: Vec<_> =
        tutorial.split("```rust\n").skip(1).map(|rest| rest.split("```").next().unwrap()).collect();
    assert!(excerpts.len() > 8, "{}", excerpts.len());
    for excerpt in excerpts {
        let held = sources.iter().any(|source| source.contains(excerpt));
        assert!(held, "no file of the crate holds:\n{excerpt}");
    }
}
