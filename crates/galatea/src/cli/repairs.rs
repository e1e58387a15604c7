//! `--fix` of connectors: asks for consent, repairs, and checks the platform again.

use galatea_core::{Connector, Error, Finding, Severity};
use std::io;

use crate::{
    context::Context,
    report::{
        exit::Exit,
        failure::{Failure, Result},
        findings,
    },
};
use galatea_host::report::Report;

/// How the questions of `--fix` are answered.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Repairs {
    /// Whether `--yes` was given.
    pub(crate) yes: bool,
}

impl Repairs {
    /// Performs the repairs that a person agrees to, and returns the findings of a second check.
    /// Returns `found` unchanged if nothing was repaired.
    ///
    /// # Errors
    /// Exit 2 if a question cannot be asked; exit 130 if the person leaves.
    pub(crate) async fn offer(
        self,
        connector: &dyn Connector,
        title: &str,
        found: Vec<Finding>,
        context: &Context,
    ) -> Result<Vec<Finding>> {
        let mut done = Vec::new();
        for finding in found.iter().filter(|f| f.repair.is_some()) {
            let Some(question) = &finding.repair else { continue };
            if !self.agreed(question, title, finding, context)? {
                continue;
            }
            done.push(match connector.repair(finding).await {
                Ok(()) => Finding::new(
                    Severity::Info,
                    finding.id.clone(),
                    finding.subject.clone(),
                    format!("done: {}", question.trim_end_matches('?')),
                ),
                Err(error) => Finding::failure(finding.subject.clone(), &error),
            });
        }
        if done.is_empty() {
            return Ok(found);
        }
        done.extend(connector.check().await);
        Ok(done)
    }

    fn agreed(
        self,
        question: &str,
        title: &str,
        finding: &Finding,
        context: &Context,
    ) -> Result<bool> {
        if self.yes {
            return Ok(true);
        }
        if !context.may_ask() {
            let refusal = Report::error(format!("a question has to be answered first: {question}"))
                .code("GAL-FIX-ASK")
                .cause(format!("{title}: {}", finding.message))
                .fix("add --yes to say yes, or run it in a terminal without --no-input");
            return Err(Failure::new(vec![refusal], Exit::Usage));
        }
        context.output.say(format_args!(
            "{title}\n{}",
            findings::render(std::slice::from_ref(finding), context.output.talk_style).trim_end()
        ));
        cliclack::confirm(crate::report::printable::text(question))
            .initial_value(false)
            .interact()
            .map_err(ended)
    }
}

/// The failure for a question that was not answered.
fn ended(error: io::Error) -> Failure {
    if error.kind() == io::ErrorKind::Interrupted {
        return Failure::interrupted();
    }
    Error::unexpected("the terminal could not be asked")
        .with("cause", &error)
        .with_fix("use --yes")
        .with_source(error)
        .into()
}
