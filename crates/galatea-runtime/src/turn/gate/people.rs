//! The speaker of a message, and the lists of people in the settings.

use galatea_core::{People, RemoteId, store::Envelope};

use super::case::Case;
use crate::config::Policy;

/// True if the speaker is on the allowlist.
pub(super) fn listed(case: &Case<'_>) -> bool {
    is_listed(case.policy, case.envelope)
}

/// The same, for a message that is not judged.
pub(in crate::turn) fn is_listed(policy: &Policy, envelope: &Envelope) -> bool {
    named(&policy.allow_from, envelope)
}

/// True if a list has the speaker, by id or handle.
pub(super) fn named(list: &People, envelope: &Envelope) -> bool {
    list.names(envelope.entity_remote.as_ref().map(RemoteId::as_str), envelope.user_name.as_deref())
}

/// The id to put on a list of people.
pub(super) fn sender(case: &Case<'_>) -> String {
    case.envelope
        .entity_remote
        .as_ref()
        .map_or_else(|| String::from("the sender's id"), ToString::to_string)
}
