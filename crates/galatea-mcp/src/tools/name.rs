//! Names of tools for models.

use sha2::{Digest, Sha256};
use std::collections::BTreeSet;

/// Longest name that every model provider takes (OpenAI, "Function calling").
pub(crate) const LONGEST: usize = 64;

/// Why a name of a server's tool is refused; none for one of the protocol's (1 to 128 of
/// `A-Za-z0-9_-./`).
pub(crate) fn fault(name: &str) -> Option<String> {
    let known = |c: char| c.is_ascii_alphanumeric() || "_-./".contains(c);
    (name.is_empty() || name.len() > 128 || !name.chars().all(known))
        .then(|| "its name has characters that the protocol forbids".to_owned())
}

/// A name for models: `server_tool`. Two tools whose names differ only in characters that models cannot
/// write get different ones, and so does one that is in `taken`.
pub(crate) fn action(server: &str, tool: &str, taken: &mut BTreeSet<String>) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '_' || c == '-' { c } else { '_' };
    let whole: String = format!("{server}_{tool}").chars().map(plain).collect();
    if whole.len() <= LONGEST && taken.insert(whole.clone()) {
        return whole;
    }
    let digest = crate::config::hex(&Sha256::digest(tool.as_bytes()));
    let mark = digest.get(..8).unwrap_or_default();
    let kept: String = whole.chars().take(LONGEST - 9).collect();
    let name = format!("{kept}_{mark}");
    taken.insert(name.clone());
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_prefixed_short_and_different() {
        let mut taken = BTreeSet::new();
        let mut name = |tool: &str| action("files", tool, &mut taken);
        assert_eq!(name("SEND_MESSAGE"), "files_SEND_MESSAGE");
        assert_eq!(name("a.b"), "files_a_b");
        let other = name("a/b");
        assert!(other.starts_with("files_a_b_") && other.len() > "files_a_b".len(), "{other}");
        let (one, two) = (name(&"x".repeat(128)), name(&"x".repeat(127)));
        assert!(one.len() <= LONGEST && two.len() <= LONGEST && one != two);
        assert!(fault("näme").is_some() && fault("").is_some() && fault("a.b-c_d").is_none());
    }
}
