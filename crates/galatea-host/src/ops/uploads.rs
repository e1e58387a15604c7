//! Uploads of documents: pieces in their order, which go on after a broken connection.

use galatea_core::{AgentId, Error, ErrorKind, Result, store::OperatorRole};
use galatea_knowledge::{Origin, Place, Source};
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::{
    io::{Seek as _, SeekFrom, Write as _},
    path::Path,
};
use uuid::Uuid;

use super::{Operator, Ops, knowledge::cannot};

/// Longest document in bytes: what a parser reads at most.
const LONGEST: u64 = 64 << 20;
/// Longest name of a document, in characters.
const NAME: usize = 120;
/// Uploads that are under way at once.
const UPLOADS: usize = 32;

/// An upload that is under way.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Upload {
    /// Its id.
    pub id: Uuid,
    /// The agent whose document it becomes.
    pub agent: AgentId,
    /// Name of the file.
    pub name: String,
    /// Its bytes in all.
    pub size: u64,
    /// Bytes that are here.
    #[serde(default)]
    pub received: u64,
    /// Other agents find it.
    pub shared: bool,
}

impl Ops {
    /// Begins an upload.
    ///
    /// # Errors
    /// `Invalid` for a name or size that cannot be, `Exhausted` if too many are under way.
    pub async fn begin_upload(
        &self,
        by: &Operator,
        agent: AgentId,
        name: &str,
        size: u64,
        shared: bool,
    ) -> Result<Upload> {
        by.need_on(OperatorRole::Operator, agent)?;
        self.installation()?.persona(agent)?;
        let name = checked_name(name)?;
        if size == 0 || size > LONGEST {
            return Err(Error::new(
                if size == 0 { ErrorKind::Invalid } else { ErrorKind::TooLong },
                format!("a document has 1 to {LONGEST} bytes"),
            ));
        }
        let folder = self.uploads()?;
        let open = std::fs::read_dir(&folder).map_err(cannot)?.flatten();
        let open = open.filter(|file| file.path().extension().is_some_and(|e| e == "json"));
        if open.count() >= UPLOADS {
            return Err(Error::new(ErrorKind::Exhausted, "too many uploads are under way")
                .with_fix("finish or remove some"));
        }
        let upload = Upload { id: Uuid::now_v7(), agent, name, size, received: 0, shared };
        let text = serde_json::to_vec(&upload)
            .map_err(|error| Error::unexpected("an upload is not JSON").with_source(error))?;
        private(&folder.join(format!("{}.json", upload.id)), &text)?;
        private(&folder.join(format!("{}.part", upload.id)), &[])?;
        Ok(upload)
    }

    /// How far an upload has come.
    ///
    /// # Errors
    /// `NotFound` for an unknown one.
    pub async fn upload(&self, by: &Operator, id: Uuid) -> Result<Upload> {
        by.need_somewhere(OperatorRole::Operator)?;
        let folder = self.uploads()?;
        let unknown = || Error::not_found("there is no such upload").with_fix("begin it again");
        let text = std::fs::read(folder.join(format!("{id}.json"))).map_err(|_| unknown())?;
        let upload: Upload = serde_json::from_slice(&text).map_err(|_| unknown())?;
        by.need_on(OperatorRole::Operator, upload.agent)?;
        let part = folder.join(format!("{id}.part")).metadata().map_err(|_| unknown())?;
        Ok(Upload { received: part.len(), ..upload })
    }

    /// Adds bytes at an offset, which must be what is here already. With the last ones the document is
    /// handed to its agent.
    ///
    /// # Errors
    /// `NotFound` for an unknown upload, `Conflict` (`GAL-UPLOAD-OFFSET`) for another offset, `TooLong`
    /// for more bytes than announced.
    pub async fn continue_upload(
        &self,
        by: &Operator,
        id: Uuid,
        offset: u64,
        bytes: &[u8],
    ) -> Result<Upload> {
        let upload = self.upload(by, id).await?;
        if offset != upload.received {
            return Err(Error::new(
                ErrorKind::Conflict,
                format!("the upload goes on at byte {}", upload.received),
            )
            .with_code("GAL-UPLOAD-OFFSET")
            .with_fix("ask how far it has come, and go on from there"));
        }
        let received = offset.saturating_add(bytes.len() as u64);
        if received > upload.size {
            return Err(Error::new(ErrorKind::TooLong, "these are more bytes than announced"));
        }
        let folder = self.uploads()?;
        let part = folder.join(format!("{id}.part"));
        let append = || {
            let mut file = std::fs::OpenOptions::new().write(true).open(&part)?;
            file.seek(SeekFrom::Start(offset))?;
            file.write_all(bytes)?;
            file.sync_data()
        };
        append().map_err(cannot)?;
        let upload = Upload { received, ..upload };
        if received == upload.size {
            self.finish_upload(by, &upload, &folder, &part).await?;
        }
        Ok(upload)
    }

    async fn finish_upload(
        &self,
        by: &Operator,
        upload: &Upload,
        folder: &Path,
        part: &Path,
    ) -> Result<()> {
        // Each document has a folder of its own: its name is its title, and may come twice.
        let own = folder.join(upload.id.to_string());
        std::fs::create_dir_all(&own).map_err(cannot)?;
        let file = own.join(&upload.name);
        std::fs::rename(part, &file).map_err(cannot)?;
        let file = file.canonicalize().map_err(cannot)?;
        let library = self.library(upload.agent, false)?;
        let source =
            Source { place: Place::Path(file), shared: upload.shared, origin: Origin::Added };
        library.add(&[source]).await?;
        let _ = std::fs::remove_file(folder.join(format!("{}.json", upload.id)));
        let after = json!({ "agent": upload.agent, "name": upload.name, "bytes": upload.size });
        self.record(by, "knowledge.add", upload.id, None, Some(after)).await
    }
}

/// A file's name alone: it never leads out of its folder.
fn checked_name(name: &str) -> Result<String> {
    let name = name.trim();
    let length = name.chars().count();
    let odd = |c: char| c.is_control() || matches!(c, '/' | '\\' | '\0');
    if length == 0 || length > NAME || name.starts_with('.') || name.chars().any(odd) {
        return Err(Error::invalid(format!(
            "the name of a document has 1 to {NAME} characters, no slash, and no dot at its beginning"
        )));
    }
    Ok(name.to_owned())
}

fn private(path: &Path, bytes: &[u8]) -> Result<()> {
    galatea_core::private_file::replace_durably(path, bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stay_in_their_folder() {
        assert_eq!(checked_name(" a b.pdf ").unwrap(), "a b.pdf");
        for bad in ["", "..", ".env", "a/b", "..\\b", "a\0", &"x".repeat(121)] {
            assert!(checked_name(bad).is_err(), "{bad:?}");
        }
    }
}
