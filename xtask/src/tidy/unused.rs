//! Finds dependencies that no source file names. They cost build time and audits.

use anyhow::{Context, Result};
use cargo_metadata::{Dependency, Metadata, MetadataCommand, Package};
use proc_macro2::{TokenStream, TokenTree};
use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

/// Dependencies declared for their features only, with the reason.
const FOR_FEATURES: &[(&str, &str, &str)] =
    &[("galatea", "fail", "its tests switch on the kill points of every crate")];

/// Dependencies that the sources of their crate do not name, and workspace dependencies that no
/// crate uses.
pub(super) fn check(root: &Path) -> Result<Vec<String>> {
    let metadata =
        MetadataCommand::new().manifest_path(root.join("Cargo.toml")).no_deps().exec()?;
    let mut breaches = Vec::new();
    for package in metadata.workspace_packages() {
        let mut named = BTreeSet::new();
        for file in sources(package)? {
            let text = fs::read_to_string(&file)?;
            let tokens: TokenStream = text
                .parse()
                .map_err(|error| anyhow::anyhow!("{error}"))
                .with_context(|| file.display().to_string())?;
            collect(tokens, &mut named);
        }
        breaches.extend(unused(&package.name, &package.dependencies, &named));
    }
    let manifest = fs::read_to_string(root.join("Cargo.toml"))?;
    breaches.extend(not_taken(&manifest, &metadata)?);
    Ok(breaches)
}

fn unused(package: &str, dependencies: &[Dependency], named: &BTreeSet<String>) -> Vec<String> {
    let declared: BTreeSet<_> = dependencies.iter().map(manifest_name).collect();
    let mut breaches = Vec::new();
    for name in declared {
        let used = named.contains(&name.replace('-', "_"));
        let excepted = FOR_FEATURES.iter().any(|(who, what, _)| *who == package && *what == name);
        if !used && !excepted {
            breaches.push(format!(
                "{package} declares {name} and never names it: remove it from its Cargo.toml"
            ));
        }
    }
    breaches
}

/// The name of a dependency in the manifest.
fn manifest_name(dependency: &Dependency) -> &str {
    dependency.rename.as_deref().unwrap_or(&dependency.name)
}

/// Entries of `[workspace.dependencies]` that no member uses.
fn not_taken(manifest: &str, metadata: &Metadata) -> Result<Vec<String>> {
    let packages = metadata.workspace_packages();
    let taken: BTreeSet<_> = packages
        .iter()
        .flat_map(|package| package.dependencies.iter().map(manifest_name))
        .collect();
    let manifest: toml::Table = manifest.parse()?;
    let shared = manifest
        .get("workspace")
        .and_then(|workspace| workspace.get("dependencies"))
        .and_then(toml::Value::as_table)
        .context("Cargo.toml has no [workspace.dependencies]")?;
    let left = shared.keys().filter(|name| !taken.contains(name.as_str()));
    Ok(left.map(|name| format!("no crate takes {name} of [workspace.dependencies]")).collect())
}

/// The Rust files of a package: everything in the folder of each target's root file.
fn sources(package: &Package) -> Result<BTreeSet<PathBuf>> {
    let root = package.manifest_path.parent();
    let mut files = BTreeSet::new();
    for target in &package.targets {
        let first = target.src_path.clone().into_std_path_buf();
        match target.src_path.parent() {
            // A build script is in the package's root folder.
            Some(folder) if Some(folder) != root => below(folder.as_std_path(), &mut files)?,
            _ => drop(files.insert(first)),
        }
    }
    Ok(files)
}

fn below(folder: &Path, files: &mut BTreeSet<PathBuf>) -> Result<()> {
    for entry in fs::read_dir(folder).with_context(|| folder.display().to_string())? {
        let path = entry?.path();
        if path.is_dir() {
            below(&path, files)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.insert(path);
        }
    }
    Ok(())
}

/// The first names of paths and macros: `name::`, `name!`, `use name;`. Comments are not tokens.
fn collect(tokens: TokenStream, named: &mut BTreeSet<String>) {
    let tokens: Vec<_> = tokens.into_iter().collect();
    let colon =
        |at: Option<usize>| at.and_then(|at| tokens.get(at)).is_some_and(|token| is(token, ':'));
    let word = |at: Option<usize>| match at.and_then(|at| tokens.get(at)) {
        Some(TokenTree::Ident(ident)) => Some(ident.to_string()),
        _ => None,
    };
    for (at, token) in tokens.iter().enumerate() {
        match token {
            TokenTree::Group(group) => collect(group.stream(), named),
            TokenTree::Ident(ident) => {
                let inner = colon(at.checked_sub(1))
                    && colon(at.checked_sub(2))
                    && word(at.checked_sub(3)).is_some();
                let path = colon(Some(at + 1)) && colon(Some(at + 2));
                let makro = tokens.get(at + 1).is_some_and(|next| is(next, '!'));
                let whole = matches!(word(at.checked_sub(1)).as_deref(), Some("use" | "crate"));
                if !inner && (path || makro || whole) {
                    named.insert(ident.to_string());
                }
            }
            TokenTree::Punct(_) | TokenTree::Literal(_) => {}
        }
    }
}

fn is(token: &TokenTree, sign: char) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.as_char() == sign)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(text: &str) -> Vec<String> {
        let mut named = BTreeSet::new();
        collect(text.parse().unwrap(), &mut named);
        named.into_iter().collect()
    }

    #[test]
    fn a_crate_is_named_by_paths_macros_and_use() {
        for (text, expected) in [
            ("use url::Url; // rand::rng()", "url"),
            ("fn f() -> Option<url::Url> { g(|x| ::rand::rng()) }", "rand url"),
            ("#[async_trait::async_trait] impl A for B {}", "async_trait"),
            ("fn f() { json!({ \"a\": uuid!(\"b\") }) }", "json uuid"),
            ("use libc;", "libc"),
            ("pub struct A { pub url: url::Url }", "url"),
            ("/// See rand::rng.\nstruct A { url: String, time: i64 }", ""),
            ("fn f() { self.url; crate::time::now(); time(url) }", "crate"),
        ] {
            assert_eq!(named(text), expected.split_whitespace().collect::<Vec<_>>(), "{text}");
        }
    }

    #[test]
    fn what_is_declared_and_not_named_is_reported() {
        let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("../Cargo.toml");
        let metadata = MetadataCommand::new().manifest_path(manifest).no_deps().exec().unwrap();
        let packages = metadata.workspace_packages();
        let package = packages.iter().find(|package| package.name == "galatea").unwrap();
        let mut names: BTreeSet<_> =
            package.dependencies.iter().map(|d| manifest_name(d).replace('-', "_")).collect();
        assert_eq!(unused("galatea", &package.dependencies, &names), [""; 0]);
        names.remove("serde_json");
        names.remove("fail");
        let faults = unused("galatea", &package.dependencies, &names);
        assert!(faults.len() == 1 && faults[0].contains("serde_json"), "{faults:?}");
    }

    #[test]
    fn a_shared_version_that_no_crate_takes_is_reported() {
        let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("../Cargo.toml");
        let metadata = MetadataCommand::new().manifest_path(manifest).no_deps().exec().unwrap();
        let faults = not_taken(
            "[workspace.dependencies]\nserde = '1'\nleft-over = { version = '1' }",
            &metadata,
        );
        assert_eq!(faults.unwrap(), ["no crate takes left-over of [workspace.dependencies]"]);
    }
}
