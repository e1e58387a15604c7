//! Takes one part as far as the protocol says, with retries between attempts.

use galatea_core::{
    Error, ErrorKind, Receipt, RemoteId, Retry, RoomId, Timestamp, kill_point,
    protocol::{DeliveryEvent, Effect, End, ReadBackOutcome, Rules},
    store::{OutboxState, StepKind},
};
use rand::RngExt;

use super::{
    job::Job,
    pauses::keep_pauses,
    precedence::overtaken,
    read_back::read_back,
    report::{SendIntent, last_words, store_end, store_retry, store_sent},
    route::Route,
    stack::SendError,
    state::Outbox,
};
use crate::{
    config::TraceLevel,
    lanes::Lane,
    trace::{StepClock, TraceHead},
};

/// Result of a job.
pub(super) enum SendOutcome {
    /// It has ended, as this on the platform. False when it is given up: what follows it would make
    /// no sense without it.
    Ended { follows: bool, remote: Option<RemoteId> },
    /// It has to wait, and something is to be said in its Room meanwhile.
    StoodBack(Box<Job>),
}

/// Does what the protocol says until the part has ended, or stands back for what is worth more.
/// None when the account is another process's before that.
pub(super) async fn deliver(
    outbox: &Outbox,
    lane: &Lane<RoomId, Job>,
    job: Job,
) -> Option<SendOutcome> {
    let Some(route) =
        outbox.routes.any(&job.delivery.address.source, &job.delivery.address.account)
    else {
        // Stays pending in the store; sent once its connector registers.
        tracing::info!(delivery = %job.delivery.id, source = %job.delivery.address.source, "no connector for this delivery; it waits in the store");
        return Some(SendOutcome::Ended { follows: true, remote: None });
    };
    let lease = job.lease.clone();
    let mut sending = Sending::new(outbox, &route, job);
    let mut effect = sending.hear(&DeliveryEvent::Ready);
    loop {
        effect = match effect {
            Effect::Wait(until) => {
                tokio::select! {
                    () = sending.sleep(until) => {}
                    () = lease.closed() => return None,
                    () = overtaken(outbox, lane, &sending.job) => {
                        return Some(SendOutcome::StoodBack(Box::new(sending.job)));
                    }
                }
                sending.waited()
            }
            Effect::Look => sending.look().await?,
            Effect::StoreIntent => sending.store_intent().await?,
            Effect::Send => sending.attempt().await?,
            Effect::Again(_, until) => Effect::Wait(until),
            Effect::End(state, why) => return Some(sending.end(state, why).await),
        };
    }
}

/// A part and its state. Each step does what the protocol asked for and reports how that
/// went; the protocol answers with the next step. None when the account is another process's.
struct Sending<'a> {
    outbox: &'a Outbox,
    route: &'a Route,
    rules: Rules,
    job: Job,
    intent: SendIntent,
    /// Time at which the protocol last heard something; waits are counted from it.
    heard: Timestamp,
    /// Answer of the platform about the message that arrived.
    receipt: Option<Receipt>,
    /// Read-back found it there.
    found_there: bool,
    /// Why the last attempt failed.
    failure: Option<Error>,
}

impl<'a> Sending<'a> {
    fn new(outbox: &'a Outbox, route: &'a Route, job: Job) -> Self {
        Self {
            outbox,
            route,
            rules: Rules { resend_unsure: outbox.profile.get().limits.resend_unsure },
            intent: SendIntent::committed(&job),
            job,
            heard: outbox.clock.now(),
            receipt: None,
            found_there: false,
            failure: None,
        }
    }

    /// Next step after an event.
    fn hear(&mut self, event: &DeliveryEvent<'_>) -> Effect {
        self.heard = self.outbox.clock.now();
        let job = &mut self.job;
        job.follow_clock(self.outbox.clock.ahead());
        let (part, effect) = job.part.clone().step(event, self.heard, self.rules);
        job.part = part;
        job.delivery.attempt = job.part.attempt;
        effect
    }

    /// Sleeps until a time, counted from when the last event came, should the clock have been set
    /// back since.
    fn sleep(&self, until: Timestamp) -> impl Future<Output = ()> + Send {
        let clock = &self.outbox.clock;
        clock.sleep(until.since(clock.now().max(self.heard)))
    }

    /// It waited for as long as it had to, wherever the machine's clock was set meanwhile.
    fn waited(&mut self) -> Effect {
        self.job.part.not_before = self.job.part.not_before.min(self.outbox.clock.now());
        self.hear(&DeliveryEvent::Ready)
    }

    /// Asks the platform whether an earlier attempt arrived.
    async fn look(&mut self) -> Option<Effect> {
        self.outbox.settler.flush().await;
        let lease = &self.job.lease;
        // An account that is to go to another process goes: that one looks.
        let (looked, found) = tokio::select! {
            looked = lease.run(Box::pin(read_back(self.outbox, self.route, &self.job))) => looked?,
            () = lease.closed() => return None,
        };
        self.receipt = found;
        self.found_there = looked == ReadBackOutcome::Present;
        Some(self.hear(&DeliveryEvent::ReadBack(looked)))
    }

    /// Stores that it is about to be sent.
    async fn store_intent(&mut self) -> Option<Effect> {
        if !self.job.lease.is_open() {
            return None;
        }
        kill_point("intent.before");
        // Whatever this process believes, a suspended machine for one: the store knows whose part
        // it is.
        self.intent = SendIntent::set(self.outbox, &self.job, self.outbox.clock.now()).await?;
        kill_point("intent.after");
        Some(self.hear(&DeliveryEvent::Marked))
    }

    /// Makes one attempt, under an intent that is fresh.
    async fn attempt(&mut self) -> Option<Effect> {
        let (outbox, job) = (self.outbox, &self.job);
        let time = StepClock::start(&*outbox.clock);
        self.intent = self.intent.renew(outbox, job).await?;
        // A process that was paused finds out at its next step, before it reaches the platform,
        // that another one sends now.
        let answer = job.lease.guard(self.intent.send(outbox, self.route, job)).await?;
        match answer {
            Ok(receipt) => {
                self.receipt = Some(receipt);
                Some(self.hear(&DeliveryEvent::Sent))
            }
            Err(error) => {
                self.record(&time, &error);
                Some(self.missed(error).await)
            }
        }
    }

    /// Records an attempt that failed. One that succeeded is in its row of the outbox.
    fn record(&self, time: &StepClock<'_>, missed: &SendError) {
        if self.outbox.profile.get().limits.traces.level == TraceLevel::Off {
            return;
        }
        let delivery = &self.job.delivery;
        let (error, what) = match missed {
            SendError::Failed(error) => (error, "failed"),
            SendError::Deferred(error) => (error, "held back here"),
        };
        let name = format!("{} #{}", delivery.address.source, delivery.part + 1);
        let mut step = time.step(StepKind::Send, name);
        step.failed = matches!(missed, SendError::Failed(_));
        step.note = Some(format!("attempt {} {what}: {error}", self.job.part.attempt));
        let head = TraceHead {
            turn: delivery.turn,
            room: delivery.address.room,
            // An attempt has no texts; whose answer it is, the trace of the turn says.
            person: self.outbox.identity.entity(),
            at: delivery.created_at,
            since: delivery.created_at,
        };
        self.outbox.tracer.add_send(head, step);
    }

    /// An attempt that failed, or was held back here.
    async fn missed(&mut self, missed: SendError) -> Effect {
        let next = match &missed {
            SendError::Deferred(error) => self.hear(&DeliveryEvent::Deferred(error)),
            SendError::Failed(error) => {
                self.hear(&DeliveryEvent::Failed { error, jitter: rand::rng().random::<f64>() })
            }
        };
        let (SendError::Deferred(error) | SendError::Failed(error)) = missed;
        keep_pauses(self.outbox, self.route).await;
        if let Effect::Again(state, until) = &next {
            store_retry(self.outbox, &self.job, &error, *state, *until).await;
        }
        self.failure = Some(error);
        next
    }

    /// Stores how it ended.
    async fn end(self, state: OutboxState, why: End) -> SendOutcome {
        if state == OutboxState::Sent {
            let receipt = self.receipt.unwrap_or_default();
            let remote = receipt.id.clone();
            store_sent(self.outbox, self.job, receipt, self.found_there).await;
            return SendOutcome::Ended { follows: true, remote };
        }
        store_end(self.outbox, self.job, state, &reason(why, self.failure)).await;
        // A part that may have arrived lets the others follow.
        SendOutcome::Ended { follows: state == OutboxState::Ambiguous, remote: None }
    }
}

fn is_flood(error: &Error) -> bool {
    error.kind() == ErrorKind::RateLimited && matches!(error.retry(), Retry::After(_))
}

/// Why it ended, for people.
fn reason(why: End, failure: Option<Error>) -> String {
    match (why, failure) {
        (End::TooOld, Some(error)) if is_flood(&error) => {
            let minutes = match error.retry() {
                Retry::After(wait) => wait.as_secs().div_ceil(60),
                Retry::Never | Retry::Soon => 0,
            };
            format!(
                "not sent: the platform asks to wait {minutes} minutes, longer than an answer may wait (ANSWER_TTL_MINUTES): {}",
                last_words(error)
            )
        }
        (End::Refused | End::TooOld, Some(error)) => last_words(error),
        (End::HeldBack, _) => "held back, as DELIVERY_WHEN_UNSURE says".to_owned(),
        (End::TooOften, _) => "sending it failed too often".to_owned(),
        (End::TooOld, None) => "too old to send".to_owned(),
        (End::Delivered | End::Refused, _) => "refused".to_owned(),
    }
}
