//! Steps: the journal of turns that are not committed yet.

use async_trait::async_trait;
use galatea_core::{
    MemoryId, Result, Timestamp,
    store::{Step as Journaled, StepStore},
};
use serde::Serialize;
use serde_json::Value;
use uuid::Uuid;

use crate::{
    PostgresStore,
    apply::Step,
    change::{Text, uuid},
    convert::from_json,
    read::select,
};

pub(crate) const STEPS: &[Step] = &[(
    "step",
    "INSERT INTO step (message_id, n, action, input, output, begun_at) VALUES (
        (b ->> 'message')::uuid, (b ->> 'n')::integer, b ->> 'action', b ->> 'input', (b ->> 'output')::json, (b ->> 'begun')::bigint)
     ON CONFLICT (message_id, n) DO UPDATE SET output = excluded.output;",
)];

pub(crate) const STORED: &str = "SELECT n, action, input, output::text, begun_at FROM step WHERE message_id = $1 ORDER BY n";

#[derive(Serialize)]
struct Saved<'a> {
    message: Uuid,
    n: u32,
    action: &'a str,
    input: &'a str,
    output: Option<Text<'a, Value>>,
    begun: i64,
}

#[async_trait]
impl StepStore for PostgresStore {
    async fn steps(&self, message: MemoryId) -> Result<Vec<Journaled>> {
        let rows = self.all(select::<(i32, String, String, Option<String>, i64)>(STORED).bind(message.0)).await?;
        let step = |(n, action, input, output, begun): (i32, String, String, Option<String>, i64)| {
            let output = output.map(|text| from_json("step", &text)).transpose()?;
            Ok(Journaled { message, n: u32::try_from(n).unwrap_or(u32::MAX), action, input, output, begun_at: Timestamp(begun) })
        };
        rows.into_iter().map(step).collect()
    }

    async fn save_step(&self, step: &Journaled) -> Result<()> {
        let mut change = self.change();
        let Journaled { message, n, action, input, output, begun_at } = step;
        change.push("step", &Saved { message: uuid(*message), n: *n, action, input, output: output.as_ref().map(Text), begun: begun_at.0 })?;
        self.write(change).await.map(drop)
    }
}
