//! A channel, direct message, thread or topic.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::ids::{Account, AgentId, RemoteId, RoomId, Source, WorldId};

/// A channel, direct message, thread or topic as one agent sees it. Turns of one Room run in order.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Room {
    /// Derived from the platform's id.
    pub id: RoomId,
    /// The agent it belongs to.
    pub agent_id: AgentId,
    /// The World it is in.
    pub world_id: WorldId,
    /// The Room it is a thread or topic of.
    pub parent_id: Option<RoomId>,
    /// The platform that the Room is on.
    pub source: Source,
    /// The login through which it is reached.
    pub account: Account,
    /// The platform's id of it (elizaOS `channelId`).
    pub remote: RemoteId,
    /// Decides which policy of the gate holds: direct messages or groups.
    #[serde(rename = "type")]
    pub kind: ChannelType,
    /// The name that people see on the platform.
    pub name: String,
    /// Free keys, such as `threadId`, `isForumTopic`, `parentChatId`.
    pub metadata: Map<String, Value>,
}

/// Key of a Room's metadata, set by connectors: `true` if every member of its World can read it.
/// What people say there may be repeated in the other Rooms of the World.
pub const OPEN: &str = "openToWorld";
/// Key of [`Room::metadata`]: the name that the account has in this Room's place, such as the nickname of a
/// bot in a server; empty when it has none any more.
pub const OWN_NAME: &str = "ownName";

/// Key of a Room's metadata, set by connectors: the topic that people gave it.
pub const TOPIC: &str = "topic";
/// Key of a Room's metadata, set by connectors: the platform's id of the message that a thread or
/// forum post began with. The message is stored like any other, if it is known.
pub const STARTED_BY: &str = "startedBy";

impl Room {
    /// True if every member of the World can read the Room, as far as the platform says so. Posts
    /// are public.
    pub fn is_open(&self) -> bool {
        self.kind == ChannelType::Feed || self.metadata.get(OPEN) == Some(&Value::Bool(true))
    }
}

/// Sort of a Room (elizaOS `ChannelType`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum ChannelType {
    /// The agent's own room.
    #[serde(rename = "SELF")]
    OneSelf,
    /// A direct chat of the agent with one person.
    Dm,
    /// A group or channel with several speakers.
    Group,
    /// A call of two.
    VoiceDm,
    /// A call of several.
    VoiceGroup,
    /// Posts that anyone can read, such as a timeline.
    Feed,
    /// A thread or topic.
    Thread,
    /// The container itself, for what concerns all its Rooms.
    World,
    /// A forum, which holds threads only.
    Forum,
    /// Programmatic (deprecated in elizaOS, still sent by clients).
    Api,
}

impl ChannelType {
    /// True where every message is meant for the agent: DM, VOICE_DM, SELF, API.
    pub fn is_direct(self) -> bool {
        matches!(self, Self::Dm | Self::VoiceDm | Self::OneSelf | Self::Api)
    }

    /// The spelling of elizaOS, as stored.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::OneSelf => "SELF",
            Self::Dm => "DM",
            Self::Group => "GROUP",
            Self::VoiceDm => "VOICE_DM",
            Self::VoiceGroup => "VOICE_GROUP",
            Self::Feed => "FEED",
            Self::Thread => "THREAD",
            Self::World => "WORLD",
            Self::Forum => "FORUM",
            Self::Api => "API",
        }
    }
}

impl std::str::FromStr for ChannelType {
    type Err = crate::Error;
    fn from_str(text: &str) -> crate::Result<Self> {
        Ok(match text {
            "SELF" => Self::OneSelf,
            "DM" => Self::Dm,
            "GROUP" => Self::Group,
            "VOICE_DM" => Self::VoiceDm,
            "VOICE_GROUP" => Self::VoiceGroup,
            "FEED" => Self::Feed,
            "THREAD" => Self::Thread,
            "WORLD" => Self::World,
            "FORUM" => Self::Forum,
            "API" => Self::Api,
            other => return Err(crate::Error::invalid("unknown channel type").with("value", other)),
        })
    }
}
