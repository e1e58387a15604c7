//! The plugins of an agent while it runs: which there are, which are on, and the snapshot that turns
//! read. Each change makes a whole snapshot and swaps it, or changes nothing.

mod begin;
mod change;
pub(super) mod checks;
mod choice;
mod close;
mod end;
mod follow;
mod info;
mod slot;

pub use choice::Choices;
pub use info::{ExtensionNames, PluginInfo, PluginState, ServiceInfo, SettingInfo};
pub(super) use {
    begin::{AgentPlugins, PluginSurroundings},
    change::with_needed_of,
    choice::{CHANGES, Times},
    end::close_all,
    slot::Slot,
};
