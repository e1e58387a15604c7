//! `galatea init`: connects platforms and a model, checks them, and writes `.env` and a character.

mod answers;
mod ask;
mod confirm;
mod env_text;
mod ollama;
mod options;
mod verify;
mod write;

use std::process::ExitCode;

use crate::{
    context::Context,
    report::failure::{Failure, Result},
};
use answers::Answers;
use options::Brain;

pub(crate) use options::Init;

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
