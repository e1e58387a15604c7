//! `galatea chat`: talk to an agent from this terminal. Uses the running agent, or starts one for
//! the conversation.

#[cfg(unix)]
mod exchange;
#[cfg(unix)]
mod failure_lookup;
#[cfg(unix)]
mod find;
#[cfg(unix)]
mod here;
#[cfg(unix)]
mod interactive;
#[cfg(unix)]
mod one_shot;
#[cfg(unix)]
mod transcript;

use clap::Args;
use std::process::ExitCode;

use crate::{
    cli::flags::{Characters, Json},
    context::Context,
    report::failure::Result,
};
use galatea_host::storage::data_dir::DataDir;

/// Talk to an agent here
///
/// Connects to the running galatea; when none runs in this data folder, the agent is started just
/// for the conversation. Without -m, lines are read from the keyboard, or from standard input when
/// that is not a terminal.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct Chat {
    /// Name of the agent; the first when absent
    #[arg(value_name = "AGENT")]
    agent: Option<String>,
    /// Say this, print the answer, and end
    #[arg(short, long, value_name = "TEXT")]
    message: Option<String>,
    /// Speak under this name; every name has its own conversation
    #[arg(long = "as", value_name = "NAME")]
    name: Option<String>,
    #[command(flatten)]
    characters: Characters,
    #[command(flatten)]
    json: Json,
}

#[cfg(not(unix))]
impl Chat {
    /// Fails on Windows.
    pub(crate) async fn run(&self, _context: &Context) -> Result<ExitCode> {
        Err(galatea_core::Error::new(
            galatea_core::ErrorKind::Unsupported,
            "`galatea chat` needs Unix sockets, which this build for Windows does not have",
        )
        .with_code("GAL-TERM-OS")
        .with_fix("run Galatea in WSL or a container")
        .into())
    }
}

#[cfg(unix)]
impl Chat {
    /// Connects to the agent or starts it, and talks.
    pub(crate) async fn run(&self, context: &Context) -> Result<ExitCode> {
        let configuration = context.configuration()?;
        let data_dir = DataDir::locate(&configuration.settings, &context.working_dir);
        let name = self.name.clone().unwrap_or_else(own_name);
        if let Some(client) = find::running(data_dir.path(), self.agent.as_deref(), &name).await? {
            if !self.characters.characters.is_empty() {
                return Err(crate::report::failure::Failure::usage(
                    "a galatea is running here already, so --character has no effect",
                    "leave it out, or use another data folder (GALATEA_DATA_DIR)",
                ));
            }
            let lookup = failure_lookup::Verdicts(
                failure_lookup::beside(&configuration.settings, &data_dir).await,
            );
            return self.talk(client, &lookup, &data_dir, context).await;
        }
        let here =
            here::start(&self.characters.characters, configuration, &data_dir, context).await?;
        let client = find::connect(data_dir.path(), self.agent.as_deref(), &name)
            .await?
            .ok_or_else(exchange::gone)?;
        let lookup = failure_lookup::Verdicts(Some(here.store()));
        let ended = self.talk(client, &lookup, &data_dir, context).await;
        here.stop().await;
        ended
    }

    async fn talk(
        &self,
        mut client: galatea_terminal::TerminalClient,
        lookup: &failure_lookup::Verdicts,
        data_dir: &DataDir,
        context: &Context,
    ) -> Result<ExitCode> {
        use std::io::IsTerminal;
        let ended = if let Some(text) = &self.message {
            one_shot::say(&mut client, text, lookup, self.json.json, &context.output)
                .await
                .map(|()| ExitCode::SUCCESS)
        } else if std::io::stdin().is_terminal() && !self.json.json {
            interactive::talk(&mut client, &context.output, data_dir.path().join(HISTORY), lookup)
                .await
                .map(|end| match end {
                    interactive::End::Done => ExitCode::SUCCESS,
                    interactive::End::Interrupted => crate::report::exit::Exit::Interrupted.into(),
                })
        } else {
            one_shot::say_lines(&mut client, lookup, self.json.json, &context.output)
                .await
                .map(|()| ExitCode::SUCCESS)
        };
        client.close().await;
        Ok(ended?)
    }
}

/// File in the data folder with the history of lines typed.
#[cfg(unix)]
const HISTORY: &str = "chat_history";

/// Default name of the speaker: the login name. Any name works if it stays the same.
#[cfg(unix)]
fn own_name() -> String {
    ["USER", "LOGNAME"]
        .into_iter()
        .filter_map(|variable| std::env::var(variable).ok())
        .find(|name| galatea_terminal::check_name(name).is_ok())
        .unwrap_or_else(|| transcript::YOU.to_owned())
}
