//! Checks the entries of MCP servers, and what of them waits for their owner. Starts nothing.

use galatea_core::{Finding, Severity};
use galatea_host::{agents::mcp::configured, characters::personas::Persona};
use galatea_mcp::{Phase, ServerView, places::Places};
use std::collections::BTreeSet;

use super::examined::Examined;

/// Faults of entries, and servers that are not approved.
pub(super) fn check(examined: &Examined<'_>, personas: &[Persona]) -> Vec<Finding> {
    let places = Places::new(examined.data_dir.path());
    let (mut found, mut seen) = (Vec::new(), BTreeSet::new());
    for persona in personas {
        let read = match configured(persona) {
            Ok(read) => read,
            Err(error) => {
                found.push(Finding::failure("MCP server", &error));
                continue;
            }
        };
        for fault in read.faults {
            if !seen.insert(fault.place.clone()) {
                continue;
            }
            let severity = if fault.mild { Severity::Warning } else { Severity::Error };
            let finding = Finding::new(severity, "GAL-MCP-CONFIG", "MCP server", fault.what);
            found.push(Finding { origin: Some(fault.place), ..finding }.with_fix(fault.fix));
        }
        for server in read.servers.iter().filter(|server| !server.disabled) {
            if !seen.insert(server.key()) {
                continue;
            }
            match places.read(&server.key()) {
                Ok(known) if known.approval.identity == server.identity() => {
                    let message = format!(
                        "MCP server {}: {} tools are approved",
                        server.name,
                        known.approval.tools.len()
                    );
                    found.push(Finding::ok("GAL-MCP-OK", "MCP server", message));
                }
                Ok(_) => {
                    let message = format!(
                        "MCP server {} is not approved, so nothing of it runs",
                        server.name
                    );
                    let finding =
                        Finding::new(Severity::Warning, "GAL-MCP-APPROVAL", "MCP server", message);
                    found.push(
                        Finding { origin: Some(server.origin.clone()), ..finding }
                            .with_fix(format!("run `galatea mcp approve {}`", server.name)),
                    );
                }
                Err(error) => found.push(Finding::failure("MCP server", &error)),
            }
        }
    }
    found
}

/// What the running process says of its servers.
pub(super) fn live(servers: &[ServerView]) -> Vec<Finding> {
    let finding = |server: &ServerView| {
        let code = match server.phase {
            Phase::NeedsSignIn => "GAL-MCP-LOGIN",
            Phase::Down => "GAL-MCP-DOWN",
            Phase::Ready if server.waiting > 0 => "GAL-MCP-APPROVAL",
            _ => return None,
        };
        let message =
            format!("MCP server {} is {}: {}", server.name, server.phase.as_str(), server.detail);
        Some(Finding::new(Severity::Warning, code, "MCP server", message))
    };
    servers.iter().filter_map(finding).collect()
}
