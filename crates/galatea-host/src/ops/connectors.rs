//! Connectors: what their platform says of them, repairs, and a new beginning.

use galatea_core::{
    Clock, Connector, Error, ErrorKind, Finding, Host, Result, Severity, store::OperatorRole,
};
use galatea_runtime::ConnectorStatus;
use serde_json::json;
use std::{sync::Arc, time::Duration};
use tokio::time::timeout;

use super::{Operator, Ops};
use crate::platforms::{Built, PLATFORMS, Taken, accounts};

/// Longest wait for a platform that is asked about a connector.
const PATIENCE: Duration = Duration::from_secs(30);
/// How long turns and sends in flight may take to end when an agent is made anew.
const DRAIN: Duration = Duration::from_secs(25);

/// Name of a connector in addresses: its platform and account.
pub fn connector_id(status: &ConnectorStatus) -> String {
    format!("{}:{}", status.info.source, status.info.account)
}

impl Ops {
    /// The state of a connector.
    ///
    /// # Errors
    /// `NotFound` (`GAL-CONNECTOR-UNKNOWN`) if this process has none of this name.
    pub fn connector(&self, by: &Operator, id: &str) -> Result<ConnectorStatus> {
        let all = self.connectors(by)?;
        all.into_iter().find(|status| connector_id(status) == id).ok_or_else(|| {
            Error::not_found("this process has no such connector")
                .with_code("GAL-CONNECTOR-UNKNOWN")
                .with_fix("the list of connectors has their ids")
        })
    }

    /// The connector of a status, made anew from the settings: a check starts nothing.
    fn made(&self, status: &ConnectorStatus) -> Result<Arc<dyn Connector>> {
        let installation = self.installation()?;
        let persona = installation.persona(status.agent)?;
        let clock: Arc<dyn Clock> = Arc::clone(&self.clock);
        let host = Host {
            agent: persona.character.identity(),
            agent_name: persona.character.name.clone(),
            data_dir: installation.surroundings.data_dir.clone(),
            clock,
        };
        let mut taken = Taken::default();
        let platforms = PLATFORMS.iter().filter(|p| p.source == status.info.source);
        for platform in platforms {
            for account in accounts::of(platform, &persona.settings) {
                if let Built::On(connector) = platform.connector(&account, &host, &mut taken)?
                    && connector.info().account == status.info.account
                {
                    return Ok(connector);
                }
            }
        }
        Err(Error::new(ErrorKind::Conflict, "the settings do not have this connector any more")
            .with_code("GAL-CONNECTOR-UNKNOWN")
            .with_fix("restart the agent, so that it runs with its settings of now"))
    }

    /// Asks the platform whether a connector works. One that costs money is asked only if the operator
    /// agreed to pay.
    ///
    /// # Errors
    /// `NotFound` for an unknown connector, `Timeout` if the platform does not answer.
    pub async fn check_connector(
        &self,
        by: &Operator,
        id: &str,
        pay: bool,
    ) -> Result<Vec<Finding>> {
        let status = self.connector(by, id)?;
        by.need_on(OperatorRole::Operator, status.agent)?;
        let connector = self.made(&status)?;
        if let Some(cost) = connector.check_cost().filter(|_| !pay) {
            let mut findings = connector.remarks();
            let words = format!("not asked whether it works. {cost}");
            let unasked = Finding::new(Severity::Info, "GAL-CONNECTOR-PAID", "connector", words);
            findings.push(unasked.with_fix("ask again, and agree to the price"));
            return Ok(findings);
        }
        timeout(PATIENCE, connector.check()).await.map_err(|_| {
            Error::new(ErrorKind::Timeout, "the platform did not answer in time")
                .with_fix("try again")
        })
    }

    /// Carries out the repair that a check of a connector offered, and checks it again.
    ///
    /// # Errors
    /// `NotFound` if the check does not find it any more, and the platform's failure.
    pub async fn repair_connector(
        &self,
        by: &Operator,
        id: &str,
        finding: &str,
    ) -> Result<Vec<Finding>> {
        by.need_on(OperatorRole::Owner, self.connector(by, id)?.agent)?;
        let found = self.check_connector(by, id, true).await?;
        let offered = found.iter().find(|one| one.id == finding && one.repair.is_some());
        let offered = offered.ok_or_else(|| {
            Error::not_found("the check offers no such repair").with_fix("check it again")
        })?;
        let connector = self.made(&self.connector(by, id)?)?;
        timeout(PATIENCE, connector.repair(offered))
            .await
            .map_err(|_| Error::new(ErrorKind::Timeout, "the platform did not answer in time"))??;
        let after = json!({ "finding": finding, "repair": offered.repair });
        self.record(by, "connector.repair", id, None, Some(after)).await?;
        self.check_connector(by, id, true).await
    }

    /// Connects anew: the connectors and models of its agent are made again from the settings.
    ///
    /// # Errors
    /// `NotFound` for an unknown connector, and any failure to make the agent anew.
    pub async fn reconnect(&self, by: &Operator, id: &str) -> Result<()> {
        let status = self.connector(by, id)?;
        by.need_on(OperatorRole::Operator, status.agent)?;
        self.running()?.restart_agent(status.agent, DRAIN).await?;
        self.record(by, "connector.reconnect", id, None, None).await
    }
}
