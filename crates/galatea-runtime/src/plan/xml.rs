//! elizaOS XML as models really write it: fenced, cut off, with raw `<` in the words, without the
//! outer element.

use super::{
    envelope::{self, Draft},
    json,
    tag::{Tag, WRAPPER, element_text, is_torn_tag, tag_at},
    tree,
    types::{Repairs, TORN_MARKUP, WORDS_AROUND},
};

/// Elements read from one envelope; together with [`MAX_CLOSES`] it keeps the work linear in the
/// answer's length.
const MAX_ELEMENTS: usize = 32;
/// Closing tags of one name that are looked at before the first is taken.
const MAX_CLOSES: usize = 64;

/// The beginning of an envelope.
pub(super) struct EnvelopeStart {
    pub(super) at: usize,
    /// True if only a code fence is in front of it.
    pub(super) at_start: bool,
}

/// Finds the envelope. In the middle of prose it takes more than one element to be one: people talk
/// about XML too.
pub(super) fn find(body: &str) -> Option<EnvelopeStart> {
    let (mut text, mut around) = (None, None);
    let start = lead_in(body);
    let ends_wrapped = body.trim_end().trim_end_matches('`').trim_end().ends_with("</response>");
    let mut pos = 0;
    while let Some(offset) = body[pos..].find('<') {
        let at = pos + offset;
        let rest = &body[at..];
        if rest.starts_with("<![CDATA[") {
            pos = rest.find("]]>").map_or(body.len(), |end| at + end + 3);
            continue;
        }
        pos = at + 1;
        let at_start = at == start;
        let Some(tag) = tag_at(rest) else {
            if at_start && is_torn_tag(rest) {
                return Some(EnvelopeStart { at, at_start });
            }
            continue;
        };
        if tag.closing {
            continue;
        }
        if tag.is(WRAPPER)
            && (at_start || ends_wrapped || begins_element(rest[tag.len..].trim_start()))
        {
            return Some(EnvelopeStart { at, at_start });
        }
        if tag.known() && tag.attributes.is_empty() {
            if at_start {
                return Some(EnvelopeStart { at, at_start });
            }
            if tag.is("text") {
                text = text.or(Some(at));
            } else {
                around = around.or(Some(at));
            }
            if let (Some(a), Some(b)) = (text, around) {
                return Some(EnvelopeStart { at: a.min(b), at_start: false });
            }
        }
    }
    None
}

/// Bytes of `body` that are only space and the first line of a code block.
pub(super) fn lead_in(body: &str) -> usize {
    let rest = body.trim_start();
    let after_fence = rest
        .strip_prefix("```")
        .map(|rest| rest.trim_start_matches(|c: char| c.is_ascii_alphanumeric()).trim_start());
    body.len() - after_fence.unwrap_or(rest).len()
}

fn begins_element(text: &str) -> bool {
    tag_at(text).is_some_and(|tag| tag.known())
}

/// Reads the envelope that [`find`] found.
pub(super) fn read(body: &str, found: &EnvelopeStart, repairs: &mut Repairs) -> Draft {
    let mut draft = Draft::default();
    let s = &body[found.at..];
    let mut loose = String::new();
    let mut wrapped_from = None;
    let mut any_child = false;
    let mut pos = 0;
    let mut elements = 0;
    let mut after = s.len();
    while let Some(offset) = s[pos..].find('<') {
        let at = pos + offset;
        loose.push_str(&s[pos..at]);
        let Some(tag) = tag_at(&s[at..]) else {
            if is_torn_tag(&s[at..]) {
                repairs.note(TORN_MARKUP);
                pos = s.len();
                break;
            }
            loose.push('<');
            pos = at + 1;
            continue;
        };
        pos = at + tag.len;
        if tag.is(WRAPPER) {
            if tag.closing {
                after = pos;
                pos = s.len();
                break;
            }
            wrapped_from = wrapped_from.or(Some(pos));
            continue;
        }
        if tag.closing || tag.empty || elements >= MAX_ELEMENTS {
            if !tag.known() && tag.closing {
                loose.push_str(&s[at..pos]);
            }
            continue;
        }
        elements += 1;
        if !tag.known() {
            // A plugin's own element says nothing to the chat; a lone tag is words.
            match element(s, tag.name, pos) {
                element if element.closed => pos = element.next,
                _ => loose.push_str(&s[at..pos]),
            }
            continue;
        }
        any_child = true;
        let element = element(s, tag.name, pos);
        if !element.closed {
            repairs.note(TORN_MARKUP);
        }
        pos = element.next;
        store(&mut draft, &tag, &element);
    }
    loose.push_str(&s[pos..]);
    if draft.text.is_none() {
        let words = match wrapped_from {
            Some(from) if !any_child => {
                let inner = &s[from..];
                let inner = inner.rfind("</response>").map_or_else(|| inner, |end| &inner[..end]);
                element_text(inner, inner.len() == s.len() - from)
            }
            _ => element_text(loose.trim().trim_end_matches("```"), false),
        };
        draft.text = Some(words).filter(|w| !w.is_empty());
        let outside = s[after..].trim().trim_matches('`').trim();
        if draft.text.is_none()
            && !outside.is_empty()
            && find(outside).is_none()
            && draft.may_speak()
        {
            draft.text = Some(outside.to_owned());
        }
        if draft.text.is_some() {
            repairs.note("words outside the text element used");
        }
    }
    if !found.at_start || after < s.len() && !s[after..].trim().trim_matches('`').is_empty() {
        repairs.note(WORDS_AROUND);
    }
    draft
}

fn store(draft: &mut Draft, tag: &Tag<'_>, element: &Element<'_>) {
    let inner = element.inner;
    let torn = !element.closed && element.at_end;
    let is = |name: &str| tag.is(name);
    draft.torn |=
        !element.closed && ["actions", "action", "params", "parameters"].into_iter().any(is);
    if is("thought") || is("thinking") {
        draft.append_thought(element_text(inner, torn));
    } else if is("text") || is("message") {
        let words = element_text(inner, torn);
        if !words.is_empty() {
            draft.text =
                Some(draft.text.take().map_or(words.clone(), |text| format!("{text}\n{words}")));
        }
    } else if is("actions") || is("action") {
        let inner = if torn { without_torn_tag(inner) } else { inner };
        let content = tree::parse(inner);
        if is("action") && content.is_object() {
            envelope::add_action(draft, &content);
        } else {
            let attribute = tree::attribute(tag.attributes, "name").unwrap_or_default();
            envelope::add_listed(draft, attribute);
            envelope::add_actions(draft, content);
        }
    } else if is("providers") {
        let inner = if torn { without_torn_tag(inner) } else { inner };
        envelope::add_providers(draft, &tree::parse(inner));
    } else if is("params") || is("parameters") {
        let inner = if torn { without_torn_tag(inner) } else { inner };
        let json = Some(element_text(inner, torn))
            .filter(|w| w.starts_with('{'))
            .and_then(|w| json::whole(&w));
        draft.params = json.unwrap_or_else(|| tree::parse(inner));
    }
}

/// Content of an element.
struct Element<'a> {
    inner: &'a str,
    next: usize,
    closed: bool,
    at_end: bool,
}

/// The content of the element whose opening tag ends at `start`.
///
/// Words may hold the closing tag too, so the one that is followed by another element (or by the
/// end) is taken, else the first.
fn element<'a>(s: &'a str, name: &str, start: usize) -> Element<'a> {
    let closed = |at: usize, len: usize| Element {
        inner: &s[start..at],
        next: at + len,
        closed: true,
        at_end: false,
    };
    let (mut first, mut sibling) = (None, None);
    let mut closes = 0;
    let mut pos = start;
    while let Some(offset) = s[pos..].find('<') {
        let at = pos + offset;
        if s[at..].starts_with("<![CDATA[") {
            match s[at..].find("]]>") {
                Some(end) => pos = at + end + 3,
                None => break,
            }
            continue;
        }
        pos = at + 1;
        let Some(tag) = tag_at(&s[at..]) else { continue };
        if tag.closing && tag.is(name) {
            if is_followed_by_element(&s[at + tag.len..], name) {
                return closed(at, tag.len);
            }
            first = first.or(Some((at, tag.len)));
            closes += 1;
            if closes >= MAX_CLOSES {
                break;
            }
        } else if sibling.is_none() && ends_unclosed(&tag, name) {
            sibling = Some(at);
        }
    }
    match (first, sibling) {
        (Some((at, len)), _) => closed(at, len),
        (None, Some(at)) => {
            Element { inner: &s[start..at], next: at, closed: false, at_end: false }
        }
        (None, None) => Element { inner: &s[start..], next: s.len(), closed: false, at_end: true },
    }
}

fn is_followed_by_element(rest: &str, name: &str) -> bool {
    let rest = rest.trim_start();
    let other = |tag: Tag<'_>| tag.is(WRAPPER) || (tag.known() && !tag.is(name));
    rest.is_empty()
        || rest.starts_with("```")
        || is_torn_tag(rest)
        || tag_at(rest).is_some_and(other)
}

/// True if this tag shows that the element `name` should have ended before it.
fn ends_unclosed(tag: &Tag<'_>, name: &str) -> bool {
    if tag.closing {
        return tag.is(WRAPPER);
    }
    let nested = matches!(
        name.to_ascii_lowercase().as_str(),
        "actions" | "action" | "params" | "parameters"
    );
    tag.known()
        && !tag.is(name)
        && !(nested && (tag.is("action") || tag.is("params") || tag.is("parameters")))
}

fn without_torn_tag(inner: &str) -> &str {
    inner
        .rfind('<')
        .filter(|at| inner.len() - at <= 64 && !inner[*at..].contains('>'))
        .map_or(inner, |at| &inner[..at])
}
