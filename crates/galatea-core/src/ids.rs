//! Typed ids and elizaOS-compatible UUID derivation.
//!
//! elizaOS derives every id from platform ids so that several agents can share one database:
//! `stringToUuid` hashes text, `createUniqueUuid` ("swizzling") hashes `base:agentId`.

use serde::{Deserialize, Serialize};
use sha1::{Digest, Sha1};
use std::{fmt, str::FromStr, sync::Arc};
use uuid::Uuid;

use crate::error::{Error, Result};

macro_rules! typed_id {
    ($($(#[$doc:meta])* $name:ident;)+) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema)]
        #[serde(transparent)]
        pub struct $name(pub Uuid);

        impl $name {
            /// A fresh, time-ordered id (UUID version 7).
            pub fn fresh() -> Self {
                Self(Uuid::now_v7())
            }
        }
        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}({})", stringify!($name), self.0)
            }
        }
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
        impl From<Uuid> for $name {
            fn from(id: Uuid) -> Self {
                Self(id)
            }
        }
        impl From<$name> for Uuid {
            fn from(id: $name) -> Self {
                id.0
            }
        }
        impl FromStr for $name {
            type Err = Error;
            fn from_str(text: &str) -> Result<Self> {
                Uuid::try_parse(text).map(Self).map_err(|_| Error::invalid(concat!("not a ", stringify!($name))).with("value", text))
            }
        }
    )+};
}

typed_id! {
    /// Id of an agent, derived from its character; equal in every process.
    AgentId;
    /// A process among those that share a store.
    MemberId;
    /// A World (server, workspace, chat container), per agent.
    WorldId;
    /// A Room (channel, DM, thread, topic), per agent.
    RoomId;
    /// An Entity (anyone who speaks), per agent.
    EntityId;
    /// A Memory (stored message, fact or document).
    MemoryId;
    /// A Turn: the handling of one message, or of several declared as merged.
    TurnId;
    /// An outbox row: a part of an answer.
    DeliveryId;
    /// A Relationship between two entities.
    RelationshipId;
    /// Id of a [`Task`](crate::Task).
    TaskId;
    /// A user of the control plane.
    UserId;
    /// What signs a user in: a session, a token or a link.
    CredentialId;
}

/// elizaOS `stringToUuid`, bit for bit.
///
/// Text already shaped like a UUID (8-4-4-4-12 hex digits, any version) is returned unchanged, case
/// kept. Anything else is percent-encoded as JavaScript's `encodeURIComponent`, hashed with SHA-1,
/// cut to 16 bytes, given variant bits and version nibble 0.
pub fn string_to_uuid(input: &str) -> String {
    if is_uuid_shaped(input) { input.to_owned() } else { derive(input).to_string() }
}

/// [`string_to_uuid`] for UTF-16 text as JavaScript holds it.
///
/// # Errors
/// `Invalid` for a lone surrogate, where `encodeURIComponent` throws (ECMA-262 §19.2.6.5).
pub fn utf16_to_uuid(input: &[u16]) -> Result<String> {
    let text = String::from_utf16(input)
        .map_err(|_| Error::invalid("text holds half of a surrogate pair, so it has no id"))?;
    Ok(string_to_uuid(&text))
}

/// [`string_to_uuid`] as a value.
pub fn uuid_of(input: &str) -> Uuid {
    if is_uuid_shaped(input)
        && let Ok(id) = Uuid::try_parse(input)
    {
        return id;
    }
    derive(input)
}

fn derive(input: &str) -> Uuid {
    let digest = Sha1::digest(encode_uri_component(input).as_bytes());
    let mut bytes = [0_u8; 16];
    bytes.copy_from_slice(&digest[..16]);
    bytes[8] = (bytes[8] & 0x3f) | 0x80;
    bytes[6] &= 0x0f;
    Uuid::from_bytes(bytes)
}

fn is_uuid_shaped(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.len() == 36
        && bytes.iter().enumerate().all(|(i, b)| match i {
            8 | 13 | 18 | 23 => *b == b'-',
            _ => b.is_ascii_hexdigit(),
        })
}

fn encode_uri_component(text: &str) -> String {
    const HEX: &[u8; 16] = b"0123456789ABCDEF";
    let mut out = String::with_capacity(text.len() + 8);
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z'
            | b'a'..=b'z'
            | b'0'..=b'9'
            | b'-'
            | b'_'
            | b'.'
            | b'!'
            | b'~'
            | b'*'
            | b'\''
            | b'('
            | b')' => out.push(char::from(byte)),
            _ => {
                out.push('%');
                out.push(char::from(HEX[usize::from(byte >> 4)]));
                out.push(char::from(HEX[usize::from(byte & 15)]));
            }
        }
    }
    out
}

/// Identity of an agent for id derivation: its id and the exact text it was written as (elizaOS
/// hashes the text, so case matters).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentIdentity {
    id: AgentId,
    text: Arc<str>,
}

impl AgentIdentity {
    /// elizaOS rule: `character.id` if set, else `stringToUuid(character.name)`.
    pub fn new(explicit: Option<&str>, name: &str) -> Self {
        let text = string_to_uuid(explicit.unwrap_or(name));
        Self { id: AgentId(uuid_of(&text)), text: text.into() }
    }

    /// The agent's own id.
    pub fn id(&self) -> AgentId {
        self.id
    }

    /// Like [`Self::swizzle`], for what only one of several accounts on a platform sees under this
    /// id: its Rooms and messages. The account that came first has the plain ids.
    pub fn swizzle_for(&self, account: &Account, base: &str) -> Uuid {
        self.swizzle(&format!("{account}/{base}"))
    }

    /// elizaOS `createUniqueUuid`: the base itself when it is the agent's id, else
    /// `stringToUuid("base:agentId")`.
    pub fn swizzle(&self, base: &str) -> Uuid {
        if base == &*self.text {
            return self.id.0;
        }
        let mut text = String::with_capacity(base.len() + 1 + self.text.len());
        text.push_str(base);
        text.push(':');
        text.push_str(&self.text);
        uuid_of(&text)
    }

    /// The room this agent talks to itself in; World, Room and Entity share the agent's id.
    pub fn entity(&self) -> EntityId {
        EntityId(self.id.0)
    }
}

/// An opaque platform id (chat, message, person). Only the connector that made it may parse it.
#[derive(
    Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(transparent)]
pub struct RemoteId(pub String);

impl RemoteId {
    /// Wraps platform text or numbers.
    pub fn new(id: impl fmt::Display) -> Self {
        Self(id.to_string())
    }

    /// The text as the connector wrote it.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for RemoteId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A platform's name, such as `telegram`: the `source` of elizaOS.
#[derive(
    Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(transparent)]
pub struct Source(std::borrow::Cow<'static, str>);

impl Source {
    /// A source known at compile time.
    pub const fn new(name: &'static str) -> Self {
        Self(std::borrow::Cow::Borrowed(name))
    }

    /// A source read from a store or a request.
    pub fn from_name(name: impl Into<String>) -> Self {
        Self(std::borrow::Cow::Owned(name.into()))
    }

    /// The name as it was given.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A login on a platform, such as a bot's numeric id; stable across restarts, never a secret.
#[derive(
    Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(transparent)]
pub struct Account(pub String);

impl fmt::Display for Account {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Vectors produced by elizaOS core 1.7.2 on Node.
    const PLAIN: &[(&str, &str)] = &[
        ("test", "a94a8fe5-ccb1-0ba6-9c4c-0873d391e987"),
        ("Eliza", "b850bc30-45f8-0041-a00a-83df46d8555d"),
        ("", "da39a3ee-5e6b-0b0d-b255-bfef95601890"),
        ("42", "92cfceb3-9d57-0914-ad8b-14d0e37643de"),
        ("héllo wörld", "93824064-00f3-05ac-9053-09726326c166"),
        ("it's (a) test!*~", "94dfc2ce-9529-05ad-a160-f01993ebbe88"),
        ("\u{1F916}", "534fb207-f1e7-085b-93f9-adb9f1cee905"),
    ];

    const SWIZZLED: &[(&str, &str)] = &[
        ("123456789012345678", "270b9075-fe57-01b4-838a-eadec6854efb"),
        ("987654321098765432", "eebe9cac-2d38-0aa5-b0c5-0b27dd97e45a"),
        ("-1001234567890", "748989b6-305b-04ae-80b5-a70d3851cafa"),
        ("-1001234567890-42", "5361d7bc-9206-07aa-ad53-421764a1e351"),
        ("@user", "ee5d3116-a9de-04c6-ab29-b36a25beeb49"),
        ("", "af8538cd-76ed-0482-a76f-612fd3bfe66a"),
        ("00000000-0000-0000-0000-000000000000", "740de269-82a9-0d4f-9889-c87fb8884f7f"),
    ];

    #[test]
    fn string_to_uuid_matches_elizaos() {
        for (input, expect) in PLAIN {
            assert_eq!(string_to_uuid(input), *expect, "{input:?}");
            assert_eq!(uuid_of(input).to_string(), *expect, "{input:?}");
        }
    }

    #[test]
    fn swizzle_matches_elizaos() {
        let agent = AgentIdentity::new(None, "Eliza");
        assert_eq!(agent.id().to_string(), "b850bc30-45f8-0041-a00a-83df46d8555d");
        for (base, expect) in SWIZZLED {
            assert_eq!(agent.swizzle(base).to_string(), *expect, "{base:?}");
        }
    }

    #[test]
    fn a_base_equal_to_the_agent_is_the_agent() {
        let agent = AgentIdentity::new(None, "Eliza");
        assert_eq!(agent.swizzle("b850bc30-45f8-0041-a00a-83df46d8555d"), agent.id().0);
    }

    #[test]
    fn uuids_pass_through_with_their_case() {
        let upper = "A94A8FE5-CCB1-0BA6-9C4C-0873D391E987";
        assert_eq!(string_to_uuid(upper), upper);
        let explicit = AgentIdentity::new(Some(upper), "x");
        let lower = AgentIdentity::new(Some(&upper.to_lowercase()), "x");
        assert_eq!(explicit.id(), lower.id());
        assert_ne!(explicit.swizzle("1"), lower.swizzle("1"), "elizaOS hashes the text as written");
    }

    #[test]
    fn lone_surrogates_are_refused() {
        assert_eq!(utf16_to_uuid(&[0xd800]).unwrap_err().kind(), crate::ErrorKind::Invalid);
        assert_eq!(utf16_to_uuid(&[0xd83e, 0xdd16]).unwrap(), PLAIN[6].1);
    }

    proptest! {
        #[test]
        fn every_text_has_one_well_formed_id(text in ".*") {
            let id = string_to_uuid(&text);
            prop_assert!(is_uuid_shaped(&id));
            prop_assert_eq!(&id, &string_to_uuid(&text));
            prop_assert_eq!(Uuid::try_parse(&id).unwrap(), uuid_of(&text));
        }
    }
}
