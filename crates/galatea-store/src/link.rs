//! Links of accounts, whole: read for exports, stored by imports.

use async_trait::async_trait;
use galatea_core::{
    AgentId, EntityId, IdentityLink, Result, Timestamp,
    store::{LinkStore, MOST_LINKED},
};
use sqlx::FromRow;
use std::collections::{BTreeMap, BTreeSet};
use uuid::Uuid;

use crate::{
    Database,
    change::{Change, Write},
    dialect::{Dialects, Value, values},
    relationship,
};

pub(crate) const LINKS: Dialects = Dialects::same(
    "SELECT entity_id, linked_id, linked_at FROM identity_links WHERE agent_id = $1 AND entity_id < linked_id ORDER BY linked_at, entity_id, linked_id",
);
pub(crate) const LINKS_OF: Dialects = Dialects::same(
    "SELECT entity_id, linked_id, linked_at FROM identity_links WHERE agent_id = $1 AND entity_id = $2 ORDER BY linked_at, linked_id",
);
/// Pairs of one person, in both directions, unless one of them is linked with another account.
pub(crate) const RESTORE: Dialects = Dialects {
    sqlite: "INSERT INTO identity_links (agent_id, entity_id, linked_id, linked_at) \
             SELECT $1, unhex(a.value), unhex(b.value), t.value FROM json_each($2) a JOIN json_each($3) b ON b.key = a.key JOIN json_each($4) t ON t.key = a.key \
             WHERE NOT EXISTS (SELECT 1 FROM identity_links WHERE agent_id = $1 AND entity_id IN (SELECT unhex(value) FROM json_each($2)) \
                AND linked_id NOT IN (SELECT unhex(value) FROM json_each($2))) \
             ON CONFLICT DO NOTHING",
    postgres: "INSERT INTO identity_links (agent_id, entity_id, linked_id, linked_at) \
               SELECT $1::uuid, l.entity, l.linked, l.at FROM unnest($2::uuid[], $3::uuid[], $4::bigint[]) l (entity, linked, at) \
               WHERE NOT EXISTS (SELECT 1 FROM identity_links WHERE agent_id = $1 AND entity_id = ANY ($2) AND linked_id <> ALL ($2)) \
               ON CONFLICT DO NOTHING",
};

#[derive(FromRow)]
struct Stored {
    entity_id: Uuid,
    linked_id: Uuid,
    linked_at: i64,
}

impl From<Stored> for IdentityLink {
    fn from(stored: Stored) -> Self {
        Self {
            entity_id: EntityId(stored.entity_id),
            linked_id: EntityId(stored.linked_id),
            linked_at: Timestamp(stored.linked_at),
        }
    }
}

/// Links by person: the pairs of each, the smaller id first, with the time of each. Persons of which not
/// each account is linked with each, or of too many accounts, are left out.
fn persons(links: &[IdentityLink]) -> Vec<BTreeMap<(Uuid, Uuid), i64>> {
    let mut of: BTreeMap<Uuid, BTreeSet<Uuid>> = BTreeMap::new();
    let mut pairs = BTreeMap::new();
    for link in links {
        let (a, b) =
            (link.entity_id.0.min(link.linked_id.0), link.entity_id.0.max(link.linked_id.0));
        if a != b {
            pairs.entry((a, b)).or_insert(link.linked_at.0);
            of.entry(a).or_insert_with(|| BTreeSet::from([a])).insert(b);
            of.entry(b).or_insert_with(|| BTreeSet::from([b])).insert(a);
        }
    }
    let mut whole = Vec::new();
    for (first, accounts) in &of {
        // Each account has the same accounts as all others of the person; the first speaks for them.
        let closed = accounts.iter().all(|account| of.get(account) == Some(accounts));
        if closed && accounts.len() <= MOST_LINKED && accounts.first() == Some(first) {
            let own = pairs.iter().filter(|((a, _), _)| accounts.contains(a));
            whole.push(own.map(|(pair, at)| (*pair, *at)).collect());
        }
    }
    whole
}

#[async_trait]
impl LinkStore for Database {
    async fn links(&self, agent: AgentId) -> Result<Vec<IdentityLink>> {
        let rows = self.all::<Stored>(LINKS.with(values![agent.0])).await?;
        Ok(rows.into_iter().map(IdentityLink::from).collect())
    }

    async fn links_of(&self, agent: AgentId, entity: EntityId) -> Result<Vec<IdentityLink>> {
        let rows = self.all::<Stored>(LINKS_OF.with(values![agent.0, entity.0])).await?;
        Ok(rows.into_iter().map(IdentityLink::from).collect())
    }

    async fn restore_links(&self, agent: AgentId, links: &[IdentityLink]) -> Result<u64> {
        let persons = persons(links);
        if persons.is_empty() {
            return Ok(0);
        }
        let mut change = Change::default();
        relationship::push_lock(&mut change, agent)?;
        for pairs in persons {
            let both = || pairs.iter().flat_map(|((a, b), at)| [(*a, *b, *at), (*b, *a, *at)]);
            let values = vec![
                agent.0.into(),
                Value::Ids(both().map(|(entity, ..)| entity).collect()),
                Value::Ids(both().map(|(_, linked, _)| linked).collect()),
                Value::Ints(both().map(|(.., at)| at).collect()),
            ];
            change.push(Write::statement(RESTORE.with(values)))?;
        }
        let rows: u64 = self.write(change).await?.into_iter().skip(1).sum();
        Ok(rows / 2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_person_is_whole_or_left_out() {
        let link = |a: u128, b: u128, at| IdentityLink {
            entity_id: EntityId(Uuid::from_u128(a)),
            linked_id: EntityId(Uuid::from_u128(b)),
            linked_at: Timestamp(at),
        };
        let pair = |a: u128, b: u128, at: i64| ((Uuid::from_u128(a), Uuid::from_u128(b)), at);
        let three = [link(2, 1, 5), link(1, 3, 6), link(3, 2, 6), link(1, 2, 9), link(4, 4, 1)];
        let whole = persons(&three);
        assert_eq!(whole, [BTreeMap::from([pair(1, 2, 5), pair(1, 3, 6), pair(2, 3, 6)])]);
        let beside = [three.as_slice(), &[link(9, 8, 1)]].concat();
        assert_eq!(persons(&beside).len(), 2);
        assert!(persons(&three[..2]).is_empty(), "2 and 3 are not linked");
        let many: Vec<_> = (1..8).flat_map(|a| (a + 1..8).map(move |b| link(a, b, 1))).collect();
        assert!(persons(&many).is_empty(), "seven accounts");
    }
}
