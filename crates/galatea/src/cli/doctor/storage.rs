//! Checks that the data folder is writable and its database is sound.

use galatea_core::{Finding, Severity};
use std::{
    fs,
    io::{self, Write},
    path::Path,
};

use super::examined::Examined;
use galatea_host::{
    config::check_database,
    storage::{data_dir::DataDir, database},
};

/// Bytes of a probe: a page of the database. A full disk still has room for a file without bytes.
const PROBE: usize = 4096;

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
        return vec![unwritable(data_dir, error)];
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

/// Whether a file can be created in a folder and filled. Covers rights, quota, read-only mounts and
/// full disks.
fn probe(folder: &Path) -> io::Result<()> {
    let path = folder.join(format!(".galatea-probe-{}", std::process::id()));
    let mut file = fs::OpenOptions::new().write(true).create_new(true).open(&path)?;
    let written = file.write_all(&[0; PROBE]);
    written.and(fs::remove_file(&path))
}

fn unwritable(data_dir: &DataDir, error: io::Error) -> Finding {
    Finding::failure("storage", &data_dir.cannot(error, "the data folder cannot be written"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use galatea_core::Settings;
    use galatea_host::storage::files;

    #[test]
    fn a_probe_leaves_nothing_and_tells_what_is_in_the_way() {
        let dir = tempfile::tempdir().unwrap();
        probe(dir.path()).unwrap();
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
        let settings = Settings::from_pairs([("GALATEA_DATA_DIR", "none")]);
        let data_dir = DataDir::locate(&settings, dir.path());
        let finding = unwritable(&data_dir, probe(data_dir.path()).unwrap_err());
        assert_eq!(finding.id, "GAL-DATA-DIR");
        assert!(finding.cause.unwrap().starts_with("No such file"));
        assert_eq!(finding.origin.unwrap(), data_dir.path().display().to_string());
    }

    #[test]
    fn the_fix_depends_on_the_cause() {
        let dir = tempfile::tempdir().unwrap();
        let data_dir = DataDir::locate(&Settings::default(), dir.path());
        for (kind, right, wrong) in files::CAUSES {
            let fix = unwritable(&data_dir, kind.into()).fix.unwrap();
            assert!(fix.contains(right) && !fix.contains(wrong), "{kind:?}: {fix}");
        }
        fs::write(data_dir.path(), "a file in its place").unwrap();
        let fix = unwritable(&data_dir, probe(data_dir.path()).unwrap_err()).fix.unwrap();
        assert!(fix.starts_with("move the file away"), "{fix}");
    }
}
