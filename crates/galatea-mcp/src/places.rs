//! Files of MCP servers in the data folder: what their owner agreed to, how they speak, and their
//! logins. Every process of the folder shares them.

use galatea_core::{Error, Result, private_file};
use serde::{Deserialize, Serialize};
use std::{
    fs::File,
    path::{Path, PathBuf},
    time::SystemTime,
};

use crate::tools::pin::Approval;

/// Longest such file that is read, in bytes.
const LONGEST: u64 = 4 << 20;

/// The folder of the files.
#[derive(Debug, Clone)]
pub struct Places(PathBuf);

/// What is known of a server beyond its configuration.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Known {
    /// What its owner agreed to.
    pub approval: Approval,
    /// Version of the protocol that it spoke last; none if it has to be asked again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
}

impl Places {
    /// In the data folder.
    pub fn new(data_folder: &Path) -> Self {
        Self(data_folder.join("mcp"))
    }

    /// The folder that a server's program may write to.
    pub(crate) fn home(&self, server: &str) -> PathBuf {
        self.0.join("homes").join(server)
    }

    /// The file of a server's login.
    pub(crate) fn login(&self, server: &str) -> PathBuf {
        self.0.join(format!("{server}.login.json"))
    }

    fn known(&self, server: &str) -> PathBuf {
        self.0.join(format!("{server}.json"))
    }

    /// Reads what is known of a server; nothing if there is no file.
    ///
    /// # Errors
    /// `Invalid` with the path of a file that is not readable.
    pub fn read(&self, server: &str) -> Result<Known> {
        let path = self.known(server);
        let Some(text) = text(&path)? else { return Ok(Known::default()) };
        serde_json::from_str(&text).map_err(|error| {
            Error::invalid("what an owner agreed to cannot be read")
                .with_code("GAL-MCP-FILE")
                .with("file", path.display())
                .with("cause", error)
                .with_fix(
                    "remove the file, and approve the server again with `galatea mcp approve`",
                )
        })
    }

    /// Changes what is known of a server. Other processes change it one after the other.
    ///
    /// # Errors
    /// As [`Self::read`], and `Unexpected` if the file cannot be written.
    pub fn change(&self, server: &str, change: impl FnOnce(&mut Known)) -> Result<()> {
        let _locked = self.lock(server)?;
        let before = self.read(server).unwrap_or_default();
        let mut known = before.clone();
        change(&mut known);
        if known == before {
            return Ok(());
        }
        let text = serde_json::to_string_pretty(&known)
            .map_err(|error| Error::unexpected("a value is not JSON").with_source(error))?;
        private_file::replace_durably(&self.known(server), text.as_bytes())
    }

    /// Forgets a server: what was agreed to, its login, and its own folder.
    pub fn forget(&self, server: &str) {
        let _ = std::fs::remove_file(self.known(server));
        let _ = std::fs::remove_file(self.login(server));
        let _ = std::fs::remove_dir_all(self.home(server));
    }

    /// Time of the last change of a server's files, to see changes of other processes.
    pub(crate) fn changed(&self, server: &str) -> [Option<SystemTime>; 2] {
        [self.known(server), self.login(server)]
            .map(|path| path.metadata().and_then(|found| found.modified()).ok())
    }

    /// Waits until no other process works on a server's files. The lock ends with the returned file.
    ///
    /// # Errors
    /// `Unexpected` with the path of a file that cannot be locked.
    pub(crate) fn lock(&self, server: &str) -> Result<File> {
        let path = self.0.join(format!("{server}.lock"));
        let open = || {
            private_file::create_folder(&self.0)?;
            let file = private_file::options().create(true).append(true).open(&path)?;
            file.lock()?;
            Ok(file)
        };
        open().map_err(|error: std::io::Error| {
            Error::unexpected("a file of an MCP server cannot be locked")
                .with("file", path.display())
                .with_fix("check the permissions and the free space of the data folder")
                .with_source(error)
        })
    }
}

/// Text of a file; none if there is no file.
pub(crate) fn text(path: &Path) -> Result<Option<String>> {
    let read = || {
        let size = path.metadata()?.len();
        if size > LONGEST {
            return Err(std::io::Error::other("the file is too long"));
        }
        std::fs::read_to_string(path)
    };
    match read() {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Error::invalid("a file of an MCP server cannot be read")
            .with_code("GAL-MCP-FILE")
            .with("file", path.display())
            .with_source(error)),
    }
}
