//! Finds work of a cluster that no live process does, for `/readyz` and `galatea cluster`.

use galatea_core::{
    AgentId,
    store::{About, Group, LeaseStatus, Member, Partition, ROOM_PARTITIONS},
};
use std::collections::BTreeMap;

/// The work of an agent that some process must do.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Wanted {
    pub(crate) name: String,
    pub(crate) accounts: Vec<Partition>,
}

/// All agents with their work.
pub(crate) type AllWanted = BTreeMap<AgentId, Wanted>;

/// Work that no live process does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Idle {
    pub(crate) agent: String,
    /// One sentence.
    pub(crate) message: String,
    /// The next action.
    pub(crate) fix: &'static str,
    /// No live process can claim the work. False for a partition that is changing its owner.
    pub(crate) lasting: bool,
}

/// Error code of [`Idle`] work.
pub(crate) const IDLE: &str = "GAL-CLUSTER-IDLE";
/// Error code of processes with different versions or configurations.
pub(crate) const UNLIKE: &str = "GAL-CLUSTER-UNLIKE";

/// The other processes that run another version or configuration than `one`, one sentence each.
pub(crate) fn unlike(one: &Member, others: &[&Member]) -> Vec<String> {
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
const SOON: &str = "wait some seconds: a running process claims it; if it stays, look at the logs of those processes";

/// Adds the work that a process announced.
pub(crate) fn add(wanted: &mut AllWanted, about: &About) {
    for (id, agent) in &about.agents {
        let entry = wanted
            .entry(*id)
            .or_insert_with(|| Wanted { name: agent.name.clone(), ..Wanted::default() });
        let new: Vec<Partition> =
            agent.accounts.iter().filter(|part| !entry.accounts.contains(part)).cloned().collect();
        entry.accounts.extend(new);
    }
}

/// Adds accounts of the agents in `wanted` for which a lease exists, even if no live process
/// announces them.
pub(crate) fn add_known(wanted: &mut AllWanted, leases: &[LeaseStatus]) {
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
pub(crate) fn idle(wanted: &AllWanted, members: &[Member], leases: &[LeaseStatus]) -> Vec<Idle> {
    let alive: Vec<&Member> = members.iter().filter(|member| !member.left.is_zero()).collect();
    let is_held = |status: &LeaseStatus| {
        !status.left.is_zero() && alive.iter().any(|member| Some(member.id) == status.member)
    };
    let held: Vec<&Partition> =
        leases.iter().filter(|status| is_held(status)).map(|status| &status.lease.part).collect();
    let works = |group: &Group| alive.iter().any(|member| member.membership.groups.contains(group));
    let mut idle = Vec::new();
    for (id, Wanted { name, accounts }) in wanted {
        let mut note = |message: String, fix, lasting| {
            idle.push(Idle { agent: name.clone(), message, fix, lasting })
        };
        let connects = works(&Group::accounts(*id));
        for part in accounts.iter().filter(|part| !held.contains(part)) {
            if let Kind::Account { source, account, .. } = kind(part) {
                let message = format!("no live process connects {source} {account} of {name}");
                note(message, if connects { SOON } else { CONNECT }, !connects);
            }
        }
        let parts = Partition::all_rooms(*id).iter().filter(|part| held.contains(part)).count();
        if !works(&Group::rooms(*id)) {
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

/// What a lease covers.
pub(crate) enum Kind<'a> {
    /// A partition of an agent's Rooms. Contains the agent's id.
    Rooms(&'a str),
    /// An account on a platform.
    Account {
        source: &'a str,
        agent: &'a str,
        account: &'a str,
    },
    Other,
}

/// Parses the name of a lease.
pub(crate) fn kind(part: &Partition) -> Kind<'_> {
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
        store::{Lease, Membership, ProcessRole},
    };
    use std::time::Duration;

    const LONG: Duration = Duration::from_secs(5);

    fn member(groups: &[Group], left: Duration) -> Member {
        let membership =
            Membership { groups: groups.to_vec(), role: ProcessRole::All, ..Membership::default() };
        Member { id: MemberId::fresh(), membership, joined: Timestamp(0), left }
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
        let wanted: AllWanted =
            [(agent, Wanted { name: "Ada".into(), accounts: vec![login.clone()] })].into();
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
        let moving =
            idle(&wanted, &[worker, member(&[Group::accounts(agent)], LONG)], &leases[2..]);
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
    fn settings_of_an_earlier_start_are_required() {
        let agent = AgentId::fresh();
        let login = Partition::account(&Source::new("x"), agent, &Account("7".into()));
        let mut wanted: AllWanted =
            [(agent, Wanted { name: "Ada".into(), ..Wanted::default() })].into();
        add_known(&mut wanted, &held([login.clone(), login.clone()], &member(&[], Duration::ZERO)));
        assert_eq!(wanted[&agent].accounts, [login]);
    }
}
