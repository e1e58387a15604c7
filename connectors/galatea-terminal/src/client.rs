//! The client side of the protocol, for `galatea chat` and tests.

use galatea_core::{AgentId, MemoryId, Result};
use std::{collections::HashSet, path::Path};
use tokio::{
    io::BufReader,
    net::{UnixStream, unix::OwnedReadHalf},
    sync::mpsc,
    task::JoinHandle,
};

use crate::{
    decode::check_name,
    encode::printable,
    error,
    frame::{self, FromClient, Lines, Message, ToClient, VERSION},
};

/// Most lines queued for writing. A person types more slowly than a socket accepts data.
const QUEUE: usize = 64;

/// A connection to one agent under one client name.
pub struct TerminalClient {
    lines: Lines<BufReader<OwnedReadHalf>>,
    out: mpsc::Sender<FromClient>,
    writer: JoinHandle<()>,
    agent: String,
    agent_id: AgentId,
    shown: HashSet<String>,
}

/// Frame that a client receives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Heard {
    /// A `say` is stored durably.
    Received {
        /// The `say`'s id.
        id: String,
        /// The memory it became.
        memory: MemoryId,
    },
    /// An answer is being prepared.
    Typing,
    /// A message of the agent. [`TerminalClient::next`] returns each key until it is confirmed, and
    /// not after that.
    Message(Message),
    /// The agent's side refused a line of this client.
    Refused {
        /// Stable code.
        code: String,
        /// The event.
        message: String,
        /// The next action.
        fix: Option<String>,
        /// The `say` it is about.
        id: Option<String>,
    },
}

impl TerminalClient {
    /// Connects to the agent's socket and exchanges hellos.
    ///
    /// # Errors
    /// `Unavailable` (`GAL-TERM-CONNECT`) when no process listens on the socket, `Invalid` for a
    /// bad name, `Unsupported` for another protocol version.
    pub async fn connect(socket: &Path, name: &str) -> Result<Self> {
        check_name(name)?;
        let stream =
            UnixStream::connect(socket).await.map_err(|e| error::not_running(socket, e))?;
        let (read, mut write) = stream.into_split();
        frame::write(&mut write, &FromClient::Hello { v: VERSION, name: name.to_owned() }).await?;
        let mut lines = Lines::new(BufReader::new(read));
        let (agent, agent_id) =
            match lines.next().await?.map(|line| frame::parse(&line)).transpose()? {
                Some(ToClient::Hello { v: VERSION, agent, agent_id }) => {
                    (printable(&agent), agent_id)
                }
                Some(ToClient::Hello { v, .. }) => return Err(error::wrong_version(VERSION, v)),
                Some(ToClient::Error { code, message, fix, .. }) => {
                    return Err(error::received(&code, message, fix));
                }
                _ => return Err(error::expected_hello()),
            };
        let (out, mut queued) = mpsc::channel(QUEUE);
        let writer = tokio::spawn(async move {
            while let Some(line) = queued.recv().await {
                if frame::write(&mut write, &line).await.is_err() {
                    break;
                }
            }
        });
        Ok(Self { lines, out, writer, agent, agent_id, shown: HashSet::new() })
    }

    /// The agent's name.
    pub fn agent(&self) -> &str {
        &self.agent
    }

    /// The agent's id.
    pub fn agent_id(&self) -> AgentId {
        self.agent_id
    }

    /// Sends a `say` under a fresh id and returns that id, which [`Heard::Received`] names later.
    ///
    /// # Errors
    /// `Unavailable` when the connection is gone.
    pub async fn say(&self, text: &str) -> Result<String> {
        let id = MemoryId::fresh().to_string();
        self.say_as(&id, text).await?;
        Ok(id)
    }

    /// Sends a `say` under an id chosen by the caller. After a broken connection it can be repeated
    /// under the same id, and is stored once.
    ///
    /// # Errors
    /// `Unavailable` when the connection is gone.
    pub async fn say_as(&self, id: &str, text: &str) -> Result<()> {
        self.put(FromClient::Say { id: id.to_owned(), text: text.to_owned() }).await
    }

    /// The next frame from the agent's side; `None` when it closed the connection. Cancel safe. The
    /// caller confirms new messages with [`TerminalClient::confirm`]; this method confirms repeated
    /// ones itself.
    ///
    /// # Errors
    /// `Unavailable` when the connection broke, `Invalid` for a malformed frame.
    pub async fn next(&mut self) -> Result<Option<Heard>> {
        while let Some(line) = self.lines.next().await? {
            match frame::parse(&line)? {
                ToClient::Message(message) if self.shown.contains(&message.key) => {
                    self.confirm(&message).await?
                }
                ToClient::Message(mut message) => {
                    message.part.text = printable(&message.part.text);
                    message.part.label = message.part.label.map(|label| printable(&label));
                    return Ok(Some(Heard::Message(message)));
                }
                ToClient::Received { id, memory } => {
                    return Ok(Some(Heard::Received { id, memory }));
                }
                ToClient::Typing => return Ok(Some(Heard::Typing)),
                ToClient::Error { code, message, fix, id } => {
                    let clean = |text: String| printable(&text);
                    return Ok(Some(Heard::Refused {
                        code: clean(code),
                        message: clean(message),
                        fix: fix.map(clean),
                        id,
                    }));
                }
                ToClient::Hello { .. } => {}
            }
        }
        Ok(None)
    }

    /// Confirms that a message was shown, so that it is not sent again.
    ///
    /// # Errors
    /// `Unavailable` when the connection is gone.
    pub async fn confirm(&mut self, message: &Message) -> Result<()> {
        self.shown.insert(message.key.clone());
        self.put(FromClient::Ack { key: message.key.clone() }).await
    }

    /// Writes the queued lines and closes the connection.
    pub async fn close(self) {
        drop(self.out);
        let _ = self.writer.await;
    }

    async fn put(&self, line: FromClient) -> Result<()> {
        self.out.send(line).await.map_err(|_| error::broken(std::io::ErrorKind::BrokenPipe.into()))
    }
}
