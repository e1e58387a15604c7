//! Statements: their text in both dialects side by side, with bound values. Placeholders are `$1`,
//! `$2`, …, which both databases take.

use galatea_core::{Error, Result};
use sqlx::{
    Arguments,
    encode::{Encode, IsNull},
    error::BoxDynError,
    postgres::types::Oid,
    postgres::{PgArgumentBuffer, PgArguments, PgTypeInfo, Postgres},
    sqlite::SqliteArguments,
    types::Type,
};
use std::borrow::Cow;
use uuid::Uuid;

use crate::convert;

/// The text of a statement in both dialects. An empty text is nothing to do in that dialect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Dialects {
    pub(crate) sqlite: &'static str,
    pub(crate) postgres: &'static str,
}

/// A statement with the name of its constant, for the tests of all statements.
#[cfg(test)]
pub(crate) type Listed = (&'static str, Dialects);

/// Constants of this module as [`Listed`]. `tests/statements.rs` finds a constant that no list names.
#[cfg(test)]
macro_rules! listed {
    ($($name:ident),* $(,)?) => { &[$((concat!(module_path!(), "::", stringify!($name)), $name)),*] };
}
#[cfg(test)]
pub(crate) use listed;

impl Dialects {
    /// One text that does for both.
    pub(crate) const fn same(text: &'static str) -> Self {
        Self { sqlite: text, postgres: text }
    }

    /// The statement with its values.
    pub(crate) fn with(self, values: Vec<Value>) -> Statement {
        Statement { sqlite: self.sqlite.into(), postgres: self.postgres.into(), values }
    }
}

/// A statement with its values.
#[derive(Debug, Clone)]
pub(crate) struct Statement {
    pub(crate) sqlite: Cow<'static, str>,
    pub(crate) postgres: Cow<'static, str>,
    pub(crate) values: Vec<Value>,
}

impl Statement {
    /// One that is put together for SQLite only; its conditions depend on a query, its values are
    /// bound.
    pub(crate) fn for_sqlite(text: String, values: Vec<Value>) -> Self {
        Self { sqlite: text.into(), postgres: Cow::Borrowed(""), values }
    }

    /// One that is put together for PostgreSQL only.
    pub(crate) fn for_postgres(text: impl Into<Cow<'static, str>>, values: Vec<Value>) -> Self {
        Self { sqlite: Cow::Borrowed(""), postgres: text.into(), values }
    }

    /// Bytes of its values, about.
    pub(crate) fn size(&self) -> usize {
        let bytes = |value: &Value| match value {
            Value::Text(Some(text)) | Value::Json(Some(text)) | Value::Jsonb(text) => text.len(),
            Value::Vector(numbers) => 4 * numbers.len(),
            Value::Ids(ids) => 16 * ids.len(),
            _ => 16,
        };
        self.values.iter().map(bytes).sum()
    }

    pub(crate) fn sqlite_arguments(&self) -> Result<SqliteArguments> {
        let mut out = SqliteArguments::default();
        for value in &self.values {
            value.add_to_sqlite(&mut out).map_err(unholdable)?;
        }
        Ok(out)
    }

    pub(crate) fn postgres_arguments(&self) -> Result<PgArguments> {
        let mut out = PgArguments::default();
        for value in &self.values {
            value.add_to_postgres(&mut out).map_err(unholdable)?;
        }
        Ok(out)
    }
}

fn unholdable(source: BoxDynError) -> Error {
    Error::invalid("the database cannot hold this value").with_source(source)
}

/// A bound value, and what each database takes it for.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Value {
    /// 16 bytes; `uuid`.
    Id(Option<Uuid>),
    /// An integer; `bigint`.
    Int(Option<i64>),
    /// 0 or 1; `boolean`.
    Bool(bool),
    /// Text. PostgreSQL's columns cannot hold U+0000 and get U+FFFD.
    Text(Option<String>),
    /// A JSON document that is kept to the letter; `json`.
    Json(Option<String>),
    /// A JSON document that statements look into; `jsonb`, which cannot hold U+0000 and gets
    /// U+FFFD.
    Jsonb(String),
    /// A JSON array of hexadecimal ids, read by `SELECT unhex(value) FROM json_each($1)`; `uuid[]`.
    Ids(Vec<Uuid>),
    /// A JSON array, read by `SELECT value FROM json_each($1)`; `text[]`.
    Texts(Vec<String>),
    /// A JSON array; `bigint[]`.
    Ints(Vec<i64>),
    /// Signs of a vector: a BLOB; text of zeros and ones for `bit varying`.
    Bits(Vec<u8>, usize),
    /// 32-bit numbers: little-endian; big-endian in `bytea`.
    Vector(Vec<f32>),
}

macro_rules! from {
    ($($type:ty: $value:ident => $made:expr;)*) => {$(
        impl From<$type> for Value {
            fn from($value: $type) -> Self {
                $made
            }
        }
    )*};
}

from! {
    Uuid: id => Self::Id(Some(id));
    Option<Uuid>: id => Self::Id(id);
    i64: n => Self::Int(Some(n));
    u32: n => Self::Int(Some(n.into()));
    Option<i64>: n => Self::Int(n);
    bool: b => Self::Bool(b);
    &str: text => Self::Text(Some(text.to_owned()));
    String: text => Self::Text(Some(text));
    Option<String>: text => Self::Text(text);
}

/// Values in the order of their placeholders.
macro_rules! values {
    ($($value:expr),* $(,)?) => { vec![$($crate::dialect::Value::from($value)),*] };
}
pub(crate) use values;

impl Value {
    fn add_to_sqlite(&self, out: &mut SqliteArguments) -> Result<(), BoxDynError> {
        match self {
            Self::Id(id) => out.add(*id),
            Self::Int(n) => out.add(*n),
            Self::Bool(b) => out.add(*b),
            Self::Text(text) | Self::Json(text) => out.add(text.clone()),
            Self::Jsonb(text) => out.add(text.clone()),
            Self::Ids(ids) => out.add(hexes(ids)),
            Self::Texts(texts) => out.add(serde_json::to_string(texts)?),
            Self::Ints(ints) => out.add(serde_json::to_string(ints)?),
            Self::Bits(bits, _) => out.add(bits.clone()),
            Self::Vector(numbers) => out.add(little_endian(numbers)),
        }
    }

    fn add_to_postgres(&self, out: &mut PgArguments) -> Result<(), BoxDynError> {
        match self {
            Self::Id(id) => out.add(*id),
            Self::Int(n) => out.add(*n),
            Self::Bool(b) => out.add(*b),
            Self::Text(text) => out.add(text.as_deref().map(storable)),
            Self::Json(text) => out.add(text.clone().map(Document)),
            Self::Jsonb(text) => out.add(Binary(storable_json(text.clone()))),
            Self::Ids(ids) => out.add(ids.clone()),
            Self::Texts(texts) => {
                out.add(texts.iter().map(|text| storable(text)).collect::<Vec<_>>())
            }
            Self::Ints(ints) => out.add(ints.clone()),
            Self::Bits(bits, width) => out.add(zeros_and_ones(bits, *width)),
            Self::Vector(numbers) => out.add(convert::packed(numbers)),
        }
    }
}

/// Text of a row, as PostgreSQL's columns hold it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Text(pub(crate) String);

impl Type<Postgres> for Text {
    fn type_info() -> PgTypeInfo {
        <String as Type<Postgres>>::type_info()
    }
}

impl Encode<'_, Postgres> for Text {
    fn encode_by_ref(&self, out: &mut PgArgumentBuffer) -> Result<IsNull, BoxDynError> {
        if self.0.contains('\0') {
            <String as Encode<Postgres>>::encode(storable(&self.0), out)
        } else {
            <&str as Encode<Postgres>>::encode(self.0.as_str(), out)
        }
    }
}

impl From<&str> for Text {
    fn from(text: &str) -> Self {
        Self(text.to_owned())
    }
}

/// A JSON text as PostgreSQL's `json`, which it checks and otherwise leaves alone.
#[derive(Debug, Clone)]
struct Document(String);

impl Type<Postgres> for Document {
    fn type_info() -> PgTypeInfo {
        // https://github.com/postgres/postgres/blob/master/src/include/catalog/pg_type.dat: json.
        PgTypeInfo::with_oid(Oid(114))
    }
}

impl Encode<'_, Postgres> for Document {
    fn encode_by_ref(&self, out: &mut PgArgumentBuffer) -> Result<IsNull, BoxDynError> {
        out.extend_from_slice(self.0.as_bytes());
        Ok(IsNull::No)
    }
}

/// A JSON text as PostgreSQL's `jsonb`.
#[derive(Debug, Clone)]
struct Binary(String);

impl Type<Postgres> for Binary {
    fn type_info() -> PgTypeInfo {
        // As above: jsonb.
        PgTypeInfo::with_oid(Oid(3802))
    }
}

impl Encode<'_, Postgres> for Binary {
    fn encode_by_ref(&self, out: &mut PgArgumentBuffer) -> Result<IsNull, BoxDynError> {
        // The version of the format, then the text (`jsonb_recv`).
        out.push(1);
        out.extend_from_slice(self.0.as_bytes());
        Ok(IsNull::No)
    }
}

/// Text as PostgreSQL's columns hold it: with U+FFFD for U+0000.
pub(crate) fn storable(text: &str) -> String {
    text.replace('\0', "\u{FFFD}")
}

/// JSON that `jsonb` takes: U+0000, which its strings cannot hold, becomes U+FFFD.
pub(crate) fn storable_json(text: String) -> String {
    if !text.contains("\\u0000") {
        return text;
    }
    match serde_json::from_str::<serde_json::Value>(&text) {
        Ok(mut value) => {
            without_nul(&mut value);
            value.to_string()
        }
        Err(_) => text,
    }
}

fn without_nul(value: &mut serde_json::Value) {
    match value {
        serde_json::Value::String(text) if text.contains('\0') => *text = storable(text),
        serde_json::Value::Array(list) => list.iter_mut().for_each(without_nul),
        serde_json::Value::Object(map) => {
            *map = std::mem::take(map)
                .into_iter()
                .map(|(key, mut value)| {
                    without_nul(&mut value);
                    (storable(&key), value)
                })
                .collect();
        }
        _ => {}
    }
}

/// Ids as a JSON array of hexadecimal digits.
pub(crate) fn hexes(ids: &[Uuid]) -> String {
    let mut out = String::with_capacity(2 + 35 * ids.len());
    out.push('[');
    for (n, id) in ids.iter().enumerate() {
        out.push_str(if n == 0 { "\"" } else { ",\"" });
        out.push_str(id.simple().encode_lower(&mut Uuid::encode_buffer()));
        out.push('"');
    }
    out.push(']');
    out
}

fn zeros_and_ones(bits: &[u8], width: usize) -> String {
    let is_set = |n: usize| bits.get(n / 8).is_some_and(|byte| byte & (1 << (n % 8)) != 0);
    (0..width).map(|n| if is_set(n) { '1' } else { '0' }).collect()
}

/// The signs of a vector as a value.
pub(crate) fn bits(numbers: &[f32]) -> Value {
    Value::Bits(convert::signs(numbers), numbers.len())
}

/// Numbers as a BLOB has them.
pub(crate) fn little_endian(numbers: &[f32]) -> Vec<u8> {
    numbers.iter().flat_map(|n| n.to_le_bytes()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jsonb_gets_no_nul() {
        assert_eq!(
            storable_json(r#"{"k\u0000":["a\u0000",1]}"#.to_owned()),
            "{\"k\u{FFFD}\":[\"a\u{FFFD}\",1]}"
        );
        let escaped = r#"{"a":"\\u0000"}"#;
        assert_eq!(storable_json(escaped.to_owned()), escaped);
    }

    #[test]
    fn ids_are_a_json_array() {
        assert_eq!(hexes(&[]), "[]");
        let two = [Uuid::nil(), Uuid::max()];
        assert_eq!(hexes(&two), format!("[\"{}\",\"{}\"]", "0".repeat(32), "f".repeat(32)));
    }
}
