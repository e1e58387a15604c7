//! Connects a server once, for its owner who looks at it.

use galatea_core::{Result, model::tokens::Family};

use crate::{
    child::{confine, spawn::Said},
    client::{Surroundings, connect, listing},
    config::ServerConfig,
    places::Places,
    tools::{
        cost,
        pin::{self, Pinned},
    },
};

/// What a server said of itself.
#[derive(Debug, Clone)]
pub struct Probed {
    /// Version of the protocol.
    pub version: String,
    /// Its lists.
    pub listing: listing::Listing,
    /// Tokens that the descriptions of its tools take.
    pub tokens: u64,
    /// What the kernel does not enforce of its limits.
    pub not_enforced: Option<String>,
}

/// Connects a server, reads its lists, and closes it.
///
/// # Errors
/// Those of the connection.
pub async fn probe(config: &ServerConfig, around: &Surroundings) -> Result<Probed> {
    let known = around.places.read(&config.key()).unwrap_or_default();
    let version = known.version.filter(|_| known.approval.identity == config.identity());
    let connection = connect::open(config, around, version.as_deref()).await?;
    let listed = listing::list(connection.peer(), config).await;
    let version = connection.version().to_string();
    let enforced = connection.said().as_ref().and_then(Said::enforced);
    connection.close().await;
    let listing = listed?;
    Ok(Probed {
        version,
        tokens: listing.tools.iter().map(|tool| cost(Family::Other, tool)).sum(),
        listing,
        not_enforced: enforced.and_then(|words| confine::in_words(&words)),
    })
}

impl Probed {
    /// Each tool beside what its owner agreed to before.
    pub fn compared(&self, config: &ServerConfig, places: &Places) -> Result<Vec<Pinned>> {
        let known = places.read(&config.key())?;
        let approval = if known.approval.identity == config.identity() {
            known.approval
        } else {
            pin::Approval::default()
        };
        Ok(pin::compare(&self.listing.tools, &approval))
    }

    /// Names of tools that were agreed to and are gone.
    ///
    /// # Errors
    /// `Invalid` with the path of a file that cannot be read.
    pub fn gone(&self, config: &ServerConfig, places: &Places) -> Result<Vec<String>> {
        Ok(pin::gone(&self.listing.tools, &places.read(&config.key())?.approval))
    }

    /// Approves the server's command or address and these of its tools as they are; none means all.
    ///
    /// # Errors
    /// `Unexpected` if the file cannot be written.
    pub fn approve(
        &self,
        config: &ServerConfig,
        places: &Places,
        only: Option<&[String]>,
    ) -> Result<()> {
        let chosen = self
            .listing
            .tools
            .iter()
            .filter(|tool| only.is_none_or(|only| only.contains(&tool.name)));
        let new = pin::approve(&config.identity(), chosen);
        places.change(&config.key(), |known| {
            let same = known.approval.identity == config.identity();
            if only.is_some() && same {
                known.approval.tools.extend(new.tools);
                known.approval.descriptions.extend(new.descriptions);
            } else {
                known.approval = new;
            }
            known.version = Some(self.version.clone());
        })
    }
}
