//! The time zone of a person: asked once and remembered with the person.

use galatea_core::{EntityId, Result, Turn, Zone, store::RequestedChange};
use serde_json::{Map, json};

/// Key of an entity's metadata: the IANA name of the person's time zone.
const ZONE: &str = "timeZone";
/// Key of an entity's metadata: the person was asked for it.
const ASKED: &str = "timeZoneAsked";

/// What is known of a person's time zone.
pub(super) struct PersonZone {
    pub(super) zone: Option<Zone>,
    pub(super) was_asked: bool,
}

/// Reads it.
pub(super) async fn of(turn: &Turn<'_>, person: EntityId) -> Result<PersonZone> {
    let found = turn.store.entities(&[person]).await?.pop();
    let text = |key: &str| found.as_ref()?.metadata.get(key)?.as_str().map(str::to_owned);
    let zone = text(ZONE).and_then(|name| Zone::named(&name));
    let asked = found.as_ref().and_then(|found| found.metadata.get(ASKED));
    Ok(PersonZone { zone, was_asked: asked == Some(&json!(true)) })
}

/// Remembers the zone of a person.
pub(super) fn remember(person: EntityId, zone: &Zone) -> RequestedChange {
    let metadata = Map::from_iter([(ZONE.to_owned(), json!(zone.name()))]);
    RequestedChange::MergeEntityMetadata { entity: person, metadata }
}

/// Remembers that a person was asked.
pub(super) fn asked(person: EntityId) -> RequestedChange {
    let metadata = Map::from_iter([(ASKED.to_owned(), json!(true))]);
    RequestedChange::MergeEntityMetadata { entity: person, metadata }
}
