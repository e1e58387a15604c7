//! An answer whose prompt asks for words. It is a plan only if the whole of it has the shape of one,
//! and words as written otherwise: people ask for JSON and talk about XML, too.

use super::{
    envelope::Draft,
    json::value_at,
    json_plan,
    names::Names,
    tag::{WRAPPER, tag_at},
    types::{AnswerForm, PlanFormat, Repairs},
    xml,
};

/// Elements that an envelope begins with.
const FIRST: [&str; 5] = ["thought", "text", "actions", "action", "providers"];

const XML_END: &str = "</response>";

/// Reads the answer, without its reasoning, as a plan; none if it is words.
pub(super) fn read(
    body: &str,
    form: AnswerForm,
    names: &Names<'_>,
    repairs: &mut Repairs,
) -> Option<(PlanFormat, Draft)> {
    let inner = without_fence(body.trim());
    let mut notes = Repairs::default();
    let found = match inner.as_bytes().first()? {
        b'<' => xml_plan(inner, &mut notes).map(|draft| (PlanFormat::Xml, draft)),
        b'{' | b'[' => {
            json_plan::whole(inner, form, names, &mut notes).map(|draft| (PlanFormat::Json, draft))
        }
        _ => None,
    };
    if found.is_some() {
        repairs.extend(notes);
    }
    found
}

/// The text inside of one code block around everything. An answer that was cut off may lack its end.
/// The words of a plan may have code blocks of their own.
fn without_fence(body: &str) -> &str {
    let Some(rest) = body.strip_prefix("```") else { return body };
    let label = rest.bytes().take_while(u8::is_ascii_alphanumeric).count();
    let inner = rest[label..].trim();
    let end = match inner.as_bytes().first() {
        Some(b'{' | b'[') => value_at(inner, &mut Repairs::default()).1,
        Some(b'<') => inner
            .match_indices(XML_END)
            .map(|(at, end)| at + end.len())
            .find(|end| inner[*end..].trim_start().starts_with("```"))
            .unwrap_or(inner.len()),
        _ => inner.len(),
    };
    if inner[end..].trim().trim_matches('`').is_empty() { &inner[..end] } else { body }
}

/// `<response>` with elements of ours, from the first character to the last.
fn xml_plan(inner: &str, notes: &mut Repairs) -> Option<Draft> {
    let tag = tag_at(inner).filter(|tag| tag.is(WRAPPER) && !tag.closing)?;
    let end = inner.rfind("</").filter(|at| *at >= tag.len)?;
    let closes = tag_at(&inner[end..]).is_some_and(|t| t.is(WRAPPER) && end + t.len == inner.len());
    let content = inner[tag.len..end].trim();
    let begins =
        tag_at(content).is_some_and(|tag| !tag.closing && FIRST.iter().any(|name| tag.is(name)));
    if !closes || !(content.is_empty() || begins) {
        return None;
    }
    let found = xml::find(inner).filter(|found| found.at == 0)?;
    Some(xml::read(inner, &found, notes))
}
