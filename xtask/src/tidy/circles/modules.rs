//! Reads the modules of a crate and their imports. Tests are excluded.

use anyhow::{Context, Result};
use proc_macro2::{TokenStream, TokenTree};
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};
use syn::{Attribute, Item, Macro, UseTree, visit::Visit};

/// Path of a module: its names, starting at the crate's root.
pub(super) type ModulePath = Vec<String>;

/// Longest chain of re-exports that is followed. A longer one is a mistake.
const DEPTH: usize = 8;

/// All modules of one crate.
#[derive(Default)]
pub(super) struct Modules(BTreeMap<ModulePath, Module>);

#[derive(Default)]
struct Module {
    /// Names imported by `use`, each with its full path. `*` is not included.
    names: BTreeMap<String, Vec<String>>,
    /// Paths in its code that start with `crate`, `super` or `self`.
    used: BTreeSet<Vec<String>>,
    /// Paths of `use` declarations that only re-export a name.
    passed_on: BTreeSet<Vec<String>>,
}

impl Modules {
    /// Reads a crate, starting at its root file.
    ///
    /// # Errors
    /// If a file is missing or is not valid Rust.
    pub(super) fn read(library: &Path) -> Result<Self> {
        let mut modules = Self::default();
        let folder = library.parent().unwrap_or(library).to_owned();
        modules.file(library, folder, Vec::new())?;
        Ok(modules)
    }

    /// Every module, parents first.
    pub(super) fn paths(&self) -> impl Iterator<Item = &ModulePath> {
        self.0.keys()
    }

    /// Pairs of modules where the first uses the second.
    pub(super) fn imports(&self) -> BTreeSet<(ModulePath, ModulePath)> {
        let mut imports = BTreeSet::new();
        for (path, module) in &self.0 {
            let counts = |used: &&Vec<String>| !module.passed_on.contains(*used);
            for used in module.used.iter().filter(counts) {
                if let Some(target) = self.target(path, used, DEPTH)
                    && target != *path
                {
                    imports.insert((path.clone(), target));
                }
            }
        }
        imports
    }

    /// The module that defines the target of a path. `None` for a path into another crate.
    fn target(&self, from: &ModulePath, path: &[String], depth: usize) -> Option<ModulePath> {
        let mut rest = path.iter();
        let mut at = match rest.next()?.as_str() {
            "crate" => Vec::new(),
            "self" => from.clone(),
            "super" => from.split_last()?.1.to_vec(),
            first => {
                let mut child = from.clone();
                child.push(first.to_owned());
                self.0.get(&child)?;
                child
            }
        };
        while let Some(name) = rest.next() {
            if name == "super" {
                at.pop()?;
                continue;
            }
            at.push(name.clone());
            if self.0.contains_key(&at) {
                continue;
            }
            at.pop();
            return Some(self.passed_on(&at, name, rest.as_slice(), depth).unwrap_or(at));
        }
        Some(at)
    }

    fn passed_on(
        &self,
        at: &ModulePath,
        name: &str,
        rest: &[String],
        depth: usize,
    ) -> Option<ModulePath> {
        let (module, depth) = (self.0.get(at)?, depth.checked_sub(1)?);
        let further = |path: &[String]| self.target(at, path, depth);
        match module.names.get(name) {
            Some(path) => further(&[path.as_slice(), rest].concat()),
            None => None,
        }
    }

    fn file(&mut self, file: &Path, folder: PathBuf, path: ModulePath) -> Result<()> {
        let text = fs::read_to_string(file).with_context(|| file.display().to_string())?;
        let parsed = syn::parse_file(&text).with_context(|| file.display().to_string())?;
        self.items(&parsed.items, &folder, path)
    }

    fn items(&mut self, items: &[Item], folder: &Path, path: ModulePath) -> Result<()> {
        let mut seen = Seen::default();
        for item in items {
            match item {
                Item::Mod(inner) if is_test(&inner.attrs) => {}
                Item::Mod(inner) => {
                    let name = inner.ident.to_string();
                    let below = [path.clone(), vec![name.clone()]].concat();
                    let inside = folder.join(&name);
                    match &inner.content {
                        Some((_, items)) => self.items(items, &inside, below)?,
                        None if inside.join("mod.rs").exists() => {
                            self.file(&inside.join("mod.rs"), inside, below)?;
                        }
                        None => self.file(&folder.join(format!("{name}.rs")), inside, below)?,
                    }
                }
                other => seen.visit_item(other),
            }
        }
        self.0.insert(path, seen.0);
        Ok(())
    }
}

fn is_test(attributes: &[Attribute]) -> bool {
    let test = |a: &&Attribute| {
        a.path().is_ident("test")
            || (a.path().is_ident("cfg")
                && a.parse_args::<syn::Meta>().is_ok_and(|meta| meta.path().is_ident("test")))
    };
    attributes.iter().any(|attribute| test(&attribute))
}

/// Collects the paths used in one module's items.
#[derive(Default)]
struct Seen(Module);

impl Seen {
    fn tree(&mut self, tree: &UseTree, before: &mut Vec<String>, passed_on: bool) {
        match tree {
            UseTree::Path(path) => {
                before.push(path.ident.to_string());
                self.tree(&path.tree, before, passed_on);
                before.pop();
            }
            UseTree::Name(name) if name.ident == "self" => {
                let own = before.last().cloned().unwrap_or_default();
                self.named(own, before.clone(), passed_on);
            }
            UseTree::Name(name) => {
                let full = [before.as_slice(), &[name.ident.to_string()]].concat();
                self.named(name.ident.to_string(), full, passed_on);
            }
            UseTree::Rename(name) => {
                let full = [before.as_slice(), &[name.ident.to_string()]].concat();
                self.named(name.rename.to_string(), full, passed_on);
            }
            UseTree::Glob(_) => {
                self.0.used.insert(before.clone());
            }
            UseTree::Group(group) => {
                for tree in &group.items {
                    self.tree(tree, before, passed_on);
                }
            }
        }
    }

    fn named(&mut self, name: String, full: Vec<String>, passed_on: bool) {
        if passed_on {
            self.0.passed_on.insert(full.clone());
        }
        self.0.used.insert(full.clone());
        self.0.names.insert(name, full);
    }

    /// Arguments of macros are not parsed. Paths in them are recognised by their first word.
    fn tokens(&mut self, tokens: TokenStream) {
        let mut path: Vec<String> = Vec::new();
        let mut colons = 0;
        for token in tokens {
            match token {
                TokenTree::Punct(mark) if mark.as_char() == ':' => colons += 1,
                TokenTree::Ident(word) => {
                    if colons != 2 {
                        self.path(std::mem::take(&mut path));
                    }
                    path.push(word.to_string());
                    colons = 0;
                }
                TokenTree::Group(group) => {
                    self.path(std::mem::take(&mut path));
                    self.tokens(group.stream());
                    colons = 0;
                }
                TokenTree::Punct(_) | TokenTree::Literal(_) => {
                    self.path(std::mem::take(&mut path));
                    colons = 0;
                }
            }
        }
        self.path(path);
    }

    fn path(&mut self, path: Vec<String>) {
        if path.len() > 1 {
            self.0.used.insert(path);
        }
    }
}

impl<'ast> Visit<'ast> for Seen {
    fn visit_item(&mut self, item: &'ast Item) {
        let attributes = match item {
            Item::Fn(item) => &item.attrs,
            Item::Impl(item) => &item.attrs,
            Item::Use(item) => &item.attrs,
            Item::Struct(item) => &item.attrs,
            Item::Const(item) => &item.attrs,
            _ => return syn::visit::visit_item(self, item),
        };
        if !is_test(attributes) {
            syn::visit::visit_item(self, item);
        }
    }

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        let passed_on = !matches!(item.vis, syn::Visibility::Inherited);
        self.tree(&item.tree, &mut Vec::new(), passed_on);
    }

    /// `pub(in path)` says who may see an item, and uses nothing.
    fn visit_visibility(&mut self, _: &'ast syn::Visibility) {}

    fn visit_path(&mut self, path: &'ast syn::Path) {
        self.path(path.segments.iter().map(|segment| segment.ident.to_string()).collect());
        syn::visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, item: &'ast Macro) {
        self.path(item.path.segments.iter().map(|s| s.ident.to_string()).collect());
        self.tokens(item.tokens.clone());
    }
}
