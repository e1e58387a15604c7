//! One change, carried out on the writer's connection.

use super::raw::{Arg, Raw, Refusal, args};
use crate::{
    change::{Change, Write},
    dialect::{Statement, Value, hexes, little_endian},
    rows::{self, DeliveryRow, FinishRow, MemoryRow, MessageRow, SettleRow, UsageSum},
};

/// Why a change is not carried out.
#[derive(Debug)]
pub(crate) enum Failed {
    /// It meets what has been committed already.
    Conflict,
    /// SQLite refuses it.
    Refused(Refusal),
}

impl From<Refusal> for Failed {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

/// Carries out a change within a transaction: how many rows each write touched.
pub(crate) fn change(db: &mut Raw<'_>, change: &Change) -> Result<Vec<u64>, Failed> {
    change.writes.iter().map(|write| self::write(db, write)).collect()
}

fn write(db: &mut Raw<'_>, write: &Write) -> Result<u64, Failed> {
    Ok(match write {
        // One process holds everything.
        Write::Fence(_) => 1,
        Write::Message(row) => message(db, row)?,
        Write::Begin(id) => db.execute(rows::BEGIN, args![id])?,
        Write::Finish(row) => finish(db, row)?,
        Write::Memory(row) => remember(db, row)?,
        Write::Delivery(row) => delivery(db, row)?,
        Write::Settle(row) => settle(db, row)?,
        Write::Cursor(row) => db.execute(
            rows::MOVE_CURSOR,
            args![&row.agent, &row.source, &row.account, &row.stream, &row.position],
        )?,
        Write::Usage(row) => add_usage(db, row)?,
        Write::Other { statements, counted } => other(db, statements, *counted)?,
        Write::Required { statements } => match other(db, statements, None)? {
            0 => return Err(Failed::Conflict),
            touched => touched,
        },
    })
}

fn message(db: &mut Raw<'_>, row: &MessageRow) -> Result<u64, Refusal> {
    let MessageRow { memory, legacy, source, account, room_remote, remote, received, envelope } =
        row;
    let new = db.execute(
        rows::RECEIVE,
        args![
            &memory.id,
            &memory.agent,
            &memory.entity,
            &memory.room,
            source,
            account,
            room_remote,
            remote,
            legacy,
            envelope,
            *received
        ],
    )?;
    if new > 0 { remember(db, memory) } else { Ok(0) }
}

fn remember(db: &mut Raw<'_>, row: &MemoryRow) -> Result<u64, Refusal> {
    db.execute(
        rows::REMEMBER,
        args![
            &row.id,
            &row.kind,
            &row.agent,
            &row.entity,
            &row.room,
            &row.world,
            row.at,
            &row.metadata,
            &row.content
        ],
    )
}

fn finish(db: &mut Raw<'_>, row: &FinishRow) -> Result<u64, Failed> {
    let FinishRow { id, agent, turn, state, at, verdict } = row;
    let touched = db.execute(rows::FINISH, args![id, agent, turn, state, *at, verdict])?;
    if touched == 0 {
        return Err(Failed::Conflict);
    }
    db.execute(rows::FORGET_STEPS, args![id])?;
    Ok(touched)
}

fn delivery(db: &mut Raw<'_>, row: &DeliveryRow) -> Result<u64, Failed> {
    let touched = db.execute(
        rows::DELIVER,
        args![
            &row.id,
            &row.turn,
            row.part,
            &row.agent,
            &row.source,
            &row.account,
            &row.room,
            &row.remote,
            &row.key,
            &row.memory,
            &row.state,
            row.attempt,
            row.at,
            row.expires,
            &row.body
        ],
    )?;
    if touched == 0 { Err(Failed::Conflict) } else { Ok(touched) }
}

fn settle(db: &mut Raw<'_>, row: &SettleRow) -> Result<u64, Refusal> {
    let SettleRow { id, state, attempt, not_before, remote, error, outcome_unknown, .. } = row;
    db.execute(
        rows::SETTLE,
        args![id, state, *attempt, *not_before, remote, error, *outcome_unknown],
    )
}

fn add_usage(db: &mut Raw<'_>, row: &UsageSum) -> Result<u64, Refusal> {
    db.execute(
        rows::ADD_USAGE,
        args![
            &row.agent,
            row.day,
            &row.room,
            &row.person,
            &row.model,
            &row.source,
            &row.world,
            row.answers,
            row.refused,
            row.notices,
            row.calls,
            row.input,
            row.cached,
            row.output,
            row.unpriced,
            row.micros
        ],
    )
}

/// Statements one after another; the rows that the counted one touched.
fn other(
    db: &mut Raw<'_>,
    statements: &[Statement],
    counted: Option<usize>,
) -> Result<u64, Refusal> {
    let counted = counted.unwrap_or(statements.len().saturating_sub(1));
    let mut hits = 0;
    for (n, statement) in statements.iter().enumerate() {
        // Nothing to do in this dialect is an empty text.
        let text = statement.sqlite.as_ref();
        if text.is_empty() {
            continue;
        }
        let touched = bound(db, text, &statement.values)?;
        if n == counted {
            hits = touched;
        }
    }
    Ok(hits)
}

fn bound(db: &mut Raw<'_>, text: &str, values: &[Value]) -> Result<u64, Refusal> {
    /// What a value is written as, where it is not borrowed.
    enum Made {
        Text(String),
        Blob(Vec<u8>),
        Nothing,
    }
    let json = |texts: Result<String, serde_json::Error>| Made::Text(texts.unwrap_or_default());
    let made: Vec<Made> = values
        .iter()
        .map(|value| match value {
            Value::Ids(ids) => Made::Text(hexes(ids)),
            Value::Texts(texts) => json(serde_json::to_string(texts)),
            Value::Ints(ints) => json(serde_json::to_string(ints)),
            Value::Vector(numbers) => Made::Blob(little_endian(numbers)),
            _ => Made::Nothing,
        })
        .collect();
    let args: Vec<Arg<'_>> = values
        .iter()
        .zip(&made)
        .map(|(value, made)| match (value, made) {
            (_, Made::Text(text)) => Arg::Text(text),
            (_, Made::Blob(bytes)) => Arg::Blob(bytes),
            (Value::Bits(bits, _), _) => Arg::Blob(bits),
            (Value::Id(id), _) => Arg::from(id),
            (Value::Int(n), _) => Arg::from(*n),
            (Value::Bool(b), _) => Arg::from(*b),
            (Value::Text(Some(text)) | Value::Json(Some(text)) | Value::Jsonb(text), _) => {
                Arg::Text(text)
            }
            _ => Arg::Null,
        })
        .collect();
    db.execute(text, &args)
}
