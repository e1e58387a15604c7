//! The connection. What it brings exists nowhere else, so it is held until it is stored.

use galatea_core::{
    Batch, Error, ErrorKind, Gap, Gateway, Health, Incoming, Result, Retry, SendPermit, Timestamp,
};
use std::time::Duration;
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    net::{TcpStream, tcp::OwnedReadHalf},
};
use tokio_util::sync::CancellationToken;

use super::{
    connector::Wren,
    decode::{self, Said},
};

/// Key of our state: when the last message was stored. The platform has no cursor, but the time
/// tells what may be missing.
const SEEN: &str = "seen";
/// The server pings every 30 s; a connection that is silent for three of them is dead, whatever TCP
/// says.
const SILENCE: Duration = Duration::from_secs(90);
/// Longest line, its end included.
const MAX_LINE: u64 = 512;
/// Between two tries to store what was read.
const AGAIN: Duration = Duration::from_secs(1);

type Lines = BufReader<OwnedReadHalf>;

/// Connects and logs in.
///
/// # Errors
/// `Unavailable` when the server does not answer, `Unauthorized` when the login is refused, which
/// only a person can mend.
pub(crate) async fn connect(wren: &Wren) -> Result<(Lines, tokio::net::tcp::OwnedWriteHalf)> {
    let away = |e: std::io::Error| {
        Error::new(ErrorKind::Unavailable, "the server cannot be reached").with("cause", e)
    };
    let (read, mut write) = TcpStream::connect(wren.server).await.map_err(away)?.into_split();
    write
        .write_all(format!("login {} {}\n", wren.name, wren.secret).as_bytes())
        .await
        .map_err(away)?;
    let mut lines = BufReader::new(read);
    let answer = next(&mut lines).await?;
    match decode::line(&answer) {
        Said::Hello => Ok((lines, write)),
        Said::No(reason) => Err(Error::new(ErrorKind::Unauthorized, "the login is refused")
            .with("cause", reason)
            .with_retry(Retry::Never)
            .with_fix("set another secret")),
        _ => Err(Error::new(ErrorKind::Unavailable, "what answers is not a Wren server")),
    }
}

/// The next line, or why there is none: a wait without a deadline would be deaf for ever.
async fn next(lines: &mut Lines) -> Result<String> {
    let mut line = Vec::new();
    let read =
        tokio::time::timeout(SILENCE, lines.take(MAX_LINE).read_until(b'\n', &mut line)).await;
    let broken = |message: &'static str| Error::new(ErrorKind::Unavailable, message);
    match read {
        Err(_) => Err(broken("the server is silent")),
        Ok(Err(e)) => Err(broken("the connection broke").with("cause", e)),
        Ok(Ok(_)) if line.last() != Some(&b'\n') => Err(broken("the server ended the connection")),
        Ok(Ok(_)) => Ok(String::from_utf8_lossy(&line).trim_end().to_owned()),
    }
}

/// Receives until stopped.
///
/// # Errors
/// The first failure; the runtime connects again, with growing waits.
pub(crate) async fn run(wren: &Wren, gateway: &Gateway, stop: CancellationToken) -> Result<()> {
    let Some(connected) = stop.run_until_cancelled(connect(wren)).await.transpose()? else {
        return Ok(());
    };
    let (mut lines, way_out) = connected;
    wren.line.take_up(way_out).await;
    let began = gateway.clock().now();
    missing(gateway, began).await?;
    gateway.report(Health::Up { detail: format!("{}, connected", wren.name) });
    let mut count = 0;
    loop {
        let Some(line) = stop.run_until_cancelled(next(&mut lines)).await.transpose()? else {
            return Ok(());
        };
        match decode::line(&line) {
            Said::Ping(word) => {
                wren.line.write(&format!("pong {word}"), &SendPermit::always()).await?
            }
            Said::Message { room, person, text } => {
                count += 1;
                let now = gateway.clock().now();
                let event = decode::incoming(
                    decode::made(began, count),
                    now,
                    &wren.name,
                    (room, person, text),
                );
                if store(gateway, event, now, &stop).await.is_none() {
                    return Ok(());
                }
            }
            Said::Hello | Said::No(_) | Said::Other => {}
        }
    }
}

/// Reports the gap that no read-back can fill: everything between the last message stored and this
/// connection.
async fn missing(gateway: &Gateway, now: Timestamp) -> Result<()> {
    let Some(seen) = gateway.state(SEEN).await? else { return Ok(()) };
    let from = seen.as_i64().map(Timestamp);
    gateway
        .note_gap(Gap {
            from,
            to: Some(now),
            ..Gap::new(
                now,
                "the platform keeps no history of what was said while the bot was not connected",
            )
        })
        .await
}

/// Stores a message, however often that takes: there is no second chance to read it. Meanwhile the
/// server is not read, so TCP holds it back. None when the connector is to stop first.
async fn store(
    gateway: &Gateway,
    event: Incoming,
    now: Timestamp,
    stop: &CancellationToken,
) -> Option<()> {
    let state = vec![(SEEN.to_owned(), now.0.into())];
    let batch = Batch { events: vec![event], state, ..Batch::default() };
    while let Err(error) = gateway.receive(batch.clone()).await {
        tracing::warn!(error = %error.report(), "a message could not be stored; trying again");
        stop.run_until_cancelled(gateway.clock().sleep(AGAIN)).await?;
    }
    Some(())
}
