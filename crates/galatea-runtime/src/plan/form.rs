//! The prompt's own form at the beginning of an answer: heads of notes, the date, a speaker's name
//! with the time, marks of quotation. A model copies it, and imitates it from then on if it enters
//! the history.

use super::{pieces, quoted::is_in_code, talk::Talk, types::Repairs};

/// Heads that prompts of this program have or had.
const HEADS: &str = "[notes]|[note]|[context]|[facts]|[memories]|[summary]|# related earlier messages|\
    # what else is known|# others here|# people in this room|# conversation|# to answer now|\
    # how to answer|# earlier in this conversation|# what you did here lately|\
    # what you have just done|# what can be looked up|# open decisions|# possible actions|\
    # from your documents|(the conversation so far.)";
/// Heads with a name in them.
const NAMED_HEADS: [&str; 3] = ["# what is known about ", "# whom ", "# notes about "];
/// Lines of ours that carry no words of an answer.
const LINES: [&str; 4] = [
    "(earlier messages are not shown.)",
    "(the conversation so far.)",
    "(your last answer could not be read. answer with plain text.)",
    "[…]",
];
/// Words in front of an answer that name what it is, not what it says.
const LABELS: &str =
    "REPLY|RESPOND|RESPONSE|ANSWER|MESSAGE|TEXT|OUTPUT|Assistant|ASSISTANT|assistant|AI|Bot";
/// Heads of a format for instructions (Alpaca and its relatives).
const RESPONSES: [&str; 6] =
    ["### response:", "### assistant:", "### output:", "### ai:", "### bot:", "### answer:"];
const INSTRUCTIONS: [&str; 6] = [
    "### instruction:",
    "### human:",
    "### user:",
    "### input:",
    "### instructions:",
    "### system:",
];
/// Names of the model's own turn, alone on a line, as headers of templates leave them.
const ROLES: [&str; 3] = ["assistant", "model", "system"];
const DAYS: [&str; 7] = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"];
/// Longest name in front of a time, in bytes.
const LONGEST_NAME: usize = 80;
/// Rounds of taking off: each takes something.
const ROUNDS: usize = 64;

/// Words without the form of the prompt around them.
pub(super) fn clean(text: &str, talk: &Talk, repairs: &mut Repairs) -> String {
    let quoted = pieces::without_form(text, talk);
    let whole = quoted.as_deref().unwrap_or(text).trim();
    let text = &whole[..tail(whole, talk)];
    let mut rest = without_marks_of_quotation(text.trim_end(), talk);
    if rest.is_none() && (text.len() < whole.len() || quoted.is_some()) {
        rest = Some(text.to_owned());
    }
    let start = rest.as_deref().unwrap_or(text);
    let mut shown = start;
    let mut in_notes = false;
    for _ in 0..ROUNDS {
        let Some(next) = step(shown, talk, &mut in_notes) else { break };
        shown = next.trim_start();
    }
    if shown.len() < start.len() {
        rest = Some(without_marks_of_quotation(shown, talk).unwrap_or_else(|| shown.to_owned()));
    }
    if is_role(rest.as_deref().unwrap_or(whole), talk) {
        rest = Some(String::new());
    }
    match rest {
        Some(rest) => {
            repairs.note("form of the prompt taken off");
            rest.trim().to_owned()
        }
        None => whole.to_owned(),
    }
}

/// True for nothing but the name of a role: what is left of a chat template whose marks are gone.
fn is_role(text: &str, talk: &Talk) -> bool {
    let text = text.trim();
    (text == "user" || ROLES.contains(&text)) && !talk.question.to_lowercase().contains(text)
}

/// The text behind one piece of the prompt's form; none if the text begins with words.
fn step<'a>(text: &'a str, talk: &Talk, in_notes: &mut bool) -> Option<&'a str> {
    if text.is_empty() {
        return None;
    }
    let (line, rest) = text.split_once('\n').unwrap_or((text, ""));
    let bare = line.trim();
    let lower = bare.to_lowercase();
    if is_head(&lower, talk) {
        *in_notes = true;
        return Some(rest);
    }
    if LINES.contains(&lower.as_str()) || bare.is_empty() {
        return Some(rest);
    }
    if let Some(head) = RESPONSES.iter().find(|head| lower.starts_with(**head)) {
        return Some(text.trim_start().get(head.len()..).unwrap_or_default());
    }
    if INSTRUCTIONS.iter().any(|head| lower.starts_with(head)) {
        let answer = text.to_ascii_lowercase();
        let response = RESPONSES.iter().filter_map(|head| answer.find(head)).min()?;
        return Some(&text[response..]);
    }
    if ROLES.contains(&bare) && !rest.trim().is_empty() {
        return Some(rest);
    }
    if let Some(words) = behind_date(text) {
        let alone = words.trim().is_empty() && talk.question.contains(['?', '？', '؟']);
        if *in_notes || !(talk.wants_time() || alone) {
            return Some(words);
        }
    }
    if let Some(words) = behind_clock(text).filter(|_| !talk.wants_clock()) {
        return Some(words);
    }
    if let Some(words) = behind_dated_speaker(text) {
        return Some(words);
    }
    if *in_notes && (bare.starts_with("- ") || bare.starts_with("> ") || bare.starts_with('[')) {
        return Some(rest);
    }
    behind_label(text)
}

fn is_head(lower: &str, talk: &Talk) -> bool {
    let lower = lower.trim_matches('*');
    let begins = |head: &&str| lower.starts_with(*head) && lower.len() <= head.len() + LONGEST_NAME;
    HEADS.split('|').any(|head| head == lower)
        || NAMED_HEADS.iter().any(begins)
        || talk.heads.iter().any(|head| head.to_lowercase() == lower)
}

/// The text behind "It is Sun 29 Nov 2026 19:00 UTC.": the date as the prompt writes it, time and zone
/// included.
fn behind_date(text: &str) -> Option<&str> {
    let rest = ["It is ", "It's ", "Now: ", "Time: ", "Date: ", "Today is "]
        .iter()
        .find_map(|start| text.strip_prefix(start))?;
    let line = rest.lines().next().unwrap_or_default();
    let end =
        line.find(". ").map(|at| at + 1).or_else(|| line.ends_with('.').then_some(line.len()));
    let end = end.unwrap_or(line.len());
    let words: Vec<&str> = line[..end].trim_end_matches('.').split_whitespace().collect();
    let day = words.first()?.trim_end_matches(',').to_lowercase();
    let is_day = DAYS.iter().any(|known| day.starts_with(known));
    let has_year = words.iter().any(|word| {
        let word = word.trim_end_matches(',');
        word.len() == 4 && word.bytes().all(|b| b.is_ascii_digit())
    });
    let has_time = words.iter().any(|word| is_clock(word));
    (is_day && has_year && has_time && words.len() <= 8).then(|| &rest[end..])
}

/// The text behind "It is 19:05 now.", as the prompt writes it.
fn behind_clock(text: &str) -> Option<&str> {
    let (time, rest) = text.strip_prefix("It is ")?.split_once(" now.")?;
    is_clock(time).then_some(rest)
}

fn is_clock(word: &str) -> bool {
    let word = word.trim_matches([',', '.']);
    matches!(word.split_once(':'), Some((h, m))
        if (1..=2).contains(&h.len()) && m.len() == 2 && [h, m].concat().bytes().all(|b| b.is_ascii_digit()))
}

/// The text behind `Dora [Sun 29 Nov 19:13]:` or `you [19:13, replying to Ada: "…"]:`.
pub(super) fn behind_dated_speaker(text: &str) -> Option<&str> {
    let line = text.lines().next().unwrap_or_default();
    let open = line.find('[')?;
    let name = line[..open].trim().trim_start_matches(['>', '*', '@', '-']);
    let close = open + line[open..].find(']')?;
    let inside = &line[open + 1..close];
    let marks_time = inside.split_whitespace().any(is_clock)
        || inside.contains(|c: char| c.is_ascii_digit())
            && DAYS.iter().any(|day| inside.to_lowercase().starts_with(day));
    let marks_about = ["replying to", "quoting", "forwarding", "forwarded from"]
        .iter()
        .any(|about| inside.contains(about));
    let behind = text[close + 1..].trim_start_matches(['*', ' ']);
    let behind = behind.strip_prefix([':', '：'])?;
    let is_speaker = name.len() <= LONGEST_NAME && !name.ends_with(['.', '!', '?']);
    ((marks_time || marks_about) && is_speaker).then(|| behind.trim_start_matches(['*', ' ']))
}

/// The text behind `REPLY: ` or `Assistant: `.
fn behind_label(text: &str) -> Option<&str> {
    let bare = text.trim_start_matches(['*', '_', '[', '<']);
    LABELS.split('|').find_map(|label| {
        let rest = bare.strip_prefix(label)?.trim_start_matches(['*', '_', ']', '>']);
        let rest = rest.strip_prefix([':', '：'])?.trim_start_matches(['*', '_', ' ']);
        (!rest.trim().is_empty()).then_some(rest)
    })
}

/// The place where the prompt begins anew behind an answer: at a head, or at the next instruction.
fn tail(text: &str, talk: &Talk) -> usize {
    let mut at = 0;
    let mut said = false;
    for line in text.split_inclusive('\n') {
        let lower = line.trim().to_lowercase();
        let begins = is_head(&lower, talk) && !lower.starts_with('(')
            || INSTRUCTIONS.iter().any(|head| lower.starts_with(head));
        if said && begins && !is_in_code(&text[..at]) && !talk.wants_code() {
            return at;
        }
        let is_role = ["assistant", "user", "model"].contains(&line.trim_end_matches(['\n', '\r']));
        let ends = text[..at].trim_end().ends_with(['.', '!', '?', '。', '！', '？']);
        let blank = text[at + line.len()..].starts_with(['\n', '\r']);
        if said && is_role && ends && blank {
            return at;
        }
        let form = is_head(&lower, talk)
            || lower.is_empty()
            || lower.starts_with("- ")
            || behind_date(line).is_some()
            || INSTRUCTIONS.iter().any(|head| lower.starts_with(head));
        said |= !form;
        at += line.len();
    }
    text.len()
}

/// Takes `> ` off an answer whose first lines have it although they quote nobody; none if it has
/// none, or quotes.
fn without_marks_of_quotation(text: &str, talk: &Talk) -> Option<String> {
    let marked = |line: &str| line.trim_start().starts_with('>');
    let lines: Vec<&str> = text.lines().collect();
    let strip = |line: &&str| -> String {
        let line = line.trim_start();
        line.strip_prefix('>')
            .map_or(line, |rest| rest.strip_prefix(' ').unwrap_or(rest))
            .to_owned()
    };
    let full: Vec<&str> = lines.iter().copied().filter(|line| !line.trim().is_empty()).collect();
    let (first, others) = full.split_first()?;
    if !marked(first) {
        // Each further line of a person's message begins so in the prompt.
        let copies = others.len() >= 2
            && others.iter().all(|line| marked(line))
            && !first.trim_end().ends_with([':', '：'])
            && !talk.wants_quotes();
        return copies.then(|| lines.iter().map(strip).collect::<Vec<_>>().join("\n"));
    }
    let count = lines.iter().take_while(|line| marked(line)).count();
    let block: Vec<String> = lines[..count].iter().map(strip).collect();
    let behind = lines[count..].iter().find(|line| !line.trim().is_empty());
    let spaced = lines.get(count).is_none_or(|line| line.trim().is_empty());
    let is_attributed =
        behind.is_some_and(|line| line.trim_start().starts_with(['—', '–', '-', '~']));
    let quotes = match behind {
        None => talk.wants_quotes(),
        Some(_) => {
            spaced && (is_attributed || talk.wants_quotes() || talk.was_said(&block.join(" ")))
        }
    };
    if quotes {
        return None;
    }
    let rest = lines[count..].iter();
    let rest: Vec<String> = if full.iter().all(|line| marked(line)) {
        rest.map(strip).collect()
    } else {
        rest.map(|line| (*line).to_owned()).collect()
    };
    Some([block, rest].concat().join("\n"))
}
