//! The licences of the packages that are compiled into the program: a list, and each text once.

use anyhow::{Context, Result, bail};
use cargo_metadata::{DependencyKind, Metadata, MetadataCommand, Package, PackageId};
use std::{
    collections::{BTreeMap, HashMap, HashSet},
    fmt::Write as _,
    fs,
    path::Path,
};

/// Beginnings of the names of licence files, in capitals.
const NAMES: [&str; 6] = ["LICENSE", "LICENCE", "COPYING", "NOTICE", "UNLICENSE", "COPYRIGHT"];
/// Longest licence file, in bytes. Longer ones are lists of other works that are not compiled in.
const LONGEST: u64 = 200_000;

/// The whole file for builds on `host`.
///
/// # Errors
/// If `cargo metadata` fails, and for a package that names no licence.
pub(super) fn text(root: &Path, host: &str) -> Result<String> {
    let metadata = MetadataCommand::new()
        .current_dir(root)
        .other_options(vec!["--locked".to_owned(), format!("--filter-platform={host}")])
        .exec()
        .context("cargo metadata failed")?;
    let packages = compiled_in(&metadata)?;
    let mut list = String::new();
    // By their texts, so that a licence that many packages share stands here once.
    let mut texts: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for package in &packages {
        let name = format!("{} {}", package.name, package.version);
        let licence = match (&package.license, &package.license_file) {
            (Some(licence), _) => licence.clone(),
            (None, Some(file)) => format!("see {file}"),
            (None, None) => bail!("{name} names no licence"),
        };
        let _ = writeln!(list, "{name}: {licence}");
        if let Some(repository) = &package.repository {
            let _ = writeln!(list, "    source: {repository}");
        }
        for text in licence_texts(package)? {
            texts.entry(text).or_default().push(name.clone());
        }
    }
    let mut out = format!(
        "Galatea contains these {} packages. Their sources are at the addresses named, and at\nhttps://crates.io under the same name and version. The texts of their licences follow.\n\n{list}",
        packages.len()
    );
    for (text, names) in texts {
        let _ = write!(out, "\n{}\n{}\n\n{}\n", "=".repeat(80), names.join(", "), text.trim_end());
    }
    Ok(out)
}

/// The packages of others that the program is made of, by name.
fn compiled_in(metadata: &Metadata) -> Result<Vec<&Package>> {
    let resolve = metadata.resolve.as_ref().context("cargo metadata resolved nothing")?;
    let nodes: HashMap<&PackageId, _> = resolve.nodes.iter().map(|node| (&node.id, node)).collect();
    // A crate that only runs while the program is compiled is not part of it.
    let macros: HashSet<&PackageId> = metadata
        .packages
        .iter()
        .filter(|package| package.targets.iter().any(|target| target.is_proc_macro()))
        .map(|package| &package.id)
        .collect();
    let program = metadata.packages.iter().find(|package| package.name == "galatea");
    let mut open = vec![&program.context("there is no package galatea")?.id];
    let mut seen: HashSet<&PackageId> = open.iter().copied().collect();
    while let Some(id) = open.pop() {
        for dependency in nodes.get(id).into_iter().flat_map(|node| &node.deps) {
            let is_compiled_in =
                dependency.dep_kinds.iter().any(|kind| kind.kind == DependencyKind::Normal);
            let is_macro = macros.contains(&dependency.pkg);
            if is_compiled_in && !is_macro && seen.insert(&dependency.pkg) {
                open.push(&dependency.pkg);
            }
        }
    }
    let others = |package: &&Package| seen.contains(&package.id) && package.source.is_some();
    let mut packages: Vec<&Package> = metadata.packages.iter().filter(others).collect();
    packages.sort_by_key(|package| (package.name.to_string(), package.version.clone()));
    Ok(packages)
}

/// The texts of the licence files beside a package's manifest.
fn licence_texts(package: &Package) -> Result<Vec<String>> {
    let folder = package.manifest_path.parent().context("a package has no folder")?;
    let entries = fs::read_dir(folder).with_context(|| format!("cannot read {folder}"))?;
    let mut found = BTreeMap::new();
    for entry in entries {
        let entry = entry.with_context(|| format!("cannot read {folder}"))?;
        let name = entry.file_name().to_string_lossy().to_ascii_uppercase();
        let length = entry.metadata().map_or(0, |file| if file.is_file() { file.len() } else { 0 });
        let is_licence = NAMES.iter().any(|begin| name.starts_with(begin));
        if is_licence && (1..=LONGEST).contains(&length) {
            // A file in another encoding than UTF-8 is kept as far as it can be read.
            let bytes = fs::read(entry.path()).with_context(|| format!("cannot read {name}"))?;
            found.insert(name, String::from_utf8_lossy(&bytes).replace("\r\n", "\n"));
        }
    }
    Ok(found.into_values().collect())
}
