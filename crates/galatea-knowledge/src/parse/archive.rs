//! An archive (ZIP) read in memory, within limits on entries, ratio and unpacked bytes. Nothing is
//! written to disk.

use galatea_core::Result;
use std::io::{Cursor, Read};
use zip::ZipArchive;

use super::encoding;
use crate::{
    document::Limits,
    refusal::{too_large, unreadable},
};

/// Entries of this size may have any ratio: a page of spaces is small and no danger.
const SMALL: u64 = 1 << 20;

pub(super) struct Archive<'a> {
    zip: ZipArchive<Cursor<&'a [u8]>>,
    limits: Limits,
    unpacked: u64,
}

impl<'a> Archive<'a> {
    /// Opens an archive.
    ///
    /// # Errors
    /// `Invalid` for a damaged archive or one with names outside itself, `TooLong` for one with too
    /// many entries.
    pub(super) fn open(bytes: &'a [u8], limits: Limits) -> Result<Self> {
        let zip =
            ZipArchive::new(Cursor::new(bytes)).map_err(|error| damaged().with("cause", error))?;
        if zip.len() > limits.entries {
            return Err(too_large("the document has too many parts")
                .with("parts", zip.len())
                .with("limit", limits.entries));
        }
        for name in zip.file_names_raw() {
            let outside = name.starts_with(b"/")
                || name.contains(&b'\\')
                || name.split(|byte| *byte == b'/').any(|part| part == b"..");
            if outside {
                return Err(unreadable(
                    "the document names files outside itself, as an attack would",
                )
                .with_fix("leave it out, or export it again with another program"));
            }
        }
        Ok(Self { zip, limits, unpacked: 0 })
    }

    /// The text of an entry. `None` if there is no such entry.
    ///
    /// # Errors
    /// `Invalid` for a damaged or encrypted entry, `TooLong` for one that unpacks to too much.
    pub(super) fn text(&mut self, name: &str) -> Result<Option<String>> {
        let Some(index) = self.zip.index_for_name(name) else { return Ok(None) };
        let entry = self.zip.by_index(index).map_err(|error| damaged().with("cause", error))?;
        let (packed, stated) = (entry.compressed_size().max(1), entry.size());
        if stated > SMALL && stated / packed > self.limits.ratio {
            return Err(bomb(name));
        }
        // The stated size may be a lie, so the bytes are counted as they come.
        let left = self.limits.unpacked.saturating_sub(self.unpacked);
        let most = left.min(SMALL.max(packed.saturating_mul(self.limits.ratio)));
        let mut bytes = Vec::new();
        entry
            .take(most + 1)
            .read_to_end(&mut bytes)
            .map_err(|error| damaged().with("cause", error))?;
        let read = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        if read > most {
            return Err(bomb(name));
        }
        self.unpacked += read;
        Ok(Some(encoding::decode_markup(&bytes)?.into_owned()))
    }

    /// Reads an entry that the format requires.
    ///
    /// # Errors
    /// As [`Self::text`], and `Invalid` if it is missing.
    pub(super) fn required(&mut self, name: &str) -> Result<String> {
        self.text(name)?
            .ok_or_else(|| damaged().with("missing", galatea_core::visible::one_line(name)))
    }
}

fn damaged() -> galatea_core::Error {
    unreadable("the document is damaged").with_fix("download or export it again")
}

fn bomb(name: &str) -> galatea_core::Error {
    too_large("a part of the document unpacks to far more than text does")
        .with("part", galatea_core::visible::one_line(name))
}
