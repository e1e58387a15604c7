//! `galatea cluster`: the processes that share this database, and the work each of them does.

use clap::{Args, Subcommand};
use galatea_core::{
    AgentId, Clock, MemberId, Store, SystemClock,
    store::{LeaseStatus, Member, ROOM_PARTITIONS},
};
use serde_json::json;
use std::{fmt::Write as _, process::ExitCode, time::Duration};

use crate::{
    cli::flags::Json,
    context::Context,
    report::{
        exit::Exit,
        failure::Result,
        output::{Style, hang},
    },
};
use galatea_host::{
    look::{Color, Look},
    process::{
        idle_work::{self, AllWanted, Kind, Wanted, kind},
        member,
    },
    storage::{data_dir::DataDir, database},
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

/// Show which process does what, and how far the work is behind; exit 7 when work is unclaimed
#[derive(Debug, Clone, Args)]
struct Status {
    #[command(flatten)]
    json: Json,
}

impl Cluster {
    /// Reads and prints. Works beside running processes.
    pub(crate) async fn run(&self, context: &Context) -> Result<ExitCode> {
        let Command::Status(status) = &self.command;
        let settings = &context.configuration()?.settings;
        let data_dir = DataDir::locate(settings, &context.working_dir);
        let database = database::open_beside(settings, &data_dir).await?;
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

/// Columns before what a process does: below its name.
const BELOW: usize = 7;

/// Everything the command shows.
#[derive(Default)]
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
        // Waiting messages are dated by the database's clock.
        let now = store.store_clock().await?.unwrap_or_else(|| SystemClock.now());
        Ok(Self {
            shared: store.is_shared(),
            here,
            members: store.members().await?,
            leases: store.leases().await?,
            agents: store.agents().await?,
            behind: store.oldest_unstarted().await?.map(|since| now.since(since)),
        })
    }

    fn name(&self, agent: &str) -> String {
        self.agents
            .iter()
            .find(|(id, _)| id.to_string() == agent)
            .map_or_else(|| agent.to_owned(), |(_, name)| name.clone())
    }

    /// Number of room partitions per agent that this member answers in, and the accounts it
    /// connects.
    fn work(&self, member: MemberId) -> (Vec<(String, usize)>, Vec<String>) {
        let (mut rooms, mut accounts): (Vec<(String, usize)>, Vec<String>) =
            (Vec::new(), Vec::new());
        for status in self
            .leases
            .iter()
            .filter(|status| status.member == Some(member) && !status.left.is_zero())
        {
            match kind(&status.lease.part) {
                Kind::Rooms(agent) => {
                    let name = self.name(agent);
                    match rooms.iter_mut().find(|(known, _)| *known == name) {
                        Some((_, count)) => *count += 1,
                        None => rooms.push((name, 1)),
                    }
                }
                Kind::Account { source, agent, account } => {
                    accounts.push(format!("{source} {account} ({})", self.name(agent)))
                }
                Kind::Other => {}
            }
        }
        (rooms, accounts)
    }

    fn alive(&self) -> Vec<&Member> {
        self.members.iter().filter(|member| !member.left.is_zero()).collect()
    }

    /// Work of all agents that no live process does.
    fn idle(&self) -> Vec<String> {
        if !self.shared {
            return Vec::new();
        }
        let mut wanted: AllWanted = self
            .agents
            .iter()
            .map(|(id, name)| (*id, Wanted { name: name.clone(), ..Wanted::default() }))
            .collect();
        let alive = self.alive();
        alive.iter().for_each(|member| idle_work::add(&mut wanted, &member.membership.about));
        idle_work::add_known(&mut wanted, &self.leases);
        let no_process =
            alive.is_empty().then(|| "no live process works with this database".to_owned());
        no_process
            .into_iter()
            .chain(
                idle_work::idle(&wanted, &self.members, &self.leases)
                    .into_iter()
                    .map(|idle| idle.message),
            )
            .collect()
    }

    /// Conditions to check although the work is done.
    fn notes(&self) -> Vec<String> {
        let alive = self.alive();
        let one = alive.iter().find(|member| Some(member.id) == self.here).or(alive.first());
        let skewed = alive.iter().filter_map(|member| {
            let difference = member::describe_skew(member.membership.about.skew_millis)?;
            Some(format!("{}: {difference}", member.membership.name))
        });
        skewed.chain(one.into_iter().flat_map(|one| idle_work::unlike(one, &alive))).collect()
    }

    fn json(&self) -> serde_json::Value {
        json!({
            "shared": self.shared, "here": self.here, "members": self.members, "leases": self.leases, "idle": self.idle(), "notes": self.notes(),
            "oldestUnstartedMillis": self.behind.map(|behind| u64::try_from(behind.as_millis()).unwrap_or(u64::MAX)),
        })
    }

    fn render(&self, style: Style) -> String {
        if !self.shared {
            let alone = "one process, with a SQLite file of its own; several share a PostgreSQL (DATABASE_URL)";
            return format!("{}\n", hang(0, alone, style));
        }
        let mut text = String::new();
        for member in &self.members {
            let here = if Some(member.id) == self.here { "  (this data folder)" } else { "" };
            let state = if member.left.is_zero() {
                style.bold(Color::Yellow, "gone?")
            } else {
                style.bold(Color::Green, "alive")
            };
            let who = format!("{}  {}{here}", member.membership.name, member.membership.role);
            let _ = writeln!(text, "{state}  {}", hang(BELOW, &who, style));
            let (rooms, accounts) = self.work(member.id);
            for account in accounts {
                let line = hang(BELOW, &format!("connects {account}"), style);
                let _ = writeln!(text, "{:BELOW$}{line}", "");
            }
            for (agent, count) in rooms {
                let line = format!(
                    "answers for {agent} in {count} of {ROOM_PARTITIONS} parts of its rooms"
                );
                let _ = writeln!(text, "{:BELOW$}{}", "", hang(BELOW, &line, style));
            }
        }
        for idle in self.idle() {
            let _ = writeln!(text, "{} {}", style.bold(Color::Red, "✗"), hang(2, &idle, style));
        }
        for note in self.notes() {
            let _ = writeln!(text, "{} {}", style.bold(Color::Yellow, "!"), hang(2, &note, style));
        }
        let behind = self.behind.map_or_else(
            || "no message waits to be begun".to_owned(),
            |behind| {
                let seconds = behind.as_secs_f64();
                format!("the oldest unclaimed message has waited for {seconds:.1} s")
            },
        );
        let _ = writeln!(text, "\n{}", hang(0, &behind, style));
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use galatea_core::{
        Account, Source, Timestamp,
        store::{About, Group, Lease, Membership, Partition, ProcessRole},
    };

    #[test]
    fn the_list_shows_work_and_unclaimed_work() {
        let (agent, here, gone, other) =
            (AgentId::fresh(), MemberId::fresh(), MemberId::fresh(), MemberId::fresh());
        let alive = Duration::from_secs(5);
        let lease = |part, member, left| LeaseStatus {
            lease: Lease { part, epoch: 1 },
            member: Some(member),
            left,
        };
        let member = |id, name: &str, role, left| {
            let about = About {
                version: if role == ProcessRole::All { "1.0.0" } else { "0.9.0" }.into(),
                skew_millis: -7_200_000,
                ..About::default()
            };
            Member {
                id,
                membership: Membership {
                    name: name.into(),
                    role,
                    groups: vec![Group::rooms(agent)],
                    about,
                },
                joined: Timestamp(0),
                left,
            }
        };
        let view = View {
            shared: true,
            here: Some(here),
            members: vec![
                member(here, "a:1", ProcessRole::All, alive),
                member(gone, "b:2", ProcessRole::Worker, Duration::ZERO),
                member(other, "c:3", ProcessRole::Worker, alive),
            ],
            leases: vec![
                lease(
                    Partition::account(&Source::new("telegram"), agent, &Account("42".into())),
                    here,
                    alive,
                ),
                lease(Partition::rooms(agent, 0), here, alive),
                lease(Partition::rooms(agent, 1), here, alive),
                lease(Partition::rooms(agent, 2), gone, Duration::ZERO),
            ],
            agents: vec![(agent, "Ada".into())],
            behind: Some(Duration::from_millis(1500)),
        };
        assert_eq!(
            view.render(Style::plain()),
            "alive  a:1  all  (this data folder)\n       connects telegram 42 (Ada)\n       answers for Ada in 2 of 64 parts of its rooms\n\
             gone?  b:2  worker\nalive  c:3  worker\n✗ no process answers for Ada in 62 of 64 parts of its rooms\n\
             ! a:1: this machine's clock is 7200.0 s ahead of the database's\n! c:3: this machine's clock is 7200.0 s ahead of the database's\n\
             ! c:3 runs something else than a:1: version 0.9.0 instead of 1.0.0\n\n\
             the oldest unclaimed message has waited for 1.5 s\n"
        );
        for view in [&view, &View { shared: false, ..View::default() }] {
            let narrow = view.render(Style::narrow(40));
            assert!(narrow.lines().all(|line| line.chars().count() <= 40), "{narrow}");
        }
    }

    #[test]
    fn a_database_without_processes_is_reported_as_a_fault() {
        let view = View {
            shared: true,
            here: None,
            members: Vec::new(),
            leases: Vec::new(),
            agents: vec![(AgentId::fresh(), "Ada".into())],
            behind: None,
        };
        assert_eq!(
            view.idle(),
            ["no live process works with this database", "no live process answers for Ada"]
        );
        let fresh = View { agents: Vec::new(), ..view };
        assert_eq!(fresh.idle(), ["no live process works with this database"]);
        assert_eq!(View { shared: false, ..fresh }.idle(), [""; 0]);
    }
}
