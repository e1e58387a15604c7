//! Checks which crates of the workspace import each other.

use anyhow::Result;
use cargo_metadata::{Dependency, DependencyKind, Metadata, MetadataCommand};
use std::path::Path;

/// Crates that one crate may import. `None` means everything except [`NEVER_IMPORTED`].
struct Rule {
    who: &'static str,
    may_import: Option<&'static [&'static str]>,
}

/// The table in `ARCHITECTURE.md`, "Who may import whom". The rule for connectors applies to all
/// crates in `connectors/`.
const RULES: &[Rule] = &[
    Rule { who: "galatea-core", may_import: Some(&[]) },
    Rule { who: "galatea-http", may_import: Some(&["galatea-core"]) },
    Rule { who: "galatea-store", may_import: Some(&["galatea-core"]) },
    Rule { who: "galatea-bootstrap", may_import: Some(&["galatea-core"]) },
    Rule { who: "galatea-runtime", may_import: Some(&["galatea-core"]) },
    Rule { who: "galatea-import", may_import: Some(&["galatea-core", "galatea-runtime"]) },
    Rule { who: "galatea-testkit", may_import: Some(&["galatea-core"]) },
    Rule { who: "galatea-models", may_import: Some(&["galatea-core", "galatea-http"]) },
    Rule { who: "galatea-community", may_import: Some(&["galatea-core", "galatea-http"]) },
    Rule { who: "galatea-knowledge", may_import: Some(&["galatea-core", "galatea-http"]) },
    Rule { who: "galatea-mcp", may_import: Some(&["galatea-core", "galatea-http"]) },
    Rule { who: CONNECTOR, may_import: Some(&["galatea-core", "galatea-http"]) },
    Rule { who: HOST, may_import: None },
    Rule { who: "galatea-server", may_import: Some(&["galatea-core", "galatea-http", HOST]) },
    Rule { who: PROGRAM, may_import: None },
    Rule { who: TESTS, may_import: None },
    Rule { who: FUZZ, may_import: None },
    Rule { who: "galatea-example-embed", may_import: Some(&["galatea-core", HOST]) },
    Rule { who: "galatea-example-plugin", may_import: Some(&["galatea-core", HOST]) },
    Rule { who: "xtask", may_import: Some(&[]) },
    Rule { who: "galatea-bench", may_import: Some(&["xtask", TESTKIT]) },
];

const CONNECTOR: &str = "connectors/*";
const TESTKIT: &str = "galatea-testkit";
/// The tests of any crate may use a real store in place of a fake.
const STORE: &str = "galatea-store";
/// End-to-end tests assemble the parts themselves, so they may import all of them.
const TESTS: &str = "galatea-tests";
/// The fuzz targets are in the crates under test, including the program.
const FUZZ: &str = "galatea-fuzz";
/// Assembles agents from everything below it.
const HOST: &str = "galatea-host";
const PROGRAM: &str = "galatea";
/// Programs, and the test kit, which may only be a dev-dependency.
const NEVER_IMPORTED: &[&str] = &[PROGRAM, FUZZ, TESTS, "xtask", "galatea-bench", TESTKIT];

/// Violations in the workspace.
pub(super) fn check(root: &Path) -> Result<Vec<String>> {
    let metadata =
        MetadataCommand::new().manifest_path(root.join("Cargo.toml")).no_deps().exec()?;
    Ok(edges(&metadata).iter().filter_map(|edge| edge.breach()).chain(armed(&metadata)).collect())
}

/// Kill points must not be in a released program. Only its tests may enable them.
fn armed(metadata: &Metadata) -> Vec<String> {
    let live = |d: &&Dependency| {
        d.name == "fail" && d.kind != DependencyKind::Development && !d.features.is_empty()
    };
    let packages = metadata.workspace_packages();
    let found = packages.iter().filter(|package| package.dependencies.iter().any(|d| live(&d)));
    found
        .map(|package| format!("{} switches kill points on outside of tests", package.name))
        .collect()
}

/// An import between two crates of the workspace.
struct Edge {
    from: String,
    from_connector: bool,
    to: String,
    dev: bool,
}

fn edges(metadata: &Metadata) -> Vec<Edge> {
    let ours = metadata.workspace_packages();
    let mut edges = Vec::new();
    for package in &ours {
        let from_connector = package
            .manifest_path
            .strip_prefix(&metadata.workspace_root)
            .is_ok_and(|path| path.starts_with("connectors"));
        for dependency in
            package.dependencies.iter().filter(|d| ours.iter().any(|p| p.name.as_str() == d.name))
        {
            let dev = dependency.kind == DependencyKind::Development;
            edges.push(Edge {
                from: package.name.to_string(),
                from_connector,
                to: dependency.name.clone(),
                dev,
            });
        }
    }
    edges
}

impl Edge {
    /// Why the import is forbidden; `None` if it is allowed.
    fn breach(&self) -> Option<String> {
        let Self { from, to, .. } = self;
        // Tests of plugins and of the import use the real store.
        let in_tests = to == TESTKIT || to == STORE;
        if (self.dev && in_tests) || (from == FUZZ && to == PROGRAM) {
            return None;
        }
        let who = if self.from_connector { CONNECTOR } else { from };
        let Some(rule) = RULES.iter().find(|rule| rule.who == who) else {
            return Some(format!(
                "{from} has no rule in xtask/src/tidy/edges.rs: say what it may import"
            ));
        };
        let allowed = match rule.may_import {
            Some(list) => list.contains(&to.as_str()),
            None => !NEVER_IMPORTED.contains(&to.as_str()),
        };
        let list = rule.may_import.map_or_else(
            || "everything but programs and the test kit".to_owned(),
            |list| format!("{list:?}"),
        );
        (!allowed).then(|| {
            format!("{from} imports {to}, which ARCHITECTURE.md forbids: it may import {list}")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn breach(from: &str, to: &str, dev: bool) -> Option<String> {
        Edge {
            from: from.to_owned(),
            from_connector: from.ends_with("-telegram"),
            to: to.to_owned(),
            dev,
        }
        .breach()
    }

    #[test]
    fn the_table_is_applied() {
        for (from, to, dev, allowed) in [
            ("galatea-http", "galatea-core", false, true),
            ("galatea-core", "galatea-http", false, false),
            ("galatea-telegram", "galatea-http", false, true),
            ("galatea-telegram", "galatea-runtime", false, false),
            ("galatea-telegram", "galatea-terminal", false, false),
            ("galatea-telegram", "galatea-testkit", true, true),
            ("galatea-telegram", "galatea-testkit", false, false),
            ("galatea-telegram", "galatea-runtime", true, false),
            ("galatea-models", "galatea-store", false, false),
            ("galatea-bootstrap", "galatea-store", false, false),
            ("galatea-bootstrap", "galatea-store", true, true),
            ("galatea-import", "galatea-runtime", false, true),
            ("galatea-import", "galatea-store", false, false),
            ("galatea-import", "galatea-store", true, true),
            ("galatea-knowledge", "galatea-http", false, true),
            ("galatea-knowledge", "galatea-store", false, false),
            ("galatea-mcp", "galatea-http", false, true),
            ("galatea-mcp", "galatea-runtime", false, false),
            ("galatea", "galatea-telegram", false, true),
            ("galatea", "galatea-host", false, true),
            ("galatea-host", "galatea-telegram", false, true),
            ("galatea-host", "galatea", false, false),
            ("galatea-runtime", "galatea-host", false, false),
            ("galatea-example-embed", "galatea-host", false, true),
            ("galatea-example-embed", "galatea-store", false, false),
            ("galatea", "galatea-testkit", false, false),
            ("galatea-tests", "galatea-runtime", false, true),
            ("galatea-tests", "galatea-store", true, true),
            ("galatea-tests", "galatea-testkit", true, true),
            ("galatea-tests", "galatea", true, false),
            ("galatea", "galatea-tests", false, false),
            ("galatea-fuzz", "galatea", false, true),
            ("galatea-fuzz", "galatea-testkit", false, false),
            ("xtask", "galatea-testkit", false, false),
            ("galatea-bench", "galatea-testkit", false, true),
            ("galatea-bench", "xtask", false, true),
            ("galatea", "xtask", false, false),
            ("galatea-new", "galatea-core", false, false),
        ] {
            assert_eq!(breach(from, to, dev).is_none(), allowed, "{from} -> {to}");
        }
    }

    #[test]
    fn the_workspace_itself_is_read() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        let metadata =
            MetadataCommand::new().manifest_path(root.join("Cargo.toml")).no_deps().exec().unwrap();
        let edges = edges(&metadata);
        assert!(edges.iter().any(|e| e.from == "galatea-telegram"
            && e.to == "galatea-core"
            && e.from_connector
            && !e.dev));
        assert!(edges.iter().any(|e| e.from == "galatea" && !e.from_connector));
        assert_eq!(armed(&metadata), [""; 0]);
    }
}
