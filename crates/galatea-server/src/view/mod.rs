//! What the API answers. Times are Unix milliseconds. Every list is a type of its own, so that clients get
//! named items.

mod access;
mod chat;
mod cluster;
mod house;
mod knowledge;
mod logs;
mod places;
mod plugins;
mod queues;
mod settings;
mod system;
mod traces;
mod work;

pub(crate) use access::{
    InvitationView, LinkList, LinkView, NamedBlock, NamedBlockList, PairingList, PairingView,
};
pub(crate) use chat::{Accepted, AnswerPart, Answered, ChatRoom, ChatRoomList, OutcomeView};
pub(crate) use cluster::{
    BudgetList, BudgetView, ClusterView, FindingList, FindingView, SystemView,
};
pub(crate) use house::{
    NewLink, NewToken, Session, SessionList, SignedIn, Token, TokenList, UserList, UserView,
};
pub(crate) use knowledge::{DocumentList, DocumentView, PassageList, PassageView, UploadView};
pub(crate) use logs::{LogLineView, LogList};
pub(crate) use places::{
    MemoryList, MemoryView, PersonList, PersonView, RoomDetail, RoomList, RoomView, WorldList,
    WorldView,
};
pub(crate) use plugins::{
    GrantList, GrantView, PluginList, PluginView, ServerList, ServerToolList, ServerToolView,
    ServerView, ServiceList, ServiceView, ToolList, ToolView,
};
pub(crate) use queues::{
    CountsView, DeliveryList, DeliveryView, TurnDetail, TurnList, TurnView, VerdictView,
};
pub(crate) use settings::{
    ChangedSettingView, CharacterVersionList, CharacterVersionView, CharacterView, DifferenceList,
    DifferenceView, PreviewView, RemarkList, RemarkView, SettingList, SettingView,
};
pub(crate) use system::{
    AgentDetail, AgentList, AgentSummary, BlockList, BlockView, ChangeList, ChangeView,
    ConnectorList, ConnectorView, UsageLine, UsageList,
};

pub(crate) use traces::{DryRunView, StepBody, TraceDetail, TraceList, TraceSummary};
pub(crate) use work::{ApprovalList, ApprovalView, TaskList, TaskView};

/// A list with a cursor.
macro_rules! list {
    ($(#[$doc:meta])* $name:ident of $item:ty) => {
        $(#[$doc])*
        #[derive(Debug, Clone, serde::Serialize, utoipa::ToSchema)]
        pub(crate) struct $name {
            /// The rows.
            pub(crate) items: Vec<$item>,
            /// Cursor of the next page; none at the end. A page may have few rows and still have a next one.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub(crate) next: Option<String>,
        }
    };
}
pub(crate) use list;

/// The spelling of a value in JSON, such as `snake_case` of a unit variant.
fn word(value: &impl serde::Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(text)) => text,
        _ => String::new(),
    }
}
