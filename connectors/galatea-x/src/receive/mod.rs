//! The receiving side: polls mentions, and requests original posts when they are due.

mod pace;
pub(crate) mod poll;
pub(crate) mod posts;

use galatea_core::{Error, Gateway, Health, Retry};
use parking_lot::Mutex;
use std::{sync::Arc, time::Duration};
use tokio_util::sync::CancellationToken;

use crate::{
    config::XConfig,
    decode::Me,
    error::{self, codes},
    send::{api::Api, journal::Journal},
};

/// Parts that both receiving tasks of one account share.
#[derive(Clone)]
pub(crate) struct PostIntake {
    pub(crate) api: Arc<Api>,
    pub(crate) config: Arc<XConfig>,
    pub(crate) journal: Arc<Journal>,
    pub(crate) me: Me,
    pub(crate) gateway: Gateway,
    pub(crate) stop: CancellationToken,
    reported: Arc<Mutex<Option<Health>>>,
}

impl PostIntake {
    pub(crate) fn new(
        api: Arc<Api>,
        config: Arc<XConfig>,
        journal: Arc<Journal>,
        me: Me,
        gateway: Gateway,
        stop: CancellationToken,
    ) -> Self {
        Self { api, config, journal, me, gateway, stop, reported: Arc::default() }
    }

    /// Reports the health to the gateway if it changed.
    fn report(&self, health: Health) {
        let mut reported = self.reported.lock();
        if reported.as_ref() != Some(&health) {
            self.gateway.report(health.clone());
            *reported = Some(health);
        }
    }

    /// Reports the health after a successful poll: up, unless something keeps posts from going out.
    pub(crate) fn going(&self) {
        let held = self.api.budget.exhausted().or_else(|| self.api.latched());
        let held = held
            .or_else(|| (self.api.is_read_only() && !self.config.dry_run).then(error::read_only));
        self.report(match held {
            Some(error) => degraded(&error),
            None => Health::Up { detail: detail(&self.me, &self.config) },
        });
    }

    /// Reports the health after a failed poll. `pause` is the time until the next one.
    fn trouble(&self, error: &Error, pause: Duration) {
        self.report(match error.code() {
            Some(codes::BUDGET | codes::CREDITS) => degraded(error),
            code => {
                let reason = format!("{error}; next try in {} s", pause.as_secs().max(1));
                Health::Retrying { reason, code: code.map(str::to_owned) }
            }
        });
    }

    /// Waits for `pause`; returns true if the connector was stopped meanwhile.
    async fn stopped_within(&self, pause: Duration) -> bool {
        tokio::select! {
            biased;
            () = self.stop.cancelled() => true,
            () = self.gateway.clock().sleep(pause) => false,
        }
    }
}

fn degraded(error: &Error) -> Health {
    let code = error.code().map_or_else(String::new, |code| format!(" ({code})"));
    let fix = error.fix().map_or_else(String::new, |fix| format!("; {fix}"));
    Health::Degraded { reason: format!("{}{code}{fix}", error.message()) }
}

/// The account's state as one line for people.
fn detail(me: &Me, config: &XConfig) -> String {
    let name =
        if me.user_name.is_empty() { me.id.to_string() } else { format!("@{}", me.user_name) };
    let reading = if config.replies { "polling mentions" } else { "not reading mentions" };
    let posting = if config.posting.is_some() { ", posting" } else { "" };
    let dry = if config.dry_run {
        "; DRY RUN: nothing is posted until TWITTER_DRY_RUN=false"
    } else {
        ""
    };
    format!("{name}, {reading}{posting}{dry}")
}

/// True if only the owner can fix this error.
fn is_final(error: &Error) -> bool {
    error.retry() == Retry::Never
        && matches!(
            error.code(),
            Some(
                codes::UNAUTHORIZED
                    | codes::LOGIN
                    | codes::ENROLL
                    | codes::INVALID
                    | codes::NOT_FOUND
            )
        )
}
