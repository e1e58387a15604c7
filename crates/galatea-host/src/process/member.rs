//! Identity of this process among the processes that share a database.

use galatea_core::{
    MemberId, Result, Skew, Store,
    store::ProcessRole,
    whole_file::{self, Access, Flush},
};
use galatea_runtime::ClusterOptions;
use std::{fs, path::PathBuf};

use crate::storage::data_dir::DataDir;

/// File with the id of the last process that used this data folder.
const FILE: &str = "member";

/// Joins the cluster as a new member. The leases of the last process with this data folder are
/// released at once: the folder is locked, so that process has ended.
///
/// # Errors
/// `Unavailable` if the data folder cannot be written, and errors of the database.
pub async fn join(
    store: &dyn Store,
    data_dir: &DataDir,
    role: ProcessRole,
) -> Result<ClusterOptions> {
    let member = MemberId::fresh();
    if store.is_shared() {
        let file = file(data_dir);
        if let Some(before) =
            fs::read_to_string(&file).ok().and_then(|text| text.trim().parse().ok())
        {
            store.leave(before).await?;
        }
        whole_file::replace(
            &file,
            &file.with_extension("new"),
            member.to_string().as_bytes(),
            Access::Usual,
            Flush::No,
        )
        .map_err(|e| data_dir.cannot(e, "the data folder cannot be written"))?;
    }
    Ok(ClusterOptions::new(member, format!("{}:{}", host(), std::process::id()), role))
}

/// In milliseconds. Larger differences are reported, because platforms and signatures use the
/// machine's clock.
const WORTH_REPORTING: i64 = 5_000;

/// Logs a warning if this machine's clock and the database's differ.
pub fn warn_of_skew(skew: &Skew) {
    if let Some(difference) = describe_skew(skew.millis()) {
        tracing::warn!(code = SKEW, "{difference}; stored times follow the database's clock");
    }
}

/// Code of a clock that differs from the database's.
pub const SKEW: &str = "GAL-CLOCK-SKEW";

/// One sentence about a difference above [`WORTH_REPORTING`]. `millis` is how far the database's
/// clock is ahead.
pub fn describe_skew(millis: i64) -> Option<String> {
    let seconds = millis.unsigned_abs() as f64 / 1000.0;
    let word = if millis > 0 { "behind" } else { "ahead of" };
    (millis.abs() > WORTH_REPORTING)
        .then(|| format!("this machine's clock is {seconds:.1} s {word} the database's"))
}

fn file(data_dir: &DataDir) -> PathBuf {
    data_dir.path().join(FILE)
}

/// The process that uses this data folder, or used it last.
pub fn known(data_dir: &DataDir) -> Option<MemberId> {
    fs::read_to_string(file(data_dir)).ok()?.trim().parse().ok()
}

fn host() -> String {
    let name = fs::read_to_string("/proc/sys/kernel/hostname")
        .ok()
        .or_else(|| std::env::var("HOSTNAME").ok());
    name.map(|name| name.trim().to_owned())
        .filter(|name| !name.is_empty())
        .unwrap_or_else(|| "unnamed".to_owned())
}
