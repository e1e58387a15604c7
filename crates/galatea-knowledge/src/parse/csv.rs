//! CSV: the first row is the header, every other row a line.

use csv::{ReaderBuilder, StringRecord};
use galatea_core::Result;

use super::table::DocumentTable;
use crate::{
    document::Writer,
    refusal::{too_large, unreadable},
};

/// Characters that may separate cells. The one that the first line has most of is taken.
const SEPARATORS: [u8; 4] = [b',', b';', b'\t', b'|'];

pub(super) fn read(text: &str, writer: &mut Writer) -> Result<()> {
    let longest = writer.limits().row;
    if let Some(line) = text.lines().position(|line| line.len() > longest) {
        return Err(too_large("a row of the table is too long")
            .with("line", line + 1)
            .with("limit", format!("{} KiB", longest >> 10)));
    }
    let first = text.lines().next().unwrap_or_default().as_bytes();
    let separator = SEPARATORS
        .into_iter()
        .max_by_key(|separator| {
            (first.iter().filter(|byte| *byte == separator).count(), *separator == b',')
        })
        .unwrap_or(b',');
    let mut reader = ReaderBuilder::new()
        .delimiter(separator)
        .has_headers(false)
        .flexible(true)
        .from_reader(text.as_bytes());
    let (mut table, mut record) = (DocumentTable::default(), StringRecord::new());
    loop {
        let more = reader.read_record(&mut record).map_err(|error| {
            unreadable("the table cannot be read")
                .with("cause", error)
                .with_fix("export it again as CSV in UTF-8")
        })?;
        if !more {
            return table.interrupt(writer);
        }
        if record.as_slice().len() > longest {
            return Err(too_large(
                "a row of the table is too long; a quotation mark may be missing",
            )
            .with("limit", format!("{} KiB", longest >> 10)));
        }
        record.iter().for_each(|cell| table.cell(cell.to_owned()));
        table.end_row();
    }
}
