//! The journal of turns that are not committed yet.

use async_trait::async_trait;
use galatea_core::{
    MemoryId, Result, Timestamp,
    store::{JournalStep, StepStore},
};

use crate::{
    Database,
    convert::{from_json, to_json},
    dialect::{Dialects, Value, values},
};

pub(crate) const SAVE: Dialects = Dialects::same(
    "INSERT INTO step (message_id, n, action, input, output, begun_at) VALUES ($1, $2, $3, $4, $5, $6) \
     ON CONFLICT (message_id, n) DO UPDATE SET output = excluded.output",
);
pub(crate) const STEPS: Dialects = Dialects::same(
    "SELECT CAST(n AS bigint) AS n, action, input, CAST(output AS text) AS output, begun_at FROM step WHERE message_id = $1 ORDER BY n",
);

type Stored = (i64, String, String, Option<String>, i64);

#[async_trait]
impl StepStore for Database {
    async fn steps(&self, message: MemoryId) -> Result<Vec<JournalStep>> {
        let step = |(n, action, input, output, begun): Stored| {
            let output = output.map(|text| from_json("step", &text)).transpose()?;
            Ok(JournalStep {
                message,
                n: u32::try_from(n).unwrap_or(u32::MAX),
                action,
                input,
                output,
                begun_at: Timestamp(begun),
            })
        };
        self.all(STEPS.with(values![message.0])).await?.into_iter().map(step).collect()
    }

    async fn save_step(&self, step: &JournalStep) -> Result<()> {
        let JournalStep { message, n, action, input, output, begun_at } = step;
        let mut values = values![message.0, *n, action.as_str(), input.as_str()];
        values.push(Value::Json(output.as_ref().map(to_json).transpose()?));
        values.push(begun_at.0.into());
        self.write_one(SAVE.with(values)).await.map(drop)
    }
}
