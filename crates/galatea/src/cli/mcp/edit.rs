//! Adds servers to the file of this folder, and removes them.

use clap::Args;
use galatea_core::{
    Error, ErrorKind,
    whole_file::{self, Access, Flush},
};
use serde_json::{Map, Value, json};
use std::{path::Path, process::ExitCode};

use super::{approve, found};
use crate::{
    cli::flags::Characters,
    context::Context,
    report::failure::{Failure, Result},
};

#[derive(Debug, Clone, Args)]
pub(super) struct Add {
    /// Name of the server, the beginning of its tools' names
    name: String,
    /// Its address (streamable HTTP)
    #[arg(long, value_name = "URL", conflicts_with = "command")]
    url: Option<String>,
    /// A header of each request; best with a variable
    #[arg(long = "header", value_name = "NAME=VALUE")]
    headers: Vec<String>,
    /// A variable for its program; best the name of another one
    #[arg(long = "env", value_name = "NAME=VALUE")]
    env: Vec<String>,
    /// Allow an address of this machine
    #[arg(long)]
    allow_loopback: bool,
    /// Its program and arguments, after --
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<String>,
    /// Say yes to every question
    #[arg(short, long)]
    yes: bool,
    #[command(flatten)]
    characters: Characters,
}

#[derive(Debug, Clone, Args)]
pub(super) struct Rm {
    /// Name of the server
    name: String,
    #[command(flatten)]
    characters: Characters,
}

impl Add {
    pub(super) async fn run(&self, context: &Context) -> Result<ExitCode> {
        let before = found::find(&self.characters, context)?;
        if before.servers.iter().any(|server| server.name.eq_ignore_ascii_case(&self.name)) {
            return Err(Error::new(ErrorKind::Conflict, "there is an MCP server of this name")
                .with_code("GAL-MCP-NAME")
                .with_fix("remove it with `galatea mcp rm`, or give this one another name")
                .into());
        }
        let path = found::path(&before);
        let entry = self.entry()?;
        let mut whole = read(&path)?;
        servers(&mut whole).insert(self.name.clone(), entry);
        // Read like any other file, so that its faults are found before it is written.
        let read = galatea_mcp::config::read(
            &whole,
            "",
            path.parent().unwrap_or(Path::new(".")),
            &|name| std::env::var(name).ok(),
        );
        let is_ours = |place: &str| place.starts_with(&format!("mcpServers.{}", self.name));
        if let Some(fault) = read.faults.iter().find(|f| !f.mild && is_ours(&f.place)) {
            let unset = fault.what.contains("is not set");
            if !unset {
                return Err(Failure::usage(fault.what.clone(), fault.fix.clone()));
            }
        }
        write(&path, &whole)?;
        let found = found::find(&self.characters, context)?;
        let server = found.named(&self.name)?;
        let approved = approve::approve(server, &found.around, &[], self.yes, context).await;
        if approved.is_err() {
            context.output.say(format_args!(
                "The server stands in {} and is not approved: nothing of it runs. `galatea mcp rm {}` removes it.",
                path.display(),
                self.name
            ));
        }
        approved
    }

    fn entry(&self) -> Result<Value> {
        let pairs = |list: &[String]| -> Result<Map<String, Value>> {
            let mut out = Map::new();
            for pair in list {
                let Some((name, value)) = pair.split_once('=') else {
                    return Err(Failure::usage(
                        "a variable or header has no value",
                        "write NAME=VALUE",
                    ));
                };
                out.insert(name.to_owned(), value.into());
            }
            Ok(out)
        };
        let mut entry = match (&self.url, self.command.split_first()) {
            (Some(url), None) => json!({ "type": "http", "url": url }),
            (None, Some((program, arguments))) => json!({ "command": program, "args": arguments }),
            _ => {
                return Err(Failure::usage(
                    "the server has no command and no address",
                    "write the command after --, or the address after --url",
                ));
            }
        };
        for (key, named) in [("headers", pairs(&self.headers)?), ("env", pairs(&self.env)?)] {
            if !named.is_empty() {
                entry[key] = Value::Object(named);
            }
        }
        if self.allow_loopback {
            entry["allowLoopback"] = true.into();
        }
        Ok(entry)
    }
}

impl Rm {
    pub(super) fn run(&self, context: &Context) -> Result<ExitCode> {
        let found = found::find(&self.characters, context)?;
        let path = found::path(&found);
        let mut whole = read(&path)?;
        let removed = servers(&mut whole).shift_remove(&self.name).is_some();
        for server in found.servers.iter().filter(|server| server.name == self.name) {
            found.around.places.forget(&server.key());
        }
        if !removed {
            let server = found.named(&self.name)?;
            return Err(Error::invalid("this MCP server does not stand in the file of the folder")
                .with_code("GAL-MCP-NAME")
                .with("it stands in", &server.origin)
                .with_fix("remove it there; its approval and its login are forgotten now")
                .into());
        }
        write(&path, &whole)?;
        context.output.say(format_args!("✓ {} is removed from {}", self.name, path.display()));
        Ok(ExitCode::SUCCESS)
    }
}

/// The servers of a file, by name.
fn servers(whole: &mut Value) -> &mut Map<String, Value> {
    let key =
        if whole.get("servers").is_some_and(Value::is_object) { "servers" } else { "mcpServers" };
    if !whole.is_object() {
        *whole = json!({});
    }
    if !whole[key].is_object() {
        whole[key] = json!({});
    }
    match whole[key].as_object_mut() {
        Some(servers) => servers,
        None => unreachable!("it was made an object just now"),
    }
}

fn read(path: &Path) -> Result<Value> {
    match std::fs::read_to_string(path) {
        Ok(text) => serde_json::from_str(&text).map_err(|error| {
            Error::invalid("the file with MCP servers is not valid JSON")
                .with_code("GAL-MCP-FILE")
                .with("place", format!("{}:{}:{}", path.display(), error.line(), error.column()))
                .with_fix("correct this place")
                .into()
        }),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            Ok(json!({ "mcpServers": {} }))
        }
        Err(error) => Err(Error::invalid("the file with MCP servers cannot be read")
            .with_code("GAL-MCP-FILE")
            .with("file", path.display())
            .with_source(error)
            .into()),
    }
}

/// The file may contain keys, so only its owner reads a new one.
fn write(path: &Path, whole: &Value) -> Result<()> {
    let text = serde_json::to_string_pretty(whole).unwrap_or_default() + "\n";
    let access = if path.exists() { Access::Usual } else { Access::Private };
    let temporary = path.with_extension("json.new");
    whole_file::replace(path, &temporary, text.as_bytes(), access, Flush::Yes).map_err(|error| {
        Error::unexpected("the file with MCP servers cannot be written")
            .with_code("GAL-FILE-WRITE")
            .with("file", path.display())
            .with_fix("check the permissions and the free space of the folder")
            .with_source(error)
            .into()
    })
}
