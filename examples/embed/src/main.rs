//! Two agents in a program of one's own: one is asked, one is changed while the other answers, one is
//! restarted, and both are removed. Run it in a folder with `ada.json` and `bob.json`; a model comes
//! from the settings there (`.env`), as for the program `galatea`. Without one the offline script
//! answers.

use galatea_core::{Error, Result};
use galatea_host::{Builder, Galatea, Person, Platforms};
use std::{fs, path::Path, time::Duration};

#[tokio::main]
async fn main() -> Result<()> {
    let folder = Path::new(".");
    let answers = converse(Galatea::builder().folder(folder), folder).await?;
    answers.iter().for_each(|answer| eprintln!("{answer}"));
    Ok(())
}

/// Returns what the agents answered, in order.
async fn converse(builder: Builder, folder: &Path) -> Result<[String; 4]> {
    let galatea = builder.platforms(Platforms::None).build().await?;
    let ada = galatea.add_agent("ada.json").await?;
    let bob = galatea.add_agent("bob.json").await?;
    let before = ada.ask(Person::owner("alice"), "Who are you?").await?;

    let file = folder.join("ada.json");
    let pirate = fs::read_to_string(&file).map(|text| text.replace("a poet", "a pirate"));
    pirate
        .and_then(|text| fs::write(&file, text))
        .map_err(|cause| Error::unexpected("ada.json cannot be changed").with_source(cause))?;
    // Ada changes while Bob answers.
    let (meanwhile, changed) = tokio::join!(bob.ask("alice", "And you?"), ada.update());
    changed?;
    let after = ada.ask("alice", "Who are you now?").await?;

    bob.restart().await?;
    let again = bob.ask("alice", "Still there?").await?;
    ada.remove().await?;
    bob.remove().await?;
    galatea.shutdown(Duration::from_secs(10)).await;
    Ok([before, meanwhile?, after, again])
}

#[cfg(test)]
mod tests;
