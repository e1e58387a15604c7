//! PROVIDERS and EVALUATORS: list the providers the model may request, and the evaluators that run
//! after a turn. For templates.

use async_trait::async_trait;
use galatea_core::{Fragment, Provider, ProviderUse, Result, Turn, rights::Authorship};

pub(crate) struct Providers;

#[async_trait]
impl Provider for Providers {
    fn name(&self) -> &'static str {
        "PROVIDERS"
    }
    fn description(&self) -> &'static str {
        "What else can be looked up"
    }
    fn position(&self) -> i32 {
        85
    }
    fn when(&self) -> ProviderUse {
        ProviderUse::Always
    }
    fn authorship(&self) -> Authorship {
        Authorship::Own
    }
    async fn provide(&self, turn: &Turn<'_>) -> Result<Fragment> {
        let list = bullets(&turn.catalog.providers);
        let text =
            if list.is_empty() { list.clone() } else { format!("# What can be looked up\n{list}") };
        Ok(Fragment::text(text).value("providersWithDescriptions", list))
    }
}

pub(crate) struct Evaluators;

#[async_trait]
impl Provider for Evaluators {
    fn name(&self) -> &'static str {
        "EVALUATORS"
    }
    fn description(&self) -> &'static str {
        "What is learnt after a turn"
    }
    fn position(&self) -> i32 {
        90
    }
    fn when(&self) -> ProviderUse {
        ProviderUse::OnRequest
    }
    fn authorship(&self) -> Authorship {
        Authorship::Own
    }
    async fn provide(&self, turn: &Turn<'_>) -> Result<Fragment> {
        let list = bullets(&turn.catalog.evaluators);
        Ok(Fragment::text(list.clone()).value("evaluators", list))
    }
}

fn bullets(list: &[(String, String)]) -> String {
    let mut text = String::new();
    for (name, about) in list {
        for piece in [if text.is_empty() { "- " } else { "\n- " }, name, ": ", about] {
            text.push_str(piece);
        }
    }
    text
}
