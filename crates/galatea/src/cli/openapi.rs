//! `galatea openapi`: prints the description of the API.

use clap::Args;
use galatea_core::Error;
use std::process::ExitCode;

use crate::{context::Context, report::failure::Result};

/// Print the description of the API (OpenAPI 3.1)
#[derive(Debug, Clone, Args)]
#[command(before_help = "Examples:\n  galatea openapi > openapi.json")]
pub(crate) struct Openapi {}

impl Openapi {
    pub(crate) fn run(&self, context: &Context) -> Result<ExitCode> {
        let text = galatea_server::openapi().to_pretty_json().map_err(|error| {
            Error::unexpected("the description cannot be written as JSON").with_source(error)
        })?;
        context.output.raw(format!("{text}\n").as_bytes());
        Ok(ExitCode::SUCCESS)
    }
}
