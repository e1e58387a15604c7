//! Loads the plugins of an agent: checks them, begins those that are new, and makes the snapshot that
//! turns read.

use arc_swap::ArcSwap;
use futures::FutureExt;
use galatea_core::{
    AgentIdentity, Clock, Error, ErrorKind, EventBus, EventHandle, Models, Outbound, Plugin,
    PluginContext, PluginHooks, PluginSettings, Result, Services, Store, service::ServiceEntry,
    store::PluginCache,
};
use std::{
    panic::AssertUnwindSafe,
    sync::{Arc, atomic::AtomicBool},
    time::Duration,
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::slot::{Loaded, Slot, with_needed};
use crate::{
    plugins::{
        order::{in_order, services_in_order},
        own_store::OwnStore,
        own_view::own_view,
        registry::Registry,
        unit::{InUse, Unit},
    },
    profile::Profile,
    tools,
    turn::{CurrentThinking, PluginParts, Thinking, Windows},
};

/// Longest time of a plugin's `init`.
const INIT: Duration = Duration::from_secs(30);

/// Parts of an agent that its plugins are given.
pub(in crate::orchestrator) struct PluginSurroundings {
    pub(in crate::orchestrator) identity: AgentIdentity,
    pub(in crate::orchestrator) store: Arc<dyn Store>,
    pub(in crate::orchestrator) clock: Arc<dyn Clock>,
    pub(in crate::orchestrator) events: EventBus,
    pub(in crate::orchestrator) outbound: Arc<dyn Outbound>,
    pub(in crate::orchestrator) models: Models,
    /// The store, bound to the agent.
    pub(in crate::orchestrator) own_store: Arc<OwnStore>,
}

/// The plugins of one agent.
pub(in crate::orchestrator) struct AgentPlugins {
    pub(super) around: PluginSurroundings,
    windows: Arc<Windows>,
    /// The snapshot that the next turn reads.
    pub(super) current: CurrentThinking,
    pub(super) slots: ArcSwap<Vec<Slot>>,
    /// Held while the plugins are changed: one change at a time.
    pub(super) changing: tokio::sync::Mutex<()>,
    /// Plugins that left and wait for their last turn.
    pub(super) closing: TaskTracker,
    /// True once handlers of events run.
    pub(super) following: AtomicBool,
}

impl AgentPlugins {
    /// Loads the plugins of an agent that is being assembled.
    ///
    /// # Errors
    /// `Invalid` for plugins that do not fit together, for a setting that cannot be read, and what an
    /// `init` says. None of them is left begun.
    pub(in crate::orchestrator) async fn load(
        around: PluginSurroundings,
        mut slots: Vec<Slot>,
        profile: Arc<Profile>,
    ) -> Result<Self> {
        with_needed(&mut slots);
        let windows = Arc::new(Windows::new(Arc::clone(&around.store)));
        let (registry, services) = prepare(&around, &mut slots, &profile).await?;
        let thinking = snapshot(&around, &windows, profile, registry, services);
        Ok(Self {
            around,
            windows,
            current: CurrentThinking::new(thinking),
            slots: ArcSwap::from_pointee(slots),
            changing: tokio::sync::Mutex::default(),
            closing: TaskTracker::new(),
            following: AtomicBool::new(false),
        })
    }

    /// The snapshot that turns read.
    pub(in crate::orchestrator) fn current(&self) -> &CurrentThinking {
        &self.current
    }

    /// How much the agent's models take.
    pub(in crate::orchestrator) fn windows(&self) -> &Arc<Windows> {
        &self.windows
    }

    /// The services of now, with their states.
    pub(in crate::orchestrator) fn services(&self) -> Services {
        self.current.get().plugins.services.clone()
    }

    /// The services of now, in the order in which they start.
    pub(in crate::orchestrator) fn services_in_order(&self) -> Vec<Arc<ServiceEntry>> {
        let all = self
            .slots
            .load()
            .iter()
            .filter_map(|slot| slot.loaded.as_ref())
            .flat_map(|loaded| loaded.services.iter().cloned())
            .collect();
        // They were ordered when they were loaded.
        services_in_order(all).unwrap_or_default()
    }

    /// What code of a plugin may use outside of a turn. For one that is leaving: as if it had no
    /// settings.
    pub(in crate::orchestrator) fn context_for(&self, plugin: &str) -> PluginContext {
        let slots = self.slots.load();
        let loaded = slots.iter().find(|slot| slot.name() == plugin);
        let loaded = loaded.and_then(|slot| slot.loaded.as_ref());
        loaded.map(|loaded| loaded.context.clone()).unwrap_or_else(|| {
            let slot = Slot::new(Plugin::new(plugin, "", ""), &[]);
            context(&self.around, &slot, &self.current.get().profile, &self.services())
        })
    }

    /// The models of the agent, before a meter counts their calls.
    pub(in crate::orchestrator) fn models(&self) -> &Models {
        &self.around.models
    }

    /// The plugins that were added while the agent ran, for another start of it.
    pub(in crate::orchestrator) fn added(&self) -> Vec<Slot> {
        self.slots.load().iter().filter(|slot| slot.added).map(Slot::unloaded).collect()
    }

    /// Makes the snapshot of these plugins the one of now.
    pub(super) fn replace(&self, profile: Arc<Profile>, registry: Registry, services: Services) {
        let windows = &self.windows;
        self.current.replace(snapshot(&self.around, windows, profile, registry, services));
    }
}

fn snapshot(
    around: &PluginSurroundings,
    windows: &Arc<Windows>,
    profile: Arc<Profile>,
    registry: Registry,
    services: Services,
) -> Thinking {
    Thinking {
        profile,
        models: around.models.clone(),
        windows: Arc::clone(windows),
        registry: Arc::new(registry),
        plugins: PluginParts {
            store: Arc::clone(&around.own_store) as _,
            cache: cache(around, ""),
            services,
            outbound: Arc::clone(&around.outbound),
            events: EventHandle::new(around.events.clone(), around.identity.id(), ""),
        },
    }
}

/// Checks the plugins that are on, and begins those that are new or have other settings.
///
/// # Errors
/// As [`AgentPlugins::load`]. What was begun here is closed again then.
pub(super) async fn prepare(
    around: &PluginSurroundings,
    slots: &mut [Slot],
    profile: &Arc<Profile>,
) -> Result<(Registry, Services)> {
    let enabled = slots.iter().filter(|slot| slot.enabled).map(|slot| slot.plugin.clone());
    let order = in_order(enabled.collect())?;
    let mut entries = Vec::new();
    for plugin in &order {
        let loaded = slots.iter().find(|slot| slot.name() == plugin.name);
        let kept = loaded.filter(|slot| !slot.changed).and_then(|slot| slot.loaded.as_ref());
        let services = kept.map_or_else(|| fresh_services(plugin), |kept| kept.services.clone());
        entries.push(services);
    }
    services_in_order(entries.iter().flatten().cloned().collect())?;
    let services = Services::of(entries.iter().flatten().cloned());
    let mut begun: Vec<(Arc<dyn PluginHooks>, PluginContext)> = Vec::new();
    let mut units = Vec::new();
    for (plugin, own) in order.iter().zip(entries) {
        let Some(slot) = slots.iter_mut().find(|slot| slot.name() == plugin.name) else { continue };
        let context = context(around, slot, profile, &services);
        let is_new = slot.loaded.is_none();
        if let Some(closed) = slot.closed.take()
            && tokio::time::timeout(INIT, closed.cancelled()).await.is_err()
        {
            super::close::undo(begun).await;
            return Err(Error::new(ErrorKind::Conflict, "turns still use the plugin as it was")
                .with_code("GAL-PLUGIN-BUSY")
                .with("plugin", &plugin.name)
                .with_fix("try again when they have ended"));
        }
        let init = plugin.hooks.as_ref().filter(|_| is_new || slot.changed);
        let ready = match context.settings.check() {
            Ok(()) => match init {
                Some(hooks) => begin(&**hooks, &context).await,
                None => Ok(()),
            },
            Err(error) => Err(error.with("plugin", &plugin.name)),
        };
        if let Err(error) = ready {
            super::close::undo(begun).await;
            return Err(error);
        }
        if let Some(hooks) = init.filter(|_| is_new) {
            begun.push((Arc::clone(hooks), context.clone()));
        }
        let (in_use, unused, following) = match slot.loaded.take() {
            Some(Loaded { in_use, unused, following, .. }) => (in_use, unused, following),
            None => {
                let (in_use, unused) = InUse::new();
                (in_use, unused, CancellationToken::new())
            }
        };
        units.push(Arc::new(Unit::new(context.clone(), Arc::clone(&in_use))));
        slot.changed = false;
        slot.loaded = Some(Loaded { in_use, unused, context, services: own, following });
    }
    let registry = Registry::of(order.iter().zip(units));
    announce(around, &registry).await;
    Ok((registry, services))
}

/// Stores the names of the tools, for commands beside this process. Without them, a command refuses
/// a grant of a tool that came just now.
async fn announce(around: &PluginSurroundings, registry: &Registry) {
    let (agent, now) = (around.identity.id(), around.clock.now());
    if let Err(error) = tools::announce(&*around.store, agent, registry, now).await {
        tracing::warn!(agent = %agent, error = %error.report(), "failed to store the names of tools; commands know those of before");
    }
}

fn fresh_services(plugin: &Plugin) -> Vec<Arc<ServiceEntry>> {
    let services = plugin.services.iter();
    services.map(|service| ServiceEntry::new(plugin.name.as_str(), Arc::clone(service))).collect()
}

/// What code of a plugin may use outside of a turn.
fn context(
    around: &PluginSurroundings,
    slot: &Slot,
    profile: &Profile,
    services: &Services,
) -> PluginContext {
    let name: Arc<str> = slot.name().into();
    let settings = profile.view.settings.with_layer(slot.settings.clone());
    PluginContext {
        agent: Arc::new(own_view(&profile.view, &profile.open, &settings, &slot.plugin)),
        settings: settings_of(slot, profile),
        store: Arc::clone(&around.own_store) as _,
        cache: cache(around, slot.name()),
        services: services.clone(),
        outbound: Arc::clone(&around.outbound),
        events: EventHandle::new(around.events.clone(), around.identity.id(), Arc::clone(&name)),
        clock: Arc::clone(&around.clock),
        plugin: name,
    }
}

/// The settings that a plugin sees.
pub(super) fn settings_of(slot: &Slot, profile: &Profile) -> PluginSettings {
    let settings = profile.view.settings.with_layer(slot.settings.clone());
    PluginSettings::new(settings, slot.plugin.settings.clone())
}

fn cache(around: &PluginSurroundings, plugin: &str) -> PluginCache {
    PluginCache::new(Arc::clone(&around.store) as _, around.identity.id(), plugin)
}

async fn begin(hooks: &dyn PluginHooks, context: &PluginContext) -> Result<()> {
    let work = AssertUnwindSafe(hooks.init(context)).catch_unwind();
    let outcome = match tokio::time::timeout(INIT, work).await {
        Ok(Ok(outcome)) => outcome,
        Ok(Err(_)) => Err(Error::unexpected("a plugin crashed while it began")),
        Err(_) => Err(Error::new(ErrorKind::Timeout, "a plugin did not begin in time")
            .with("seconds", INIT.as_secs())),
    };
    outcome.map_err(|error| {
        let error = error.with("plugin", &context.plugin);
        if error.code().is_some() { error } else { error.with_code("GAL-PLUGIN-INIT") }
    })
}
