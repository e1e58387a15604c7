//! Finds import cycles between modules, direct and indirect.
//!
//! Each level of a crate is checked separately. Its nodes are the children of one module, each with
//! everything below it, and the module's own items. A re-exported name (`pub use child::Name`)
//! counts as the child's, so that facades hide no cycle.

mod graph;
mod modules;
#[cfg(test)]
mod tests;

use anyhow::{Context, Result};
use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::{self, Display, Formatter},
    fs,
    path::{Path, PathBuf},
};

use modules::{ModulePath, Modules};

/// Folders whose crates are checked: each folder in them that has a `src/lib.rs`.
const FOLDERS: &[&str] = &["crates", "connectors"];

/// Known cycles as crate, level and number of modules. The number may only decrease.
const ALLOWED: &[(&str, &str, usize)] = &[];

/// Name of the node for a module's own items.
const OWN: &str = "(its own items)";

/// One cycle.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Circle {
    /// The module whose children import each other.
    level: String,
    members: BTreeSet<String>,
    /// One import per step, such as `a → b (crate::a::x uses crate::b::Y)`.
    imports: Vec<String>,
}

/// Cycles in the checked crates that are not allowed.
pub(super) fn check(root: &Path) -> Result<Vec<String>> {
    let mut breaches = Vec::new();
    for (name, library) in libraries(root)? {
        let found = circles(&Modules::read(&library)?);
        breaches.extend(compare(&name, &found, ALLOWED));
    }
    Ok(breaches)
}

/// Every library of [`FOLDERS`]: the crate's name and its root file, in order.
fn libraries(root: &Path) -> Result<BTreeMap<String, PathBuf>> {
    let mut found = BTreeMap::new();
    for folder in FOLDERS.iter().map(|folder| root.join(folder)) {
        let crates =
            fs::read_dir(&folder).with_context(|| format!("cannot read {}", folder.display()))?;
        for entry in crates {
            let entry = entry?;
            let library = entry.path().join("src/lib.rs");
            if library.is_file() {
                found.insert(entry.file_name().to_string_lossy().into_owned(), library);
            }
        }
    }
    Ok(found)
}

fn compare(name: &str, found: &[Circle], allowed: &[(&str, &str, usize)]) -> Vec<String> {
    let mut levels: BTreeMap<&str, Vec<&Circle>> = BTreeMap::new();
    for circle in found {
        levels.entry(&circle.level).or_default().push(circle);
    }
    let mut breaches = Vec::new();
    for (level, circles) in levels {
        let here = allowed.iter().find(|(of, at, _)| *of == name && *at == level);
        let most = here.map_or(0, |(.., most)| *most);
        let members: usize = circles.iter().map(|circle| circle.members.len()).sum();
        if members > most {
            let circles: Vec<String> = circles.iter().map(ToString::to_string).collect();
            breaches.push(format!(
                "{name}: {members} modules of {level} import each other in circles, {most} are allowed:\n{}",
                circles.join("\n")
            ));
        }
    }
    breaches
}

impl Display for Circle {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        let members: Vec<&str> = self.members.iter().map(String::as_str).collect();
        write!(out, "  {}\n    {}", members.join(", "), self.imports.join("\n    "))
    }
}

/// All cycles of a crate, level by level.
fn circles(modules: &Modules) -> Vec<Circle> {
    let imports = modules.imports();
    let mut found = Vec::new();
    for level in modules.paths() {
        let mut edges: BTreeMap<(String, String), String> = BTreeMap::new();
        for (from, to) in &imports {
            if let (Some(a), Some(b)) = (child(level, from), child(level, to))
                && a != b
            {
                edges.entry((a, b)).or_insert_with(|| format!("{} uses {}", name(from), name(to)));
            }
        }
        let nodes: BTreeSet<&str> =
            edges.keys().flat_map(|(a, b)| [a.as_str(), b.as_str()]).collect();
        let steps: Vec<(&str, &str)> =
            edges.keys().map(|(a, b)| (a.as_str(), b.as_str())).collect();
        for members in graph::circles(&nodes, &steps) {
            let inside = |(a, b): &(&String, &String)| {
                members.contains(a.as_str()) && members.contains(b.as_str())
            };
            found.push(Circle {
                level: name(level),
                imports: edges
                    .iter()
                    .filter(|((a, b), _)| inside(&(a, b)))
                    .map(|((a, b), by)| format!("{a} → {b} ({by})"))
                    .collect(),
                members: members.into_iter().map(str::to_owned).collect(),
            });
        }
    }
    found
}

/// The child of `level` that `module` is, or lies below.
fn child(level: &ModulePath, module: &ModulePath) -> Option<String> {
    let below = module.strip_prefix(level.as_slice())?;
    Some(below.first().map_or_else(|| OWN.to_owned(), Clone::clone))
}

fn name(module: &ModulePath) -> String {
    std::iter::once("crate").chain(module.iter().map(String::as_str)).collect::<Vec<_>>().join("::")
}
