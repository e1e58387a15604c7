//! `cargo xtask gen`: generates documents from declarations in the code, so that they cannot
//! disagree.
//!
//! No crate may import the program, so the program prints its declarations: `galatea reference env
//! | errors | cli | schema | rights | models`.

mod errors;
mod variables;

use anyhow::{Context, Result, bail};
use serde_json::Value;
use std::{fs, path::Path, process::Command};

use xtask::{cargo, output};

/// The notice at the top of generated files.
const ORIGIN: &str = "Written by `cargo xtask gen` from declarations in the code. Do not edit.";

/// Builds the program and writes every file. With `check`, fails if a file differs instead.
pub(crate) fn run(root: &Path, only_check: bool) -> Result<()> {
    let run = ["run", "--quiet", "--locked", "--package", "galatea", "--"];
    let files = files_of(|| cargo(root, &run))?;
    if only_check { compare(root, &files) } else { write(root, &files) }
}

/// Fails if a file differs from what this build of the program declares.
pub(crate) fn check(root: &Path, program: &Path) -> Result<()> {
    compare(root, &files_of(|| Command::new(program))?)
}

fn files_of(program: impl Fn() -> Command) -> Result<Vec<File>> {
    let reference = |topic: &str| {
        let mut command = program();
        command.args(["reference", topic]);
        output(command)
    };
    files(&Reference {
        env: &reference("env")?,
        errors: &reference("errors")?,
        cli: &reference("cli")?,
        schema: &reference("schema")?,
        rights: &reference("rights")?,
        models: &reference("models")?,
    })
}

/// Output of `galatea reference` for each topic.
struct Reference<'a> {
    env: &'a str,
    errors: &'a str,
    cli: &'a str,
    schema: &'a str,
    rights: &'a str,
    models: &'a str,
}

/// A path relative to the workspace, and the contents of the file.
type File = (&'static str, String);

fn files(reference: &Reference<'_>) -> Result<Vec<File>> {
    let env: variables::Reference = serde_json::from_str(reference.env)
        .context("`galatea reference env` printed something else")?;
    let errors: errors::Reference = serde_json::from_str(reference.errors)
        .context("`galatea reference errors` printed something else")?;
    let schema: Value = serde_json::from_str(reference.schema)
        .context("`galatea reference schema` printed something else")?;
    Ok(vec![
        (".env.example", variables::env_example(&env)?),
        ("docs/reference/configuration.md", variables::markdown(&env)),
        ("docs/reference/errors.md", errors::markdown(&errors)),
        ("docs/reference/cli.md", format!("<!-- {ORIGIN} -->\n\n{}\n", reference.cli.trim())),
        ("docs/reference/rights.md", format!("<!-- {ORIGIN} -->\n\n{}\n", reference.rights.trim())),
        ("docs/reference/models.md", format!("<!-- {ORIGIN} -->\n\n{}\n", reference.models.trim())),
        ("docs/reference/character.schema.json", format!("{schema:#}\n")),
    ])
}

fn write(root: &Path, files: &[File]) -> Result<()> {
    for (name, text) in files {
        let path = root.join(name);
        if fs::read_to_string(&path).is_ok_and(|known| known == *text) {
            continue;
        }
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)
                .with_context(|| format!("cannot create {}", folder.display()))?;
        }
        fs::write(&path, text).with_context(|| format!("cannot write {name}"))?;
        eprintln!("wrote {name}");
    }
    Ok(())
}

fn compare(root: &Path, files: &[File]) -> Result<()> {
    let mut stale = Vec::new();
    for (name, text) in files {
        let known = fs::read_to_string(root.join(name)).unwrap_or_default();
        if known != *text {
            let line =
                known.lines().zip(text.lines()).take_while(|(known, text)| known == text).count()
                    + 1;
            stale.push(format!("{name} differs from line {line} on"));
        }
    }
    if stale.is_empty() {
        return Ok(());
    }
    bail!("{}; run `cargo xtask gen` and commit the result", stale.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// Declares every setting of the template.
    fn env() -> String {
        let names = variables::TEMPLATE.iter().flat_map(|(_, names)| *names);
        let variables: Vec<Value> = names
            .map(|name| json!({ "name": name, "help": "From @BotFather", "default": null }))
            .collect();
        json!({ "groups": [{ "title": "Telegram", "variables": variables }] }).to_string()
    }

    fn reference(env: &str) -> Reference<'_> {
        Reference {
            env,
            errors: r#"{"errors":[{"code":"GAL-TG-409","title":"Two readers","cause":"c","fix":"f"}]}"#,
            cli: "# Commands\n\ntext\n",
            schema: r#"{"type":"object"}"#,
            rights: "# Rights\n",
            models: "# Models\n",
        }
    }

    #[test]
    fn what_was_written_passes_the_check_and_a_change_does_not() {
        let root = tempfile::tempdir().unwrap();
        let files = files(&reference(&env())).unwrap();
        assert!(compare(root.path(), &files).is_err(), "nothing is written yet");
        write(root.path(), &files).unwrap();
        compare(root.path(), &files).unwrap();
        let path = root.path().join("docs/reference/cli.md");
        fs::write(&path, fs::read_to_string(&path).unwrap().replace("text", "other")).unwrap();
        let error = compare(root.path(), &files).unwrap_err().to_string();
        assert!(error.starts_with("docs/reference/cli.md differs from line 5 on;"), "{error}");
    }

    #[test]
    fn something_else_is_refused_by_name() {
        let error = format!(
            "{:#}",
            files(&Reference { errors: "error: no such command", ..reference(&env()) })
                .unwrap_err()
        );
        assert!(error.contains("galatea reference errors"), "{error}");
    }
}
