//! Replaces the plugins that new turns use, and settles those that came and those that left.

use galatea_core::{Event, Result};
use std::sync::{Arc, atomic::Ordering};
use tokio::sync::MutexGuard;
use tokio_util::sync::CancellationToken;

use super::{
    begin::{AgentPlugins, prepare, settings_of},
    end::close_later,
    follow::follow,
    slot::{Loaded, Slot, with_needed},
};
use crate::{
    profile::{CurrentProfile, Profile},
    tools,
};

/// A change that turns see already, and whose plugins are not settled yet.
pub(in crate::orchestrator) struct Swapped<'a> {
    /// Plugins that no new turn uses, each with the signal that it was closed.
    left: Vec<(Slot, CancellationToken)>,
    /// Plugins that no turn used before.
    fresh: Vec<Slot>,
    _alone: MutexGuard<'a, ()>,
}

impl AgentPlugins {
    /// Changes the plugins and the profile of which new turns begin, or nothing. None if `edit` says
    /// that nothing is to be done.
    ///
    /// # Errors
    /// Those of `edit`, and as for [`AgentPlugins::load`].
    pub(in crate::orchestrator) async fn swap(
        &self,
        current: &CurrentProfile,
        profile: Option<Profile>,
        edit: impl FnOnce(&mut Vec<Slot>) -> Result<bool> + Send,
    ) -> Result<Option<Swapped<'_>>> {
        let alone = self.changing.lock().await;
        let before = self.slots.load_full();
        let mut next = before.to_vec();
        if !edit(&mut next)? && profile.is_none() {
            return Ok(None);
        }
        next.iter_mut().filter(|slot| !slot.enabled).for_each(|slot| slot.loaded = None);
        let profile = profile.map_or_else(|| current.get(), Arc::new);
        mark_changed(&mut next, &profile);
        let (registry, services) = prepare(&self.around, &mut next, &profile).await?;
        current.replace(Arc::clone(&profile));
        self.replace(profile, registry, services);
        self.announce_tools().await;
        let gone = before.iter().filter(|slot| is_gone(slot, &next)).cloned();
        let left: Vec<_> = gone.map(|slot| (slot, CancellationToken::new())).collect();
        let fresh = next.iter().filter(|slot| is_gone(slot, &before)).cloned().collect();
        for (slot, closed) in &left {
            let other = next.iter_mut().find(|other| other.name() == slot.name());
            if let Some(other) = other.filter(|other| other.loaded.is_none()) {
                other.closed = Some(closed.clone());
            }
        }
        self.slots.store(Arc::new(next));
        Ok(Some(Swapped { left, fresh, _alone: alone }))
    }

    /// Stores the tools of now, by which commands that run beside this process check rules.
    async fn announce_tools(&self) {
        let (agent, now) = (self.around.identity.id(), self.around.clock.now());
        let registry = Arc::clone(&self.current.get().registry);
        if let Err(error) = tools::announce(&*self.around.store, agent, &registry, now).await {
            tracing::warn!(agent = %agent, error = %error.report(), "failed to store the list of tools; commands beside this process know those of before");
        }
    }

    /// Starts the handlers of plugins that came, and closes those that left, after their last turn.
    pub(in crate::orchestrator) fn settle(&self, swapped: Swapped<'_>) {
        let Swapped { left, fresh, _alone } = swapped;
        if self.following.load(Ordering::Relaxed) {
            fresh.iter().for_each(|slot| self.announce(slot));
        }
        drop(fresh);
        for (mut slot, closed) in left.into_iter().rev() {
            if let Some(loaded) = slot.loaded.take() {
                let (agent, plugin) = (self.around.identity.id(), slot.plugin.name.clone());
                self.around.events.publish(Event::PluginUnloaded { agent, plugin });
                close_later(self, &slot, loaded, closed);
            }
        }
    }

    /// Starts the handlers of events, when the agent starts.
    pub(in crate::orchestrator) fn follow_all(&self) {
        self.following.store(true, Ordering::Relaxed);
        let slots = self.slots.load();
        slots.iter().filter(|slot| slot.loaded.is_some()).for_each(|slot| self.announce(slot));
    }

    /// Starts the handlers of a plugin that turns use from now on, and says so.
    fn announce(&self, slot: &Slot) {
        follow(slot, &self.around.events);
        self.around.events.publish(Event::PluginLoaded {
            agent: self.around.identity.id(),
            plugin: slot.plugin.name.clone(),
            version: slot.plugin.version.clone(),
        });
    }
}

/// True if a plugin is loaded, and not among the others.
fn is_gone(slot: &Slot, others: &[Slot]) -> bool {
    let same = |loaded: &Loaded, other: &Slot| {
        other.loaded.as_ref().is_some_and(|other| Arc::ptr_eq(&other.in_use, &loaded.in_use))
    };
    slot.loaded.as_ref().is_some_and(|loaded| !others.iter().any(|other| same(loaded, other)))
}

/// Marks the plugins whose settings have other values than when they were loaded.
fn mark_changed(slots: &mut [Slot], profile: &Profile) {
    for slot in slots {
        let now = settings_of(slot, profile);
        let loaded = slot.loaded.as_ref();
        slot.changed = loaded.is_some_and(|loaded| !loaded.context.settings.same_as(&now));
    }
}

/// Turns on what a plugin needs, if it is on.
pub(in crate::orchestrator) fn with_needed_of(slots: &mut [Slot], name: &str) {
    if slots.iter().any(|slot| slot.name() == name && slot.enabled) {
        with_needed(slots);
    }
}
