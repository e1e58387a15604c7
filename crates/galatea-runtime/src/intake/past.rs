//! Messages of the past: rows as the intake makes them, without a turn.

use galatea_core::{
    Account, Capabilities, ConnectorInfo, Incoming, Memory, ReadBack, Source, TextUnit,
    store::ConnectionChange,
};

use super::{connect, convert};
use crate::directory::Directory;

/// The login under which an imported message counts as received. Nothing is sent through it.
pub(crate) fn info(source: Source, account: Account) -> ConnectorInfo {
    let capabilities = Capabilities {
        max_text: 0,
        text_unit: TextUnit::CodePoints,
        edit: false,
        delete: false,
        react: false,
        typing: false,
        buttons: false,
        files: false,
        threads: false,
        read_back: ReadBack::None,
        public: true,
    };
    ConnectorInfo { source, account, capabilities }
}

/// New or changed place and speaker of the message, and its memory. `None` for an event
/// that is not a message.
pub(crate) fn convert(
    directory: &Directory,
    info: &ConnectorInfo,
    incoming: &Incoming,
) -> (ConnectionChange, Option<Memory>) {
    let (place, change) = connect::changes(directory, info, &incoming.connection);
    let memory = match convert::convert(directory, info, place, incoming) {
        convert::Converted::Message(entry) => Some(entry.memory),
        convert::Converted::Memory(memory) => Some(*memory),
        convert::Converted::Nothing => None,
    };
    (change, memory)
}
