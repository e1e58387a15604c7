//! Rules for single files.

/// Prefixes of paths that exist on one machine only. Written in pieces, so that this file obeys the
/// rule.
const MACHINE_PATHS: &[&str] = &[
    concat!("/ro", "ot/"),
    concat!("/wo", "rk/"),
    concat!("/ho", "me/"),
    concat!("/Us", "ers/"),
    concat!("C:\\Us", "ers\\"),
];

/// Violations in one file.
pub(super) fn check(name: &str, text: &str) -> Vec<String> {
    let mut breaches = Vec::new();
    if is_rust(name) && !text.starts_with("//!") {
        breaches
            .push(format!("{name}:1: a file begins with a `//!` line that says what it is for"));
    }
    if is_rust(name) {
        for (number, line) in text.lines().enumerate() {
            if names_a_field_message(line) {
                breaches.push(format!(
                    "{name}:{}: a log line has its text under `message`; name the field `message_id`",
                    number + 1
                ));
            }
        }
    }
    // Licences and the lock file are not written by us.
    if !name.starts_with("LICENSE") && name != "Cargo.lock" {
        for (number, line) in text.lines().enumerate() {
            if let Some(path) = MACHINE_PATHS.iter().find(|path| holds_path(line, path)) {
                breaches.push(format!("{name}:{}: {path} is a path of one machine", number + 1));
            }
        }
    }
    breaches
}

/// True if a log line has a field of the name that its text has in JSON.
fn names_a_field_message(line: &str) -> bool {
    line.contains("tracing::")
        && ["(message", " message"]
            .iter()
            .any(|start| [" = %", " = ?"].iter().any(|end| line.contains(&format!("{start}{end}"))))
}

/// True if `path` starts an absolute path in `line`, and is not part of a longer path or URL.
fn holds_path(line: &str, path: &str) -> bool {
    line.match_indices(path).any(|(at, _)| {
        !line[..at].ends_with(|c: char| {
            c.is_alphanumeric() || matches!(c, '.' | '_' | '-' | '*' | '}' | '/')
        })
    })
}

/// Number of lines of a Rust file before its tests. 0 for tests and other files.
pub(super) fn production_lines(name: &str, text: &str) -> usize {
    let test = name.split('/').any(|part| matches!(part, "tests" | "benches" | "tests.rs"));
    if !is_rust(name) || test {
        return 0;
    }
    text.lines().take_while(|line| *line != "#[cfg(test)]").count()
}

fn is_rust(name: &str) -> bool {
    name.ends_with(".rs")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rust_files_say_what_they_are_for() {
        assert_eq!(check("a.rs", "use std::fs;\n").len(), 1);
        assert_eq!(check("a.rs", "").len(), 1);
        assert!(check("a.rs", "//! Reads.\nuse std::fs;\n").is_empty());
        assert!(check("a.md", "# Title\n").is_empty());
    }

    #[test]
    fn a_log_field_is_not_named_like_the_text() {
        let with = |name: &str| format!("//! A.\ntracing::warn!({name} = %id, \"failed\");\n");
        assert_eq!(check("a.rs", &with("room = %room, message")).len(), 1);
        assert_eq!(check("a.rs", &with("message")).len(), 1);
        assert!(check("a.rs", &with("message_id")).is_empty());
    }

    #[test]
    fn machine_paths_are_found_and_addresses_are_not() {
        for path in MACHINE_PATHS {
            let breaches = check("a.md", &format!("fine\nsee {path}x and \"{path}y\"\n"));
            assert_eq!(breaches.len(), 1, "{path}");
            assert!(breaches[0].starts_with("a.md:2:"), "{}", breaches[0]);
            assert!(check("a.md", &format!("https://example.org{path}x\n")).is_empty(), "{path}");
            assert!(check("a.md", &format!("src{path}x, ./a{path}x\n")).is_empty(), "{path}");
        }
    }

    #[test]
    fn tests_do_not_count_as_production() {
        assert_eq!(
            production_lines("src/a.rs", "//! A.\nfn a() {}\n#[cfg(test)]\nmod tests {\n}\n"),
            2
        );
        for name in ["tests/a.rs", "src/character/tests/a.rs", "src/gate/tests.rs", "a.toml"] {
            assert_eq!(production_lines(name, "//! A.\n"), 0, "{name}");
        }
    }
}
