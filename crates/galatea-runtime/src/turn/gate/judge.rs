//! The gate with all that it looks at in one place.

use galatea_core::{
    Address, EntityId, Error, ErrorKind, Priority, Result, Retry, room::OWN_NAME, store::Block,
};
use std::sync::Arc;

use crate::{
    config::DmPolicy,
    outbox::CallTarget,
    pairing,
    turn::{
        context::TurnPlace,
        engine::Engine,
        gate::{self, Case, Judged},
        message::Waiting,
        more::{self, More},
    },
};

/// Judges the messages of one lane, from the first one's place on.
pub(crate) struct Judge<'a> {
    engine: &'a Engine,
    place: &'a TurnPlace,
    blocks: Arc<[Block]>,
    /// The first message's author.
    author: EntityId,
    /// The owner has approved them.
    approved: bool,
    /// Names of the account there, besides the character's name.
    own_names: Vec<String>,
}

impl<'a> Judge<'a> {
    /// Reads who is blocked and whether the first message's author is approved.
    ///
    /// # Errors
    /// Those of the store.
    pub(crate) async fn new(
        engine: &'a Engine,
        place: &'a TurnPlace,
        first: &Waiting,
    ) -> Result<Self> {
        let author = first.entry.memory.entity_id;
        let agent = engine.view.identity.id();
        let approved = place.policy.dm == DmPolicy::Pairing
            && pairing::is_approved(&engine.store, &engine.clock, agent, author).await?;
        let blocks = engine.budget.blocks().await?;
        let nickname = place.info.room.metadata.get(OWN_NAME).and_then(|name| name.as_str());
        let own_names = nickname
            .map(str::to_owned)
            .into_iter()
            .chain(place.route.handler.handle())
            .filter(|name| !name.is_empty())
            .collect();
        Ok(Self { engine, place, blocks, author, approved, own_names })
    }

    /// The person is on the allowlist or approved.
    pub(crate) fn is_friend(&self, message: &Waiting) -> bool {
        gate::is_listed(&self.place.policy, &message.entry.envelope) || self.is_paired(message)
    }

    /// True if the author of the first message wrote it.
    pub(crate) fn is_authors(&self, message: &Waiting) -> bool {
        message.entry.memory.entity_id == self.author
    }

    fn is_paired(&self, message: &Waiting) -> bool {
        self.approved && self.is_authors(message)
    }

    /// Relation of a message to answers held back in the Room.
    pub(crate) fn more(&self, message: &Waiting) -> More {
        let character = &self.engine.view.character;
        more::asked(character, message, &self.place.info, self.engine.clock.now())
    }

    /// Decides about answering a message.
    pub(crate) fn evaluate(&self, message: &Waiting) -> Judged {
        let Self { engine, place: TurnPlace { info, route, policy }, .. } = self;
        let judged = gate::evaluate(&Case {
            policy,
            character: &engine.view.character,
            own_names: &self.own_names,
            message: &message.entry.memory,
            envelope: &message.entry.envelope,
            room_kind: info.room.kind,
            room_remote: info.room.remote.as_str(),
            parent_remote: info.parent.as_ref().map(galatea_core::RemoteId::as_str),
            world_remote: info.world.as_ref().map(|world| world.remote.as_str()),
            blocks: &self.blocks,
            own_state: info.own_state,
            more: self.more(message),
            public: route.info.capabilities.public,
            scripted: engine.thinking.is_scripted(),
            hops: engine.state.hops.of(info.room.id),
            paired: self.is_paired(message),
            received_at: message.received_at,
            now: engine.clock.now(),
            ahead: engine.clock.ahead(),
        });
        gate::barred(judged, || {
            let entry = &message.entry;
            let address = Address {
                source: entry.source.clone(),
                account: entry.account.clone(),
                room: info.room.id,
                remote: info.room.remote.clone(),
            };
            route.handler.barred(&address, &entry.remote).or_else(|| self.held_up())
        })
    }

    /// Why an answer would expire before it may be sent: no model is asked for it.
    fn held_up(&self) -> Option<Error> {
        let Self { engine, place: TurnPlace { info, route, .. }, .. } = self;
        let here = CallTarget { room: info.room.id, world: Some(info.room.world_id) };
        let held = route.stack.gate().admit(here, Priority::Answer, engine.clock.now()).err()?;
        let Retry::After(left) = held.retry() else { return None };
        let longest = engine.outbox.answer_ttl();
        // The answer is made some time after the question.
        (left > longest.saturating_add(engine.limits.turn)).then(|| {
            let message = format!(
                "the platform asks to wait {} minutes, longer than an answer may wait ({})",
                left.as_secs().div_ceil(60),
                longest.as_secs().div_ceil(60)
            );
            Error::new(ErrorKind::RateLimited, message)
                .with_code("GAL-SEND-WAIT")
                .with_fix("nothing to do: it answers again when the wait is over; ANSWER_TTL_MINUTES says how long an answer may wait")
        })
    }
}
