//! `galatea init`: connects platforms and a model, checks them, and writes `.env` and a character.

mod answers;
mod ask;
mod env_text;
mod ollama;
mod verify;
mod write;

use clap::Args;
use std::process::ExitCode;

use crate::{
    cli::flags::Consent,
    context::Context,
    failure::{Failure, Result},
};
use answers::{Answers, Brain};

/// Connect platforms and a model, step by step
///
/// Asks what to connect, checks every credential with a real call, and writes .env (readable by you
/// only) and a character file. With --yes nothing is asked: give the answers as options, and
/// secrets on standard input, one per line: Telegram's token, Discord's token, X's four keys (API
/// key, API key secret, access token, access token secret), the provider's key. What is not
/// connected is left out.
#[derive(Debug, Clone, Args)]
#[command(
    before_help = "Examples:\n  galatea init\n  galatea init --yes --telegram-token-stdin --model ollama < token.txt\n  printf '%s\\n' \"$TOKEN\" \"$KEY\" | galatea init --yes \\\n      --telegram-token-stdin --model openai --model-key-stdin\n  printf '%s\\n' \"$DISCORD\" | galatea init --yes --connect discord --model ollama"
)]
pub(crate) struct Init {
    /// Name of the character
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Read the Telegram token from standard input; the same as --connect telegram
    #[arg(long)]
    telegram_token_stdin: bool,
    /// Connect this platform (telegram, discord, x; may be repeated); its secrets are read from
    /// standard input
    #[arg(long, value_name = "PLATFORM")]
    connect: Vec<String>,
    /// Which model answers
    #[arg(long, value_name = "PROVIDER")]
    model: Option<Brain>,
    /// Read the provider's key from standard input
    #[arg(long, aliases = ["openai-key-stdin", "anthropic-key-stdin", "openrouter-key-stdin", "google-key-stdin", "groq-key-stdin"], requires = "model")]
    model_key_stdin: bool,
    /// Address of Ollama or of an OpenAI-compatible server
    #[arg(long, value_name = "URL", requires = "model")]
    model_url: Option<String>,
    /// Replace values in .env and a character file that are there
    #[arg(long)]
    force: bool,
    /// Write without asking the platforms and the provider whether it works
    #[arg(long)]
    no_check: bool,
    #[command(flatten)]
    consent: Consent,
}

impl Init {
    /// Asks, checks and writes.
    pub(crate) async fn run(&self, context: &Context) -> Result<ExitCode> {
        // Report a faulty `.env` before the first question.
        context.configuration()?;
        let asks = !self.consent.yes && context.may_ask();
        if !asks && !self.consent.yes {
            return Err(Failure::usage(
                "init asks questions, and may not ask here",
                "add --yes and give the answers as options: galatea init --yes --telegram-token-stdin --model ollama",
            ));
        }
        let answers = if asks {
            ask::answers(self, context).await?
        } else {
            self.answers_given(context).await?
        };
        let plan = write::plan(&answers, context, self.force, asks)?;
        if self.consent.dry_run {
            plan.show(context);
            return Ok(ExitCode::SUCCESS);
        }
        plan.write(context)?;
        context.output.say("\nNext  galatea start · galatea chat · galatea doctor");
        Ok(ExitCode::SUCCESS)
    }

    /// The answers in options and on standard input, checked.
    async fn answers_given(&self, context: &Context) -> Result<Answers> {
        let mut answers = answers::given(self, context, std::io::stdin().lock())?;
        if self.model == Some(Brain::Ollama) {
            let endpoint = self.model_url.clone().unwrap_or_else(|| ollama::endpoint(context));
            let found = if self.no_check { None } else { ollama::probe(&endpoint).await };
            answers.ollama(&endpoint, found.as_ref());
        }
        if !self.no_check {
            let findings = verify::everything(&answers, context).await?;
            if let Some(exit) = verify::fatal(&findings) {
                let reports = findings
                    .iter()
                    .filter(|f| f.severity == galatea_core::Severity::Error)
                    .map(verify::report)
                    .collect();
                return Err(Failure::new(reports, exit));
            }
            verify::show(&findings, context);
        }
        Ok(answers)
    }
}
