//! What the API answers. Times are Unix milliseconds. Every list is a type of its own, so that clients get
//! named items.

mod house;
mod logs;
mod places;
mod queues;
mod system;
mod traces;

pub(crate) use house::{
    NewLink, NewToken, Session, SessionList, SignedIn, Token, TokenList, UserList, UserView,
};
pub(crate) use logs::{LogLineView, LogList};
pub(crate) use places::{
    MemoryList, MemoryView, PersonList, PersonView, RoomDetail, RoomList, RoomView, WorldList,
    WorldView,
};
pub(crate) use queues::{
    CountsView, DeliveryList, DeliveryView, TurnDetail, TurnList, TurnView, VerdictView,
};
pub(crate) use system::{
    AgentDetail, AgentList, AgentSummary, BlockList, BlockView, ChangeList, ChangeView,
    ConnectorList, ConnectorView, UsageLine, UsageList,
};

pub(crate) use traces::{DryRunView, StepBody, TraceDetail, TraceList, TraceSummary};

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
