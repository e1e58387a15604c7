//! What keeps a change of one plugin from being made.

use galatea_core::{Error, ErrorKind, Plugin, Result};

use super::{begin::AgentPlugins, slot::Slot};

impl AgentPlugins {
    /// Checks that a plugin declares settings of these names, and that none is a secret.
    ///
    /// # Errors
    /// `NotFound` (`GAL-PLUGIN-UNKNOWN`) for an unknown plugin, `Invalid` otherwise.
    pub(in crate::orchestrator) fn check_declared<'a>(
        &self,
        name: &str,
        settings: impl Iterator<Item = &'a String>,
    ) -> Result<()> {
        let slots = self.slots.load();
        let at = place(&slots, name)?;
        slots.get(at).map_or(Ok(()), |slot| declared(&slot.plugin, settings))
    }
}

/// The place of a plugin in the list.
///
/// # Errors
/// `NotFound` (`GAL-PLUGIN-UNKNOWN`) with the names that exist.
pub(in crate::orchestrator) fn place(slots: &[Slot], name: &str) -> Result<usize> {
    let at = slots.iter().position(|slot| slot.name() == name);
    at.ok_or_else(|| unknown_plugin(name, &slots.iter().map(Slot::name).collect::<Vec<_>>()))
}

/// The error for a name that no plugin has.
pub(in crate::orchestrator) fn unknown_plugin(name: &str, known: &[&str]) -> Error {
    Error::not_found("there is no plugin of this name")
        .with_code("GAL-PLUGIN-UNKNOWN")
        .with("plugin", name)
        .with_fix(if known.is_empty() {
            "add it first".to_owned()
        } else {
            format!("the plugins are: {}", known.join(", "))
        })
}

/// Refuses a plugin with models: those of an agent are made when it is created.
///
/// # Errors
/// `Conflict` (`GAL-PLUGIN-MODELS`).
pub(in crate::orchestrator) fn without_models(plugin: &Plugin) -> Result<()> {
    if plugin.models.is_empty() {
        return Ok(());
    }
    Err(Error::new(
        ErrorKind::Conflict,
        "a plugin with models cannot come or go while the agent runs",
    )
    .with_code("GAL-PLUGIN-MODELS")
    .with("plugin", &plugin.name)
    .with_fix("give the plugin to the agent when it is created, and restart it"))
}

/// Checks that a plugin declares settings of these names, and that none is a secret.
fn declared<'a>(plugin: &Plugin, names: impl Iterator<Item = &'a String>) -> Result<()> {
    for name in names {
        let known: Vec<&str> = plugin.settings.iter().map(|own| &*own.name).collect();
        let Some(own) = plugin.settings.iter().find(|own| own.name == *name) else {
            return Err(Error::invalid("the plugin has no setting of this name")
                .with_code("GAL-PLUGIN-UNDECLARED")
                .with("plugin", &plugin.name)
                .with("setting", name)
                .with_fix(if known.is_empty() {
                    "it has no settings".to_owned()
                } else {
                    format!("its settings are: {}", known.join(", "))
                }));
        };
        if own.secret {
            return Err(Error::invalid("a secret is not stored with the choices about plugins")
                .with_code("GAL-PLUGIN-SECRET")
                .with("setting", name)
                .with_fix(format!("set {name} in the environment or in .env, and restart")));
        }
    }
    Ok(())
}
