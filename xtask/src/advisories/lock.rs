//! Reads the registry packages from `Cargo.lock`.

use anyhow::{Context, Result};
use cargo_metadata::semver::Version;
use serde::Deserialize;

pub(super) struct Package {
    pub(super) name: String,
    pub(super) version: Version,
}

/// Every package except the workspace's own.
pub(super) fn packages(lock: &str) -> Result<Vec<Package>> {
    #[derive(Deserialize)]
    struct Lock {
        package: Vec<Entry>,
    }
    #[derive(Deserialize)]
    struct Entry {
        name: String,
        version: Version,
        source: Option<String>,
    }
    let lock: Lock = toml::from_str(lock).context("Cargo.lock cannot be read")?;
    let foreign = lock.package.into_iter().filter(|entry| entry.source.is_some());
    Ok(foreign.map(|entry| Package { name: entry.name, version: entry.version }).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_packages_are_left_out() {
        let lock = "version = 4\n[[package]]\nname = \"a\"\nversion = \"1.0.0\"\nsource = \"registry+x\"\n\
                    [[package]]\nname = \"own\"\nversion = \"0.1.0\"\n";
        let packages = packages(lock).unwrap();
        assert_eq!(packages.len(), 1);
        assert_eq!(packages[0].name, "a");
    }
}
