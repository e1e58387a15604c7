//! An agent says which accounts it has the login of, and reads which ones other processes have.

use galatea_core::{ConnectorInfo, KnownAccount};

use super::{agent::Agent, spec::Encoder, supervise};

impl Agent {
    /// The accounts whose login this process has, as others should know them.
    pub(super) fn known_accounts(&self) -> Vec<KnownAccount> {
        let connectors = self.shared_connectors();
        let logged_in = connectors.filter(|connector| connector.login_needed().is_none());
        let known = |info: &ConnectorInfo| KnownAccount {
            handle: self
                .outbox
                .routes
                .any(&info.source, &info.account)
                .and_then(|route| route.handler.handle()),
            suffix: self.profile.get().policies.suffix(&info.source, &info.account),
            info: info.clone(),
        };
        logged_in.map(|connector| known(connector.info())).collect()
    }

    /// Prepares to write for the accounts whose login other processes have.
    pub(super) fn learn(&self, accounts: Vec<KnownAccount>) {
        for account in accounts {
            let info = account.info.clone();
            if self.company.knows(&account) {
                continue;
            }
            self.directory.accounts.learn(&info);
            let served =
                self.connector(&info.source, &info.account).is_some() || self.write_for(&account);
            self.company.keep(account, served);
        }
        // Another process has the login that this one waits for.
        for connector in self.shared_connectors().filter(|c| c.login_needed().is_some()) {
            if self.account_of(connector.info()).is_some() {
                supervise::elsewhere(self, connector.as_ref());
            }
        }
    }

    /// The account that a connector without a login stands for, where another process has the
    /// login.
    pub(super) fn account_of(&self, info: &ConnectorInfo) -> Option<ConnectorInfo> {
        let suffix = self.profile.get().policies.suffix(&info.source, &info.account);
        self.company.logged_in(&info.source, &suffix)
    }

    fn write_for(&self, account: &KnownAccount) -> bool {
        let ConnectorInfo { source, account: name, .. } = &account.info;
        let Encoder { handler, settings } = match self.company.encoders.build(account) {
            Ok(Some(encoder)) => encoder,
            Ok(None) => {
                tracing::warn!(source = %source, account = %name, "this process has no connector for the platform of an account that another process has; it leaves the agent's rooms to processes that have one");
                return false;
            }
            Err(error) => {
                tracing::error!(source = %source, account = %name, code = error.code(), error = %error.report(), fix = error.fix(), "this process cannot answer for an account that another process has");
                return false;
            }
        };
        if let Some(settings) = settings {
            self.profile.get().policies.learn(source, name, settings);
        }
        self.outbox.routes.encode_without_login(&account.info, handler);
        self.ownership.lease_also(source);
        tracing::info!(source = %source, account = %name, "another process has the login of this account; this one can answer for it");
        true
    }
}
