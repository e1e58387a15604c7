//! Reads `.env` with dotenvy, line by line, so that every value knows its line and every fault its
//! column.

use galatea_core::settings::{Origin, Setting};
use std::{
    cell::Cell,
    io::{self, Read},
    path::Path,
    rc::Rc,
};

use super::text_file::{Named, Parsed, masked};
use crate::report::{Place, Report};

/// Reads a `.env`. If a name occurs several times, the last value counts, as in elizaOS and in a
/// shell.
pub(super) fn parse(path: &Path, text: &str) -> Parsed {
    let lines: Vec<&str> = text.lines().collect();
    let mut parsed = Parsed::default();
    let taken = Rc::new(Cell::new(0));
    let mut entries = dotenvy::from_read_iter(Lines {
        lines: lines.clone(),
        line: 0,
        byte: 0,
        taken: taken.clone(),
    });
    loop {
        let first = taken.get();
        let Some(entry) = entries.next() else { break };
        let range = first..taken.get();
        // dotenvy consumes blank lines and comments together with the entry that follows.
        let start = range.clone().find(|i| !is_comment(lines[*i])).unwrap_or(range.start);
        match entry {
            Ok((name, value)) => parsed.entry(path, start, &lines[start..range.end], name, value),
            Err(dotenvy::Error::LineParse(logical, index)) => {
                parsed.errors.push(fault(path, start, &lines[range], &logical, index))
            }
            Err(error) => {
                parsed.errors.push(
                    Report::error(format!("{} cannot be read", path.display()))
                        .code("GAL-CFG-FILE")
                        .cause(error.to_string()),
                );
                break;
            }
        }
    }
    parsed
}

fn is_comment(line: &str) -> bool {
    line.trim().is_empty() || line.trim_start().starts_with('#')
}

impl Parsed {
    /// Adds an entry that starts at line `index` (from 0) and consists of `lines`.
    fn entry(&mut self, path: &Path, index: usize, lines: &[&str], name: String, value: String) {
        let line = lines.first().copied().unwrap_or_default();
        let column = name_at(line, &name).map_or(1, |at| line[..at].chars().count() + 1);
        let place = Place {
            file: path.display().to_string(),
            line: index + 1,
            column,
            length: name.chars().count(),
            text: masked(line),
            caret: None,
        };
        if let Some(known) = self.layer.get(&name) {
            self.warnings.push(
                Report::warning(format!("{name} is set twice; the last value counts"))
                    .code("GAL-CFG-TWICE")
                    .place(place.clone())
                    .line("where", format!("first in {}", known.origin))
                    .fix("remove the one that is wrong"),
            );
        }
        if inserts(&lines.join("\n")) {
            self.warnings.push(
                Report::warning(format!("a $ in the value of {name} inserts another variable"))
                    .code("GAL-CFG-DOLLAR")
                    .place(place.clone())
                    .fix("if the $ belongs to the value, put the value in single quotes"),
            );
        }
        self.names.push(Named { name: name.clone(), place });
        self.layer.insert(
            name,
            Setting {
                value: value.into(),
                origin: Origin::File { path: path.to_path_buf(), line: index + 1 },
            },
        );
    }
}

/// Byte offset of a name in the line of its entry: right before the `=`, possibly after `export`.
fn name_at(line: &str, name: &str) -> Option<usize> {
    let (head, _) = line.split_once('=')?;
    head.trim_end().strip_suffix(name).map(str::len)
}

/// Whether the value contains a `$` that dotenvy substitutes: outside single quotes, not escaped,
/// and before any comment.
fn inserts(entry: &str) -> bool {
    let value = entry.split_once('=').map_or("", |(_, value)| value.trim_start());
    if value.starts_with('#') {
        return false;
    }
    let (mut single, mut double, mut escaped) = (false, false, false);
    for c in value.chars() {
        match c {
            _ if escaped => escaped = false,
            '\'' if !double => single = !single,
            _ if single => {}
            '$' => return true,
            '\\' => escaped = true,
            '"' => double = !double,
            // Only a comment can follow.
            ' ' | '\t' if !double => return false,
            _ => {}
        }
    }
    false
}

/// The report for an entry that dotenvy rejects. dotenvy only supplies an index, which is relative
/// to the logical line or to the value.
fn fault(path: &Path, index: usize, range: &[&str], logical: &str, at: usize) -> Report {
    let line = range.iter().find(|l| !is_comment(l)).copied().unwrap_or_default();
    let indent = line.chars().count() - line.trim_start().chars().count();
    let whole = line.chars().count();
    let (message, column, fix) = match line.find('=') {
        None => ("this line has no =", indent + 1, "write NAME=value; a # begins a comment"),
        Some(equal) if !is_name(&line[..equal]) => (
            "this is not a name",
            indent + 1,
            "names are letters, digits, _ and ., and begin with a letter or _",
        ),
        Some(equal) if range.len() > 1 || open_quote(&line[equal + 1..]) => {
            let quote = line[equal..].find(['"', '\'']).map_or(equal, |q| equal + q);
            (
                "a quote is opened and never closed",
                line[..quote].chars().count() + 1,
                "close it, or put the whole value into the other kind of quotes",
            )
        }
        Some(equal) => {
            // `at` counts characters of the value, which starts at its first character that is not
            // a space.
            let value = &line[equal + 1..];
            let start = line[..=equal].chars().count()
                + (value.chars().count() - value.trim_start().chars().count());
            let inside = logical.chars().count() <= value.chars().count();
            let column = if inside { start + at + 1 } else { start + 1 };
            (
                "this value is cut by a space or holds an unknown escape",
                column,
                "put the value in single quotes: NAME='…'",
            )
        }
    };
    let column = column.min(whole.max(1));
    Report::error(format!("{message} ({} line {})", path.display(), index + 1))
        .code("GAL-CFG-ENV")
        .place(Place {
            file: path.display().to_string(),
            line: index + 1,
            column,
            length: 1,
            text: masked(line),
            caret: None,
        })
        .fix(fix)
}

fn is_name(text: &str) -> bool {
    let name = text.trim();
    let name = name.strip_prefix("export ").unwrap_or(name).trim();
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '.'))
}

fn open_quote(value: &str) -> bool {
    let value = value.trim_start();
    match value.chars().next() {
        Some(quote @ ('"' | '\'')) => value.matches(quote).count() == 1,
        _ => value.matches('\'').count() % 2 == 1 || value.matches('"').count() % 2 == 1,
    }
}

/// Gives dotenvy at most one line per read, so that the lines of each entry can be counted.
struct Lines<'a> {
    lines: Vec<&'a str>,
    line: usize,
    byte: usize,
    taken: Rc<Cell<usize>>,
}

impl Read for Lines<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let Some(line) = self.lines.get(self.line) else { return Ok(0) };
        let rest = &line.as_bytes()[self.byte..];
        if rest.len() >= buffer.len() {
            buffer.copy_from_slice(&rest[..buffer.len()]);
            self.byte += buffer.len();
            return Ok(buffer.len());
        }
        buffer[..rest.len()].copy_from_slice(rest);
        buffer[rest.len()] = b'\n';
        self.line += 1;
        self.byte = 0;
        self.taken.set(self.line);
        Ok(rest.len() + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(text: &str) -> Parsed {
        parse(Path::new(".env"), text)
    }

    fn errors(text: &str) -> String {
        file(text).errors.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn every_value_knows_its_line() {
        let parsed = file("# c\n\nA=1\r\nexport B = \"two\nlines\"\n\n  C='x y' # note\nD=\n");
        let shown: Vec<_> =
            parsed.layer.iter().map(|(k, s)| format!("{k}={:?} {}", s.text(), s.origin)).collect();
        assert_eq!(
            shown,
            [
                "A=\"1\" .env line 3",
                "B=\"two\\nlines\" .env line 4",
                "C=\"x y\" .env line 7",
                "D=\"\" .env line 8"
            ]
        );
        assert!(parsed.errors.is_empty() && parsed.warnings.is_empty());
    }

    #[test]
    fn a_fault_is_shown_with_its_place_and_the_rest_is_still_read() {
        let parsed = file("A=1\nTELEGRAM_BOT_TOKEN=123:canary x\nB=2\n");
        assert_eq!(parsed.layer.len(), 2);
        insta::assert_snapshot!(errors("A=1\nTELEGRAM_BOT_TOKEN=123:canary x\nB=2\n"), @r###"
error[GAL-CFG-ENV]: this value is cut by a space or holds an unknown escape
  (.env line 2)
 --> .env:2:31
  |
 2| TELEGRAM_BOT_TOKEN=•••••••••• •
  |                               ^
  fix:   put the value in single quotes: NAME='…'
  more:  galatea explain GAL-CFG-ENV
"###);
    }

    #[test]
    fn a_pasted_token_is_named_without_repeating_it() {
        insta::assert_snapshot!(errors("123456:AAcanary\n"), @r###"
error[GAL-CFG-ENV]: this line has no = (.env line 1)
 --> .env:1:1
  |
 1| •••••••••••••••
  | ^
  fix:   write NAME=value; a # begins a comment
  more:  galatea explain GAL-CFG-ENV
"###);
    }

    #[test]
    fn an_open_quote_is_named_without_repeating_the_value() {
        insta::assert_snapshot!(errors("A=1\nB=\"canary\nC=3\n"), @r###"
error[GAL-CFG-ENV]: a quote is opened and never closed (.env line 2)
 --> .env:2:3
  |
 2| B="••••••
  |   ^
  fix:   close it, or put the whole value into the other kind of quotes
  more:  galatea explain GAL-CFG-ENV
"###);
    }

    #[test]
    fn a_name_that_is_none_is_named_without_repeating_the_value() {
        insta::assert_snapshot!(errors("1A=canary\n"), @r###"
error[GAL-CFG-ENV]: this is not a name (.env line 1)
 --> .env:1:1
  |
 1| 1A=••••••
  | ^
  fix:   names are letters, digits, _ and ., and begin with a letter or _
  more:  galatea explain GAL-CFG-ENV
"###);
    }

    #[test]
    fn twice_and_dollar_are_warned_about() {
        let parsed = file("A=1\nA=2\nB=x$y\nC='x$y'\nD=x\\$y\nE=x # $y\n");
        let codes: Vec<_> = parsed
            .warnings
            .iter()
            .map(|w| (w.code.clone().unwrap(), w.place.clone().unwrap().line))
            .collect();
        assert_eq!(codes, [("GAL-CFG-TWICE".to_owned(), 2), ("GAL-CFG-DOLLAR".to_owned(), 3)]);
        assert_eq!(parsed.layer["A"].text(), "2");
    }

    #[test]
    fn a_dollar_is_reported_as_dotenvy_reads_it() {
        for (value, warned) in [
            ("\"it's ${x}\"", true),
            ("\"two\nlines ${x}\"", true),
            ("a\\\\$x", true),
            ("'$x'y$z", true),
            ("\"\\\"${x}\"", true),
            ("'two\n$x'", false),
            ("'\"'\\$x", false),
            ("# $x", false),
            ("a\t# $x", false),
        ] {
            let parsed = file(&format!("x=canary\nA={value}\n"));
            assert_eq!(parsed.errors, [], "{value}");
            assert_eq!(!parsed.warnings.is_empty(), warned, "{value}");
        }
    }

    #[test]
    fn the_place_of_a_name_is_not_inside_of_export() {
        let parsed = file("export o=1\nexport = 2\n");
        let places: Vec<_> =
            parsed.names.iter().map(|named| (named.name.as_str(), named.place.column)).collect();
        assert_eq!(places, [("o", 8), ("export", 1)]);
    }

    #[test]
    fn a_long_line_is_one_value_and_earlier_values_can_be_inserted() {
        let long = "x".repeat(20_000);
        let parsed = file(&format!("A={long}\nB=1\nC=$B-2\n"));
        assert_eq!(
            (parsed.layer["A"].text().len(), parsed.layer["B"].origin.to_string().as_str()),
            (20_000, ".env line 2")
        );
        assert_eq!(parsed.layer["C"].text(), "1-2");
    }
}
