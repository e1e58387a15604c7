//! In a lane a change or a reaction waits for what is to be said.

use galatea_core::{Delivery, Priority, RoomId};
use std::ops::ControlFlow;

use super::{job::Job, state::Outbox};
use crate::lanes::Lane;

/// Order in which a change or a reaction gives way to something to be said, behind it in its lane.
pub(super) fn stands_back(outbox: &Outbox, lane: &Lane<RoomId, Job>, job: &Job) -> bool {
    let weight = |job: &Job| priority(outbox, &job.delivery);
    weight(job) > Priority::Answer
        && lane.scan(|next| {
            if weight(next) == Priority::Answer {
                ControlFlow::Break(true)
            } else {
                ControlFlow::Continue(())
            }
        })
}

fn priority(outbox: &Outbox, delivery: &Delivery) -> Priority {
    let route = outbox.routes.any(&delivery.address.source, &delivery.address.account);
    route.map_or(Priority::Answer, |route| route.handler.priority(&delivery.body))
}

/// Completes when something to be said waits behind a job that is worth less.
pub(super) async fn overtaken(outbox: &Outbox, lane: &Lane<RoomId, Job>, job: &Job) {
    if priority(outbox, &job.delivery) == Priority::Answer {
        return std::future::pending().await;
    }
    while !stands_back(outbox, lane, job) {
        lane.arrived().await;
    }
}
