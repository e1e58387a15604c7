//! `<NAME>_FILE`: reads a secret from a file, as container platforms mount them. Works for
//! variables of one character, too.

use galatea_core::settings::{Layer, Origin, Setting};
use std::{
    fs::File,
    io::Read,
    path::{Path, PathBuf},
};

use super::names::is_declared_secret;
use crate::report::Report;

/// In bytes. No key or token is nearly this long.
const MAX_SIZE: u64 = 64 << 10;
const SUFFIX: &str = "_FILE";

/// Replaces every `<NAME>_FILE` of a secret by the contents of the file. Relative paths start in
/// the working folder.
pub(super) fn resolve(layer: &mut Layer, working_dir: &Path) -> Vec<Report> {
    let mut errors = Vec::new();
    let named: Vec<(String, String)> = layer
        .keys()
        .filter_map(|key| Some((key.clone(), key.strip_suffix(SUFFIX)?.to_owned())))
        .filter(|(_, name)| is_declared_secret(name))
        .collect();
    for (key, name) in named {
        let Some(setting) = layer.get(&key) else { continue };
        let path = PathBuf::from(setting.text().trim());
        let from = format!("{key} from {}", setting.origin);
        if path.as_os_str().is_empty() {
            continue;
        }
        if layer.get(&name).is_some_and(|s| !s.text().is_empty()) {
            errors.push(
                Report::error(format!("both {name} and {key} are set"))
                    .code("GAL-CFG-SECRET-FILE")
                    .line("where", from)
                    .fix("remove one of them"),
            );
            continue;
        }
        match read(&working_dir.join(&path)) {
            Ok(secret) => {
                // Remove the variable, because a character's layer is derived from this one and
                // resolved again.
                layer.remove(&key);
                layer.insert(
                    name,
                    Setting { value: secret.into(), origin: Origin::File { path, line: 1 } },
                );
            }
            Err(cause) => errors.push(
                Report::error(format!("the secret {name} cannot be read from {}", path.display()))
                    .code("GAL-CFG-SECRET-FILE")
                    .cause(cause)
                    .line("where", from)
                    .fix("check the path and that this user may read the file"),
            ),
        }
    }
    errors
}

fn read(path: &Path) -> Result<String, String> {
    let mut text = String::new();
    File::open(path)
        .and_then(|file| file.take(MAX_SIZE + 1).read_to_string(&mut text))
        .map_err(|e| e.to_string())?;
    if text.len() as u64 > MAX_SIZE {
        return Err(format!("it is larger than {} KiB", MAX_SIZE / 1024));
    }
    let secret = text.trim();
    if secret.is_empty() { Err("it is empty".to_owned()) } else { Ok(secret.to_owned()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layer(pairs: &[(&str, &str)]) -> Layer {
        pairs
            .iter()
            .map(|(k, v)| {
                ((*k).to_owned(), Setting { value: (*v).into(), origin: Origin::Environment })
            })
            .collect()
    }

    #[test]
    fn a_secret_is_read_without_its_line_break_and_knows_its_file() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("key"), "sk-1\n").unwrap();
        let mut found = layer(&[("OPENAI_API_KEY_FILE", "key"), ("DM_POLICY_FILE", "none")]);
        assert!(resolve(&mut found, dir.path()).is_empty());
        assert_eq!(
            (
                found["OPENAI_API_KEY"].text().as_str(),
                found["OPENAI_API_KEY"].origin.to_string().as_str()
            ),
            ("sk-1", "key line 1")
        );
        assert!(!found.contains_key("DM_POLICY"), "not a secret");
        assert!(!found.contains_key("OPENAI_API_KEY_FILE"), "replaced");
    }

    #[test]
    fn missing_empty_and_doubled_are_errors_with_their_place() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("empty"), "\n").unwrap();
        for (pairs, part) in [
            (vec![("OPENAI_API_KEY_FILE", "none")], "cannot be read from none"),
            (vec![("OPENAI_API_KEY_FILE", "empty")], "cannot be read from empty"),
            (vec![("OPENAI_API_KEY_FILE", "empty"), ("OPENAI_API_KEY", "x")], "both"),
        ] {
            let errors = resolve(&mut layer(&pairs), dir.path());
            assert!(errors.len() == 1 && errors[0].message.contains(part), "{errors:?}");
        }
    }
}
