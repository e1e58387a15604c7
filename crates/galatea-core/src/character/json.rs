//! JSON text → [`Node`], with comments and trailing commas tolerated and reported.

use jsonc_parser::{
    CollectOptions, ParseOptions, ParseStringErrorKind, ast, common::Ranged,
    errors::ParseErrorKind, parse_to_ast,
};
use serde_json::Number;
use std::{borrow::Cow, ops::Range};

use super::{
    MAX_DEPTH,
    diagnostic::{DEEP, Diagnostic, LOOSE, SYNTAX, SourceText, TEXT, VALUE},
    node::{Field, Kind, Node},
};
use crate::error::finding::Severity;

/// Parses JSON. Remarks about tolerated extras go to `remarks`.
pub(super) fn parse(
    source: SourceText<'_>,
    remarks: &mut Vec<Diagnostic>,
) -> Result<Node, Box<Diagnostic>> {
    let quote = check_strings(source, remarks)?;
    let mut options = ParseOptions {
        allow_comments: false,
        allow_loose_object_property_names: false,
        allow_trailing_commas: false,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
    };
    loop {
        let error = match parse_to_ast(source.text, &CollectOptions::default(), &options) {
            Ok(parsed) => {
                let Some(value) = parsed.value else {
                    let fault = Diagnostic::whole(source.file, SYNTAX, "the file is empty")
                        .help("`galatea character new` writes a complete example");
                    return Err(fault.into());
                };
                return node(source, &value, 0);
            }
            Err(error) => error,
        };
        let range = error.range().start..error.range().end;
        let remark = |what: &str| {
            source.at(
                Severity::Warning,
                LOOSE,
                &range,
                format!("{what}: accepted here, refused by elizaOS and other JSON readers"),
            )
        };
        match error.kind() {
            ParseErrorKind::CommentsNotAllowed if !options.allow_comments => {
                remarks.push(remark("a comment"));
                options.allow_comments = true;
            }
            ParseErrorKind::TrailingCommasNotAllowed if !options.allow_trailing_commas => {
                remarks.push(remark("a comma after the last item"));
                options.allow_trailing_commas = true;
            }
            // The fault of such a quote is found at it or behind it.
            kind => {
                return Err(quote
                    .filter(|quote| *quote <= range.start)
                    .map_or_else(|| broken(source, kind, range), |at| inner_quote(source, at))
                    .into());
            }
        }
    }
}

fn broken(source: SourceText<'_>, kind: &ParseErrorKind, range: Range<usize>) -> Diagnostic {
    use ParseErrorKind as K;
    let at = |code, message: &str| source.at(Severity::Error, code, &range, message);
    match kind {
        K::NestingDepthExceeded => too_deep(source, &range),
        K::String(ParseStringErrorKind::InvalidUnicodeEscapeSequence(_)) => {
            at(TEXT, "half of a surrogate pair is not a character")
                .help("write the emoji itself, or both halves of the pair")
        }
        K::String(ParseStringErrorKind::UnterminatedStringLiteral) => {
            at(SYNTAX, "this text is never closed").help("add the closing quote")
        }
        K::String(
            ParseStringErrorKind::InvalidEscape
            | ParseStringErrorKind::InvalidEscapeInDoubleQuoteString,
        ) => at(SYNTAX, "JSON has no such escape")
            .help("write \\\\ for a backslash; an apostrophe needs none"),
        K::String(ParseStringErrorKind::ExpectedFourHexDigits) => {
            at(SYNTAX, "\\u needs four hexadecimal digits")
        }
        K::ExpectedComma => {
            at(SYNTAX, "a comma is missing here").help("put a comma between the two items")
        }
        K::ExpectedColonAfterObjectKey => at(SYNTAX, "a colon is missing after the key"),
        K::ExpectedObjectValue => at(SYNTAX, "the value is missing"),
        K::ExpectedStringObjectProperty => {
            at(SYNTAX, "keys stand in double quotes").help("put double quotes around the key")
        }
        K::SingleQuotedStringsNotAllowed => {
            at(SYNTAX, "JSON uses double quotes").help("replace the single quotes by double quotes")
        }
        K::UnterminatedObject => at(SYNTAX, "this { is never closed").help("add the missing }"),
        K::UnterminatedArray => at(SYNTAX, "this [ is never closed").help("add the missing ]"),
        K::UnterminatedCommentBlock => at(SYNTAX, "this comment is never closed").help("add */"),
        K::UnexpectedCloseBrace => at(SYNTAX, "a } stands where a value is expected"),
        K::UnexpectedCloseBracket => at(SYNTAX, "a ] stands where a value is expected"),
        K::UnexpectedComma => {
            at(SYNTAX, "a comma stands where a value is expected").help("remove one comma")
        }
        K::UnexpectedColon => at(SYNTAX, "a colon stands where a value is expected"),
        K::UnexpectedToken
            if !source
                .text
                .get(range.clone())
                .is_some_and(|t| t.starts_with(char::is_alphabetic)) =>
        {
            at(SYNTAX, "this does not belong here")
        }
        K::UnexpectedWord | K::UnexpectedToken => {
            at(SYNTAX, "text stands in double quotes").help("put double quotes around it")
        }
        K::UnexpectedTokenInObject => at(SYNTAX, "a key in double quotes is expected here"),
        K::MultipleRootJsonValues => at(SYNTAX, "the file goes on after its end")
            .help("a character file holds one object; remove what follows it"),
        other => at(SYNTAX, &format!("not valid JSON: {}", lower_first(&other.to_string()))),
    }
}

fn lower_first(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |c| c.to_lowercase().chain(chars).collect())
}

fn too_deep(source: SourceText<'_>, range: &Range<usize>) -> Diagnostic {
    source.at(Severity::Error, DEEP, range, format!("nested more than {MAX_DEPTH} levels deep"))
}

fn inner_quote(source: SourceText<'_>, at: usize) -> Diagnostic {
    let fault = source.at(
        Severity::Error,
        SYNTAX,
        &(at..at + 1),
        "a quote inside a text ends the text here",
    );
    fault.help("write each quote inside of a text as \\\"")
}

/// A quotation mark of word processors and phones, for which JSON has no place outside of texts.
fn is_typographic(c: char) -> bool {
    matches!(c, '\u{2018}'..='\u{201f}' | '«' | '»' | '‹' | '›' | '″' | '＂' | '「' | '」')
}

fn curly(source: SourceText<'_>, at: usize, c: char) -> Diagnostic {
    let message = format!("{c} is a typographic quotation mark; JSON knows the straight one only");
    source
        .at(Severity::Error, SYNTAX, &(at..at + c.len_utf8()), message)
        .help("replace the quotation marks around keys and texts by \", in the whole file; word processors and phones change them while you type")
}

/// Finds texts that run over the end of their line, which the parser would report much later, and
/// characters that the parser lets pass though JSON has no place for them (RFC 8259 §2 and §7).
/// Returns the first quote that ends a text though the text seems to go on: a fault only if the
/// parser finds one too.
fn check_strings(
    source: SourceText<'_>,
    remarks: &mut Vec<Diagnostic>,
) -> Result<Option<usize>, Box<Diagnostic>> {
    let bytes = source.text.as_bytes();
    let mut at = 0;
    let mut reported = false;
    let mut quote = None;
    let mut report = |at: Range<usize>, what: &str| {
        if !reported {
            reported = true;
            let message =
                format!("{what}: accepted here, refused by elizaOS and other JSON readers");
            remarks.push(source.at(Severity::Warning, LOOSE, &at, message));
        }
    };
    while at < bytes.len() {
        match (bytes[at], bytes.get(at + 1)) {
            (b'/', Some(b'/')) => at += source.text[at..].find('\n').unwrap_or(bytes.len() - at),
            (b'/', Some(b'*')) => {
                at += source.text[at + 2..].find("*/").map_or(bytes.len() - at, |i| i + 4)
            }
            (b'"', _) => {
                let open = at;
                at += 1;
                while let Some(&byte) = bytes.get(at) {
                    match byte {
                        b'"' => break,
                        b'\\' => at += 1,
                        b'\n' | b'\r' => {
                            let same_line =
                                |quote: &usize| !source.text[*quote..open].contains('\n');
                            if let Some(quote) = quote.filter(same_line) {
                                return Err(inner_quote(source, quote).into());
                            }
                            let typographic = source.text[open..at]
                                .char_indices()
                                .rfind(|(_, c)| is_typographic(*c));
                            if let Some((place, c)) = typographic {
                                return Err(curly(source, open + place, c).into());
                            }
                            let message = "this text is not closed on its line";
                            let help =
                                "add the closing quote; a new line inside a text is written \\n";
                            return Err(source
                                .at(Severity::Error, SYNTAX, &(open..at), message)
                                .help(help)
                                .into());
                        }
                        0..=0x1f => report(at..at + 1, "a raw control character"),
                        _ => {}
                    }
                    at += 1;
                }
                // Behind a text come a separator, a comment or the end of the line; a quote there
                // may be the next text's.
                let goes_on = |byte: &u8| {
                    !matches!(
                        byte,
                        b' ' | b'\t' | b'\r' | b'\n' | b',' | b':' | b']' | b'}' | b'"' | b'/'
                    )
                };
                if quote.is_none() && bytes.get(at + 1).is_some_and(goes_on) {
                    quote = Some(at);
                }
                at += 1;
            }
            _ => {
                let next = source.text[at..].chars().next();
                if let Some(c) = next.filter(|c| is_typographic(*c)) {
                    return Err(curly(source, at, c).into());
                }
                let length = next.map_or(1, |c| {
                    if c.is_whitespace() && !matches!(c, ' ' | '\t' | '\n' | '\r') {
                        report(at..at + c.len_utf8(), "a blank that JSON doesn't know");
                    }
                    c.len_utf8()
                });
                at += length;
            }
        }
    }
    Ok(quote)
}

fn node(
    source: SourceText<'_>,
    value: &ast::Value<'_>,
    depth: usize,
) -> Result<Node, Box<Diagnostic>> {
    let range = value.range().start..value.range().end;
    if depth > MAX_DEPTH {
        return Err(too_deep(source, &range).into());
    }
    let kind = match value {
        ast::Value::NullKeyword(_) => Kind::Null,
        ast::Value::BooleanLit(lit) => Kind::Bool(lit.value),
        ast::Value::StringLit(lit) => Kind::Text(lit.value.clone().into_owned()),
        ast::Value::NumberLit(lit) => {
            let fault = || {
                source.at(
                    Severity::Error,
                    VALUE,
                    &range,
                    "this number is too large or not written as JSON writes numbers",
                )
            };
            Kind::Number(number(lit.value).ok_or_else(fault)?)
        }
        ast::Value::Array(array) => Kind::List(
            array.elements.iter().map(|v| node(source, v, depth + 1)).collect::<Result<_, _>>()?,
        ),
        ast::Value::Object(object) => {
            let mut entries = Vec::with_capacity(object.properties.len());
            for property in &object.properties {
                let (key, at) = match &property.name {
                    ast::ObjectPropName::String(lit) => (lit.value.clone(), lit.range),
                    ast::ObjectPropName::Word(lit) => (Cow::Borrowed(lit.value), lit.range),
                };
                entries.push(Field {
                    key: key.into_owned(),
                    key_range: at.start..at.end,
                    value: node(source, &property.value, depth + 1)?,
                });
            }
            Kind::Object(entries)
        }
    };
    Ok(Node { range, kind })
}

/// Fractions are read by the standard library, whose result is the nearest possible; integers keep
/// every digit.
fn number(text: &str) -> Option<Number> {
    if text.contains(['.', 'e', 'E']) {
        text.parse().ok().and_then(Number::from_f64)
    } else {
        serde_json::from_str(text).ok()
    }
}
