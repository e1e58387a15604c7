//! The progress bar of imports.

use std::io::{self, IsTerminal as _};

use crate::context::Context;

/// A bar on a terminal; nothing elsewhere.
#[derive(Default)]
pub(super) struct Bar(Option<cliclack::ProgressBar>);

impl Bar {
    pub(super) fn new(context: &Context, json: bool) -> Self {
        let shown = !json && io::stderr().is_terminal() && context.may_ask();
        Self(shown.then(|| {
            let bar = cliclack::progress_bar(100);
            bar.start("importing");
            bar
        }))
    }

    /// Shows how far it has come.
    pub(super) fn show(&self, done: usize, of: usize) {
        if let Some(bar) = &self.0 {
            bar.set_position((done * 100 / of.max(1)) as u64);
        }
    }

    pub(super) fn end(&self) {
        if let Some(bar) = &self.0 {
            bar.stop("read");
        }
    }
}
