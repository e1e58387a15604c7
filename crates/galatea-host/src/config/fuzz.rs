//! Entry point of the fuzzer (`fuzz/`) for `.env` files. Only compiled with the feature `fuzz`.

use std::{collections::BTreeMap, path::Path};

use super::{
    dotenv,
    text_file::{self, Parsed},
};
use crate::report::{Place, Report};

/// Inputs with more `$` are skipped. Each `$` can repeat all previous values, so a few lines can
/// grow to gigabytes. The operator writes the file and gains nothing from that.
const MOST_INSERTIONS: usize = 8;

/// Reads `bytes` as a `.env` and checks the result: values equal dotenvy's, places lie inside the
/// text, and no place shows a value.
pub fn dotenv(bytes: &[u8]) {
    let text = match text_file::decode(bytes.to_vec()) {
        Ok(text) => text,
        Err(line) => return assert!((1..=lines_of(bytes)).contains(&line), "line {line}"),
    };
    if text.matches('$').count() > MOST_INSERTIONS {
        return;
    }
    let parsed = dotenv::parse(Path::new(".env"), &text);
    same_as_dotenvy(&parsed, &text);
    for named in &parsed.names {
        shown(&named.place, &text);
        let place = &named.place;
        let rest: String = place.text.chars().skip(place.column - 1).collect();
        let behind = rest.strip_prefix(&named.name).map(str::trim_start);
        assert!(behind.is_some_and(|behind| behind.starts_with('=')), "{place:?}");
    }
    for report in &parsed.errors {
        assert!(report.place.is_some(), "{report:?}");
    }
    for place in reports(&parsed).filter_map(|report| report.place.as_ref()) {
        shown(place, &text);
    }
}

fn lines_of(bytes: &[u8]) -> usize {
    bytes.split(|byte| *byte == b'\n').count()
}

fn reports(parsed: &Parsed) -> impl Iterator<Item = &Report> {
    parsed.errors.iter().chain(&parsed.warnings)
}

/// Checks that the values equal those dotenvy reads from the whole text (the last one of each
/// name), and that its faults are reported.
fn same_as_dotenvy(parsed: &Parsed, text: &str) {
    let text: String = text.lines().flat_map(|line| [line, "\n"]).collect();
    let mut expected = BTreeMap::new();
    let (mut names, mut faults) = (Vec::new(), 0);
    for entry in dotenvy::from_read_iter(text.as_bytes()) {
        match entry {
            Ok((name, value)) => {
                names.push(name.clone());
                expected.insert(name, value);
            }
            Err(_) => faults += 1,
        }
    }
    let read: BTreeMap<_, _> =
        parsed.layer.iter().map(|(name, setting)| (name.clone(), setting.text())).collect();
    assert_eq!(read, expected);
    assert!(parsed.names.iter().map(|named| &named.name).eq(&names));
    assert_eq!(parsed.errors.len(), faults);
}

/// Checks that a place lies inside the text, and that its quoted line has the line's length but not
/// its value.
fn shown(place: &Place, text: &str) {
    let line = place.line.checked_sub(1).and_then(|index| text.lines().nth(index));
    let length = line.map_or(0, |line| line.chars().count());
    assert!(line.is_some() && place.length > 0, "{place:?}");
    assert!((1..=length).contains(&(place.column + place.length - 1)), "{place:?}");
    assert_eq!(place.text.chars().count(), length, "{place:?}");
    let value = place.text.split_once('=').map_or(place.text.as_str(), |(_, value)| value);
    assert!(!value.contains(char::is_alphanumeric), "{place:?}");
}
