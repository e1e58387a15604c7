//! Lines in which a model goes on speaking for the others of a room: "Alice: thank you".

use super::{form::behind_dated_speaker, talk::Talk, types::Repairs};

/// Longest name in front of words, in bytes.
const LONGEST_NAME: usize = 64;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Voice {
    Own,
    /// The person who is answered: a model writes the name in front to address them.
    Asker,
    /// Somebody else who speaks here.
    Other,
    /// `User:` and `Human:`, which may be keys of a list as well.
    Someone,
}

/// The agent's own words: others' lines and all behind them are cut off, names in front of its own
/// taken off. A dialogue or a list of people that was asked for stays.
pub(super) fn cut(text: &str, talk: &Talk, repairs: &mut Repairs) -> String {
    if talk.wants_voices() || is_list(text, talk) {
        return text.to_owned();
    }
    let mut kept: Vec<&str> = Vec::new();
    let (mut changed, mut leads, mut in_code) = (false, true, false);
    let lines: Vec<&str> = text.split('\n').collect();
    let mut skipping = starts_with_other(&lines, talk);
    // A list has several entries, maybe in one line; one alone is what another said.
    let others = entries(text, talk);
    let is_own = |line: &&str| matches!(speaker(line, talk), Some((Voice::Own, _)));
    let last_own = lines.iter().rposition(is_own);
    for (place, line) in lines.iter().enumerate() {
        let voice = if in_code { None } else { speaker(line, talk) };
        in_code ^= line.matches("```").count() % 2 == 1;
        match voice {
            Some((Voice::Own, words)) => {
                (changed, skipping) = (true, false);
                kept.push(words);
            }
            _ if skipping => changed = true,
            Some((Voice::Asker, words)) if leads => {
                changed = true;
                kept.push(words);
            }
            Some((Voice::Other, _)) if leads && talk.wants_list() && others >= 2 => {
                kept.push(line);
            }
            Some((Voice::Other | Voice::Asker, _)) if !is_announced(&kept) => {
                changed = true;
                break;
            }
            Some((Voice::Someone, _)) if !leads && is_turn(last_own > Some(place), &kept) => {
                changed = true;
                break;
            }
            Some(_) | None => kept.push(line),
        }
        leads &= kept.iter().all(|line| line.trim().is_empty());
    }
    if !changed {
        return text.to_owned();
    }
    repairs.note("lines of others cut off");
    kept.join("\n").trim().to_owned()
}

/// Names of people with a colon behind them.
fn entries(text: &str, talk: &Talk) -> usize {
    let pieces: Vec<&str> = text.split([':', '：']).collect();
    let named = |piece: &&&str| {
        let name = piece.rsplit(|c: char| !c.is_alphanumeric() && c != '_').next();
        name.is_some_and(|name| talk.is_other(name) || talk.is_asker(name))
    };
    pieces[..pieces.len() - 1].iter().filter(named).count()
}

/// True if the answer repeats what another said before it goes on as the agent.
fn starts_with_other(lines: &[&str], talk: &Talk) -> bool {
    let mut voices = lines.iter().filter_map(|line| speaker(line, talk)).map(|(voice, _)| voice);
    let first = lines.iter().find(|line| !line.trim().is_empty());
    let leads = first.and_then(|line| speaker(line, talk)).is_some_and(|(v, _)| v != Voice::Own);
    leads && voices.any(|voice| voice == Voice::Own)
}

/// A line that says that a list follows.
fn is_announced(kept: &[&str]) -> bool {
    let last = kept.iter().rev().find(|line| !line.trim().is_empty());
    last.is_some_and(|line| line.trim_end().trim_end_matches('*').ends_with([':', '：', '|']))
}

/// True if `User:` begins a turn rather than a line of a list.
fn is_turn(own_follows: bool, kept: &[&str]) -> bool {
    let apart = kept.last().is_some_and(|line| line.trim().is_empty());
    (own_follows || apart) && !is_announced(kept)
}

/// True if lines of several people are a list that was asked for: none speaks twice, the agent is not
/// among them, and nobody speaks to it.
fn is_list(text: &str, talk: &Talk) -> bool {
    let mut names: Vec<String> = Vec::new();
    let (mut is_announced_or_first, mut is_addressed) = (false, false);
    let mut before: Option<&str> = None;
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        match speaker(line, talk) {
            Some((Voice::Own, _)) => return false,
            Some((Voice::Other | Voice::Asker, words)) => {
                let name = line[..line.len() - words.len()].to_lowercase();
                if names.contains(&name) {
                    return false;
                }
                if names.is_empty() {
                    is_announced_or_first =
                        before.is_none_or(|line| line.trim_end().ends_with([':', '：']));
                }
                names.push(name);
                is_addressed |= talk.is_addressed(words);
            }
            _ => {}
        }
        before = Some(line);
    }
    names.len() >= 2
        && is_announced_or_first
        && !is_addressed
        && (talk.wants_list() || names.len() >= 3)
}

/// The speaker of a line, and the words behind the name.
fn speaker<'a>(line: &'a str, talk: &Talk) -> Option<(Voice, &'a str)> {
    let bare = line.trim_start().trim_start_matches(['*', '_', '@', '[', '<']);
    let dated = behind_dated_speaker(line);
    let end = bare.find(if dated.is_some() { ['[', '['] } else { [':', '：'] })?;
    let name = bare[..end].trim().trim_matches(['*', '_', ']', '>']).trim();
    if name.is_empty() || name.len() > LONGEST_NAME {
        return None;
    }
    let words = dated.unwrap_or_else(|| {
        bare[end..].trim_start_matches([':', '：']).trim_start_matches(['*', '_', ' '])
    });
    let is = |names: &[&str]| names.iter().any(|known| name.eq_ignore_ascii_case(known));
    // An address and a time are no names.
    if bare[end..].starts_with("://") {
        return None;
    }
    if talk.is_own(name) || is(&["assistant"]) || dated.is_some() && is(&["you"]) {
        Some((Voice::Own, words))
    } else if talk.is_asker(name) || dated.is_some() && talk.direct {
        Some((Voice::Asker, words))
    } else if talk.is_other(name) || dated.is_some() {
        Some((Voice::Other, words))
    } else {
        is(&["user", "human"]).then_some((Voice::Someone, words))
    }
}
