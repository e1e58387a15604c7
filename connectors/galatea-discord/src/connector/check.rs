//! Findings of `check`: whether the token is valid, whether the Message Content intent is on, in
//! how many servers the bot is, and how many sessions it may still start today.

use galatea_core::{Error, Finding, Severity};

use super::{CONTENT, DiscordConnector, NO_CONTENT, invite::invite};
use crate::error::{GRANT, codes};

/// `check` warns below this many session starts left for the day, of Discord's 1,000.
const FEW_SESSIONS: u64 = 200;

impl DiscordConnector {
    /// The findings of `check`.
    pub(super) async fn findings(&self) -> Vec<Finding> {
        let application = match self.application().await {
            Ok(application) => application,
            Err(error) => return vec![failed(&error)],
        };
        let cause = format!("GET /applications/@me answered on {}", self.api.host());
        let mut findings = vec![
            Finding::ok(
                codes::TOKEN,
                "connector",
                format!("token valid: {} (app {})", application.name, application.id),
            )
            .with_cause(cause),
        ];
        findings.push(if application.flags & CONTENT != 0 {
            Finding::ok(
                codes::INTENTS,
                "connector",
                "Message Content intent is on: it hears every message of its channels",
            )
        } else {
            Finding::new(
                Severity::Warning,
                codes::INTENTS,
                "connector",
                format!("Message Content intent is off: starts anyway; {NO_CONTENT}"),
            )
            .with_fix(GRANT)
            .with_repair(format!("Switch on the Message Content intent of {}?", application.name))
        });
        let link = format!("invite it: {}", invite(application.id));
        findings.push(match application.approximate_guild_count {
            Some(0) => Finding::new(
                Severity::Warning,
                codes::INVITE,
                "connector",
                "it is in no server yet",
            )
            .with_fix(link),
            Some(1) => Finding::ok(codes::INVITE, "connector", "in 1 server").with_fix(link),
            Some(n) => {
                Finding::ok(codes::INVITE, "connector", format!("in {n} servers")).with_fix(link)
            }
            None => Finding::new(
                Severity::Info,
                codes::INVITE,
                "connector",
                "Discord does not tell how many servers it is in",
            )
            .with_fix(link),
        });
        findings.extend(self.entry().await.ok().map(|(_, _, limit)| sessions(limit.remaining)));
        findings
    }
}

/// The finding about the number of session starts left today.
fn sessions(left: u64) -> Finding {
    if left < FEW_SESSIONS {
        let message = format!(
            "only {left} new sessions are left until Discord's count restarts; at zero Discord resets the token"
        );
        return Finding::new(Severity::Warning, codes::IDENTIFY, "connector", message)
            .with_fix("find out what restarts the bot again and again");
    }
    Finding::ok(codes::IDENTIFY, "connector", format!("{left} sessions may still be begun today"))
}

fn failed(error: &Error) -> Finding {
    Finding::failure("connector", error)
}
