//! One question, one answer, nothing left on the disk: `once nova.json "Shall I water today?"`. So a
//! function of a cloud or a step of a script asks an agent.

use galatea_core::{Error, Result};
use galatea_host::{AgentSource, Builder, Galatea};
use std::path::Path;

#[tokio::main]
async fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let (Some(file), Some(question)) = (arguments.next(), arguments.next()) else {
        return Err(Error::invalid("name a character file and a question"));
    };
    let answer = answer(Galatea::builder(), Path::new(&file), &question).await?;
    eprintln!("{answer}");
    Ok(())
}

/// The answer of the character in a file.
pub(crate) async fn answer(builder: Builder, file: &Path, question: &str) -> Result<String> {
    builder.answer(AgentSource::from(file), "caller", question).await
}
