//! The rows of the table, one function for each group of them.

use std::time::Duration;

use super::{Goal, Row, Unit, Values, millis, thousands};
use crate::bench::figures::{Figures, Memory, OnPlatform};

/// All rows, in the order of the table.
pub(super) fn of(figures: &Figures) -> Vec<Row> {
    let Figures { telegram, discord, memory, size } = figures;
    let on = Platforms { telegram, discord };
    let mut rows = Vec::new();
    rows.extend(one_room(on));
    rows.extend(several_rooms(on));
    rows.extend(many_rooms(on));
    rows.extend(postgres(on));
    rows.extend(cost_per_answer(on));
    rows.extend(starts(on));
    rows.extend(memory_of_one_platform(on));
    rows.push(memory_without_connectors(memory));
    rows.push(Row::new("the program's file", Unit::Mebibytes, Values::Whole(*size)));
    rows
}

/// The figures of both platforms.
#[derive(Clone, Copy)]
struct Platforms<'a> {
    telegram: &'a OnPlatform,
    discord: &'a OnPlatform,
}

impl Platforms<'_> {
    /// A row with a figure of each platform.
    fn figure(self, what: impl Into<String>, unit: Unit, of: fn(&OnPlatform) -> f64) -> Row {
        let each = [self.telegram, self.discord].map(|on| Some(of(on)));
        Row::new(what, unit, Values::Each(each))
    }

    /// A row with a figure that a platform or the program may not report.
    fn reported(
        self,
        what: impl Into<String>,
        unit: Unit,
        of: fn(&OnPlatform) -> Option<f64>,
    ) -> Row {
        Row::new(what, unit, Values::Each([self.telegram, self.discord].map(of)))
    }

    /// A row with a time of each platform.
    fn time(self, what: impl Into<String>, of: fn(&OnPlatform) -> Duration) -> Row {
        let each = [self.telegram, self.discord].map(|on| Some(millis(of(on))));
        Row::new(what, Unit::Millis, Values::Each(each))
    }
}

fn one_room(on: Platforms<'_>) -> [Row; 4] {
    [
        on.figure("answers/s, one room, one question at a time", Unit::PerSecond, |on| {
            on.sqlite.one_room.per_second
        }),
        on.time("p50, one room", |on| on.sqlite.one_room.wait.p50)
            .peers("ZeroClaw 3.8 ms, Koishi 1.3 ms, elizaOS 35 ms, teloxide 0.07 ms"),
        on.time("p99, one room", |on| on.sqlite.one_room.wait.p99),
        on.time("added to a model that takes 200 ms, p50", |on| {
            on.sqlite.thinking.wait.p50.saturating_sub(on.sqlite.thought)
        })
        .goal(Goal::AtMost(5.0)),
    ]
}

fn several_rooms(on: Platforms<'_>) -> [Row; 6] {
    let rooms = Figures::ROOMS;
    [
        on.figure(format!("answers/s, {rooms} rooms, one question each"), Unit::PerSecond, |on| {
            on.sqlite.rooms.per_second
        }),
        on.figure(format!("answers/s, {rooms} rooms, flood"), Unit::PerSecond, |on| {
            on.sqlite.flood.per_second
        })
        .goal(Goal::AtLeast(1000.0))
        .peers("ZeroClaw 448, Koishi 876, elizaOS 34, teloxide 29,750"),
        on.figure("the last 20 s of the flood, of the first 20 s", Unit::Percent, |on| {
            on.sqlite.flood.lasting * 100.0
        })
        .goal(Goal::AtLeast(97.0)),
        on.time(format!("p50, {rooms} rooms at half that pace"), |on| on.sqlite.half.wait.p50),
        on.time(format!("p99, {rooms} rooms at half that pace"), |on| on.sqlite.half.wait.p99)
            .goal(Goal::AtMost(50.0)),
        on.reported(
            "handed out to confirmed after its commit, p99 at half pace",
            Unit::Millis,
            |on| on.sqlite.half.ack.map(|ack| millis(ack.p99)),
        )
        .goal(Goal::AtMost(10.0)),
    ]
}

fn many_rooms(on: Platforms<'_>) -> [Row; 2] {
    let rooms = thousands(Figures::LARGE as f64);
    [
        on.figure(format!("answers/s, {rooms} rooms at once"), Unit::PerSecond, |on| {
            on.sqlite.large.per_second
        }),
        on.figure(
            format!("answers out of turn or twice, {rooms} rooms at once"),
            Unit::PerSecond,
            |on| on.sqlite.large.misplaced as f64,
        )
        .goal(Goal::AtMost(0.0)),
    ]
}

fn postgres(on: Platforms<'_>) -> [Row; 3] {
    [
        on.figure(
            format!("answers/s with PostgreSQL, {} rooms, flood", Figures::ROOMS),
            Unit::PerSecond,
            |on| on.postgres.flood.per_second,
        ),
        on.figure("processor time per answer with PostgreSQL, flood", Unit::Millis, |on| {
            on.postgres.flood.cpu
        }),
        on.figure("write-ahead log per answer with PostgreSQL, flood", Unit::Kibibytes, |on| {
            on.postgres.log
        }),
    ]
}

fn cost_per_answer(on: Platforms<'_>) -> [Row; 5] {
    [
        on.figure("processor time per answer, one room", Unit::Millis, |on| on.sqlite.one_room.cpu),
        on.figure("processor time per answer, flood", Unit::Millis, |on| on.sqlite.flood.cpu),
        on.reported("SQL statements per answer, one room", Unit::Count, |on| {
            on.sqlite.one_room.statements
        }),
        on.reported("rows written per answer, one room", Unit::Count, |on| on.sqlite.one_room.rows),
        on.figure("written to the disk per answer, one room", Unit::Kibibytes, |on| {
            on.sqlite.one_room.written
        }),
    ]
}

fn starts(on: Platforms<'_>) -> [Row; 4] {
    [
        on.time("restart to `ready in`", |on| on.restart.line),
        on.time("restart to `/readyz` 200", |on| on.restart.readyz)
            .peers("ZeroClaw 101 ms, elizaOS 734 ms, teloxide 12 ms"),
        on.time("restart on the filled database to `/readyz` 200", |on| on.sqlite.filled.readyz),
        on.time("first start, new database, to `/readyz` 200", |on| on.first_start.readyz),
    ]
}

fn memory_of_one_platform(on: Platforms<'_>) -> [Row; 3] {
    [
        on.figure("idle memory, one agent on the platform", Unit::Mebibytes, |on| on.sqlite.idle)
            .goal(Goal::AtMost(32.0))
            .peers("ZeroClaw 38 MiB, elizaOS 79–429 MiB, teloxide 6 MiB"),
        on.figure("the same the moment the loads end", Unit::Mebibytes, |on| on.sqlite.after_load)
            .goal(Goal::AtMost(80.0)),
        on.figure("the same 30 s after the loads", Unit::Mebibytes, |on| on.sqlite.rested)
            .goal(Goal::AtMost(80.0)),
    ]
}

fn memory_without_connectors(memory: &Memory) -> Row {
    Row::new("per further agent", Unit::Mebibytes, Values::Whole(memory.further()))
}
