//! The lines of a file that is imported, with their numbers.

use std::io::{BufRead, Read as _};

use crate::Input;

/// Longest line of a chat log or of an export.
pub(crate) const LINE: u64 = 16 << 20;
/// What some editors write in front of a text (U+FEFF, the byte order mark).
pub(crate) const MARK: char = '\u{feff}';

/// A line with its number, from 1; or why it cannot be read.
pub(crate) type Line = (usize, Result<String, String>);

/// The lines of a file from its beginning; lines without text are passed over.
pub(crate) fn lines(input: &Input) -> impl Iterator<Item = Line> + use<> {
    lines_in(input.buffered())
}

/// The same for any reader. A line that cannot be read does not end them; a reader that fails does.
pub(crate) fn lines_in<R: BufRead>(mut reader: R) -> impl Iterator<Item = Line> + use<R> {
    let (mut number, mut failed) = (0, false);
    let next = move || {
        if failed {
            return None;
        }
        number += 1;
        let mut line = Vec::new();
        let text = match (&mut reader).take(LINE).read_until(b'\n', &mut line) {
            Ok(0) => return None,
            Ok(read) if read as u64 == LINE && line.last() != Some(&b'\n') => {
                failed = reader.skip_until(b'\n').is_err();
                Err("it is longer than 16 MiB".to_owned())
            }
            Ok(_) => text(number, line),
            Err(e) => {
                failed = true;
                Err(format!("the file cannot be read from here on: {e}"))
            }
        };
        Some((number, text))
    };
    let is_text = |(_, text): &Line| text.as_ref().map_or(true, |text| !text.trim().is_empty());
    std::iter::from_fn(next).filter(is_text)
}

fn text(number: usize, line: Vec<u8>) -> Result<String, String> {
    let text = String::from_utf8(line).map_err(|_| "it is not UTF-8 text".to_owned())?;
    Ok(match text.strip_prefix(MARK) {
        Some(rest) if number == 1 => rest.to_owned(),
        _ => text,
    })
}

/// The number of the last line with text, to show how far an import has come.
pub(crate) fn last(lines: impl Iterator<Item = Line>) -> usize {
    lines.last().map_or(0, |(number, _)| number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bad_line_ends_nothing_and_numbers_stay_right() {
        let long = "x".repeat(usize::try_from(LINE).unwrap() + 5);
        let text =
            [b"\xef\xbb\xbfone\n\n  \n\xff\n".as_slice(), long.as_bytes(), b"\nlast"].concat();
        let found: Vec<Line> = lines_in(text.as_slice()).collect();
        let numbers: Vec<usize> = found.iter().map(|(number, _)| *number).collect();
        assert_eq!(numbers, [1, 4, 5, 6]);
        assert_eq!(found[0].1.as_deref(), Ok("one\n"), "without the mark");
        assert!(found[1].1.as_ref().unwrap_err().contains("UTF-8"));
        assert!(found[2].1.as_ref().unwrap_err().contains("16 MiB"));
        assert_eq!(found[3].1.as_deref(), Ok("last"));
        assert_eq!(last(found.into_iter()), 6);
    }
}
