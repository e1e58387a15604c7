//! Wait: when the service embeds. What evaluators have made is embedded at once. Messages wait until
//! the agent is quiet, so that their embeddings do not compete with answers.

use galatea_core::{AgentId, Clock, Deadline, Event, ServiceContext, event::EventReceiver};
use std::{sync::Arc, time::Duration};
use tokio::sync::broadcast::error::{RecvError, TryRecvError};

/// Between two looks for what this process has no event of: an import by another process, facts that
/// another process learnt, and claims of processes that ended. A look costs a few statements that
/// read one row.
const LOOK: Duration = Duration::from_secs(15);
/// After so long the messages of an agent that is never quiet are embedded, as evaluators of a busy
/// Room run.
const BUSY: Duration = Duration::from_secs(30);
/// The longest sleep of a pause: the clock may be set meanwhile.
const STEP: Duration = Duration::from_secs(600);

/// Memories that may be embedded now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Due {
    /// Memories that evaluators have made.
    Derived,
    /// Everything.
    All,
}

pub(super) struct Wait {
    agent: AgentId,
    clock: Arc<dyn Clock>,
    events: EventReceiver,
    /// Time for which the agent has to be quiet.
    quiet: Duration,
    /// Since the first message that was not looked at yet: when the agent counts as quiet, and when
    /// it is not waited for any longer.
    busy: Option<(Deadline, Deadline)>,
    look: Deadline,
    paused: Option<Deadline>,
}

/// Meaning of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum News {
    Other,
    /// A message came or was answered.
    Said,
    /// An evaluator may have made something.
    Learnt,
}

impl Wait {
    /// The first look is when the agent was quiet for `quiet` after its start.
    pub(super) fn new(context: &ServiceContext, quiet: Duration) -> Self {
        let clock = Arc::clone(&context.clock);
        Self {
            agent: context.agent.identity.id(),
            events: context.events.subscribe(),
            quiet,
            busy: None,
            look: Deadline::after(clock.now(), quiet),
            paused: None,
            clock,
        }
    }

    /// Waits until something may be embedded.
    pub(super) async fn due(&mut self) -> Due {
        if let Some(paused) = self.paused.take() {
            while let Some(left) = paused.left(self.clock.now()) {
                self.clock.sleep(left.min(STEP)).await;
            }
            self.catch_up();
            return Due::All;
        }
        if self.catch_up() && self.left().is_some() {
            return Due::Derived;
        }
        while let Some(left) = self.left() {
            let news = tokio::select! {
                biased;
                event = self.events.recv() => match event {
                    Ok(event) => self.read(&event),
                    Err(RecvError::Lagged(_)) => News::Said,
                    Err(RecvError::Closed) => {
                        self.clock.sleep(left).await;
                        News::Other
                    }
                },
                () = self.clock.sleep(left) => News::Other,
            };
            match news {
                News::Said => self.note_message(),
                News::Learnt => return Due::Derived,
                News::Other => {}
            }
        }
        Due::All
    }

    /// Everything was looked at; with `more` something is left.
    pub(super) fn looked(&mut self, more: bool) {
        self.busy = None;
        let wait = if more { Duration::ZERO } else { LOOK };
        self.look = Deadline::after(self.clock.now(), wait);
    }

    /// Time for which nothing is embedded.
    pub(super) fn pause(&mut self, pause: Duration) {
        self.paused = Some(Deadline::after(self.clock.now(), pause));
    }

    /// Time until the next look; none if it is due.
    fn left(&self) -> Option<Duration> {
        let now = self.clock.now();
        match &self.busy {
            Some((quiet, longest)) => Some(quiet.left(now)?.min(longest.left(now)?)),
            None => self.look.left(now),
        }
    }

    /// Reads the events that came meanwhile. True if an evaluator may have made something.
    fn catch_up(&mut self) -> bool {
        let mut learnt = false;
        loop {
            let news = match self.events.try_recv() {
                Ok(event) => self.read(&event),
                Err(TryRecvError::Lagged(_)) => News::Said,
                Err(TryRecvError::Empty | TryRecvError::Closed) => return learnt,
            };
            match news {
                News::Said => self.note_message(),
                News::Learnt => learnt = true,
                News::Other => {}
            }
        }
    }

    fn note_message(&mut self) {
        let now = self.clock.now();
        let longest = self.busy.map_or_else(|| Deadline::after(now, BUSY), |(_, longest)| longest);
        self.busy = Some((Deadline::after(now, self.quiet), longest));
    }

    fn read(&self, event: &Event) -> News {
        match event {
            Event::MessageReceived { agent, .. }
            | Event::MessageEdited { agent, .. }
            | Event::TurnStarted { agent, .. }
            | Event::TurnFinished { agent, .. }
                if *agent == self.agent =>
            {
                News::Said
            }
            Event::EvaluatorCompleted { agent, .. } if *agent == self.agent => News::Learnt,
            _ => News::Other,
        }
    }
}
