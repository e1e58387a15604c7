//! Finds work of a cluster that no live process does, for `/readyz` and `galatea cluster`.

use galatea_core::{
    AgentId, Source,
    store::{About, Group, LeaseStatus, Member, Partition, ROOM_PARTITIONS},
};
use std::collections::{BTreeMap, BTreeSet};

/// The work of an agent that some process must do.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Wanted {
    /// Name of the agent.
    pub name: String,
    /// The accounts to connect.
    pub accounts: Vec<Partition>,
    /// Platforms on which a process has still to log in.
    pub logins_needed: BTreeSet<Source>,
}

/// All agents with their work.
pub type AllWanted = BTreeMap<AgentId, Wanted>;

/// Work that no live process does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Idle {
    /// Name of the agent.
    pub agent: String,
    /// One sentence.
    pub message: String,
    /// The next action.
    pub fix: &'static str,
    /// No live process can claim the work. False for a partition that is changing its owner.
    pub lasting: bool,
}

/// Error code of [`Idle`] work.
pub const IDLE: &str = "GAL-CLUSTER-IDLE";
/// Error code of processes with different versions or configurations.
pub const UNLIKE: &str = "GAL-CLUSTER-UNLIKE";

/// The other processes that run another version or configuration than `one`, one sentence each.
pub fn unlike(one: &Member, others: &[&Member]) -> Vec<String> {
    let describe = |other: &&Member| {
        let unlike = one.membership.about.unlike(&other.membership.about);
        (!unlike.is_empty()).then(|| {
            format!(
                "{} runs something else than {}: {}",
                other.membership.name,
                one.membership.name,
                unlike.join("; ")
            )
        })
    };
    others.iter().filter(|other| other.id != one.id).filter_map(describe).collect()
}

const ANSWER: &str =
    "start a process of the role all or worker, and look why those before it ended";
const CONNECT: &str =
    "start a process of the role all or ingress, and look why those before it ended";
const LOG_IN: &str = "start a process of the role all or ingress with this account's login (`galatea config` lists the settings; `galatea connector login` logs in with a browser)";
const KNOW: &str =
    "start a process of the role all or worker whose program has a connector for this platform";
const SOON: &str = "wait some seconds: a running process claims it; if it stays, look at the logs of those processes";

/// Adds the work that a process announced.
pub fn add(wanted: &mut AllWanted, about: &About) {
    for (id, agent) in &about.agents {
        let entry = wanted
            .entry(*id)
            .or_insert_with(|| Wanted { name: agent.name.clone(), ..Wanted::default() });
        let new: Vec<Partition> =
            agent.accounts.iter().filter(|part| !entry.accounts.contains(part)).cloned().collect();
        entry.accounts.extend(new);
        entry.logins_needed.extend(agent.logins_needed.iter().cloned());
    }
}

/// Adds accounts that an agent had, where no live process says that it connects the agent at all:
/// each of them may be one whose login only that process had.
pub fn add_former(
    wanted: &mut AllWanted,
    agent: AgentId,
    former: &[Partition],
    members: &[Member],
) {
    let connects = |member: &Member| {
        !member.left.is_zero() && member.membership.groups.contains(&Group::accounts(agent))
    };
    if let Some(entry) = wanted.get_mut(&agent)
        && !members.iter().any(connects)
    {
        let new = former.iter().filter(|part| !entry.accounts.contains(part)).cloned();
        let new: Vec<Partition> = new.collect();
        entry.accounts.extend(new);
    }
}

/// Adds accounts of the agents in `wanted` for which a lease exists, even if no live process
/// announces them.
pub fn add_known(wanted: &mut AllWanted, leases: &[LeaseStatus]) {
    for status in leases {
        if let Kind::Account { agent, .. } = kind(&status.lease.part)
            && let Some(entry) =
                wanted.iter_mut().find(|(id, _)| id.to_string() == agent).map(|(_, entry)| entry)
            && !entry.accounts.contains(&status.lease.part)
        {
            entry.accounts.push(status.lease.part.clone());
        }
    }
}

/// The part of `wanted` that no live process does.
pub fn idle(wanted: &AllWanted, members: &[Member], leases: &[LeaseStatus]) -> Vec<Idle> {
    let alive: Vec<&Member> = members.iter().filter(|member| !member.left.is_zero()).collect();
    let is_held = |status: &LeaseStatus| {
        !status.left.is_zero() && alive.iter().any(|member| Some(member.id) == status.member)
    };
    let held: Vec<&Partition> =
        leases.iter().filter(|status| is_held(status)).map(|status| &status.lease.part).collect();
    let works = |group: &Group| alive.iter().any(|member| member.membership.groups.contains(group));
    let mut idle = Vec::new();
    for (id, Wanted { name, accounts, logins_needed }) in wanted {
        let mut note = |message: String, fix, lasting| {
            idle.push(Idle { agent: name.clone(), message, fix, lasting })
        };
        let connects = works(&Group::accounts(*id));
        let answering = answering(&alive, *id);
        for part in accounts {
            let Kind::Account { source, account, .. } = kind(part) else { continue };
            if !held.contains(&part) {
                let message = format!("no live process connects {source} {account} of {name}");
                if alive.iter().any(|member| can_connect(member, *id, part)) {
                    note(message, SOON, false);
                } else if connects {
                    let message =
                        format!("no live process has the login of {source} {account} of {name}");
                    note(message, LOG_IN, true);
                } else {
                    note(message, CONNECT, true);
                }
            }
            let all = answering.len();
            let unable = answering.iter().filter(|member| cannot_answer(member, *id, part)).count();
            let message = if unable == 0 {
                continue;
            } else if unable == all {
                format!("no live process that answers for {name} can answer on {source} {account}")
            } else {
                // The rooms are divided among all of them, whatever their accounts.
                format!(
                    "{unable} of {all} processes that answer for {name} cannot answer on {source} \
                     {account}, and messages in their share of its rooms wait"
                )
            };
            note(message, KNOW, true);
        }
        for source in logins_needed {
            let is_there = |part: &Partition| matches!(kind(part), Kind::Account { source: there, .. } if there == source.as_str());
            if !accounts.iter().any(is_there) {
                note(format!("no live process is logged in to {source} for {name}"), LOG_IN, true);
            }
        }
        let parts = Partition::all_rooms(*id).iter().filter(|part| held.contains(part)).count();
        if answering.is_empty() {
            note(format!("no live process answers for {name}"), ANSWER, true);
        } else if parts < usize::from(ROOM_PARTITIONS) {
            note(
                format!(
                    "no process answers for {name} in {} of {ROOM_PARTITIONS} parts of its rooms",
                    usize::from(ROOM_PARTITIONS) - parts
                ),
                SOON,
                false,
            );
        }
    }
    idle
}

/// The processes that answer for an agent: those that can for all of its accounts, if there are
/// any.
fn answering<'a>(alive: &[&'a Member], agent: AgentId) -> Vec<&'a Member> {
    let of = |group: Group| -> Vec<&'a Member> {
        alive.iter().copied().filter(|member| member.membership.groups.contains(&group)).collect()
    };
    Some(of(Group::rooms(agent)))
        .filter(|able| !able.is_empty())
        .unwrap_or_else(|| of(Group::some_rooms(agent)))
}

fn can_connect(member: &Member, agent: AgentId, part: &Partition) -> bool {
    member.membership.role.connects()
        && member
            .membership
            .about
            .agents
            .get(&agent)
            .is_some_and(|about| about.accounts.contains(part))
}

fn cannot_answer(member: &Member, agent: AgentId, part: &Partition) -> bool {
    member.membership.about.agents.get(&agent).is_some_and(|about| about.unserved.contains(part))
}

/// What a lease covers.
pub enum Kind<'a> {
    /// A partition of an agent's Rooms. Contains the agent's id.
    Rooms(&'a str),
    /// An account on a platform.
    Account {
        /// The platform.
        source: &'a str,
        /// The agent's id.
        agent: &'a str,
        /// The account there.
        account: &'a str,
    },
    /// Something that this version does not know.
    Other,
}

/// Parses the name of a lease.
pub fn kind(part: &Partition) -> Kind<'_> {
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
        Account, MemberId, Source, Timestamp,
        store::{AboutAgent, Lease, Membership, ProcessRole},
    };
    use std::time::Duration;

    const LONG: Duration = Duration::from_secs(5);

    fn member(groups: &[Group], left: Duration) -> Member {
        let membership =
            Membership { groups: groups.to_vec(), role: ProcessRole::All, ..Membership::default() };
        Member { id: MemberId::fresh(), membership, joined: Timestamp(0), left }
    }

    /// A process that has the login of this account.
    fn with_login(agent: AgentId, login: &Partition) -> Member {
        let mut member = member(&[Group::accounts(agent)], LONG);
        let about = AboutAgent { accounts: vec![login.clone()], ..AboutAgent::default() };
        member.membership.about.agents.insert(agent, about);
        member
    }

    fn held(parts: impl IntoIterator<Item = Partition>, by: &Member) -> Vec<LeaseStatus> {
        parts
            .into_iter()
            .map(|part| LeaseStatus {
                lease: Lease { part, epoch: 1 },
                member: Some(by.id),
                left: by.left,
            })
            .collect()
    }

    fn messages(idle: &[Idle]) -> Vec<&str> {
        idle.iter().map(|idle| idle.message.as_str()).collect()
    }

    #[test]
    fn the_work_of_those_who_are_gone_is_named() {
        let agent = AgentId::fresh();
        let login = Partition::account(&Source::new("telegram"), agent, &Account("42".into()));
        let wanted: AllWanted = [(
            agent,
            Wanted { name: "Ada".into(), accounts: vec![login.clone()], ..Wanted::default() },
        )]
        .into();
        assert_eq!(
            messages(&idle(&wanted, &[], &[])),
            ["no live process connects telegram 42 of Ada", "no live process answers for Ada"],
            "no process ever answered"
        );
        let (ingress, worker) =
            (member(&[Group::accounts(agent)], LONG), member(&[Group::rooms(agent)], LONG));
        let leases =
            [held([login.clone()], &ingress), held(Partition::all_rooms(agent), &worker)].concat();
        assert_eq!(idle(&wanted, &[ingress.clone(), worker.clone()], &leases), []);
        let gone = Member { left: Duration::ZERO, ..ingress };
        let without = idle(&wanted, &[gone, worker.clone()], &leases);
        assert_eq!(messages(&without), ["no live process connects telegram 42 of Ada"]);
        assert!(without[0].lasting && without[0].fix.contains("ingress"));
        let moving = idle(&wanted, &[worker, with_login(agent, &login)], &leases[2..]);
        assert_eq!(
            messages(&moving),
            [
                "no live process connects telegram 42 of Ada",
                "no process answers for Ada in 1 of 64 parts of its rooms"
            ]
        );
        assert!(moving.iter().all(|idle| !idle.lasting), "{moving:?}");
    }

    #[test]
    fn an_account_that_no_process_can_serve_is_named() {
        let agent = AgentId::fresh();
        let login = Partition::account(&Source::new("x"), agent, &Account("77".into()));
        let other = Partition::account(&Source::new("x"), agent, &Account("78".into()));
        let mut wanted: AllWanted = [(
            agent,
            Wanted { name: "Ada".into(), accounts: vec![login.clone()], ..Wanted::default() },
        )]
        .into();
        // An ingress is there, with the login of another account.
        let (ingress, mut worker) =
            (with_login(agent, &other), member(&[Group::rooms(agent)], LONG));
        let leases = held(Partition::all_rooms(agent), &worker);
        let found = idle(&wanted, &[ingress.clone(), worker.clone()], &leases);
        assert_eq!(messages(&found), ["no live process has the login of x 77 of Ada"]);
        assert!(found[0].lasting);

        // A process that answers and cannot write for it.
        let about = AboutAgent { unserved: vec![login.clone()], ..AboutAgent::default() };
        worker.membership.groups = vec![Group::some_rooms(agent)];
        worker.membership.about.agents.insert(agent, about);
        let ingress = with_login(agent, &login);
        let mut leases = held(Partition::all_rooms(agent), &worker);
        leases.extend(held([login.clone()], &ingress));
        let found = idle(&wanted, &[ingress.clone(), worker.clone()], &leases);
        assert_eq!(messages(&found), ["no live process that answers for Ada can answer on x 77"]);
        // Another one can write for it only: each answers in half of the rooms.
        let half = member(&[Group::some_rooms(agent)], LONG);
        let found = idle(&wanted, &[ingress.clone(), worker.clone(), half], &leases);
        assert_eq!(
            messages(&found),
            [
                "1 of 2 processes that answer for Ada cannot answer on x 77, and messages in their share of its rooms wait"
            ]
        );
        assert!(found[0].lasting && found[0].fix.contains("connector"));
        let able = member(&[Group::rooms(agent)], LONG);
        assert_eq!(idle(&wanted, &[ingress.clone(), worker, able], &leases), []);

        // A browser login that no machine has.
        let about = About {
            agents: [(
                agent,
                AboutAgent { logins_needed: vec![Source::new("x")], ..AboutAgent::default() },
            )]
            .into(),
            ..About::default()
        };
        let worker = member(&[Group::rooms(agent)], LONG);
        let leases = held(Partition::all_rooms(agent), &worker);
        wanted.get_mut(&agent).unwrap().accounts.clear();
        add(&mut wanted, &about);
        let found = idle(&wanted, &[ingress, worker], &leases);
        assert_eq!(messages(&found), ["no live process is logged in to x for Ada"]);
    }

    #[test]
    fn former_accounts_are_missed_while_no_process_connects() {
        let agent = AgentId::fresh();
        let login = Partition::account(&Source::new("x"), agent, &Account("77".into()));
        let wanted: AllWanted =
            [(agent, Wanted { name: "Ada".into(), ..Wanted::default() })].into();
        let accounts = |members: &[Member]| {
            let mut wanted = wanted.clone();
            add_former(&mut wanted, agent, std::slice::from_ref(&login), members);
            wanted[&agent].accounts.clone()
        };
        let gone = Member { left: Duration::ZERO, ..with_login(agent, &login) };
        assert_eq!(
            accounts(&[member(&[Group::rooms(agent)], LONG), gone]),
            std::slice::from_ref(&login)
        );
        // The owner may have removed it from the settings.
        assert_eq!(accounts(&[member(&[Group::accounts(agent)], LONG)]), []);
    }

    #[test]
    fn settings_of_an_earlier_start_are_required() {
        let agent = AgentId::fresh();
        let login = Partition::account(&Source::new("x"), agent, &Account("7".into()));
        let mut wanted: AllWanted =
            [(agent, Wanted { name: "Ada".into(), ..Wanted::default() })].into();
        add_known(&mut wanted, &held([login.clone(), login.clone()], &member(&[], Duration::ZERO)));
        assert_eq!(wanted[&agent].accounts, [login]);
    }
}
