//! Strangers who wait, invitations, blocks with their names, links.

use galatea_core::{relationship::IdentityLink, store::Block};
use galatea_host::ops::{Invitation, ListedPairing, block_id};
use serde::Serialize;
use utoipa::ToSchema;
use uuid::Uuid;

use super::list;

/// A stranger who waits to talk to an agent.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct PairingView {
    id: Uuid,
    agent: Uuid,
    person: Uuid,
    /// The platform.
    source: String,
    /// Their own name.
    name: String,
    /// The code that the agent sent them.
    code: String,
    /// End of the code.
    until: i64,
}

impl From<ListedPairing> for PairingView {
    fn from(listed: ListedPairing) -> Self {
        let person = listed.person;
        Self {
            id: person.row().0,
            agent: listed.agent.0,
            person: person.entity.0,
            source: person.source.as_str().to_owned(),
            name: person.name,
            code: person.code,
            until: person.until.0,
        }
    }
}

list!(/// Strangers who wait.
    PairingList of PairingView);

/// An invitation. Its code is shown once.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct InvitationView {
    /// What the friend writes to the agent, in a private message.
    code: String,
    until: i64,
}

impl From<Invitation> for InvitationView {
    fn from(invitation: Invitation) -> Self {
        Self { code: invitation.code, until: invitation.until.0 }
    }
}

/// A block with its name.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct NamedBlock {
    id: Uuid,
    agent: Uuid,
    /// The platform.
    source: String,
    /// `person`, `room` or `world`.
    kind: String,
    /// The platform's id.
    remote: String,
    reason: String,
    at: i64,
}

impl From<Block> for NamedBlock {
    fn from(block: Block) -> Self {
        Self {
            id: block_id(&block),
            agent: block.agent.0,
            source: block.source.as_str().to_owned(),
            kind: block.kind.as_str().to_owned(),
            remote: block.remote.0,
            reason: block.reason,
            at: block.at.0,
        }
    }
}

list!(/// Blocks with their names.
    NamedBlockList of NamedBlock);

/// Two accounts that are one person.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct LinkView {
    person: Uuid,
    linked: Uuid,
    at: i64,
}

impl From<IdentityLink> for LinkView {
    fn from(link: IdentityLink) -> Self {
        Self { person: link.entity_id.0, linked: link.linked_id.0, at: link.linked_at.0 }
    }
}

list!(/// Links of accounts.
    LinkList of LinkView);
