//! Use beside the answers counts as the agent's own. No person pays for it.

use galatea_core::{
    Error, Result, Retry, Source, WorldId,
    store::{Day, Holder, UsageRow},
};
use std::{sync::Arc, time::Duration};

use super::{
    Budget, Visit,
    ledger::{Holders, Spend},
    meter::Meter,
};
use crate::{config::Policy, trace::Recorder};

/// The pause after a refusal that calls under way cause: they take seconds.
const SOON: Duration = Duration::from_secs(30);

impl Budget {
    /// Meter of a service's calls: under the agent's own entity, with the service's name in
    /// place of a platform.
    pub(crate) fn background(self: &Arc<Self>, policy: &Arc<Policy>, name: &str) -> Arc<Meter> {
        let source = Source::from_name(name);
        let (world, person) = (WorldId(self.agent.0), self.identity.entity());
        let room = UsageRow::background_room(&self.identity, &source);
        let limited = policy.spending.on;
        let visit = Visit {
            policy: Arc::clone(policy),
            source: source.clone(),
            world,
            room,
            person,
            holders: Holders {
                person: Holder::Person(person),
                room: Holder::Room(room),
                world: Holder::World(world),
                platform: Holder::Source(source),
            },
            stranger: false,
            background: true,
            limited,
            exempt: !limited,
        };
        self.meter(visit, Recorder::off())
    }

    /// Reads what is stored of the day before a call in the background; nothing for a turn, which
    /// has read it before its first call ([`Self::visit`]).
    ///
    /// # Errors
    /// Those of the store.
    pub(super) async fn read_background(&self, visit: &Visit) -> Result<()> {
        if visit.background && !visit.exempt {
            self.read([&visit.holders.person, &Holder::Agent].into_iter()).await?;
        }
        Ok(())
    }

    /// The advice of a refusal: work in the background continues when the next day begins, or soon
    /// if only calls that are under way leave no space.
    pub(super) fn advise(&self, visit: &Visit, estimate: Spend, refusal: Error) -> Error {
        if !visit.background {
            return refusal;
        }
        let now = self.clock.now();
        let day = Day(Day::of(now).0 + 1).begins().since(now);
        let is_used_up = self.ledger.lock().is_used_up(&visit.case(now), estimate);
        refusal.with_retry(Retry::After(if is_used_up { day } else { day.min(SOON) }))
    }
}
