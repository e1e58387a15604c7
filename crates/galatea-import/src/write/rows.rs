//! Stores the rows of a file under their ids, some in each commit, and tries those again that came too
//! early.

use galatea_core::{Account, AgentId, Clock as _, Result, Source, SystemClock};
use galatea_runtime::history::first_account;
use std::collections::{BTreeMap, HashMap};

use super::{
    batch::{Batch, Derivation, LeftOut},
    notes::Notes,
};
use crate::{
    Count, Import, Input,
    fault::unreadable,
    lines::{last, lines},
    read::{Entry, Fault, Item, Read},
};

/// Most rows that wait for their sources. They take some 20 MB; what exceeds them is left out and
/// named.
const WAITING: usize = 20_000;

/// Stores the rows of `file`.
///
/// # Errors
/// `Invalid` (`GAL-MEMORY-IMPORT`) for a file of another agent or of another version; those of the
/// store.
pub(crate) async fn store(
    import: &Import<'_>,
    rows: impl Iterator<Item = Read>,
    file: &Input,
) -> Result<Count> {
    let total = last(lines(file));
    let mut count = Count::default();
    let mut writer = Writer::new(import);
    let (mut notes, mut links) = (Notes::default(), Vec::new());
    let mut tasks = Vec::new();
    let mut others: BTreeMap<AgentId, usize> = BTreeMap::new();
    for row in rows {
        let Entry { line, item } = match row {
            Ok(entry) => entry,
            Err(Fault::Line(line, cause)) => {
                count.skipped.line(line, &cause);
                continue;
            }
            Err(Fault::File(cause)) => return Err(unreadable(file, &cause)),
        };
        match item {
            Item::Other { agent, is_named } => {
                *others.entry(agent).or_default() += 1;
                if is_named {
                    count.skipped.line(line, &format!("it belongs to the agent {agent}"));
                }
            }
            Item::Copy => count.read += 1,
            Item::Link(link) => links.push(link),
            Item::Task(task) => tasks.push(task),
            Item::Memory { ref row, ref remark, .. } => {
                count.read += 1;
                notes.add(row.memory.id, remark);
                writer.batch.add(line, item);
            }
            item => writer.add_connection(line, item).await?,
        }
        if writer.advance(&mut count).await? {
            (import.progress)(line, total);
        }
    }
    writer.end(&mut count).await?;
    if !import.dry_run {
        notes.keep_stored(import.store, import.agent).await?;
    }
    notes.count(&mut count);
    // Ids of Rooms and people are made from the agent's, so those of another agent are no ids of this
    // agent's people.
    let other = others.into_iter().max_by_key(|(_, rows)| *rows);
    if let Some((other, _)) = other.filter(|_| count.read == 0) {
        let cause = format!("it has no memories of the agent {}, but of {other}", import.agent);
        return Err(unreadable(file, &cause).with_fix(
            "Ids are kept, so the agent has to have the same: write `\"id\": \"…\"` with the one \
             above into the character file, start it once, and import again",
        ));
    }
    count.tasks = tasks.len();
    for task in tasks.into_iter().filter(|_| !import.dry_run) {
        // A task that goes on here already stays as it is.
        if import.store.task(import.agent, task.id).await?.is_none() {
            import.store.save_task(&task).await?;
            count.new_tasks += 1;
        }
    }
    // All at once: a person's links are stored together.
    count.links = links.len();
    if import.links && !import.dry_run {
        let new = import.store.restore_links(import.agent, &links).await?;
        count.new_links = usize::try_from(new).unwrap_or(usize::MAX);
    }
    Ok(count)
}

/// Collects rows, and stores them once there are as many as one commit takes.
struct Writer<'a> {
    import: &'a Import<'a>,
    /// The rows of the next commit.
    batch: Batch,
    /// What was made from memories that are not stored yet. A fact that was confirmed keeps its time,
    /// so the message that confirmed it comes later in an export.
    waiting: Vec<Derivation>,
    left_out: LeftOut,
    /// The account of each platform to which Rooms belong whose file names none.
    accounts: HashMap<Source, Account>,
}

impl<'a> Writer<'a> {
    fn new(import: &'a Import<'a>) -> Self {
        let (batch, left_out) = (Batch::default(), LeftOut::default());
        Self { import, batch, waiting: Vec::new(), left_out, accounts: HashMap::new() }
    }

    /// Adds a place, a person, or how they are connected.
    async fn add_connection(&mut self, line: usize, mut item: Item) -> Result<()> {
        if let Item::Room(room) = &mut item
            && room.account.0.is_empty()
        {
            room.account = self.account(&room.source).await?;
        }
        self.batch.add(line, item);
        Ok(())
    }

    /// elizaOS has one account for an agent on a platform, and its ids are those of the account that
    /// came first here.
    async fn account(&mut self, source: &Source) -> Result<Account> {
        if let Some(known) = self.accounts.get(source) {
            return Ok(known.clone());
        }
        let (store, agent) = (self.import.store, self.import.agent);
        let first = first_account(store, agent, source, SystemClock.now()).await?;
        let account = first.unwrap_or_else(|| Account("default".to_owned()));
        self.accounts.insert(source.clone(), account.clone());
        Ok(account)
    }

    /// Stores the rows once there are as many as one commit takes; whether it did.
    ///
    /// # Errors
    /// Those of the store.
    async fn advance(&mut self, count: &mut Count) -> Result<bool> {
        if !self.batch.is_full() {
            return Ok(false);
        }
        self.flush(count).await?;
        Ok(true)
    }

    /// Stores the rest at the end of the file.
    ///
    /// # Errors
    /// Those of the store.
    async fn end(mut self, count: &mut Count) -> Result<()> {
        self.flush(count).await?;
        loop {
            let waiting = std::mem::take(&mut self.waiting);
            let before = waiting.len();
            for row in waiting {
                self.batch.add_derivation(row);
                self.advance(count).await?;
            }
            self.flush(count).await?;
            // One may have been made from another that waited, so as long as one is stored the others
            // are tried again.
            if self.waiting.len() == before {
                break;
            }
        }
        for row in self.waiting {
            count.refuse(row.line, &row.refusal(self.import.store, self.import.agent).await?);
        }
        Ok(())
    }

    async fn flush(&mut self, count: &mut Count) -> Result<()> {
        let Import { store, agent, deleted, dry_run, .. } = *self.import;
        let mut batch = std::mem::take(&mut self.batch);
        if dry_run {
            return Ok(());
        }
        if !deleted {
            batch.leave_out_deleted(store, agent, &mut self.left_out, count).await?;
        }
        for row in batch.store(store, agent, count).await? {
            if self.waiting.len() < WAITING {
                self.waiting.push(row);
            } else {
                count.refuse(row.line, &row.refusal(store, agent).await?);
            }
        }
        Ok(())
    }
}
