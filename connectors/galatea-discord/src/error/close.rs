//! Close codes of the gateway after which only a person can help.

use galatea_core::{Error, ErrorKind};

use super::{GRANT, codes, unauthorized};

/// The error for a gateway close code after which reconnecting is useless (Discord, "Gateway Close
/// Event Codes"). `None` if the shard may reconnect.
pub(crate) fn fatal_close(code: u16) -> Option<Error> {
    let gateway = |message: &'static str| {
        Error::new(ErrorKind::Unsupported, message)
            .with_code(codes::GATEWAY)
            .with("cause", closed(code))
    };
    Some(match code {
        4004 => unauthorized().with("cause", closed(code)),
        4014 => Error::new(
            ErrorKind::Forbidden,
            "Discord does not grant an intent this connector asks for",
        )
        .with_code(codes::INTENTS)
        .with("cause", closed(code))
        .with_fix(GRANT),
        4010 => gateway("Discord does not know this shard")
            .with_fix("restart; report it if it comes again"),
        4011 => gateway("the bot is in too many servers for this number of shards")
            .with_fix("restart: the number of shards is asked for at start"),
        4012 => gateway("Discord does not speak this version of the gateway any more")
            .with_fix("install a newer Galatea"),
        4013 => gateway("Discord does not know an intent this connector asks for")
            .with_fix("install a newer Galatea"),
        _ => return None,
    })
}

fn closed(code: u16) -> String {
    format!("the gateway closed the connection with {code}")
}
