//! Turns plugins into lookup tables, in priority order, dependencies first.

use galatea_core::{
    ActionDocs, AnyAction, Error, Evaluator, EvaluatorUse, FileReader, Middleware, Plugin,
    Provider, ProviderUse, Result, Service, Turn,
    plugin::version::{GALATEA_VERSION, check_range},
    store::PluginCache,
};
use std::{collections::BTreeSet, ops::Deref, sync::Arc};

/// An extension, with the small values of its plugin.
pub(crate) struct Extension<T: ?Sized> {
    code: Arc<T>,
    cache: PluginCache,
}

impl<T: ?Sized> Extension<T> {
    /// A turn as the code of this plugin sees it.
    pub(crate) fn turn<'a>(&'a self, turn: &Turn<'a>) -> Turn<'a> {
        Turn { cache: &self.cache, ..*turn }
    }
}

impl<T: ?Sized> Deref for Extension<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.code
    }
}

/// All extensions of one agent.
pub(crate) struct Registry {
    /// Actions with their docs, in order of loading; the first of a name wins.
    pub(crate) actions: Vec<(Arc<ActionDocs>, Extension<dyn AnyAction>)>,
    /// Providers in prompt order.
    pub(crate) providers: Vec<Extension<dyn Provider>>,
    /// Evaluators with when they run, in order of loading.
    pub(crate) evaluators: Vec<(EvaluatorUse, Extension<dyn Evaluator>)>,
    /// Middleware in order of loading.
    pub(crate) middleware: Vec<Extension<dyn Middleware>>,
    /// Services, which run as long as the agent.
    pub(crate) services: Vec<Arc<dyn Service>>,
    /// Reads documents that people send.
    pub(crate) file_reader: Option<Arc<dyn FileReader>>,
}

impl Registry {
    /// Loads plugins. `cache` makes the small values of a plugin from its name.
    ///
    /// # Errors
    /// `Invalid` when a dependency is missing or circular.
    pub(crate) fn load(plugins: Vec<Plugin>, cache: impl Fn(&str) -> PluginCache) -> Result<Self> {
        let mut registry = Self {
            actions: Vec::new(),
            providers: Vec::new(),
            evaluators: Vec::new(),
            middleware: Vec::new(),
            services: Vec::new(),
            file_reader: None,
        };
        for plugin in in_order(plugins)? {
            let cache = cache(&plugin.name);
            for action in plugin.actions {
                let docs = Arc::new(action.docs());
                if registry.actions.iter().any(|(known, _)| known.name == docs.name) {
                    tracing::warn!(
                        action = docs.name,
                        plugin = plugin.name,
                        "an action of this name is loaded already; this one is left out"
                    );
                    continue;
                }
                registry.actions.push((docs, extension(action, &cache)));
            }
            registry.providers.extend(plugin.providers.into_iter().map(|p| extension(p, &cache)));
            let evaluators = plugin.evaluators.into_iter();
            registry.evaluators.extend(evaluators.map(|e| (e.when(), extension(e, &cache))));
            registry.middleware.extend(plugin.middleware.into_iter().map(|m| extension(m, &cache)));
            registry.services.extend(plugin.services);
            registry.file_reader = registry.file_reader.or(plugin.file_reader);
        }
        registry.providers.sort_by_key(|p| p.position());
        Ok(registry)
    }

    /// Providers that take part in every turn.
    pub(crate) fn standing(&self) -> impl Iterator<Item = &Extension<dyn Provider>> {
        self.providers.iter().filter(|p| p.when() == ProviderUse::Always)
    }

    /// An action by its exact name.
    pub(crate) fn action(&self, name: &str) -> Option<&Extension<dyn AnyAction>> {
        self.actions.iter().find(|(docs, _)| docs.name == name).map(|(_, action)| action)
    }
}

fn extension<T: ?Sized>(code: Arc<T>, cache: &PluginCache) -> Extension<T> {
    Extension { code, cache: cache.clone() }
}

/// Orders plugins: dependencies first, then lower priority first.
///
/// # Errors
/// `Invalid` for two plugins of one name, for one that does not fit this version, and when a
/// dependency is missing or circular.
fn in_order(mut plugins: Vec<Plugin>) -> Result<Vec<Plugin>> {
    plugins.sort_by_key(|p| p.priority);
    let mut names = BTreeSet::new();
    for plugin in &plugins {
        if plugin.name.trim().is_empty() {
            return Err(Error::invalid("a plugin has no name")
                .with_code("GAL-PLUGIN-NAME")
                .with_fix("give it a name of its own"));
        }
        if !names.insert(plugin.name.clone()) {
            return Err(Error::invalid("two plugins have the same name")
                .with_code("GAL-PLUGIN-TWICE")
                .with("plugin", &plugin.name)
                .with_fix("leave one of them out, or rename it"));
        }
        check_range(&plugin.name, &plugin.galatea, GALATEA_VERSION)?;
        plugin.routes.iter().try_for_each(|route| route.check(&plugin.name))?;
    }
    for plugin in &plugins {
        if let Some(missing) = plugin.dependencies.iter().find(|d| !names.contains(*d)) {
            return Err(Error::invalid("a plugin needs another one that is not loaded")
                .with_code("GAL-PLUGIN-MISSING")
                .with("plugin", &plugin.name)
                .with("needs", missing)
                .with_fix(format!(
                    "add or enable the plugin {missing}, or leave {} out",
                    plugin.name
                )));
        }
    }
    let mut loaded: BTreeSet<String> = BTreeSet::new();
    let mut order = Vec::with_capacity(plugins.len());
    while !plugins.is_empty() {
        let Some(next) =
            plugins.iter().position(|p| p.dependencies.iter().all(|d| loaded.contains(d)))
        else {
            let circle: Vec<_> = plugins.iter().map(|p| p.name.as_str()).collect();
            return Err(Error::invalid("plugins need each other in a circle")
                .with_code("GAL-PLUGIN-CIRCLE")
                .with("plugins", circle.join(", "))
                .with_fix("remove one of these dependencies"));
        };
        let plugin = plugins.remove(next);
        loaded.insert(plugin.name.clone());
        order.push(plugin);
    }
    Ok(order)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plugin(name: &str, priority: i32, needs: &[&str]) -> Plugin {
        Plugin {
            priority,
            dependencies: needs.iter().map(|s| (*s).to_owned()).collect(),
            ..Plugin::new(name, "1.0.0", "")
        }
    }

    #[test]
    fn dependencies_come_first_then_priority() {
        let order = in_order(vec![
            plugin("feature", 50, &[]),
            plugin("db", -100, &["late"]),
            plugin("late", 100, &[]),
            plugin("core", 0, &[]),
        ])
        .unwrap();
        assert_eq!(
            order.iter().map(|p| p.name.as_str()).collect::<Vec<_>>(),
            ["core", "feature", "late", "db"]
        );
    }

    #[test]
    fn one_name_twice_and_another_version_are_refused_with_a_way_out() {
        let old = plugin("old", 0, &[]).fits("<0.0.1");
        let cases = [
            (vec![plugin("a", 0, &[]), plugin("a", 5, &[])], "GAL-PLUGIN-TWICE"),
            (vec![plugin("a", 0, &[]), old], "GAL-PLUGIN-VERSION"),
            (vec![plugin(" ", 0, &[])], "GAL-PLUGIN-NAME"),
            (vec![plugin("a", 0, &["b"])], "GAL-PLUGIN-MISSING"),
        ];
        for (plugins, code) in cases {
            let error = in_order(plugins).err().unwrap();
            assert_eq!(error.code(), Some(code));
            assert!(error.fix().is_some(), "{code}");
        }
    }

    #[test]
    fn missing_and_circular_dependencies_are_refused() {
        assert_eq!(
            in_order(vec![plugin("a", 0, &["b"])]).err().unwrap().code(),
            Some("GAL-PLUGIN-MISSING")
        );
        assert_eq!(
            in_order(vec![plugin("a", 0, &["b"]), plugin("b", 0, &["a"])]).err().unwrap().code(),
            Some("GAL-PLUGIN-CIRCLE")
        );
    }
}
