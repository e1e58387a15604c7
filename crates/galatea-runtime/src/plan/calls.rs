//! Calls of tools between marks that models put around them, where the server hands the whole on as
//! words: `<tool_call>…</tool_call>`, `[TOOL_CALLS]…`, `<function=…>`.

use galatea_core::model::ToolCall;

use super::{
    call_body::{self, Call, value_at},
    quoted::is_quoted,
    tag::tag_at,
    types::{CALL_AS_TEXT, MAX_ACTIONS, Repairs},
};

/// Elements that hold calls.
const ELEMENTS: &str = "tool_call tool_calls toolcall toolcalls function_call function_calls functioncall \
    functioncalls tool_use execute_tool tool_code use_tool call_tool tool_request \
    function-call tool-call";
/// Elements that hold calls in some answers, and are words in others.
const PERHAPS: &str = "tools tool function functions invoke call action_call";
/// Marks in brackets, each with its end.
const BRACKETS: [(&str, &str); 9] = [
    ("[TOOL_CALLS]", "[/TOOL_CALLS]"),
    ("[TOOL_CALL]", "[/TOOL_CALL]"),
    ("[tool_call]", "[/tool_call]"),
    ("[TOOL_REQUEST]", "[END_TOOL_REQUEST]"),
    ("[FUNCTION_CALL]", "[/FUNCTION_CALL]"),
    ("[function_call]", "[/function_call]"),
    ("[AVAILABLE_TOOLS]", "[/AVAILABLE_TOOLS]"),
    ("[ACTION]", "[/ACTION]"),
    ("✿FUNCTION✿", "✿RESULT✿"),
];
/// Labels of code blocks that hold calls.
const LABELS: &str =
    "tool_code tool_call tool_calls tool function_call tool_use json_tool toolcall";
/// DeepSeek's own name in its marks.
const OWN: [&str; 2] = ["｜DSML｜", "|DSML|"];
/// Marks that are looked at.
const MAX_MARKS: usize = 64;

/// An answer without its calls.
pub(super) struct Marked {
    /// The words around the calls; none if there was no mark.
    pub(super) rest: Option<String>,
    pub(super) calls: Vec<ToolCall>,
}

/// The extent of calls: the place and length of the mark, their end, and where the words go on.
struct Region {
    at: usize,
    from: usize,
    end: usize,
    next: usize,
    /// It may be words, if no call is in it.
    perhaps: bool,
}

/// Takes marked calls out of an answer.
pub(super) fn take_out(body: &str, repairs: &mut Repairs) -> Marked {
    let plain;
    let body = if OWN.iter().any(|own| body.contains(own)) {
        plain = OWN.iter().fold(body.to_owned(), |body, own| body.replace(own, ""));
        plain.as_str()
    } else {
        body
    };
    let (mut rest, mut at) = (String::new(), 0);
    let (mut calls, mut found): (Vec<Call>, _) = (Vec::new(), false);
    let mut from = 0;
    for _ in 0..MAX_MARKS {
        let Some(region) = next(body, at) else { break };
        let inner = &body[region.from..region.end];
        let read = call_body::extract(inner);
        at = region.next;
        if read.is_empty() && (region.perhaps || is_prose(inner)) {
            at = region.from.max(region.at + 1);
            // Words in place of a call: only the mark is none.
            let line = body[..region.at].trim_end_matches([' ', '\t']);
            if !region.perhaps && (line.is_empty() || line.ends_with('\n')) {
                found = true;
                rest.push_str(&body[from..region.at]);
                from = region.from;
            }
            continue;
        }
        found = true;
        rest.push_str(&body[from..region.at]);
        from = region.next;
        calls.extend(read);
    }
    rest.push_str(&body[from..]);
    let closed = without_closing(&rest);
    found |= closed.len() < rest.trim().len();
    if !found {
        return Marked { rest: None, calls: Vec::new() };
    }
    repairs.note(CALL_AS_TEXT);
    calls.truncate(MAX_ACTIONS);
    let calls = calls.into_iter().map(|(name, arguments)| to_call(name, &arguments)).collect();
    Marked { rest: Some(closed.trim().to_owned()), calls }
}

pub(super) fn to_call(name: String, arguments: &serde_json::Value) -> ToolCall {
    let arguments = if arguments.is_null() { String::new() } else { arguments.to_string() };
    ToolCall { id: String::new(), name, arguments }
}

/// Words between marks that are spoken of.
fn is_prose(inner: &str) -> bool {
    let inner = inner.trim();
    !inner.is_empty() && !inner.contains(['{', '(', '<', '=']) && inner.contains(' ')
}

/// The next mark at or behind a place, with what it holds.
fn next(body: &str, at: usize) -> Option<Region> {
    body[at..].match_indices(['<', '[', '`', '✿']).find_map(|(offset, c)| {
        let start = at + offset;
        let rest = &body[start..];
        let region = match c {
            "<" => element(body, start).or_else(|| bar(body, start)),
            "`" => block(body, start),
            _ => bracket(body, start),
        }?;
        let quoted = c != "`" && is_quoted(&body[..start]);
        let length = region.from - start;
        (!quoted && !is_spoken_of(&body[..start], &rest[length..])).then_some(region)
    })
}

fn element(body: &str, start: usize) -> Option<Region> {
    let rest = &body[start..];
    if rest.starts_with("<function=") {
        return Some(up_to(body, start, start, &["</function>"], true));
    }
    let tag = tag_at(rest).filter(|tag| !tag.closing && !tag.empty)?;
    let name = tag.name.rsplit(':').next().unwrap_or(tag.name).to_ascii_lowercase();
    let is_call = ELEMENTS.split(' ').any(|known| known == name);
    let perhaps = PERHAPS.split(' ').any(|known| known == name);
    if !is_call && !perhaps {
        return None;
    }
    // An element that names the tool itself is read with its tag.
    let from = if tag.attributes.is_empty() { start + tag.len } else { start };
    let closing = format!("</{}>", tag.name);
    Some(up_to(body, start, from, &[&closing], perhaps))
}

/// `<|tool_call|>`, `<｜tool▁calls▁begin｜>`, `<|python_tag|>`: the rest of the answer.
fn bar(body: &str, start: usize) -> Option<Region> {
    let rest = &body[start..];
    let (open, close) =
        [("<|", "|>"), ("<｜", "｜>")].into_iter().find(|(o, _)| rest.starts_with(o))?;
    let inner = &rest[open.len()..];
    let end = inner[..inner.floor_char_boundary(64)].find(close)?;
    let name = inner[..end].to_lowercase();
    let is_call = ["tool", "function"].iter().any(|part| name.contains(part) && name != *part)
        || ["python_tag", "plugin", "action_start", "commentary"].contains(&name.as_str());
    if !is_call {
        return None;
    }
    let from = start + open.len() + end + close.len();
    let inner = body[from..].trim_start();
    if inner.starts_with(['{', '[']) {
        let mut region =
            up_to(body, start, from, &["<|/tool_call|>", "<|end_of_tool_call|>"], false);
        // Marks may stand behind the call, too.
        if body[region.next..].trim_start().starts_with(['<', '{', '[']) {
            (region.end, region.next) = (body.len(), body.len());
        }
        return Some(region);
    }
    Some(Region { at: start, from, end: body.len(), next: body.len(), perhaps: false })
}

fn bracket(body: &str, start: usize) -> Option<Region> {
    let rest = &body[start..];
    let (open, close) = BRACKETS.iter().find(|(open, _)| rest.starts_with(open))?;
    Some(up_to(body, start, start + open.len(), &[close], *open == "[ACTION]"))
}

/// A code block whose label says that it calls tools.
fn block(body: &str, start: usize) -> Option<Region> {
    let inner = body[start..].strip_prefix("```")?;
    let begins = body[..start].trim_end_matches([' ', '\t']);
    if !(begins.is_empty() || begins.ends_with('\n')) {
        return None;
    }
    // No label is longer; a line may be as long as the answer.
    let label =
        inner.bytes().take(24).take_while(|b| b.is_ascii_alphanumeric() || *b == b'_').count();
    let label = inner[..label].to_ascii_lowercase();
    if !LABELS.split(' ').any(|known| known == label) {
        return None;
    }
    let from = start + 3 + label.len();
    let end = body[from..].find("```").map_or(body.len(), |end| from + end);
    let next = (end + 3).min(body.len());
    Some(Region { at: start, from, end, next, perhaps: label == "tool" })
}

/// A region that ends in front of one of these marks; without any, behind the JSON that it begins
/// with, else with the answer.
fn up_to(body: &str, at: usize, from: usize, ends: &[&str], perhaps: bool) -> Region {
    let found = ends.iter().filter_map(|end| {
        body[from..].find(end).map(|place| (from + place, from + place + end.len()))
    });
    let (end, next) = found.min().unwrap_or_else(|| {
        let inner = body[from..].trim_start();
        if inner.starts_with(['{', '[']) {
            let end = body.len() - inner.len() + value_at(inner).1;
            (end, end)
        } else {
            (body.len(), body.len())
        }
    });
    Region { at, from, end, next, perhaps }
}

/// A mark between words of a sentence: "write <tool_call> in front and …".
fn is_spoken_of(before: &str, after: &str) -> bool {
    let line = before.rsplit('\n').next().unwrap_or_default();
    let goes_on = after.starts_with(['.', ',', ';', ':', ')', '"', '\'', '”', '`'])
        || after.starts_with(' ')
            && after.trim_start_matches(' ').starts_with(|c: char| c.is_lowercase());
    !line.trim().is_empty() && goes_on
}

/// Ends of calls without a beginning, at either end of the words.
fn without_closing(text: &str) -> &str {
    let mut text = text.trim();
    loop {
        let before = text;
        for name in ELEMENTS.split(' ').chain(["tools", "function", "functions", "invoke"]) {
            let end = format!("</{name}>");
            text = text.strip_suffix(end.as_str()).unwrap_or(text).trim_end();
            text = text.strip_prefix(end.as_str()).unwrap_or(text).trim_start();
        }
        for (_, end) in BRACKETS {
            text = text.strip_suffix(end).unwrap_or(text).trim_end();
        }
        if text.len() == before.len() {
            return text;
        }
    }
}
