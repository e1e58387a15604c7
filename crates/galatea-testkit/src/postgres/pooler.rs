//! A connection pooler in transaction mode, as PgBouncer: all clients share one session, one
//! transaction at a time.

use std::sync::Arc;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::Mutex,
};

use super::Database;

/// The code of a request for TLS, in place of a version
/// (<https://www.postgresql.org/docs/current/protocol-message-formats.html>, `SSLRequest`).
const TLS: u32 = 80_877_103;

/// The shared session, and the server's messages from its login.
struct Session {
    server: TcpStream,
    /// Messages from `AuthenticationOk` to `ReadyForQuery`, repeated to every later client.
    welcome: Vec<u8>,
}

/// Lets many clients share one session.
pub struct TransactionPooler {
    url: String,
}

impl TransactionPooler {
    /// Starts the pooler on a free port.
    pub async fn start(database: &Database) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (server, port) = (database.server().port(), listener.local_addr().unwrap().port());
        let url = database.url().replace(&format!(":{server}/"), &format!(":{port}/"));
        let session: Arc<Mutex<Option<Session>>> = Arc::default();
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let session = Arc::clone(&session);
                // A failed connection has ended; there is no one to report it to.
                tokio::spawn(async move { serve(client, server, &session).await.ok() });
            }
        });
        Self { url }
    }

    /// URL of the database through the pooler.
    pub fn url(&self) -> &str {
        &self.url
    }
}

async fn serve(
    mut client: TcpStream,
    server: u16,
    session: &Mutex<Option<Session>>,
) -> std::io::Result<()> {
    let startup = loop {
        let length = client.read_u32().await?;
        let mut body = vec![0; length as usize - 4];
        client.read_exact(&mut body).await?;
        if body[..4] != TLS.to_be_bytes() {
            break [&length.to_be_bytes(), body.as_slice()].concat();
        }
        client.write_all(b"N").await?;
    };
    {
        let mut shared = session.lock().await;
        match &*shared {
            Some(session) => client.write_all(&session.welcome).await?,
            None => *shared = Some(begin(&mut client, server, &startup).await?),
        }
    }
    loop {
        let mut asked = read(&mut client).await?;
        if asked[0] == b'X' {
            return Ok(());
        }
        // A transaction holds the session from its first message to its end.
        let mut shared = session.lock().await;
        let Session { server, .. } = shared.as_mut().unwrap();
        loop {
            let ends = matches!(asked[0], b'S' | b'Q');
            server.write_all(&asked).await?;
            if ends && answer(server, &mut client).await? {
                break;
            }
            asked = read(&mut client).await?;
        }
    }
}

/// Passes the first client's login to the server.
async fn begin(client: &mut TcpStream, server: u16, startup: &[u8]) -> std::io::Result<Session> {
    let mut server = TcpStream::connect(("127.0.0.1", server)).await?;
    server.write_all(startup).await?;
    let mut welcome = Vec::new();
    loop {
        let packet = read(&mut server).await?;
        client.write_all(&packet).await?;
        let asks = packet[0] == b'R' && !matches!(packet[5..9], [0, 0, 0, 0] | [0, 0, 0, 12]);
        if asks {
            let word = read(client).await?;
            server.write_all(&word).await?;
        } else if !welcome.is_empty() || packet[0] == b'R' && packet[5..9] == [0; 4] {
            welcome.extend_from_slice(&packet);
        }
        if packet[0] == b'Z' {
            return Ok(Session { server, welcome });
        }
    }
}

/// Passes on the complete answer to one request. True when no transaction is open afterwards.
async fn answer(server: &mut TcpStream, client: &mut TcpStream) -> std::io::Result<bool> {
    loop {
        let packet = read(server).await?;
        client.write_all(&packet).await?;
        if packet[0] == b'Z' {
            return Ok(packet[5] == b'I');
        }
    }
}

/// Reads one message: type, length, body.
async fn read(from: &mut TcpStream) -> std::io::Result<Vec<u8>> {
    let mut message = vec![0; 5];
    from.read_exact(&mut message).await?;
    let length = u32::from_be_bytes([message[1], message[2], message[3], message[4]]);
    message.resize(1 + length as usize, 0);
    from.read_exact(&mut message[5..]).await?;
    Ok(message)
}
