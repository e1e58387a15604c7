//! Checks facts in scripts without spaces between words: each character has to stand in the source.

use galatea_core::fusion::is_unspaced;

use super::{
    claim::{EvidenceMessage, Statement, Ungrounded},
    statement::is_question,
};
use crate::{
    fold::fold,
    summary::numbers::{Numbers, Token, tokens},
};

/// Characters that say little by themselves, or stand for a pronoun.
const SMALL: &str = "的了是在有和与也都就着过之其他她它们我你您这那个一名叫为于从到向把被住说道很还又再及人岁年月日のはがをにでとも、へやかなだですますたれるいうしさ이가은는을를에의도와과로";
/// Marks of a denial.
const NOT: [&str; 12] =
    ["不", "没", "沒", "無", "无", "非", "未", "別", "别", "ない", "ません", "않"];
/// Marks of what is wanted, possible or conditional.
const HEDGE: [&str; 8] = ["想", "如果", "要是", "可能", "也许", "かも", "たい", "希望"];
/// Marks of what has ended.
const ENDED: [&str; 5] = ["以前", "曾经", "曾", "元", "戒"];

pub(super) fn grounded(
    claim: &Statement<'_>,
    said: &[EvidenceMessage<'_>],
) -> Result<(), Ungrounded> {
    let stated: String = said.iter().flat_map(|said| sentences(said.text)).collect();
    let asked = said.iter().filter_map(|said| said.before).map(|(_, text)| text);
    let asked: String = asked.filter(|text| is_question(text)).collect();
    let mut numbers = Numbers::default();
    numbers.add(&stated);
    numbers.add(&asked);
    let fact = claim.text.replace(claim.name, "");
    let known = format!("{} {}", fold(&stated), fold(&asked));
    let has = |text: &str, marks: &[&str]| marks.iter().any(|mark| text.contains(mark));
    for (marks, error) in [
        (&NOT[..], Ungrounded::Negation),
        (&HEDGE[..], Ungrounded::Hedge),
        (&ENDED[..], Ungrounded::Ended),
    ] {
        let (of_fact, of_source) = (has(&fact, marks), has(&stated, marks));
        if of_fact != of_source && (of_fact || marks != NOT || near(&fact, &stated, marks)) {
            return Err(error);
        }
    }
    let all = tokens(&fact);
    let mut says = false;
    for (at, token) in all.iter().enumerate() {
        match token {
            Token::Number(number) => {
                if !numbers.has(&all, at) {
                    return Err(Ungrounded::Word((*number).to_owned()));
                }
                says = true;
            }
            Token::Word(word) if word.chars().any(is_unspaced) => {
                for c in word.chars().filter(|c| !SMALL.contains(*c)) {
                    if !known.contains(c) {
                        return Err(Ungrounded::Word((*word).to_owned()));
                    }
                    says = true;
                }
            }
            Token::Word(word) => {
                if !known.contains(&fold(word)) {
                    return Err(Ungrounded::Word((*word).to_owned()));
                }
                says = true;
            }
        }
    }
    if !says {
        return Err(Ungrounded::Empty);
    }
    let is_author = said.iter().any(|said| said.author == claim.subject);
    let is_named = stated.contains(claim.name);
    if is_author || is_named { Ok(()) } else { Err(Ungrounded::Relation(claim.name.to_owned())) }
}

/// The sentences that state something.
fn sentences(text: &str) -> Vec<&str> {
    text.split_inclusive(['。', '？', '?', '！', '\n'])
        .filter(|sentence| !sentence.trim_end().ends_with(['?', '？']))
        .collect()
}

/// True if a denial of the source stands in a clause that the fact repeats.
fn near(fact: &str, stated: &str, marks: &[&str]) -> bool {
    let words = |text: &str| {
        text.chars().filter(|c| is_unspaced(*c) && !SMALL.contains(*c)).collect::<Vec<_>>()
    };
    let fact = words(fact);
    let shared = |clause: &str| words(clause).iter().filter(|c| fact.contains(c)).count();
    let clauses: Vec<&str> = stated.split(['，', ',', '。', '、', '；']).collect();
    let best = clauses.iter().max_by_key(|clause| shared(clause));
    best.is_some_and(|clause| marks.iter().any(|mark| clause.contains(mark)))
}
