//! Detects processes of another version, character or settings, and names each once.

use galatea_core::{MemberId, Result, Store, store::About};
use std::collections::BTreeMap;

/// The differences last reported of each process.
#[derive(Debug, Default)]
pub(super) struct Peers(BTreeMap<MemberId, Vec<String>>);

impl Peers {
    /// Compares the live processes with this one and logs new differences.
    pub(super) async fn compare(
        &mut self,
        store: &dyn Store,
        member: MemberId,
        about: &About,
    ) -> Result<()> {
        let members = store.members().await?;
        let others =
            members.into_iter().filter(|other| other.id != member && !other.left.is_zero());
        let found: BTreeMap<MemberId, (String, Vec<String>)> = others
            .map(|other| (other.id, (other.membership.name, about.unlike(&other.membership.about))))
            .collect();
        for (id, (name, unlike)) in &found {
            if !unlike.is_empty() && self.0.get(id) != Some(unlike) {
                let runs = unlike.join("; ");
                tracing::warn!(code = "GAL-CLUSTER-UNLIKE", process = %name, runs, "another process that shares this database runs another version, character or settings; both go on");
            }
        }
        self.0 = found.into_iter().map(|(id, (_, unlike))| (id, unlike)).collect();
        Ok(())
    }
}
