//! Append-only file of what was posted and which posts summoned us. It lets a thread continue and a
//! read-back conclude after the process was killed, and proves which posts X permits a reply to.

use galatea_core::{DeliveryId, Error, Result, TurnId, private_file};
use std::{
    collections::{BTreeMap, BTreeSet},
    fs::File,
    io::{Read, Seek, SeekFrom, Write},
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, PoisonError},
};

use crate::decode::number;

/// Largest size of the file in bytes. A larger one is renamed, and replaces the file renamed
/// before.
const MAX_BYTES: u64 = 4 << 20;
/// Most entries of each kind kept in memory. The smallest id is dropped first, and all ids are
/// ordered by time.
const MAX_KNOWN: usize = 50_000;

/// A post that mentioned or quoted us, which permits a reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Heard {
    /// Id of its conversation.
    pub(crate) conversation: u64,
    /// Handle of its author, lower case.
    pub(crate) name: String,
}

/// The journal of one account.
pub(crate) struct Journal {
    path: PathBuf,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    file: Option<(File, u64)>,
    broken: bool,
    /// `None` for a post of a dry run, which has no id.
    receipts: BTreeMap<DeliveryId, Option<u64>>,
    parts: BTreeMap<(TurnId, u32), Option<u64>>,
    own: BTreeSet<u64>,
    targets: BTreeMap<DeliveryId, u64>,
    heard: BTreeMap<u64, Heard>,
}

impl Journal {
    /// Reads the entries of earlier runs from `folder`.
    pub(crate) fn open(folder: &Path) -> Self {
        let path = folder.join("posts.log");
        let mut state = State::default();
        for file in [path.with_extension("log.1"), path.clone()] {
            if let Ok(text) = read_tail(&file) {
                text.lines().for_each(|line| state.line(line));
            }
        }
        Self { path, state: Mutex::new(state) }
    }

    /// Records the post that a delivery became; `None` in a dry run.
    pub(crate) fn posted(&self, turn: TurnId, part: u32, delivery: DeliveryId, post: Option<u64>) {
        let id = post.map_or_else(|| "-".to_owned(), |id| id.to_string());
        self.note(&format!("sent {turn} {part} {delivery} {id}"));
    }

    /// Records the post a delivery replies to, if that was decided only when it was sent.
    pub(crate) fn aim(&self, delivery: DeliveryId, target: u64) {
        if self.target(delivery) != Some(target) {
            self.note(&format!("to {delivery} {target}"));
        }
    }

    /// The recorded post a delivery replies to.
    pub(crate) fn target(&self, delivery: DeliveryId) -> Option<u64> {
        self.state().targets.get(&delivery).copied()
    }

    /// Records a post that summoned us.
    pub(crate) fn hear(&self, post: u64, heard: &Heard) {
        if self.state().heard.get(&post) != Some(heard) {
            self.note(&format!("heard {post} {} {}", heard.conversation, heard.name));
        }
    }

    /// The post that a delivery became; `Some(None)` in a dry run.
    pub(crate) fn receipt(&self, delivery: DeliveryId) -> Option<Option<u64>> {
        self.state().receipts.get(&delivery).copied()
    }

    /// The post that a part of an answer became; `Some(None)` in a dry run.
    pub(crate) fn part(&self, turn: TurnId, part: u32) -> Option<Option<u64>> {
        self.state().parts.get(&(turn, part)).copied()
    }

    /// Whether a delivery of this account became this post.
    pub(crate) fn is_own(&self, post: u64) -> bool {
        self.state().own.contains(&post)
    }

    /// The entry of a post, if it summoned us.
    pub(crate) fn heard(&self, post: u64) -> Option<Heard> {
        self.state().heard.get(&post).cloned()
    }

    /// The newest post of a conversation that summoned us.
    pub(crate) fn newest(&self, conversation: u64) -> Option<u64> {
        self.state()
            .heard
            .iter()
            .rev()
            .find(|(_, heard)| heard.conversation == conversation)
            .map(|(id, _)| *id)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Appends a line. A failed write does not fail the delivery, because the post is out already.
    fn note(&self, line: &str) {
        let mut state = self.state();
        state.line(line);
        if state.broken {
            return;
        }
        if let Err(error) = state.write(&self.path, line) {
            state.broken = true;
            tracing::warn!(error = %error, "failed to write the list of posts; threads and read-backs of this run will not survive a restart");
        }
    }
}

impl State {
    fn line(&mut self, line: &str) {
        let words: Vec<&str> = line.split(' ').collect();
        match words[..] {
            ["sent", turn, part, delivery, post] => {
                let id = if post == "-" { Some(None) } else { number(post).map(Some) };
                let (Ok(turn), Ok(part), Ok(delivery), Some(id)) =
                    (turn.parse(), part.parse(), delivery.parse(), id)
                else {
                    return;
                };
                self.receipts.insert(delivery, id);
                self.parts.insert((turn, part), id);
                self.own.extend(id);
                bound(&mut self.receipts);
                bound(&mut self.parts);
                if self.own.len() > MAX_KNOWN {
                    self.own.pop_first();
                }
            }
            ["to", delivery, target] => {
                let (Ok(delivery), Some(target)) = (delivery.parse(), number(target)) else {
                    return;
                };
                self.targets.insert(delivery, target);
                bound(&mut self.targets);
            }
            ["heard", post, conversation, name] => {
                let (Some(post), Some(conversation)) = (number(post), number(conversation)) else {
                    return;
                };
                self.heard.insert(post, Heard { conversation, name: name.to_owned() });
                bound(&mut self.heard);
            }
            _ => {}
        }
    }

    fn write(&mut self, path: &Path, line: &str) -> Result<()> {
        let failed = |e: std::io::Error| {
            Error::unexpected("cannot write the list of posts").with("cause", e)
        };
        if self.file.as_ref().is_some_and(|(_, size)| *size > MAX_BYTES) {
            self.file = None;
            std::fs::rename(path, path.with_extension("log.1")).map_err(failed)?;
        }
        if self.file.is_none() {
            if let Some(folder) = path.parent() {
                private_file::create_folder(folder).map_err(failed)?;
            }
            let mut file =
                private_file::options().create(true).append(true).open(path).map_err(failed)?;
            // Ends a line that was cut off by a kill, so that the next one stays readable.
            file.write_all(b"\n").map_err(failed)?;
            let size = file.metadata().map(|m| m.len()).unwrap_or_default();
            self.file = Some((file, size));
        }
        if let Some((file, size)) = &mut self.file {
            let line = format!("{line}\n");
            *size += line.len() as u64;
            file.write_all(line.as_bytes()).map_err(failed)?;
        }
        Ok(())
    }
}

fn bound<K: Ord, V>(map: &mut BTreeMap<K, V>) {
    if map.len() > MAX_KNOWN {
        map.pop_first();
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn posts_and_summonses_survive_the_process() {
        let folder = tempfile::tempdir().unwrap();
        let (turn, one, two) = (TurnId::fresh(), DeliveryId::fresh(), DeliveryId::fresh());
        let heard = Heard { conversation: 5, name: "ann".into() };
        let journal = Journal::open(folder.path());
        journal.posted(turn, 0, one, Some(77));
        journal.posted(turn, 1, two, None);
        journal.hear(6, &heard);
        journal.hear(9, &heard);
        drop(journal);
        let journal = Journal::open(folder.path());
        assert_eq!(
            (journal.receipt(one), journal.receipt(two), journal.receipt(DeliveryId::fresh())),
            (Some(Some(77)), Some(None), None)
        );
        assert_eq!((journal.part(turn, 0), journal.part(turn, 2)), (Some(Some(77)), None));
        assert!(journal.is_own(77) && !journal.is_own(6));
        assert_eq!(
            (journal.heard(6), journal.newest(5), journal.newest(6)),
            (Some(heard), Some(9), None)
        );
    }

    #[test]
    fn a_cut_line_costs_only_itself() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("posts.log"), "heard 5 5 ann\nsent x y z\nheard 6 5 b")
            .unwrap();
        let journal = Journal::open(folder.path());
        journal.hear(7, &Heard { conversation: 5, name: "cem".into() });
        drop(journal);
        assert_eq!(Journal::open(folder.path()).newest(5), Some(7));
    }

    #[test]
    fn the_file_starts_anew_and_keeps_its_predecessor() {
        let folder = tempfile::tempdir().unwrap();
        let journal = Journal::open(folder.path());
        let (first, second) = (DeliveryId::fresh(), DeliveryId::fresh());
        journal.posted(TurnId::fresh(), 0, first, Some(1));
        journal.state().file.as_mut().unwrap().1 = MAX_BYTES + 1;
        journal.posted(TurnId::fresh(), 0, second, Some(2));
        let again = Journal::open(folder.path());
        assert!(again.receipt(first).is_some() && again.receipt(second).is_some());
    }
}
