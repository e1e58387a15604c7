//! The order in which plugins are loaded, and what keeps a set of them from being loaded.

use galatea_core::{
    Error, Plugin, Result,
    plugin::version::{GALATEA_VERSION, check_range},
    service::ServiceEntry,
};
use std::{collections::BTreeSet, sync::Arc};

/// Orders plugins: dependencies first, then lower priority first.
///
/// # Errors
/// `Invalid` for two plugins of one name, for one that does not fit this version, and when a
/// dependency is missing or circular.
pub(crate) fn in_order(mut plugins: Vec<Plugin>) -> Result<Vec<Plugin>> {
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

/// Orders services: those that others need first, otherwise as they are.
///
/// # Errors
/// `Invalid` for a need that no service has, and for a circle.
pub(crate) fn services_in_order(
    mut services: Vec<Arc<ServiceEntry>>,
) -> Result<Vec<Arc<ServiceEntry>>> {
    for entry in &services {
        let has = |need: &String| services.iter().any(|other| other.service.name() == need);
        if let Some(missing) = entry.service.needs().into_iter().find(|need| !has(need)) {
            return Err(Error::invalid("a service needs another one that no plugin has")
                .with_code("GAL-SERVICE-MISSING")
                .with("plugin", &entry.plugin)
                .with("service", entry.service.name())
                .with("needs", &missing)
                .with_fix(format!("add or enable the plugin that has the service {missing}")));
        }
    }
    let mut order: Vec<Arc<ServiceEntry>> = Vec::with_capacity(services.len());
    while !services.is_empty() {
        let waits = |need: &String| services.iter().any(|other| other.service.name() == need);
        let Some(next) = services.iter().position(|entry| !entry.service.needs().iter().any(waits))
        else {
            let circle: Vec<_> = services.iter().map(|entry| entry.service.name()).collect();
            return Err(Error::invalid("services need each other in a circle")
                .with_code("GAL-SERVICE-CIRCLE")
                .with("services", circle.join(", "))
                .with_fix("remove one of these needs"));
        };
        order.push(services.remove(next));
    }
    Ok(order)
}

#[cfg(test)]
mod tests {
    use super::*;
    use async_trait::async_trait;
    use galatea_core::{Service, ServiceContext};
    use tokio_util::sync::CancellationToken;

    struct Needs(&'static str, &'static [&'static str]);

    #[async_trait]
    impl Service for Needs {
        fn name(&self) -> &'static str {
            self.0
        }
        fn needs(&self) -> Vec<String> {
            self.1.iter().map(|need| (*need).to_owned()).collect()
        }
        async fn run(self: Arc<Self>, _: ServiceContext, _: CancellationToken) -> Result<()> {
            Ok(())
        }
    }

    fn services(list: &[(&'static str, &'static [&'static str])]) -> Vec<Arc<ServiceEntry>> {
        let entry = |(name, needs): &(&'static str, &'static [&'static str])| {
            ServiceEntry::new("plugin", Arc::new(Needs(name, needs)))
        };
        list.iter().map(entry).collect()
    }

    #[test]
    fn services_follow_all_of_the_type_that_they_need() {
        let all = services(&[
            ("web", &["store", "news"]),
            ("store", &[]),
            ("news", &["store"]),
            ("store", &[]),
        ]);
        let order = services_in_order(all).unwrap();
        let names: Vec<_> = order.iter().map(|entry| entry.service.name()).collect();
        assert_eq!(names, ["store", "store", "news", "web"]);
        for (list, code) in [
            (services(&[("a", &["b"])]), "GAL-SERVICE-MISSING"),
            (services(&[("a", &["b"]), ("b", &["a"])]), "GAL-SERVICE-CIRCLE"),
            (services(&[("a", &["a"])]), "GAL-SERVICE-CIRCLE"),
        ] {
            let error = services_in_order(list).err().unwrap();
            assert_eq!((error.code(), error.fix().is_some()), (Some(code), true));
        }
    }

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
