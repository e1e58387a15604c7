//! Marks of chat templates in an answer, and the channels of gpt-oss: a server that does not know a
//! model's marks hands them on as words. What stands behind the end of the answer is another turn
//! that the model made up.

use galatea_core::model::ToolCall;
use std::borrow::Cow;

use super::{
    quoted::is_quoted,
    types::{REASONING, Repairs},
};

/// Marks that are looked at, so that the work stays linear in the answer's length.
const MAX_MARKS: usize = 64;
/// Longest mark, in bytes.
const LONGEST: usize = 48;
const CHANNEL: &str = "<|channel|>";
const CHANNELS: [&str; 3] = ["analysis", "commentary", "final"];
const MESSAGE: &str = "<|message|>";
/// The rest of the channels where a server drops the marks but keeps the words between.
const JOINED_FINAL: &str = "assistantfinal";

/// Reasoning between marks that are no tags: opening, closing.
const THOUGHTS: [(&str, &str); 6] = [
    ("[THINK]", "[/THINK]"),
    ("◁think▷", "◁/think▷"),
    ("<|think|>", "<|/think|>"),
    ("<|begin_of_thought|>", "<|end_of_thought|>"),
    ("<|START_THINKING|>", "<|END_THINKING|>"),
    ("<|start_thinking|>", "<|end_thinking|>"),
];

/// An answer without marks.
#[derive(Debug, Default)]
pub(super) struct Opened<'a> {
    pub(super) text: Cow<'a, str>,
    pub(super) thought: Option<String>,
    /// Tools that it calls in a channel of their own.
    pub(super) calls: Vec<ToolCall>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mark {
    /// A turn ends.
    End,
    /// A turn begins; the word behind says whose.
    Start,
    /// The model's turn begins.
    Model,
    /// Somebody else's turn begins.
    Other,
    /// It says nothing about turns.
    Plain,
}

/// Takes marks out of an answer, with all that is not its first turn of the model.
pub(super) fn open<'a>(text: &'a str, repairs: &mut Repairs) -> Opened<'a> {
    let (text, mut thought) = match front_thought(text) {
        Some((thought, rest)) => {
            repairs.note(REASONING);
            (rest, Some(thought.to_owned()))
        }
        None => (text, None),
    };
    if let Some(channels) = channels(text) {
        repairs.note("channels taken apart");
        let thought = thought.into_iter().chain(channels.thought).collect::<Vec<_>>().join("\n\n");
        return Opened { thought: Some(thought).filter(|t| !t.is_empty()), ..channels };
    }
    if let Some((analysis, rest)) = joined(text) {
        repairs.note("channels taken apart");
        thought = Some(analysis.to_owned());
        return Opened { text: Cow::Borrowed(rest), thought, calls: Vec::new() };
    }
    let text = first_turn(text, repairs);
    Opened { text, thought, calls: Vec::new() }
}

/// Reasoning between marks at the front, and what follows; without an end, nothing follows.
fn front_thought(text: &str) -> Option<(&str, &str)> {
    let start = text.trim_start();
    THOUGHTS.iter().find_map(|(open, close)| {
        let Some(inner) = start.strip_prefix(open) else {
            // Templates that open the reasoning themselves leave only its end in the answer.
            let (thought, rest) = text.split_once(close)?;
            return (!thought.contains('`')).then_some((thought.trim(), rest));
        };
        Some(match inner.split_once(close) {
            Some((thought, rest)) => (thought.trim(), rest),
            None => (inner.trim(), ""),
        })
    })
}

/// The channels of gpt-oss (OpenAI, "Harmony response format"): `analysis` is thought, `final` is
/// said, `commentary` calls tools. None without channels.
fn channels(text: &str) -> Option<Opened<'static>> {
    let first = text.find(CHANNEL)?;
    if is_quoted(&text[..first]) {
        return None;
    }
    let mut pieces = text.split(CHANNEL);
    let lead = pieces.next().unwrap_or_default();
    let mut recipient = recipient_of(lead);
    let (mut said, mut beside, mut thoughts, mut calls) = (vec![], vec![], vec![], vec![]);
    beside.push(first_turn(lead, &mut Repairs::default()).trim().to_owned());
    for piece in pieces {
        let cut_in_name =
            !piece.trim().is_empty() && CHANNELS.iter().any(|name| name.starts_with(piece.trim()));
        if cut_in_name {
            continue;
        }
        let (header, body) = piece.split_once(MESSAGE).unwrap_or(("", piece));
        let end = ["<|end|>", "<|return|>", "<|call|>", "<|start|>"]
            .iter()
            .filter_map(|mark| body.find(mark))
            .min()
            .unwrap_or(body.len());
        let (words, behind) = (body[..end].trim().to_owned(), &body[end..]);
        let channel = header.split_whitespace().next().unwrap_or_default();
        match recipient_of(header).or(recipient.take()) {
            Some(name) => calls.push(ToolCall { id: String::new(), name, arguments: words }),
            None if channel.eq_ignore_ascii_case("final") => said.push(words),
            None if channel.eq_ignore_ascii_case("analysis") => thoughts.push(words),
            None => beside.push(words),
        }
        recipient = recipient_of(behind);
    }
    let words = if said.iter().any(|words| !words.is_empty()) { said } else { beside };
    let words: Vec<String> = words.into_iter().filter(|words| !words.is_empty()).collect();
    Some(Opened {
        text: Cow::Owned(words.join("\n\n")),
        thought: Some(thoughts.join("\n\n")).filter(|thought| !thought.is_empty()),
        calls,
    })
}

/// The tool that a message of a channel is for: `to=functions.NAME`.
fn recipient_of(header: &str) -> Option<String> {
    let (_, rest) = header.rsplit_once("to=")?;
    let end = rest.find(|c: char| c.is_whitespace() || c == '<').unwrap_or(rest.len());
    let name = rest[..end].rsplit('.').next().unwrap_or_default();
    Some(name.to_owned()).filter(|name| !name.is_empty())
}

/// `analysis…assistantfinal…`: channels whose marks a server dropped.
fn joined(text: &str) -> Option<(&str, &str)> {
    let rest = text.trim_start().strip_prefix("analysis")?;
    rest.rsplit_once(JOINED_FINAL).map(|(analysis, words)| (analysis.trim(), words))
}

/// The first turn of the model: what stands in front of the first mark, else what a mark says to be
/// the model's.
fn first_turn<'a>(text: &'a str, repairs: &mut Repairs) -> Cow<'a, str> {
    let marks = marks(text);
    let torn = torn_mark(text);
    if marks.is_empty() && torn.is_none() {
        return Cow::Borrowed(text);
    }
    repairs.note("marks of a chat template taken off");
    let end = torn.unwrap_or(text.len());
    let mut turns: Vec<(Mark, String)> = vec![(Mark::Plain, String::new())];
    let mut from = 0;
    for (at, length, mark) in marks {
        let at = at.min(end);
        let before = text.get(from..at).unwrap_or_default();
        if let Some((_, words)) = turns.last_mut() {
            words.push_str(before);
        }
        from = (at + length).min(end);
        let role = match mark {
            Mark::Plain => continue,
            Mark::Start => {
                let (role, length) = role_word(&text[from..]);
                from = (from + length).min(end);
                role
            }
            other => other,
        };
        turns.push((role, String::new()));
    }
    if let Some((_, words)) = turns.last_mut() {
        words.push_str(text.get(from..end).unwrap_or_default());
    }
    let mut turns = turns.into_iter().filter(|(_, words)| !words.trim().is_empty());
    let first = turns.next();
    let words = match first {
        Some((Mark::Plain | Mark::Model | Mark::End, words)) => words,
        first => {
            let rest: Vec<_> = first.into_iter().chain(turns).collect();
            let of = |wanted: Mark| rest.iter().find(|(role, _)| *role == wanted);
            of(Mark::Model)
                .or_else(|| of(Mark::End))
                .map(|(_, words)| words.clone())
                .unwrap_or_default()
        }
    };
    Cow::Owned(words)
}

/// Marks that are not spoken of: place, length, meaning.
fn marks(text: &str) -> Vec<(usize, usize, Mark)> {
    let mut found: Vec<(usize, usize, Mark)> = Vec::new();
    let mut looked_at = 0;
    for (at, _) in text.match_indices(['<', '[']) {
        let Some((length, mark)) = mark_at(&text[at..]) else { continue };
        looked_at += 1;
        if looked_at > MAX_MARKS {
            break;
        }
        let (before, after) = (&text[..at], &text[at + length..]);
        if (!found.is_empty() || !is_spoken_of(before, after, mark))
            && !is_struck_out(text, at, &text[at..at + length])
        {
            found.push((at, length, mark));
        }
    }
    found
}

/// The mark that this text begins with.
fn mark_at(text: &str) -> Option<(usize, Mark)> {
    const FIXED: [(&str, Mark); 13] = [
        ("<end_of_turn>", Mark::End),
        ("<start_of_turn>", Mark::Start),
        ("</s>", Mark::End),
        ("<s>", Mark::Plain),
        ("<eos>", Mark::End),
        ("<bos>", Mark::Plain),
        ("<pad>", Mark::Plain),
        ("<unk>", Mark::Plain),
        ("[INST]", Mark::Other),
        ("[/INST]", Mark::Model),
        ("<<SYS>>", Mark::Other),
        ("<</SYS>>", Mark::Other),
        ("<|end▁of▁sentence|>", Mark::End),
    ];
    if let Some((mark, kind)) = FIXED.iter().find(|(mark, _)| text.starts_with(mark)) {
        return Some((mark.len(), *kind));
    }
    [("<|", "|>"), ("<｜", "｜>"), ("[|", "|]")].iter().find_map(|(open, close)| {
        let inner = text.strip_prefix(open)?;
        let end = inner[..inner.floor_char_boundary(LONGEST)].find(close)?;
        let kind = meaning(&inner[..end])?;
        Some((open.len() + end + close.len(), kind))
    })
}

/// The meaning of a mark between bars; none for one that is not of a chat template.
fn meaning(name: &str) -> Option<Mark> {
    const ENDS: &str = "im_end eot_id eom_id eot end endoftext end_of_text end_of_turn endofturn return \
        end_of_turn_token end_of_sentence stop eos call end_of_message";
    const STARTS: &str = "im_start start_header_id header_start start start_of_role start_of_turn \
        start_of_turn_token message_start";
    const MODELS: &str = "assistant chatbot_token assistant_token bot model begin_of_solution";
    const OTHERS: &str =
        "user system human developer observation user_token system_token prompter tool";
    const PLAIN: &str = "message end_header_id header_end begin_of_text startoftext im_sep pad end_of_role \
        begin_of_sentence fim_middle end_of_solution channel";
    let name = name.to_lowercase().replace('▁', "_");
    let is = |names: &str| names.split(' ').any(|known| known == name);
    if is(ENDS) {
        Some(Mark::End)
    } else if is(STARTS) {
        Some(Mark::Start)
    } else if is(MODELS) {
        Some(Mark::Model)
    } else if is(OTHERS) {
        Some(Mark::Other)
    } else {
        is(PLAIN).then_some(Mark::Plain)
    }
}

/// The role whose turn begins, by the word behind a mark, and the length of that word.
fn role_word(text: &str) -> (Mark, usize) {
    let space = text.len() - text.trim_start_matches([' ', '\n', '\r']).len();
    let word: &str = &text[space..];
    let length = word.bytes().take_while(u8::is_ascii_alphabetic).count();
    let role = match word[..length].to_ascii_lowercase().as_str() {
        "assistant" | "model" | "bot" | "chatbot" | "ai" | "gpt" => Mark::Model,
        "user" | "system" | "human" | "tool" | "developer" | "ipython" | "observation" => {
            Mark::Other
        }
        _ => return (Mark::End, 0),
    };
    (role, space + length)
}

/// True if a mark stands between words like a word: "a turn ends with <|im_end|> and …".
fn is_spoken_of(before: &str, after: &str, mark: Mark) -> bool {
    if before.trim().is_empty() {
        return false;
    }
    if is_quoted(before) {
        return true;
    }
    if mark == Mark::Start && role_word(after).1 > 0 {
        return false;
    }
    let spaced =
        before.ends_with([' ', '\t']) && !before.trim_end_matches([' ', '\t']).ends_with('\n');
    let goes_on = after.starts_with(['.', ',', ';', ':', ')', '"', '\'', '”'])
        || after.starts_with(' ')
            && after.trim_start_matches(' ').starts_with(char::is_alphanumeric);
    spaced && goes_on
}

/// `<s>` and `</s>` strike words out in HTML; only around everything, or alone at an end, they are
/// marks.
fn is_struck_out(text: &str, at: usize, mark: &str) -> bool {
    match mark {
        "<s>" => {
            let leads = text[..at].trim().is_empty();
            let closed = text[at..].find("</s>").map(|end| &text[at + end + 4..]);
            !leads
                || closed.is_some_and(|rest| {
                    rest.trim_start_matches("</s>").trim().starts_with(char::is_alphanumeric)
                })
        }
        "</s>" => text[..at].rfind("<s>").is_some_and(|open| is_struck_out(text, open, "<s>")),
        _ => false,
    }
}

/// The place of a mark that the end of the answer cuts off.
fn torn_mark(text: &str) -> Option<usize> {
    let trimmed = text.trim_end();
    let at = trimmed.rfind("<|").or_else(|| trimmed.rfind("<｜"))?;
    let name = trimmed[at..].trim_start_matches(['<', '|', '｜']);
    let is_torn = name.len() <= LONGEST
        && !name.contains(['|', '｜', '>'])
        && name.chars().all(|c| c.is_ascii_lowercase() || c == '_' || c == '▁');
    (is_torn && !is_quoted(&trimmed[..at])).then_some(at)
}
