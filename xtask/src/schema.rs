//! Sends generated requests to every operation of the API (schemathesis): signed out, as a viewer and as an
//! owner. No answer may be a server error, or one that `/openapi.json` does not describe.

use anyhow::{Result, bail, ensure};
use clap::Args;
use std::{path::Path, process::Command};

/// The driver; it needs nothing but Python and schemathesis.
const DRIVER: &str = include_str!("schema/drive.py");

#[derive(Args)]
pub(crate) struct Schema {
    /// Requests per operation and phase.
    #[arg(long, default_value_t = 30)]
    examples: u32,
    /// The Python that has schemathesis.
    #[arg(long, default_value = "python3")]
    python: String,
    /// The program, if it is built already.
    #[arg(long)]
    program: Option<std::path::PathBuf>,
}

pub(crate) fn run(root: &Path, schema: &Schema) -> Result<()> {
    let found = Command::new(&schema.python).args(["-c", "import schemathesis"]).output();
    if !found.is_ok_and(|found| found.status.success()) {
        eprintln!("skipped: {} has no schemathesis (pip install schemathesis)", schema.python);
        return Ok(());
    }
    let program = match &schema.program {
        Some(program) => program.clone(),
        None => {
            let built = Command::new("cargo")
                .args(["build", "--locked", "-p", "galatea"])
                .current_dir(root)
                .status()?;
            ensure!(built.success(), "the program does not build");
            root.join("target/debug/galatea")
        }
    };
    let status = Command::new(&schema.python)
        .args(["-c", DRIVER])
        .arg(program)
        .arg(schema.examples.to_string())
        .status()?;
    if !status.success() {
        bail!("schemathesis found answers that the description of the API does not allow");
    }
    Ok(())
}
