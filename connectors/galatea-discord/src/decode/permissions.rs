//! Discord's permission bits, and which of them a member has in a channel (Discord, "Permissions":
//! "Permission Hierarchy" and "Permission Overwrites").

use serde_json::Value;

use crate::decode::raw::id;

/// Every permission in every channel, whatever the overwrites say.
pub(crate) const ADMINISTRATOR: u64 = 1 << 3;
const MANAGE_GUILD: u64 = 1 << 5;
pub(crate) const VIEW: u64 = 1 << 10;
pub(crate) const SEND: u64 = 1 << 11;
pub(crate) const MANAGE_THREADS: u64 = 1 << 34;
pub(crate) const SEND_IN_THREADS: u64 = 1 << 38;

/// Members with either permission may configure the agent in the guild.
const ADMINISTERS: u64 = ADMINISTRATOR | MANAGE_GUILD;

/// A permission overwrite of a role or a member in one channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Overwrite {
    /// Id of the role or the member.
    pub(crate) id: u64,
    allow: u64,
    deny: u64,
}

/// The member of a guild whose permissions are asked for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Member<'a> {
    /// Id of the guild, which is also the id of its role `@everyone`.
    pub(crate) guild: u64,
    pub(crate) id: u64,
    /// Ids of the member's roles, with or without `@everyone`.
    pub(crate) roles: &'a [u64],
}

/// Why a member cannot write in a channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MissingPermission {
    /// View Channel is missing.
    View,
    /// Send Messages is missing, or in a thread Send Messages in Threads.
    Send,
    /// A moderator timed the member out.
    TimedOut,
}

/// Reads a permission set. Discord writes it as a number in text.
pub(crate) fn read(permissions: &Value) -> Option<u64> {
    permissions.as_str().and_then(|p| p.parse().ok())
}

/// True if a permission set in JSON includes one of [`ADMINISTERS`].
pub(crate) fn administers(permissions: &Value) -> bool {
    read(permissions).is_some_and(|p| p & ADMINISTERS != 0)
}

impl Overwrite {
    /// True if it takes a permission away.
    pub(crate) fn denies(&self, permission: u64) -> bool {
        self.deny & permission != 0
    }

    /// Reads the overwrites of a channel object. `None` if Discord did not send them, as for
    /// threads.
    pub(crate) fn read_all(channel: &Value) -> Option<Box<[Self]>> {
        let read = |one: &Value| {
            let bits = |of: &Value| read(of).unwrap_or(0);
            Some(Self { id: id(&one["id"])?, allow: bits(&one["allow"]), deny: bits(&one["deny"]) })
        };
        channel["permission_overwrites"].as_array().map(|all| all.iter().filter_map(read).collect())
    }
}

impl Member<'_> {
    /// True if the member has a role, `@everyone` included.
    pub(crate) fn has(&self, role: u64) -> bool {
        role == self.guild || self.roles.contains(&role)
    }

    /// The permissions in a channel with these overwrites: first that of `@everyone` applies to
    /// the permissions of the roles, then those of the roles together, then that of the member.
    pub(crate) fn permissions_in(&self, of_roles: u64, overwrites: &[Overwrite]) -> u64 {
        if of_roles & ADMINISTRATOR != 0 {
            return u64::MAX;
        }
        let apply = |may: u64, whose: &dyn Fn(u64) -> bool| {
            let (allow, deny) = overwrites
                .iter()
                .filter(|o| whose(o.id))
                .fold((0, 0), |(allow, deny), o| (allow | o.allow, deny | o.deny));
            may & !deny | allow
        };
        let may = apply(of_roles, &|id| id == self.guild);
        let may = apply(may, &|id| id != self.guild && self.roles.contains(&id));
        apply(may, &|id| id == self.id)
    }
}

/// Permission that is missing for writing in a channel. Those of a thread are its parent's,
/// but writing in it takes a permission of its own.
pub(crate) fn missing(may: u64, thread: bool) -> Option<MissingPermission> {
    if may & VIEW == 0 {
        Some(MissingPermission::View)
    } else {
        (may & if thread { SEND_IN_THREADS } else { SEND } == 0).then_some(MissingPermission::Send)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const PLAIN: u64 = VIEW | SEND | SEND_IN_THREADS;

    /// What member 9 of guild 1 lacks in a channel and in its thread, with the roles 10 and 11.
    fn lacks(
        of_roles: u64,
        overwrites: Value,
    ) -> (Option<MissingPermission>, Option<MissingPermission>) {
        let overwrites =
            Overwrite::read_all(&json!({ "permission_overwrites": overwrites })).unwrap();
        let member = Member { guild: 1, id: 9, roles: &[10, 11] };
        let may = member.permissions_in(of_roles, &overwrites);
        (missing(may, false), missing(may, true))
    }

    fn over(id: &str, allow: u64, deny: u64) -> Value {
        json!({ "id": id, "allow": allow.to_string(), "deny": deny.to_string() })
    }

    #[test]
    fn overwrites_apply_in_discords_order() {
        let (view, send) = (Some(MissingPermission::View), Some(MissingPermission::Send));
        assert_eq!(lacks(PLAIN, json!([])), (None, None));
        assert_eq!(lacks(0, json!([])), (view, view));
        assert_eq!(lacks(VIEW, json!([])), (send, send));
        assert_eq!(
            lacks(VIEW | SEND, json!([])),
            (None, send),
            "threads have a permission of their own"
        );
        assert_eq!(lacks(VIEW | SEND_IN_THREADS, json!([])), (send, None));
        assert_eq!(lacks(PLAIN, json!([over("1", 0, VIEW)])), (view, view));
        let denied = over("1", 0, SEND);
        assert_eq!(lacks(PLAIN, json!([denied])), (send, None));
        assert_eq!(
            lacks(PLAIN, json!([over("10", SEND, 0), denied])).0,
            None,
            "an overwrite of a role beats @everyone's, wherever it stands"
        );
        assert_eq!(
            lacks(PLAIN, json!([over("10", 0, SEND), over("11", SEND, 0)])).0,
            None,
            "one allowing role is enough"
        );
        assert_eq!(
            lacks(PLAIN, json!([over("9", 0, SEND), over("10", SEND, 0)])).0,
            send,
            "an overwrite of the member beats all others"
        );
        assert_eq!(lacks(PLAIN, json!([over("10", 0, SEND), over("9", SEND, 0)])).0, None);
        assert_eq!(
            lacks(PLAIN, json!([over("77", 0, SEND)])).0,
            None,
            "another role's overwrite does not apply"
        );
    }

    #[test]
    fn an_administrator_may_everything() {
        let all = json!([over("1", 0, PLAIN), over("10", 0, PLAIN), over("9", 0, PLAIN)]);
        assert_eq!(lacks(ADMINISTRATOR, all.clone()), (None, None));
        assert_ne!(lacks(MANAGE_GUILD | PLAIN, all), (None, None));
        let granted = json!([over("9", ADMINISTRATOR, PLAIN)]);
        assert_ne!(lacks(PLAIN, granted), (None, None), "no overwrite makes an administrator");
        for (permissions, administering) in
            [(ADMINISTRATOR, true), (MANAGE_GUILD, true), (PLAIN, false)]
        {
            assert_eq!(administers(&json!(permissions.to_string())), administering);
        }
        assert!(!administers(&Value::Null) && !administers(&json!("x")));
    }

    #[test]
    fn overwrites_that_cannot_be_read_are_left_out() {
        let all = |overwrites: Value| {
            Overwrite::read_all(&json!({ "permission_overwrites": overwrites }))
        };
        assert_eq!(all(Value::Null), None);
        let read = all(json!([{ "id": "x", "deny": "1" }, { "id": "5", "deny": 8 }])).unwrap();
        assert_eq!(*read, [Overwrite { id: 5, allow: 0, deny: 0 }]);
    }
}
