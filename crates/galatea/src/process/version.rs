//! The version of this build, with the commit that it was built from.

/// Version and commit: `0.1.0 (6d5e57dd1c8f)`; the version alone where the commit was not known.
pub(crate) const FULL: &str = env!("GALATEA_VERSION");

/// The commit, twelve digits of it; none where it was not known.
pub(crate) fn commit() -> Option<&'static str> {
    Some(env!("GALATEA_COMMIT")).filter(|commit| !commit.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn builds_of_one_version_are_told_apart_by_their_commit() {
        let version = env!("CARGO_PKG_VERSION");
        match commit() {
            Some(commit) => {
                assert!(
                    (7..=12).contains(&commit.len())
                        && commit.bytes().all(|b| b.is_ascii_hexdigit()),
                    "{commit}"
                );
                assert_eq!(FULL, format!("{version} ({commit})"));
            }
            // Built from sources without a repository.
            None => assert_eq!(FULL, version),
        }
    }
}
