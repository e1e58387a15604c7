//! Plugins for communities, each in a file of its own and off until people switch it on: what a person
//! missed, daily reports, welcomes and goodbyes, hand-over to people, feeds, and flags for moderators.

mod feature;
mod feeds;
mod flag;
mod hand_over;
mod missed;
mod report;
mod tell;
mod welcome;

use galatea_core::{Plugin, PluginSetting, Variable};
use galatea_http::HttpClient;

pub use feature::FEATURES;

/// Every setting that these plugins read.
pub const VARIABLES: &[Variable] = &[FEATURES];

/// The plugins. Called once per agent.
pub fn plugins(http: HttpClient) -> Vec<Plugin> {
    let version = env!("CARGO_PKG_VERSION");
    vec![
        Plugin::new("missed", version, "Sums up what a person missed in a room")
            .action(missed::Missed)
            .setting(PluginSetting::from(&FEATURES)),
        Plugin::new("report", version, "Reports each day what a room talked about")
            .action(report::DailyReport)
            .task_worker(report::Reporter),
        Plugin::new("welcome", version, "Welcomes people and says goodbye")
            .task_worker(welcome::Greeter)
            .on_events(welcome::Door)
            .setting(PluginSetting::from(&FEATURES)),
        Plugin::new("hand-over", version, "Hands a question over to people")
            .action(hand_over::HandOver)
            .setting(PluginSetting::from(&FEATURES)),
        Plugin::new("feeds", version, "Posts news of feeds in a room")
            .action(feeds::FollowFeed)
            .task_worker(feeds::FeedReader(http)),
        Plugin::new("flag", version, "Shows messages to moderators")
            .action(flag::Flag)
            .setting(PluginSetting::from(&FEATURES)),
    ]
}
