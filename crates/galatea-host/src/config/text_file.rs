//! Reads a configuration file as text with a size limit, and quotes its lines without secrets.

use galatea_core::settings::Layer;
use std::{
    fs::File,
    io::{self, Read},
    path::Path,
};

use crate::report::{Place, Report};

/// In bytes, far more than any configuration needs. Stops the read of a device or database named by
/// mistake.
const MAX_SIZE: u64 = 1 << 20;

/// Result of parsing a file.
#[derive(Default)]
pub(super) struct Parsed {
    pub(super) layer: Layer,
    /// The place of every name in the text, in order, including repeated ones.
    pub(super) names: Vec<Named>,
    /// Whether the file contains settings of Galatea only (`galatea.toml`), so that every unknown
    /// name is a mistake.
    pub(super) only_ours: bool,
    /// Faults that make the file unusable.
    pub(super) errors: Vec<Report>,
    /// Probable mistakes.
    pub(super) warnings: Vec<Report>,
}

/// A name in a file.
#[derive(Debug, Clone)]
pub(super) struct Named {
    /// Name of the setting.
    pub(super) name: String,
    pub(super) place: Place,
}

/// Parses the text of a file.
pub(super) type Reader = fn(&Path, &str) -> Parsed;

/// The text of a file. `None` if it does not exist and is not `asked_for`.
///
/// # Errors
/// A report for a file that cannot be read, is too large, or is not UTF-8.
pub(super) fn read(
    working_dir: &Path,
    path: &Path,
    asked_for: bool,
) -> Result<Option<String>, Report> {
    let shown = path.display();
    let broken = |cause: String, fix: &str| {
        Report::error(format!("{shown} cannot be read")).code("GAL-CFG-FILE").cause(cause).fix(fix)
    };
    let file = match File::open(working_dir.join(path)) {
        Ok(file) => file,
        Err(e) if e.kind() == io::ErrorKind::NotFound && !asked_for => return Ok(None),
        Err(e) => {
            return Err(broken(e.to_string(), "check the name and that this user may read it"));
        }
    };
    let mut bytes = Vec::new();
    file.take(MAX_SIZE + 1).read_to_end(&mut bytes).map_err(|e| {
        broken(e.to_string(), "check that it is a file and that this user may read it")
    })?;
    if bytes.len() as u64 > MAX_SIZE {
        return Err(broken(
            format!("it is larger than {} KiB", MAX_SIZE / 1024),
            "check that it is the file you mean",
        ));
    }
    decode(bytes)
        .map(Some)
        .map_err(|line| broken(format!("line {line} is not UTF-8 text"), "save the file as UTF-8"))
}

/// The bytes of a file as text, without a byte order mark.
///
/// # Errors
/// The first line, from 1, that is not UTF-8.
pub(super) fn decode(bytes: Vec<u8>) -> Result<String, usize> {
    match String::from_utf8(bytes) {
        Ok(text) => Ok(text.strip_prefix('\u{FEFF}').map(str::to_owned).unwrap_or(text)),
        Err(error) => {
            let valid = error.utf8_error().valid_up_to();
            Err(error.as_bytes()[..valid].iter().filter(|b| **b == b'\n').count() + 1)
        }
    }
}

/// A line as it may be quoted. The name remains; every letter and digit of the value becomes a dot,
/// so that the caret still points to the right column.
pub(super) fn masked(line: &str) -> String {
    let keep = line.find('=').map_or(0, |at| at + 1);
    let hide = |c: char| {
        if c.is_alphanumeric() || matches!(c, '-' | '_' | ':' | '/' | '+' | '@' | '.') {
            '•'
        } else {
            c
        }
    };
    line[..keep].chars().chain(line[keep..].chars().map(hide)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quoted_line_keeps_the_name_and_the_shape() {
        assert_eq!(masked("TOKEN = \"12:ab c\" # x"), "TOKEN = \"••••• •\" # •");
        assert_eq!(masked("123456:AAE-x_y"), "••••••••••••••");
    }

    #[test]
    fn odd_files_are_reported_by_cause() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("latin"), b"A=1\nB=\xfc\n").unwrap();
        std::fs::write(dir.path().join("large"), vec![b'#'; MAX_SIZE as usize + 1]).unwrap();
        std::fs::create_dir(dir.path().join("folder")).unwrap();
        for (name, cause) in [("latin", "line 2"), ("large", "larger"), ("folder", "irectory")] {
            let report = read(dir.path(), Path::new(name), false).unwrap_err();
            assert!(report.lines[0].1.contains(cause), "{report:?}");
        }
        assert_eq!(read(dir.path(), Path::new("none"), false).unwrap(), None);
    }
}
