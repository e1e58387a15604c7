//! `galatea man`: prints the manual page, or writes one per command into a folder.

use clap::Args;
use std::{
    fs, io,
    path::{Path, PathBuf},
    process::ExitCode,
};

use crate::{context::Context, report::failure::Result};
use galatea_host::storage::files::cannot;

/// Print the manual page, or write one per command
#[derive(Debug, Clone, Args)]
#[command(
    before_help = "Examples:\n  galatea man | man -l -\n  galatea man --dir ~/.local/share/man/man1"
)]
pub(crate) struct Man {
    /// Write a page for every command into this folder
    #[arg(long, value_name = "FOLDER")]
    dir: Option<PathBuf>,
}

impl Man {
    /// Prints or writes.
    pub(crate) fn run(&self, mut command: clap::Command, context: &Context) -> Result<ExitCode> {
        command.build();
        let Some(dir) = &self.dir else {
            context.output.raw(&page(&command).map_err(|e| cannot("standard output".as_ref(), e))?);
            return Ok(ExitCode::SUCCESS);
        };
        let dir = context.working_dir.join(dir);
        fs::create_dir_all(&dir).map_err(|e| cannot(&dir, e))?;
        let mut written = 0;
        write(&command, "galatea", &dir, &mut written)?;
        context.output.say(format_args!("wrote {written} pages to {}", dir.display()));
        Ok(ExitCode::SUCCESS)
    }
}

fn write(command: &clap::Command, name: &str, dir: &Path, written: &mut usize) -> Result<()> {
    let path = dir.join(format!("{name}.1"));
    let named = command.clone().name(name.to_owned());
    fs::write(&path, page(&named).map_err(|e| cannot(&path, e))?).map_err(|e| cannot(&path, e))?;
    *written += 1;
    for sub in command.get_subcommands().filter(|c| !c.is_hide_set() && c.get_name() != "help") {
        write(sub, &format!("{name}-{}", sub.get_name()), dir, written)?;
    }
    Ok(())
}

fn page(command: &clap::Command) -> io::Result<Vec<u8>> {
    let mut page = Vec::new();
    clap_mangen::Man::new(command.clone()).render(&mut page)?;
    Ok(page)
}
