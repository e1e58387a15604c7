//! The slash commands of the application.

use galatea_core::{ADMIN_COMMANDS, COMMAND_WORDS, COMMANDS};
use serde_json::{Value, json};
use serenity::{
    all::{CommandOptionType, Permissions},
    builder::{CreateCommand, CreateCommandOption},
};

use super::DiscordConnector;
use crate::send::api::Call;

impl DiscordConnector {
    /// Replaces the application's commands if they differ from [`COMMANDS`]. A failure is only
    /// logged, because the bot works without a command menu.
    pub(super) async fn set_commands(&self, application: u64) {
        let path = format!("/applications/{application}/commands");
        let wanted: Vec<CreateCommand> = COMMANDS
            .iter()
            .map(|(name, what)| {
                let command = CreateCommand::new(*name).description(*what);
                // Discord hides these commands from members without the permission. A server's
                // admins can grant them to others (Discord, "Permissions": commands).
                let command = if ADMIN_COMMANDS.contains(name) {
                    command.default_member_permissions(Permissions::MANAGE_GUILD)
                } else {
                    command
                };
                match COMMAND_WORDS.iter().find(|(of, ..)| of == name) {
                    Some((_, words, about)) => command.add_option(
                        CreateCommandOption::new(CommandOptionType::String, *words, *about)
                            .required(*name == "ask"),
                    ),
                    None => command,
                }
            })
            .collect();
        let wanted = serde_json::to_value(wanted).unwrap_or_default();
        let known = self
            .api
            .call(Call::new("GET /applications/{}/commands", application, path.clone()))
            .await;
        if known.as_ref().is_ok_and(|known| same_commands(known, &wanted)) {
            return;
        }
        if let Err(failure) = self
            .api
            .call(Call::new("PUT /applications/{}/commands", application, path).json(wanted))
            .await
        {
            tracing::warn!(error = %self.api.error(failure, "set commands"), "failed to set the command menu; retrying at the next start");
        }
    }
}

/// True if Discord already has these commands. Compares only the fields we set, because Discord
/// adds its own.
fn same_commands(known: &Value, wanted: &Value) -> bool {
    let brief = |list: &Value| -> Vec<Value> {
        let option = |o: &Value| {
            json!([
                o["type"],
                o["name"],
                o["description"],
                o["required"].as_bool().unwrap_or(false)
            ])
        };
        let options = |c: &Value| {
            c["options"].as_array().into_iter().flatten().map(option).collect::<Vec<_>>()
        };
        let mut all: Vec<Value> = list
            .as_array()
            .into_iter()
            .flatten()
            .map(|c| {
                json!([c["name"], c["description"], c["default_member_permissions"], options(c)])
            })
            .collect();
        all.sort_by_key(ToString::to_string);
        all
    };
    brief(known) == brief(wanted)
}
