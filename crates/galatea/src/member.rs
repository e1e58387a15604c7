//! Member: who this process is among those that share a database.

use galatea_core::{MemberId, Result, Store, store::Role};
use galatea_runtime::ClusterOptions;
use std::{fs, path::PathBuf};

use crate::data_dir::DataDir;

/// Who ran with this data folder before.
const FILE: &str = "member";

/// Joins as somebody new. What the last process with this data folder had is free at once: the folder is locked, so it has ended.
///
/// # Errors
/// `Unavailable` when the data folder cannot be written, and whatever the database says.
pub(crate) async fn join(store: &dyn Store, data_dir: &DataDir, role: Role) -> Result<ClusterOptions> {
    let member = MemberId::fresh();
    if store.is_shared() {
        let file = file(data_dir);
        if let Some(before) = fs::read_to_string(&file).ok().and_then(|text| text.trim().parse().ok()) {
            store.leave(before).await?;
        }
        fs::write(&file, member.to_string()).map_err(|e| data_dir.cannot(e, "the data folder cannot be written"))?;
    }
    Ok(ClusterOptions::new(member, format!("{}:{}", host(), std::process::id()), role))
}

fn file(data_dir: &DataDir) -> PathBuf {
    data_dir.path().join(FILE)
}

/// Who runs, or ran last, with this data folder.
pub(crate) fn known(data_dir: &DataDir) -> Option<MemberId> {
    fs::read_to_string(file(data_dir)).ok()?.trim().parse().ok()
}

fn host() -> String {
    let name = fs::read_to_string("/proc/sys/kernel/hostname").ok().or_else(|| std::env::var("HOSTNAME").ok());
    name.map(|name| name.trim().to_owned()).filter(|name| !name.is_empty()).unwrap_or_else(|| "unnamed".to_owned())
}
