//! Endings that follow a platform's name in the settings of one platform, such as `DM_POLICY` in
//! `TELEGRAM_DM_POLICY`; further endings are read as well.

pub(super) const DM_POLICY: &[&str] = &["DM_POLICY"];
pub(super) const ALLOW_FROM: &[&str] = &["ALLOW_FROM"];
/// elizaOS 2.x calls it RESPONSE_POLICY.
pub(super) const GROUP_POLICY: &[&str] = &["GROUP_POLICY", "GROUP_RESPONSE_POLICY"];
pub(super) const NAME_RULE: &[&str] = &["NAME_RULE"];
pub(super) const ANSWER_PARTS: &[&str] = &["ANSWER_PARTS"];
pub(super) const ANSWER_TOKENS: &[&str] = &["ANSWER_TOKENS"];
pub(super) const ALLOW_BOTS: &[&str] = &["ALLOW_BOTS"];
pub(super) const AUTO_REPLY: &str = "AUTO_REPLY";
pub(super) const ALLOWED_CHATS: &[&str] = &["ALLOWED_CHATS", "ALLOWED_ROOMS"];
pub(super) const LISTEN_CHATS: &[&str] = &["LISTEN_CHATS"];
pub(super) const TARGET_USERS: &[&str] = &["TARGET_USERS"];
pub(super) const MESSAGE_TTL: &[&str] = &["MESSAGE_TTL_MINUTES"];
