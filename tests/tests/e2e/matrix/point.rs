//! Points at which a process is killed.

use std::fmt;

use galatea_testkit::process::Program;

use super::world::World;

/// A kill point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Point {
    /// Inside the program, at one of its named kill points.
    Inside(&'static str),
    /// From outside, when a send has reached this step on the platform.
    Outside(At),
}

/// Steps of a send on the platform.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum At {
    Arrived,
    Applied,
    Answered,
}

/// The points on a message's way through the program, in order.
pub(crate) const LINE: [Point; 18] = [
    Point::Inside("ingest.before"),
    Point::Inside("ingest.after"),
    Point::Inside("acknowledge"),
    Point::Inside("gate"),
    Point::Inside("model.before"),
    Point::Inside("model.after"),
    Point::Inside("commit.before"),
    Point::Inside("commit.after"),
    Point::Inside("intent.before"),
    Point::Inside("intent.after"),
    Point::Inside("send.before"),
    Point::Outside(At::Arrived),
    Point::Outside(At::Applied),
    Point::Outside(At::Answered),
    Point::Inside("send.after"),
    Point::Inside("settle.before"),
    Point::Inside("settle.after"),
    Point::Inside("evaluate"),
];

/// The points during the recovery after a crash, each with the crash that leads there.
pub(crate) const RECOVERING: [(Point, Point); 4] = [
    (Point::Inside("commit.after"), Point::Inside("reconcile.sends")),
    (Point::Inside("model.before"), Point::Inside("reconcile.turns")),
    (Point::Inside("send.after"), Point::Inside("find.there")),
    (Point::Inside("send.before"), Point::Inside("find.not_there")),
];

/// The points around the commit of a batch that changes stored data: edits, deletions, moved Rooms.
pub(crate) const MUTATING: [Point; 2] =
    [Point::Inside("mutate.before"), Point::Inside("mutate.after")];

/// Two crashes at different points, one after the other.
pub(crate) const MIXED: [[Point; 2]; 4] = [
    [Point::Inside("ingest.after"), Point::Inside("commit.after")],
    [Point::Inside("commit.before"), Point::Outside(At::Applied)],
    [Point::Outside(At::Applied), Point::Inside("intent.before")],
    [Point::Inside("intent.after"), Point::Inside("send.after")],
];

impl fmt::Display for Point {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Inside(name) => write!(f, "{name}"),
            Self::Outside(at) => write!(f, "{at:?}"),
        }
    }
}

impl Point {
    /// Runs the program until it is killed at this point. `once_ready` is called when the program
    /// is ready, or has ended before.
    pub(crate) async fn dies(self, world: &mut World, once_ready: impl FnOnce(&mut World)) {
        let armed = |program: Program| match self {
            Self::Inside(name) => program.env("FAILPOINTS", format!("{name}=return")),
            Self::Outside(_) => program,
        };
        let before = world.sends();
        if let Self::Outside(at) = self {
            world.hold(at);
        }
        let mut running = armed(world.program()).arg("start").spawn();
        running.line_or_end("ready in").await;
        once_ready(world);
        if let Self::Outside(at) = self {
            world.reaches(at, before).await;
            running.kill_9().await;
        }
        let ended = running.finish().await;
        assert_eq!(ended.code, None, "at {self} it ended by itself:\n{}", running.output());
    }
}
