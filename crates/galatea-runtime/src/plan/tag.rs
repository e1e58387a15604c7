//! Tags and words of XML as models really write it.

/// Elements of an envelope.
const KNOWN: [&str; 10] = [
    "thought",
    "thinking",
    "text",
    "message",
    "actions",
    "action",
    "providers",
    "params",
    "parameters",
    "evaluators",
];
/// Element around the whole answer, as elizaOS asks for it.
pub(super) const WRAPPER: &str = "response";
/// A tag longer than this is words.
const LONGEST_TAG: usize = 256;
/// Tags that models put around their reasoning.
pub(super) const THINKING: [&str; 3] = ["think", "thinking", "reasoning"];

/// Further ones, of models and prompts of people that use them.
pub(super) const MORE_THINKING: &str = "thought thoughts reflection scratchpad inner_monologue internal_monologue \
    internal_thought internal_thoughts monologue deliberation antthinking ant:thinking \
    antml:thinking seed:think chain_of_thought analysis reason";

/// A tag at the beginning of some text.
#[derive(Clone, Copy)]
pub(super) struct Tag<'a> {
    pub(super) name: &'a str,
    /// All between name and `>`.
    pub(super) attributes: &'a str,
    pub(super) closing: bool,
    pub(super) empty: bool,
    /// Its length in bytes, brackets included.
    pub(super) len: usize,
}

impl Tag<'_> {
    pub(super) fn is(&self, name: &str) -> bool {
        self.name.eq_ignore_ascii_case(name)
    }

    pub(super) fn known(&self) -> bool {
        KNOWN.iter().any(|name| self.is(name))
    }
}

/// The tag that `text` begins with.
pub(super) fn tag_at(text: &str) -> Option<Tag<'_>> {
    let inner = text.strip_prefix('<')?;
    let (closing, inner) = inner.strip_prefix('/').map_or((false, inner), |rest| (true, rest));
    if !inner.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
        return None;
    }
    let name_len = inner
        .bytes()
        .take(LONGEST_TAG)
        .take_while(|b| b.is_ascii_alphanumeric() || b"_-.:".contains(b))
        .count();
    let (name, rest) = inner.split_at(name_len);
    let end = rest
        .bytes()
        .take(LONGEST_TAG)
        .position(|b| b == b'>' || b == b'<')
        .filter(|i| rest.as_bytes()[*i] == b'>')?;
    let attributes = &rest[..end];
    let empty = attributes.ends_with('/');
    let attributes = attributes.trim_end_matches('/').trim();
    if !attributes.is_empty() && !rest.starts_with(char::is_whitespace) {
        return None;
    }
    Some(Tag { name, attributes, closing, empty, len: text.len() - rest.len() + end + 1 })
}

/// Tags that may cling to words when an envelope is torn.
pub(super) fn is_wrapper(tag: &Tag<'_>) -> bool {
    tag.is(WRAPPER) || (tag.is("text") && tag.attributes.is_empty())
}

/// The beginning of a tag of ours, cut off.
pub(super) fn is_torn_tag(rest: &str) -> bool {
    if rest.len() > 16 || rest.contains('>') {
        return false;
    }
    let name = rest.trim_start_matches('<').trim_start_matches('/').trim_end();
    let tags = KNOWN.iter().chain([&WRAPPER]).chain(&THINKING);
    rest.starts_with('<')
        && (name.is_empty() && !rest.ends_with(' ')
            || tags.into_iter().any(|t| {
                t.len() >= name.len()
                    && t.is_char_boundary(name.len())
                    && t[..name.len()].eq_ignore_ascii_case(name)
            }) && !name.is_empty())
}

/// The words of an element: entities and CDATA decoded, trimmed. `torn` when the answer ended
/// inside.
pub(super) fn element_text(inner: &str, torn: bool) -> String {
    let inner = inner.trim();
    let inner =
        inner.strip_prefix("<text>").and_then(|t| t.strip_suffix("</text>")).unwrap_or(inner);
    let mut out = String::with_capacity(inner.len());
    let mut rest = inner;
    while let Some(at) = rest.find("<![CDATA[") {
        decode(&rest[..at], &mut out);
        let data = &rest[at + 9..];
        match data.find("]]>") {
            Some(end) => {
                out.push_str(&data[..end]);
                rest = &data[end + 3..];
            }
            None => {
                out.push_str(if torn { data.trim_end_matches(']') } else { data });
                rest = "";
            }
        }
    }
    if torn {
        if let Some(at) = rest.rfind('<')
            && (is_torn_tag(&rest[at..]) || "<![CDATA[".starts_with(&rest[at..]))
        {
            rest = &rest[..at];
        }
        if let Some(at) = rest.rfind('&')
            && rest.len() - at <= 8
            && rest[at + 1..].bytes().all(|b| b.is_ascii_alphanumeric() || b == b'#')
        {
            rest = &rest[..at];
        }
    }
    decode(rest, &mut out);
    out.trim().to_owned()
}

/// The five entities of XML 1.0 §4.6 and numeric references; anything else after `&` is words.
fn decode(text: &str, out: &mut String) {
    let mut rest = text;
    while let Some(at) = rest.find('&') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let end = rest.bytes().take(10).position(|b| b == b';');
        let decoded = end.and_then(|end| entity(&rest[1..end]).map(|c| (c, end + 1)));
        let (c, len) = decoded.unwrap_or(('&', 1));
        out.push(c);
        rest = &rest[len..];
    }
    out.push_str(rest);
}

fn entity(name: &str) -> Option<char> {
    match name {
        "amp" => Some('&'),
        "lt" => Some('<'),
        "gt" => Some('>'),
        "quot" => Some('"'),
        "apos" => Some('\''),
        _ => {
            let number = name.strip_prefix('#')?;
            let code = match number.strip_prefix(['x', 'X']) {
                Some(hex) => u32::from_str_radix(hex, 16),
                None => number.parse(),
            };
            code.ok().and_then(char::from_u32)
        }
    }
}
