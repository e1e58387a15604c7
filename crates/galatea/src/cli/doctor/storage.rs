//! Checks that the data folder is writable and its database is sound.

use galatea_core::{Finding, Severity};
use std::{fs, path::Path};

use super::Examined;
use crate::{config::check_database, data_dir::DataDir, database};

/// Checks the data folder. Skips the database if another process uses it.
pub(super) async fn check(examined: &Examined<'_>) -> Vec<Finding> {
    let data_dir = &examined.data_dir;
    let shown = DataDir::show(data_dir.path(), &examined.context.working_dir);
    if let Some(holder) = &examined.running {
        let who = holder.pid.map_or_else(|| "a galatea".to_owned(), |pid| format!("process {pid}"));
        let finding = Finding::new(
            Severity::Info,
            "GAL-LOCK",
            "storage",
            format!("{who} is running with {shown}"),
        );
        return vec![finding.with_fix("`galatea status` shows its state")];
    }
    let exists = data_dir.path().exists();
    let writable = if exists {
        data_dir.path()
    } else {
        data_dir.path().ancestors().skip(1).find(|p| p.exists()).unwrap_or(Path::new("/"))
    };
    if let Err(error) = probe(writable) {
        return vec![unwritable(writable, &error)];
    }
    let settings = &examined.configuration.settings;
    if check_database(settings).is_err() {
        // The setting is invalid, which the configuration check reports.
        return Vec::new();
    }
    let found = match database::inspect(settings).await {
        Some(Ok(seen)) => {
            let made = if seen.tables { "" } else { "; the tables are made at the first start" };
            Ok(format!("{} (PostgreSQL {}){made}", seen.place, seen.version))
        }
        Some(Err(error)) => Err(error),
        None if !exists => Ok(format!("{shown} is made at the first start")),
        None if !data_dir.database().exists() => {
            Ok(format!("{shown} can be written; the database is made at the first start"))
        }
        None => match database::open_beside(settings, data_dir).await {
            Ok(database) => {
                database.close().await;
                Ok(format!(
                    "{} (SQLite)",
                    DataDir::show(&data_dir.database(), &examined.context.working_dir)
                ))
            }
            Err(error) => Err(error),
        },
    };
    vec![found.map_or_else(
        |error| Finding::failure("storage", &error),
        |text| Finding::ok("GAL-DB-OK", "storage", text),
    )]
}

/// Whether a file can be created in a folder. Covers rights, quota and read-only mounts.
fn probe(folder: &Path) -> std::io::Result<()> {
    let path = folder.join(format!(".galatea-probe-{}", std::process::id()));
    fs::OpenOptions::new().write(true).create_new(true).open(&path)?;
    fs::remove_file(&path)
}

fn unwritable(folder: &Path, error: &std::io::Error) -> Finding {
    let mut finding = Finding::new(
        Severity::Error,
        "GAL-DATA-DIR",
        "storage",
        "the data folder cannot be written",
    )
    .with_cause(error.to_string())
    .with_fix("make it writable for this user, or set GALATEA_DATA_DIR to another folder");
    finding.origin = Some(folder.display().to_string());
    finding
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_probe_leaves_nothing_and_tells_what_is_in_the_way() {
        let dir = tempfile::tempdir().unwrap();
        probe(dir.path()).unwrap();
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
        let error = probe(&dir.path().join("none")).unwrap_err();
        assert_eq!(unwritable(dir.path(), &error).id, "GAL-DATA-DIR");
    }
}
