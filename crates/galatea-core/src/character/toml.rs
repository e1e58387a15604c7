//! TOML text → [`Node`].

use serde_json::Number;
use toml::{
    Spanned,
    de::{DeTable, DeValue},
};

use super::{
    MAX_DEPTH,
    diagnostic::{DEEP, Diagnostic, SYNTAX, SourceText, VALUE},
    node::{Field, Kind, Node},
};
use crate::error::finding::Severity;

/// Parses TOML. Dates become text.
pub(super) fn parse(source: SourceText<'_>) -> Result<Node, Box<Diagnostic>> {
    match DeTable::parse(source.text) {
        Ok(table) => {
            let range = table.span();
            Ok(Node { range, kind: object(source, table.get_ref(), 0)? })
        }
        Err(error) => {
            let mut message = error.message().replace('\n', ", ");
            message.truncate(message.char_indices().nth(200).map_or(message.len(), |(i, _)| i));
            Err(source
                .at(
                    Severity::Error,
                    SYNTAX,
                    &error.span().unwrap_or(0..0),
                    format!("not valid TOML: {message}"),
                )
                .into())
        }
    }
}

fn object(
    source: SourceText<'_>,
    table: &DeTable<'_>,
    depth: usize,
) -> Result<Kind, Box<Diagnostic>> {
    let mut entries = table
        .iter()
        .map(|(key, value)| {
            Ok(Field {
                key: key.get_ref().clone().into_owned(),
                key_range: key.span(),
                value: node(source, value, depth + 1)?,
            })
        })
        .collect::<Result<Vec<_>, Box<Diagnostic>>>()?;
    entries.sort_by_key(|e| e.key_range.start);
    Ok(Kind::Object(entries))
}

fn node(
    source: SourceText<'_>,
    value: &Spanned<DeValue<'_>>,
    depth: usize,
) -> Result<Node, Box<Diagnostic>> {
    let range = value.span();
    if depth > MAX_DEPTH {
        return Err(source
            .at(Severity::Error, DEEP, &range, format!("nested more than {MAX_DEPTH} levels deep"))
            .into());
    }
    let bad_number =
        || source.at(Severity::Error, VALUE, &range, "this number is too large, or not a number");
    let kind = match value.get_ref() {
        DeValue::String(text) => Kind::Text(text.clone().into_owned()),
        DeValue::Integer(number) => Kind::Number(
            i64::from_str_radix(number.as_str(), number.radix()).map_err(|_| bad_number())?.into(),
        ),
        DeValue::Float(number) => Kind::Number(
            number
                .as_str()
                .parse::<f64>()
                .ok()
                .and_then(Number::from_f64)
                .ok_or_else(bad_number)?,
        ),
        DeValue::Boolean(flag) => Kind::Bool(*flag),
        DeValue::Datetime(date) => Kind::Text(date.to_string()),
        DeValue::Array(list) => {
            Kind::List(list.iter().map(|v| node(source, v, depth + 1)).collect::<Result<_, _>>()?)
        }
        DeValue::Table(table) => object(source, table, depth)?,
    };
    Ok(Node { range, kind })
}
