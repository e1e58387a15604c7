//! cluster: who shares this database, and who does what.

use clap::{Args, Subcommand};
use galatea_core::{
    AgentId, Clock, MemberId, Store, SystemClock,
    store::{LeaseStatus, Member, Part, ROOM_PARTS},
};
use serde_json::json;
use std::{fmt::Write as _, process::ExitCode, time::Duration};

use crate::{
    cli::flags::Json,
    context::Context,
    data_dir::DataDir,
    database::Database,
    exit::Exit,
    failure::Result,
    member,
    output::{Color, Style},
};

/// See the processes that share a PostgreSQL
#[derive(Debug, Clone, Args)]
pub(crate) struct Cluster {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Clone, Subcommand)]
enum Command {
    #[command(before_help = "Examples:\n  galatea cluster status\n  galatea cluster status --json")]
    Status(Status),
}

/// Tell who does what, and how far the work is behind: exit 7 when somebody's work is nobody's
#[derive(Debug, Clone, Args)]
struct Status {
    #[command(flatten)]
    json: Json,
}

impl Cluster {
    /// Looks and prints; works beside running processes.
    pub(crate) async fn run(&self, context: &Context) -> Result<ExitCode> {
        let Command::Status(status) = &self.command;
        let settings = &context.configuration()?.settings;
        let data_dir = DataDir::locate(settings, &context.working_dir);
        let database = Database::open_beside(settings, &data_dir).await?;
        let store = database.store();
        let view = View::of(&*store, member::known(&data_dir)).await;
        database.close().await;
        let view = view?;
        if status.json.json {
            context.output.json("galatea.cluster/1", view.json());
        } else {
            context.output.data(view.render(context.output.style).trim_end());
        }
        Ok(if view.idle().is_empty() { ExitCode::SUCCESS } else { Exit::Findings.into() })
    }
}

/// Everything there is to show.
struct View {
    shared: bool,
    here: Option<MemberId>,
    members: Vec<Member>,
    leases: Vec<LeaseStatus>,
    agents: Vec<(AgentId, String)>,
    behind: Option<Duration>,
}

impl View {
    async fn of(store: &dyn Store, here: Option<MemberId>) -> galatea_core::Result<Self> {
        let now = SystemClock.now();
        Ok(Self {
            shared: store.is_shared(),
            here,
            members: store.members().await?,
            leases: store.leases().await?,
            agents: store.agents().await?,
            behind: store.oldest_unstarted().await?.map(|since| now.since(since)),
        })
    }

    fn is_alive(&self, member: Option<MemberId>) -> bool {
        self.members.iter().any(|m| Some(m.id) == member && !m.left.is_zero())
    }

    fn name(&self, agent: &str) -> String {
        self.agents.iter().find(|(id, _)| id.to_string() == agent).map_or_else(|| agent.to_owned(), |(_, name)| name.clone())
    }

    /// Rooms per agent that this member answers in, then the accounts it has.
    fn work(&self, member: MemberId) -> (Vec<(String, usize)>, Vec<String>) {
        let (mut rooms, mut accounts): (Vec<(String, usize)>, Vec<String>) = (Vec::new(), Vec::new());
        for status in self.leases.iter().filter(|status| status.member == Some(member) && !status.left.is_zero()) {
            match kind(&status.lease.part) {
                Kind::Rooms(agent) => {
                    let name = self.name(agent);
                    match rooms.iter_mut().find(|(known, _)| *known == name) {
                        Some((_, count)) => *count += 1,
                        None => rooms.push((name, 1)),
                    }
                }
                Kind::Account { source, agent, account } => accounts.push(format!("{source} {account} ({})", self.name(agent))),
                Kind::Other => {}
            }
        }
        (rooms, accounts)
    }

    /// What was somebody's work and is nobody's now.
    fn idle(&self) -> Vec<String> {
        let mut rooms: Vec<(String, usize)> = Vec::new();
        let mut idle = Vec::new();
        for status in self.leases.iter().filter(|status| status.left.is_zero() || !self.is_alive(status.member)) {
            match kind(&status.lease.part) {
                Kind::Rooms(agent) => match rooms.iter_mut().find(|(known, _)| known == agent) {
                    Some((_, count)) => *count += 1,
                    None => rooms.push((agent.to_owned(), 1)),
                },
                Kind::Account { source, agent, account } => idle.push(format!("nobody connects {source} {account} of {}", self.name(agent))),
                Kind::Other => {}
            }
        }
        idle.extend(rooms.into_iter().map(|(agent, count)| format!("nobody answers for {} in {count} of {ROOM_PARTS} parts of its rooms", self.name(&agent))));
        idle
    }

    fn json(&self) -> serde_json::Value {
        json!({
            "shared": self.shared, "here": self.here, "members": self.members, "leases": self.leases, "idle": self.idle(),
            "oldestUnstartedMillis": self.behind.map(|behind| u64::try_from(behind.as_millis()).unwrap_or(u64::MAX)),
        })
    }

    fn render(&self, style: Style) -> String {
        if !self.shared {
            return "one process, with a SQLite file of its own; several share a PostgreSQL (DATABASE_URL)\n".to_owned();
        }
        let mut text = String::new();
        if self.members.is_empty() {
            text.push_str("no process runs with this database\n");
        }
        for member in &self.members {
            let here = if Some(member.id) == self.here { "  (this data folder)" } else { "" };
            let state = if member.left.is_zero() { style.bold(Color::Yellow, "gone?") } else { style.bold(Color::Green, "alive") };
            let _ = writeln!(text, "{state}  {}  {}{here}", member.membership.name, member.membership.role);
            let (rooms, accounts) = self.work(member.id);
            for account in accounts {
                let _ = writeln!(text, "       connects {account}");
            }
            for (agent, count) in rooms {
                let _ = writeln!(text, "       answers for {agent} in {count} of {ROOM_PARTS} parts of its rooms");
            }
        }
        for idle in self.idle() {
            let _ = writeln!(text, "{} {idle}", style.bold(Color::Red, "✗"));
        }
        match self.behind {
            Some(behind) => writeln!(text, "\nthe oldest message that nobody has begun to answer has waited for {:.1} s", behind.as_secs_f64()),
            None => writeln!(text, "\nno message waits to be begun"),
        }
        .unwrap_or_default();
        text
    }
}

enum Kind<'a> {
    Rooms(&'a str),
    Account { source: &'a str, agent: &'a str, account: &'a str },
    Other,
}

fn kind(part: &Part) -> Kind<'_> {
    let mut words = part.0.splitn(3, ':');
    match (words.next(), words.next(), words.next()) {
        (Some("rooms"), Some(agent), Some(_)) => Kind::Rooms(agent),
        (Some(source), Some(agent), Some(account)) => Kind::Account { source, agent, account },
        _ => Kind::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use galatea_core::{
        Account, Source, Timestamp,
        store::{Lease, Membership, Role},
    };

    #[test]
    fn work_and_what_nobody_does_are_told() {
        let (agent, here, gone) = (AgentId::fresh(), MemberId::fresh(), MemberId::fresh());
        let alive = Duration::from_secs(5);
        let lease = |part, member, left| LeaseStatus { lease: Lease { part, epoch: 1 }, member: Some(member), left };
        let member =
            |id, name: &str, role, left| Member { id, membership: Membership { name: name.into(), role, groups: Vec::new() }, joined: Timestamp(0), left };
        let view = View {
            shared: true,
            here: Some(here),
            members: vec![member(here, "a:1", Role::All, alive), member(gone, "b:2", Role::Worker, Duration::ZERO)],
            leases: vec![
                lease(Part::account(&Source::new("telegram"), agent, &Account("42".into())), here, alive),
                lease(Part::rooms(agent, 0), here, alive),
                lease(Part::rooms(agent, 1), here, alive),
                lease(Part::rooms(agent, 2), gone, Duration::ZERO),
            ],
            agents: vec![(agent, "Ada".into())],
            behind: Some(Duration::from_millis(1500)),
        };
        assert_eq!(
            view.render(Style::plain()),
            "alive  a:1  all  (this data folder)\n       connects telegram 42 (Ada)\n       answers for Ada in 2 of 64 parts of its rooms\n\
             gone?  b:2  worker\n✗ nobody answers for Ada in 1 of 64 parts of its rooms\n\n\
             the oldest message that nobody has begun to answer has waited for 1.5 s\n"
        );
    }
}
