//! A conversation in the terminal: each line is a question, each piece of the answer a line.

use galatea_core::{Character, Error, Result};
use galatea_host::{Builder, Galatea, Person, Piece, Platforms};
use std::time::Duration;
use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncWrite, AsyncWriteExt, BufReader};

#[tokio::main]
async fn main() -> Result<()> {
    talk(Galatea::builder(), BufReader::new(tokio::io::stdin()), tokio::io::stdout()).await
}

/// Answers each line of `input` until it ends.
pub(crate) async fn talk(
    builder: Builder,
    input: impl AsyncBufRead + Unpin,
    mut output: impl AsyncWrite + Unpin,
) -> Result<()> {
    let galatea = builder.platforms(Platforms::None).build().await?;
    let nova = Character::from_json(r#"{"name": "Nova", "bio": "A gardener."}"#)?;
    let nova = galatea.add_agent(nova).await?;
    let broken = |cause| Error::unexpected("the terminal is closed").with_source(cause);
    let mut lines = input.lines();
    while let Some(line) = lines.next_line().await.map_err(broken)? {
        let mut answer = nova.ask_stream(Person::owner("you"), line);
        while let Some(piece) = answer.next().await {
            let shown = match piece? {
                Piece::Text(text) => format!("{text}\n"),
                Piece::ToolStarted { name } => format!("({name})\n"),
                _ => continue,
            };
            output.write_all(shown.as_bytes()).await.map_err(broken)?;
        }
    }
    galatea.shutdown(Duration::from_secs(10)).await;
    Ok(())
}
