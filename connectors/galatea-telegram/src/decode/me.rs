//! The bot's own identity.

/// The bot's own identity on Telegram, from getMe.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Me {
    pub(crate) id: i64,
    /// Its user name without `@`.
    pub(crate) user_name: String,
}

impl Me {
    pub(super) fn is_named(&self, name: &str) -> bool {
        !self.user_name.is_empty() && name.eq_ignore_ascii_case(&self.user_name)
    }
}

pub(super) fn is_me(id: u64, me: &Me) -> bool {
    i64::try_from(id).is_ok_and(|id| id == me.id)
}
