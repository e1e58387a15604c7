//! Documents and their pieces as memories. Ids follow from what they stand for, so that work that
//! is done twice is stored once.

use galatea_core::{
    AgentId, Content, EntityId, Memory, MemoryId, MemoryKind, RoomId, Timestamp, WorldId,
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use std::collections::HashMap;
use uuid::Uuid;

use crate::{
    chunk::{Chunk, PATH, hash},
    problem::Problem,
    source::Origin,
};

/// Key of a document's record in its content.
const RECORD: &str = "knowledge";

/// Version of reading and cutting. A document of another reading is read again, and keeps the
/// pieces that stay the same. Raise it when stored pieces are wrong: the others are embedded again.
pub(crate) const READING: u32 = 2;

/// The agent under which shared documents are stored. Every agent of the database searches it; an
/// agent changes only those documents that it brought itself.
pub fn shared_agent() -> AgentId {
    AgentId(Uuid::new_v5(&Uuid::NAMESPACE_OID, b"galatea:shared-knowledge"))
}

/// Record of a document. It is replaced in one commit at a time, and names every piece before
/// the piece is stored and until after it is deleted: whatever a crash leaves is found here.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Record {
    /// Its title.
    pub title: String,
    /// Path or address, as it identifies the document.
    pub key: String,
    /// Origin of its source.
    pub origin: Origin,
    /// SHA-256 of its bytes and its name; empty before it was read, and while its pieces change.
    pub hash: String,
    /// Its bytes.
    pub size: u64,
    /// The [`READING`] that made its pieces; 0 of versions that did not note it.
    pub reading: u32,
    /// Time at which the file was changed last, or the address was read.
    pub modified: i64,
    /// Its pieces, in reading order.
    pub fragments: Vec<MemoryId>,
    /// Pieces that are being stored.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pending: Vec<MemoryId>,
    /// Pieces that are being deleted.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub stale: Vec<MemoryId>,
    /// Another document of the agent with the same bytes and name, which has the pieces.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub same_as: Option<MemoryId>,
    /// Why it cannot be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<Problem>,
}

impl Record {
    /// True if its pieces are those of this version, and none is on the way.
    pub(crate) fn is_complete(&self) -> bool {
        self.pending.is_empty() && self.stale.is_empty() && self.reading == READING
    }
}

/// A stored document.
#[derive(Debug, Clone, PartialEq)]
pub struct Stored {
    /// Its id.
    pub id: MemoryId,
    /// The agent it is stored under.
    pub under: AgentId,
    /// Owner of the document.
    pub owner: AgentId,
    /// Its record.
    pub record: Record,
}

impl Stored {
    /// Reads a memory of kind Documents. `None` for one that is not ours.
    pub fn read(memory: &Memory) -> Option<Self> {
        let record = serde_json::from_value(memory.content.extra.get(RECORD)?.clone()).ok()?;
        let owner = memory.metadata.get("ownerId").and_then(Value::as_str)?.parse().ok()?;
        Some(Self { id: memory.id, under: memory.agent_id, owner, record })
    }

    /// Other agents find it.
    pub fn is_shared(&self) -> bool {
        self.under == shared_agent()
    }

    /// Every piece that may be stored.
    pub(crate) fn pieces(&self) -> Vec<MemoryId> {
        let Record { fragments, pending, stale, .. } = &self.record;
        let mut all: Vec<MemoryId> =
            fragments.iter().chain(pending).chain(stale).copied().collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    /// True if it is a copy of a document that is gone or has another text.
    pub(crate) fn lost_its_original(&self, known: &HashMap<MemoryId, Self>) -> bool {
        self.record.same_as.is_some_and(|original| {
            known.get(&original).is_none_or(|original| original.record.hash != self.record.hash)
        })
    }

    /// The document as a memory.
    pub(crate) fn memory(&self, now: Timestamp) -> Memory {
        let metadata = json!({
            "type": "document",
            "documentId": self.id,
            "ownerId": self.owner,
            "source": self.record.key,
            "shared": self.is_shared(),
        });
        Memory {
            content: self.content(),
            ..row(self.id, MemoryKind::Documents, self.under, metadata, now)
        }
    }

    /// The document's content, with its record.
    pub(crate) fn content(&self) -> Content {
        let mut content = Content::text(self.record.title.clone());
        content.source = Some("knowledge".to_owned());
        if let Ok(record) = serde_json::to_value(&self.record) {
            content.extra.insert(RECORD.to_owned(), record);
        }
        content
    }
}

/// The id of a document: the same for the same owner and key, whenever it is read.
pub(crate) fn document_id(under: AgentId, owner: AgentId, key: &str) -> MemoryId {
    MemoryId(Uuid::new_v5(&under.0, format!("document:{owner}:{key}").as_bytes()))
}

/// The pieces of a document as memories, in reading order. A piece's id follows from its document
/// and its text, so an unchanged piece keeps its id, and with it its embedding.
pub(crate) fn fragments(document: &Stored, chunks: &[Chunk], now: Timestamp) -> Vec<Memory> {
    let mut seen: HashMap<String, usize> = HashMap::new();
    let mut rows = Vec::with_capacity(chunks.len());
    for (position, chunk) in chunks.iter().enumerate() {
        let mut path = vec![document.record.title.as_str()];
        path.extend(
            chunk.heading.iter().map(String::as_str).filter(|h| *h != document.record.title),
        );
        let head = path.join(PATH);
        let text = format!("{head}\n\n{}", chunk.text);
        let digest = hash(&[text.as_bytes()]);
        let nth = seen.entry(digest.clone()).or_default();
        *nth += 1;
        let name = format!("fragment:{digest}:{nth}");
        let id = MemoryId(Uuid::new_v5(&document.id.0, name.as_bytes()));
        let metadata = json!({
            "type": "fragment",
            "documentId": document.id,
            "ownerId": document.owner,
            "position": position,
            "title": document.record.title,
            "heading": chunk.heading,
            "page": chunk.page,
            "hash": chunk.hash,
            "source": document.record.key,
            "bodyAt": head.len() + 2,
        });
        let mut content = Content::text(text);
        content.source = Some("knowledge".to_owned());
        rows.push(Memory {
            content,
            ..row(id, MemoryKind::Fragments, document.under, metadata, now)
        });
    }
    rows
}

fn row(id: MemoryId, kind: MemoryKind, agent: AgentId, metadata: Value, now: Timestamp) -> Memory {
    let metadata = match metadata {
        Value::Object(metadata) => metadata,
        _ => Map::new(),
    };
    Memory {
        id,
        kind,
        agent_id: agent,
        entity_id: EntityId(agent.0),
        room_id: RoomId(agent.0),
        world_id: Some(WorldId(agent.0)),
        content: Content::default(),
        metadata,
        created_at: now,
    }
}

/// A piece as it is shown.
#[derive(Debug, Clone, PartialEq)]
pub struct Piece {
    /// Its id.
    pub id: MemoryId,
    /// Its document.
    pub document: MemoryId,
    /// The document's title.
    pub title: String,
    /// The headings it stands under.
    pub heading: Vec<String>,
    /// The page it begins on.
    pub page: Option<u32>,
    /// Path or address of the document.
    pub source: String,
    /// Its text, without title and headings.
    pub text: String,
    /// Equal pieces have equal hashes.
    pub hash: String,
}

impl Piece {
    /// Reads a memory of kind Fragments. `None` for one that is not ours.
    pub fn read(memory: &Memory) -> Option<Self> {
        let text = |key: &str| memory.metadata.get(key).and_then(Value::as_str);
        let body = memory.metadata.get("bodyAt").and_then(Value::as_u64).unwrap_or(0);
        let body = usize::try_from(body).ok()?;
        let heading = memory.metadata.get("heading").and_then(Value::as_array);
        Some(Self {
            id: memory.id,
            document: text("documentId")?.parse().ok()?,
            title: text("title")?.to_owned(),
            heading: heading
                .into_iter()
                .flatten()
                .filter_map(|heading| heading.as_str().map(str::to_owned))
                .collect(),
            page: memory
                .metadata
                .get("page")
                .and_then(Value::as_u64)
                .and_then(|page| u32::try_from(page).ok()),
            source: text("source").unwrap_or_default().to_owned(),
            text: memory.content.text.get(body..)?.to_owned(),
            hash: text("hash").unwrap_or_default().to_owned(),
        })
    }

    /// Place, for people: `Title › Heading, page 3`.
    pub fn place(&self) -> String {
        let mut place = self.title.clone();
        for heading in self.heading.iter().filter(|heading| **heading != self.title) {
            place.push_str(PATH);
            place.push_str(heading);
        }
        if let Some(page) = self.page {
            place.push_str(&format!(", page {page}"));
        }
        place
    }

    /// The address of its document, if it has one that readers can open.
    pub fn url(&self) -> Option<&str> {
        Some(self.source.as_str()).filter(|source| source.starts_with("http"))
    }
}
