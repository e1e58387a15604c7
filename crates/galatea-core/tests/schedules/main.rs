//! Every schedule of one turn: two workers that both take it, a sender, crashes at every point, and
//! a network that loses, delays and refuses. The code under test is the one that runs:
//! [`galatea_core::protocol`].
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a test fails by panicking, and tells how much it explored"
)]

mod explore;
mod world;

use explore::{Verdicts, explore};
use world::{Budget, Policy, World};

const CRASHES: u8 = 2;

fn all(policy: Policy, budget: Budget) -> Verdicts {
    let verdicts = explore(World::new(policy, budget));
    println!("{policy:?} {budget:?}: {verdicts:?}");
    assert!(verdicts.schedules > 10_000, "too few schedules to mean anything: {verdicts:?}");
    assert_eq!(verdicts.out_of_order, 0, "{policy:?}: parts overtook each other");
    assert_eq!(verdicts.unanswered, 0, "{policy:?}: a message was acknowledged and never answered");
    verdicts
}

fn two_crashes() -> Budget {
    Budget { crashes: CRASHES, faults: 1, redeliveries: 1, slow_network: false }
}

#[test]
fn a_key_neither_loses_nor_doubles() {
    let verdicts = all(Policy::Key, two_crashes());
    assert_eq!((verdicts.doubled, verdicts.lost, verdicts.unsure), (0, 0, 0));
}

#[test]
fn a_read_back_neither_loses_nor_doubles() {
    let verdicts = all(Policy::ReadBack, two_crashes());
    assert_eq!((verdicts.doubled, verdicts.lost, verdicts.unsure), (0, 0, 0));
}

/// The check can fail: without a key and without a look, every choice is wrong somewhere.
#[test]
fn sending_again_doubles() {
    let verdicts = all(Policy::Resend, two_crashes());
    assert!(verdicts.doubled > 0);
    assert_eq!(verdicts.lost, 0);
    assert_eq!(
        verdicts.silently_doubled, 0,
        "what may have arrived twice is stored as of unknown outcome"
    );
}

#[test]
fn never_sending_again_loses() {
    let verdicts = all(Policy::Hold, two_crashes());
    assert_eq!(verdicts.doubled, 0);
    assert!(verdicts.lost > 0);
    assert_eq!(verdicts.silently_lost, 0, "what may not have arrived is stored as ambiguous");
}

/// What the read-back rests on: nothing arrives after the settle time. A key needs no such thing.
#[test]
fn only_a_key_stands_a_network_slower_than_the_settle_time() {
    let slow = Budget { slow_network: true, ..two_crashes() };
    assert!(all(Policy::ReadBack, slow).doubled > 0);
    let verdicts = all(Policy::Key, slow);
    assert_eq!((verdicts.doubled, verdicts.lost), (0, 0));
}
