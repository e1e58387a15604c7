//! The address at which the owner of a server invites the bot.

/// Permissions that the invite link asks for: View Channel, Send Messages, Send Messages in
/// Threads, Embed Links, Attach Files, Read Message History and Add Reactions; not Administrator.
pub(super) const PERMISSIONS: u64 = 274_878_024_768;

/// The address at which the owner of a server invites the bot.
pub(crate) fn invite(application: u64) -> String {
    format!(
        "https://discord.com/oauth2/authorize?client_id={application}&scope=bot+applications.commands&permissions={PERMISSIONS}"
    )
}
