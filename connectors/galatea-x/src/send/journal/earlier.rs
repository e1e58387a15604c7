//! Moves the entries of an earlier version's journal file (`posts.log` in the account's folder)
//! into the account's state.

use std::{
    fs::File,
    io::{Read, Seek, SeekFrom},
    path::{Path, PathBuf},
};

use super::{Lists, Posted, Summons};
use crate::decode::snowflake::number;

/// Most bytes read from the end of a file. A file had 4 MiB at most, and one line more.
const MOST: u64 = 8 << 20;

/// Adds the entries of the files in `folder` before those in `lists`, which are newer. False if no
/// file can be read.
pub(super) fn add(lists: &mut Lists, folder: &Path) -> bool {
    let texts: Vec<String> = files(folder).iter().filter_map(|file| tail(file).ok()).collect();
    if texts.is_empty() {
        return false;
    }
    let mut earlier = Lists::default();
    texts.iter().flat_map(|text| text.lines()).for_each(|line| entry(&mut earlier, line));
    lists.put_before(earlier);
    true
}

/// Removes the files. A file that cannot be removed is read again at the next start, which adds
/// nothing new.
pub(super) fn remove(folder: &Path) {
    for file in files(folder) {
        if let Err(error) = std::fs::remove_file(&file)
            && error.kind() != std::io::ErrorKind::NotFound
        {
            tracing::debug!(file = %file.display(), %error, "failed to remove the list of posts of an earlier version; the next start tries again");
        }
    }
}

/// The older file first.
fn files(folder: &Path) -> [PathBuf; 2] {
    ["posts.log.1", "posts.log"].map(|name| folder.join(name))
}

/// Adds the entry of one line. A cut or malformed line is skipped.
fn entry(lists: &mut Lists, line: &str) {
    let words: Vec<&str> = line.split(' ').collect();
    match words[..] {
        ["sent", turn, part, delivery, post] => {
            let post = if post == "-" { Some(None) } else { number(post).map(Some) };
            if let (Ok(turn), Ok(part), Ok(delivery), Some(post)) =
                (turn.parse(), part.parse(), delivery.parse(), post)
            {
                lists.posted(Posted { delivery, turn, part, post });
            }
        }
        ["to", delivery, target] => {
            if let (Ok(delivery), Some(target)) = (delivery.parse(), number(target)) {
                lists.set_target(delivery, target);
            }
        }
        ["heard", post, conversation, name] => {
            if let (Some(post), Some(conversation)) = (number(post), number(conversation)) {
                lists.add_summons(post, Summons { conversation, name: name.to_owned() });
            }
        }
        _ => {}
    }
}

/// Reads the last [`MOST`] bytes of a file. The first line may be cut.
fn tail(path: &Path) -> std::io::Result<String> {
    let mut file = File::open(path)?;
    let size = file.metadata()?.len();
    file.seek(SeekFrom::Start(size.saturating_sub(MOST)))?;
    let mut bytes = Vec::new();
    file.take(MOST).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use galatea_core::{DeliveryId, TurnId};

    #[test]
    fn the_files_are_added_before_newer_entries_and_a_cut_line_costs_only_itself() {
        let folder = tempfile::tempdir().unwrap();
        let mut lists = Lists::default();
        assert!(!add(&mut lists, folder.path()));
        let (turn, one, two) = (TurnId::fresh(), DeliveryId::fresh(), DeliveryId::fresh());
        let summons = |name: &str| Summons { conversation: 5, name: name.into() };
        lists.add_summons(7, summons("new"));
        let older = format!("heard 7 5 old\nsent {turn} 0 {one} 70\nsent x y z\nto {one} 6\n");
        std::fs::write(folder.path().join("posts.log.1"), older).unwrap();
        let newer = format!("sent {turn} 1 {two} -\nheard 8 5 cem\nheard 9");
        std::fs::write(folder.path().join("posts.log"), newer).unwrap();
        assert!(add(&mut lists, folder.path()));
        let posted = |delivery, part, post| Posted { delivery, turn, part, post };
        assert_eq!(lists.posts, [posted(one, 0, Some(70)), posted(two, 1, None)]);
        assert_eq!(lists.summons, [(8, summons("cem")), (7, summons("new"))]);
        assert_eq!(lists.targets, [(one, 6)]);
        remove(folder.path());
        assert!(!add(&mut lists, folder.path()));
    }
}
