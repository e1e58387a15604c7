//! `galatea completions`: prints a shell script that completes commands and options.

use clap::Args;
use clap_complete::Shell;
use std::process::ExitCode;

use crate::context::Context;

/// Print a completion script for a shell
#[derive(Debug, Clone, Args)]
#[command(
    before_help = "Examples:\n  galatea completions bash > ~/.local/share/bash-completion/completions/galatea\n  galatea completions zsh > ~/.zfunc/_galatea\n  galatea completions fish > ~/.config/fish/completions/galatea.fish"
)]
pub(crate) struct Completions {
    /// Which shell
    shell: Shell,
}

impl Completions {
    /// Prints the script for the command tree.
    pub(crate) fn run(&self, mut command: clap::Command, context: &Context) -> ExitCode {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut command, "galatea", &mut script);
        context.output.raw(&script);
        ExitCode::SUCCESS
    }
}
