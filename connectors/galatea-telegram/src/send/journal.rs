//! A small file that remembers which messages were ours, so that a read-back can conclude after a crash.
//!
//! Telegram has no idempotency key. After a killed process the outbox knows that a part may have been sent, but neither its number nor
//! the numbers of its neighbours. Every receipt is therefore appended here before it is returned: a killed process loses nothing that was
//! written, and a machine that went down is recognised by its boot id, whereupon the file proves presence only, never absence.

use galatea_core::{DeliveryId, Error, RemoteId, Result};
use std::{
    collections::{HashMap, HashSet},
    fs::{File, OpenOptions},
    io::{Read, Seek, SeekFrom, Write},
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};

use crate::decode::place::{Target, parse_message};

/// The file starts anew beyond this size; its predecessor is kept once.
const MAX_BYTES: u64 = 4 << 20;

/// Receipts on disk.
#[derive(Debug)]
pub(crate) struct Journal {
    writer: Mutex<Option<Writer>>,
    earlier: Earlier,
}

#[derive(Debug)]
struct Writer {
    path: PathBuf,
    file: File,
    size: u64,
}

/// What earlier runs wrote.
#[derive(Debug, Default)]
pub(crate) struct Earlier {
    receipts: HashMap<DeliveryId, RemoteId>,
    newest: HashMap<RemoteId, i32>,
    own: HashSet<(i64, i32)>,
    complete: bool,
}

impl Earlier {
    /// What a delivery became.
    pub(crate) fn receipt(&self, delivery: DeliveryId) -> Option<&RemoteId> {
        self.receipts.get(&delivery)
    }

    /// The newest message we posted in a room.
    pub(crate) fn newest(&self, room: &RemoteId) -> Option<i32> {
        self.newest.get(room).copied()
    }

    /// Whether this message is ours.
    pub(crate) fn is_own(&self, chat: i64, message: i32) -> bool {
        self.own.contains(&(chat, message))
    }

    /// False when lines may be missing: the machine went down, or there is no file.
    pub(crate) fn is_complete(&self) -> bool {
        self.complete
    }

    fn line(&mut self, line: &str) {
        let mut words = line.split(' ');
        let (Some(room), Some(message), Some(delivery), None) = (words.next(), words.next(), words.next(), words.next()) else { return };
        let (room, message) = (RemoteId(room.to_owned()), RemoteId(message.to_owned()));
        let (Ok(delivery), Some((Some(chat), number))) = (delivery.parse::<DeliveryId>(), parse_message(&message)) else { return };
        self.own.insert((chat, number));
        let newest = self.newest.entry(room).or_default();
        *newest = (*newest).max(number);
        self.receipts.insert(delivery, message);
    }
}

impl Journal {
    /// Opens `sent.log` in `folder`. Without a writable folder read-backs conclude within one run only.
    pub(crate) fn open(folder: &Path) -> Self {
        let path = folder.join("sent.log");
        let mut earlier = Earlier::default();
        let boot = boot_id();
        let mut existed = false;
        for file in [path.with_extension("log.1"), path.clone()] {
            let Ok(text) = read_tail(&file) else { continue };
            for line in text.lines() {
                match line.strip_prefix("boot ") {
                    Some(id) => {
                        existed = true;
                        earlier.complete = boot.as_deref() == Some(id);
                    }
                    None => earlier.line(line),
                }
            }
        }
        earlier.complete &= existed;
        let writer = Writer::open(path, boot.as_deref())
            .map_err(|e| tracing::warn!(error = %e, "sent messages cannot be noted; read-back after a crash will not conclude"))
            .ok();
        Self { writer: Mutex::new(writer), earlier }
    }

    /// What earlier runs wrote.
    pub(crate) fn earlier(&self) -> &Earlier {
        &self.earlier
    }

    /// Notes a receipt. A failure is not the delivery's: the message was sent.
    pub(crate) fn note(&self, target: Target, message: &RemoteId, delivery: DeliveryId) {
        let line = format!("{} {message} {delivery}\n", super::book::room_of(target));
        let mut writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(open) = writer.as_mut()
            && let Err(error) = open.write(&line)
        {
            tracing::warn!(error = %error, "sent messages cannot be noted any more; read-back after a crash will not conclude");
            *writer = None;
        }
    }
}

impl Writer {
    fn open(path: PathBuf, boot: Option<&str>) -> Result<Self> {
        let failed = |e: std::io::Error| Error::unexpected("cannot write the list of sent messages").with("cause", e);
        let mut options = OpenOptions::new();
        options.create(true).append(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let mut file = options.open(&path).map_err(failed)?;
        let header = format!("boot {}\n", boot.unwrap_or("unknown"));
        // A line cut off by a kill must not swallow the next one.
        file.write_all(b"\n").and_then(|()| file.write_all(header.as_bytes())).map_err(failed)?;
        let size = file.metadata().map(|m| m.len()).unwrap_or_default();
        Ok(Self { path, file, size })
    }

    fn write(&mut self, line: &str) -> Result<()> {
        if self.size > MAX_BYTES {
            std::fs::rename(&self.path, self.path.with_extension("log.1"))
                .map_err(|e| Error::unexpected("cannot start the list of sent messages anew").with("cause", e))?;
            *self = Self::open(self.path.clone(), boot_id().as_deref())?;
        }
        self.size += line.len() as u64;
        self.file.write_all(line.as_bytes()).map_err(|e| Error::unexpected("cannot write the list of sent messages").with("cause", e))
    }
}

fn read_tail(path: &Path) -> std::io::Result<String> {
    let mut file = File::open(path)?;
    let size = file.metadata()?.len();
    file.seek(SeekFrom::Start(size.saturating_sub(2 * MAX_BYTES)))?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Changes with every start of the machine (Linux, random(4)); none elsewhere.
fn boot_id() -> Option<String> {
    std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok().map(|id| id.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn receipts_survive_the_process() {
        let folder = tempfile::tempdir().unwrap();
        let (id, target) = (DeliveryId::fresh(), Target { chat: -1005, thread: Some(9) });
        let message = RemoteId("-1005:77".into());
        let journal = Journal::open(folder.path());
        assert!(!journal.earlier().is_complete(), "nothing is known before the first run");
        journal.note(target, &message, id);
        drop(journal);
        let journal = Journal::open(folder.path());
        assert_eq!(journal.earlier().receipt(id), Some(&message));
        assert_eq!(journal.earlier().newest(&RemoteId("-1005-9".into())), Some(77));
        assert!(journal.earlier().is_own(-1005, 77) && !journal.earlier().is_own(-1005, 78));
        assert_eq!(journal.earlier().is_complete(), boot_id().is_some());
    }

    #[test]
    fn after_another_boot_absence_proves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("sent.log"), "boot some-other-boot\n-1 -1:2 garbage\nhalf a li").unwrap();
        let journal = Journal::open(folder.path());
        assert!(!journal.earlier().is_complete());
        journal.note(Target { chat: -1, thread: None }, &RemoteId("-1:3".into()), DeliveryId::fresh());
        drop(journal);
        assert!(Journal::open(folder.path()).earlier().is_own(-1, 3), "a cut line does not swallow the next");
    }

    #[test]
    fn the_file_starts_anew_and_keeps_its_predecessor() {
        let folder = tempfile::tempdir().unwrap();
        let journal = Journal::open(folder.path());
        let first = DeliveryId::fresh();
        journal.note(Target { chat: 5, thread: None }, &RemoteId("5:1".into()), first);
        journal.writer.lock().unwrap().as_mut().unwrap().size = MAX_BYTES + 1;
        let second = DeliveryId::fresh();
        journal.note(Target { chat: 5, thread: None }, &RemoteId("5:2".into()), second);
        assert!(folder.path().join("sent.log.1").exists());
        let reread = Journal::open(folder.path());
        assert!(reread.earlier().receipt(first).is_some() && reread.earlier().receipt(second).is_some());
    }
}
