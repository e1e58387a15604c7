//! Steps: the journal of turns that are not committed yet.

use async_trait::async_trait;
use galatea_core::{
    MemoryId, Result, Timestamp,
    store::{Step, StepStore},
};
use serde::Serialize;
use serde_json::Value;

use crate::{
    SqliteStore,
    apply::Trigger,
    change::{Hex, hex},
    convert::from_json,
    read::select,
};

pub(crate) const TRIGGERS: &[Trigger] = &[(
    "step",
    "INSERT INTO step (message_id, n, action, input, output, begun_at) VALUES (
        unhex(NEW.body ->> 'message'), NEW.body ->> 'n', NEW.body ->> 'action', NEW.body ->> 'input', nullif(NEW.body -> 'output', 'null'), NEW.body ->> 'begun')
     ON CONFLICT (message_id, n) DO UPDATE SET output = excluded.output;",
)];

pub(crate) const STEPS: &str = "SELECT n, action, input, output, begun_at FROM step WHERE message_id = ?1 ORDER BY n";

#[derive(Serialize)]
struct Saved<'a> {
    message: Hex,
    n: u32,
    action: &'a str,
    input: &'a str,
    output: &'a Option<Value>,
    begun: i64,
}

#[async_trait]
impl StepStore for SqliteStore {
    async fn steps(&self, message: MemoryId) -> Result<Vec<Step>> {
        let rows = self.all(select::<(i64, String, String, Option<String>, i64)>(STEPS).bind(message.0)).await?;
        let step = |(n, action, input, output, begun): (i64, String, String, Option<String>, i64)| {
            let output = output.map(|text| from_json("step", &text)).transpose()?;
            Ok(Step { message, n: u32::try_from(n).unwrap_or(u32::MAX), action, input, output, begun_at: Timestamp(begun) })
        };
        rows.into_iter().map(step).collect()
    }

    async fn save_step(&self, step: &Step) -> Result<()> {
        let mut change = self.change();
        let Step { message, n, action, input, output, begun_at } = step;
        change.push("step", &Saved { message: hex(*message), n: *n, action, input, output, begun: begun_at.0 })?;
        self.write(change).await.map(drop)
    }
}
