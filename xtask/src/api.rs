//! `cargo xtask api`: the public interface of the crates that other programs compile against, one item
//! a line. The lists lie beside the docs, so a change of the interface is seen in its review; CI fails
//! if a list is not up to date. It reads the source, and works without a network or a build.

use anyhow::{Context, Result, bail};
use quote::ToTokens;
use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};
use syn::{
    Attribute, Fields, File, ImplItem, Item, ItemImpl, Meta, Signature, TraitItem, Visibility,
};

/// The crates whose interface is listed.
const CRATES: [&str; 2] = ["galatea-core", "galatea-host"];

/// Writes the lists. With `check`, fails if one differs instead.
pub(crate) fn run(root: &Path, only_check: bool) -> Result<()> {
    for name in CRATES {
        let listed = listing(root, name)?;
        let file = root.join("docs/api").join(format!("{name}.txt"));
        if !only_check {
            fs::create_dir_all(root.join("docs/api"))?;
            fs::write(&file, &listed)?;
        } else if fs::read_to_string(&file).unwrap_or_default() != listed {
            let known = fs::read_to_string(&file).unwrap_or_default();
            let (known, now): (BTreeSet<&str>, BTreeSet<&str>) =
                (known.lines().collect(), listed.lines().collect());
            known.difference(&now).for_each(|line| eprintln!("- {line}"));
            now.difference(&known).for_each(|line| eprintln!("+ {line}"));
            bail!(
                "the interface of {name} changed: run `cargo xtask api`, and review the change of docs/api/{name}.txt"
            );
        }
    }
    Ok(())
}

/// Every public item of a crate, sorted.
fn listing(root: &Path, name: &str) -> Result<String> {
    let source = root.join("crates").join(name).join("src");
    let mut lines = BTreeSet::new();
    module(&source.join("lib.rs"), &source, &name.replace('-', "_"), &mut lines)?;
    let mut text: String = format!(
        "# Public items of {name}, by `cargo xtask api`. A change here is a change for every program that uses the crate.\n"
    );
    for line in lines {
        text.push_str(&line);
        text.push('\n');
    }
    Ok(text)
}

/// Adds the items of a file and of the modules that it declares. `folder` is where these lie.
fn module(file: &Path, folder: &Path, path: &str, lines: &mut BTreeSet<String>) -> Result<()> {
    let text =
        fs::read_to_string(file).with_context(|| format!("{} cannot be read", file.display()))?;
    let parsed: File =
        syn::parse_file(&text).with_context(|| format!("{} cannot be parsed", file.display()))?;
    for item in &parsed.items {
        items(item, folder, path, lines)?;
    }
    Ok(())
}

fn items(item: &Item, folder: &Path, path: &str, lines: &mut BTreeSet<String>) -> Result<()> {
    if attributes(item).is_some_and(is_hidden) {
        return Ok(());
    }
    let mut add = |line: String| {
        lines.insert(line);
    };
    match item {
        Item::Mod(inner) => {
            let below = format!("{path}::{}", inner.ident);
            match &inner.content {
                Some((_, content)) => {
                    for item in content {
                        items(item, &folder.join(inner.ident.to_string()), &below, lines)?;
                    }
                }
                None => {
                    let (file, folder) = file_of(folder, &inner.ident.to_string())?;
                    module(&file, &folder, &below, lines)?;
                }
            }
        }
        Item::Fn(function) if is_public(&function.vis) => {
            add(format!("{path}: {}", signature(&function.sig)));
        }
        Item::Struct(of) if is_public(&of.vis) => {
            let generics = shown(&of.generics);
            add(format!("{path}: struct {}{generics}{}", of.ident, derived(&of.attrs)));
            fields(&of.fields, &format!("{path}::{}", of.ident), true, &mut add);
        }
        Item::Enum(of) if is_public(&of.vis) => {
            add(format!("{path}: enum {}{}{}", of.ident, shown(&of.generics), derived(&of.attrs)));
            for variant in &of.variants {
                let name = format!("{path}::{}::{}", of.ident, variant.ident);
                add(format!("{name} (variant)"));
                fields(&variant.fields, &name, false, &mut add);
            }
        }
        Item::Trait(of) if is_public(&of.vis) => {
            add(format!(
                "{path}: trait {}{}: {}",
                of.ident,
                shown(&of.generics),
                shown(&of.supertraits)
            ));
            for member in &of.items {
                if let TraitItem::Fn(method) = member
                    && !is_hidden(&method.attrs)
                {
                    let default = if method.default.is_some() { " (provided)" } else { "" };
                    add(format!("{path}::{}: {}{default}", of.ident, signature(&method.sig)));
                }
            }
        }
        Item::Const(of) if is_public(&of.vis) => {
            add(format!("{path}: const {}: {}", of.ident, shown(&of.ty)));
        }
        Item::Static(of) if is_public(&of.vis) => {
            add(format!("{path}: static {}: {}", of.ident, shown(&of.ty)));
        }
        Item::Type(of) if is_public(&of.vis) => {
            add(format!("{path}: type {}{} = {}", of.ident, shown(&of.generics), shown(&of.ty)));
        }
        Item::Use(of) if is_public(&of.vis) => add(format!("{path}: use {}", shown(&of.tree))),
        Item::Impl(of) => implementation(of, path, &mut add),
        _ => {}
    }
    Ok(())
}

fn implementation(of: &ItemImpl, path: &str, add: &mut impl FnMut(String)) {
    let name = shown(&of.self_ty);
    if let Some((_, what, _)) = &of.trait_ {
        add(format!("{path}: impl {} for {name}", shown(what)));
        return;
    }
    for member in &of.items {
        match member {
            ImplItem::Fn(method) if is_public(&method.vis) && !is_hidden(&method.attrs) => {
                add(format!("{path}::{name}: {}", signature(&method.sig)));
            }
            ImplItem::Const(of) if is_public(&of.vis) => {
                add(format!("{path}::{name}: const {}: {}", of.ident, shown(&of.ty)));
            }
            _ => {}
        }
    }
}

/// Public fields of a struct, or all fields of a variant.
fn fields(fields: &Fields, path: &str, only_public: bool, add: &mut impl FnMut(String)) {
    for (n, field) in fields.iter().enumerate() {
        if only_public && !is_public(&field.vis) {
            continue;
        }
        let name = field.ident.as_ref().map_or_else(|| n.to_string(), ToString::to_string);
        add(format!("{path}.{name}: {}", shown(&field.ty)));
    }
}

/// The file of a module, and the folder of the modules in it.
fn file_of(folder: &Path, name: &str) -> Result<(PathBuf, PathBuf)> {
    let below = folder.join(name);
    [folder.join(format!("{name}.rs")), below.join("mod.rs")]
        .into_iter()
        .find(|file| file.exists())
        .map(|file| (file, below.clone()))
        .with_context(|| format!("no file of the module {}", below.display()))
}

fn is_public(visibility: &Visibility) -> bool {
    matches!(visibility, Visibility::Public(_))
}

fn attributes(item: &Item) -> Option<&[Attribute]> {
    match item {
        Item::Mod(of) => Some(&of.attrs),
        Item::Fn(of) => Some(&of.attrs),
        Item::Struct(of) => Some(&of.attrs),
        Item::Enum(of) => Some(&of.attrs),
        Item::Trait(of) => Some(&of.attrs),
        Item::Const(of) => Some(&of.attrs),
        Item::Use(of) => Some(&of.attrs),
        Item::Impl(of) => Some(&of.attrs),
        _ => None,
    }
}

/// Not part of the interface: tests, entry points of the fuzzer, and what the docs leave out.
fn is_hidden(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let text = shown(&attribute.meta);
        (attribute.path().is_ident("doc") && text.contains("hidden"))
            || (attribute.path().is_ident("cfg")
                && (text.contains("test") || text.contains("fuzz")))
    })
}

/// What a type derives: programs rely on it.
fn derived(attributes: &[Attribute]) -> String {
    let mut all: Vec<String> = Vec::new();
    for attribute in attributes {
        match &attribute.meta {
            Meta::List(list) if list.path.is_ident("derive") => {
                all.extend(shown(&list.tokens).split(',').map(|name| name.trim().to_owned()));
            }
            Meta::Path(path) if path.is_ident("non_exhaustive") => {
                all.push("non_exhaustive".to_owned());
            }
            _ => {}
        }
    }
    all.sort();
    if all.is_empty() { String::new() } else { format!(" [{}]", all.join(", ")) }
}

fn signature(signature: &Signature) -> String {
    shown(signature)
}

/// Source text of a part, with the usual spaces.
fn shown(part: &impl ToTokens) -> String {
    let mut text = part.to_token_stream().to_string();
    for (from, to) in [
        (" :: ", "::"),
        (":: ", "::"),
        (" ::", "::"),
        (" < ", "<"),
        ("< ", "<"),
        (" <", "<"),
        (" >", ">"),
        ("& ", "&"),
        (" ,", ","),
        ("( ", "("),
        (" )", ")"),
        (" (", "("),
        (" ;", ";"),
        ("[ ", "["),
        (" ]", "]"),
        (" : ", ": "),
        ("' ", "'"),
        (",)", ")"),
        ("->", " -> "),
        ("  ", " "),
        ("  ", " "),
        ("> (", ">("),
        ("-> (", "-> ("),
        ("fn(", "fn("),
        ("- >", "->"),
    ] {
        text = text.replace(from, to);
    }
    text.trim().to_owned()
}
