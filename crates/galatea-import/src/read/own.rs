//! Who of the authors of a file is the agent itself.

use galatea_core::{Error, Incoming, RemoteId, Result, visible::one_line};
use std::collections::{BTreeMap, BTreeSet};

use crate::text::clipped;

/// Authors that an error names at most, and the longest text of one in characters.
const LISTED: usize = 12;
const LONGEST: usize = 60;

/// The authors of messages: the id of each with the names that it has in the file. The id of a speaker
/// of a chat log is the name.
pub(crate) type Authors = BTreeMap<String, BTreeSet<String>>;

/// The authors of these messages.
pub(crate) fn authors(messages: &[Incoming]) -> Authors {
    let mut found = Authors::new();
    for entity in messages.iter().filter_map(|message| message.connection.entity.as_ref()) {
        let names = found.entry(entity.remote.to_string()).or_default();
        names.extend([&entity.name, &entity.user_name].into_iter().flatten().cloned());
    }
    found
}

/// The authors that these texts of `--own` name: by the platform's id, as the file or as the platform
/// writes it, or by a name.
///
/// # Errors
/// `Invalid` (`GAL-MEMORY-OWN`) for a text that fits no author. So does one that is the name of
/// several: another person may have called themselves like the agent, and their words must not become
/// the agent's.
pub(crate) fn resolve(authors: &Authors, own: &[String]) -> Result<Vec<RemoteId>> {
    let only = |asked: &String| match fitting(authors, asked).as_slice() {
        [one] => Ok(RemoteId::new(one)),
        [] => Err(unknown(asked, authors)),
        several => Err(ambiguous("authors", asked, several)
            .with_fix("give the id of the agent's own account to --own")),
    };
    own.iter().map(only).collect()
}

/// The speakers of a chat log who are the agent: those that these texts of `--own` name, and the one
/// with the agent's own name. The exact name of a speaker means this one alone.
///
/// # Errors
/// `Invalid` (`GAL-MEMORY-OWN`) for a text of `--own` that fits no speaker, or several: each of them is
/// a person of their own. So is the agent's name, if several have it and there is no `--own` to say
/// which.
pub(crate) fn own_speakers(
    speakers: BTreeSet<String>,
    own: &[String],
    agent: &str,
) -> Result<BTreeSet<String>> {
    let authors: Authors =
        speakers.into_iter().map(|name| (name.clone(), BTreeSet::from([name]))).collect();
    let mut found = BTreeSet::new();
    let asked = own.iter().map(|name| (name.as_str(), true));
    for (asked, is_given) in asked.chain([(agent, false)]) {
        match fitting(&authors, asked).as_slice() {
            [one] => drop(found.insert((*one).clone())),
            [] if is_given => return Err(unknown(asked, &authors)),
            [] => {}
            several if is_given || own.is_empty() => {
                return Err(ambiguous("speakers", asked, several).with_fix(
                    "give --own the agent's name as the file writes it, once for each of these \
                     that is the agent",
                ));
            }
            _ => {}
        }
    }
    Ok(found)
}

/// The ids of the authors that a text means: the one that has it as its id, or all that have it as a
/// name.
fn fitting<'a>(authors: &'a Authors, asked: &str) -> Vec<&'a String> {
    let plain = |text: &str| text.trim().trim_start_matches('@').to_lowercase();
    let id = asked.trim();
    // Telegram's exports have `user` in front of the ids of people and bots.
    for id in [asked, id, id.strip_prefix("user").unwrap_or(id)] {
        if let Some((id, _)) = authors.get_key_value(id) {
            return vec![id];
        }
    }
    let is_called = |names: &BTreeSet<String>| names.iter().any(|name| plain(name) == plain(asked));
    authors.iter().filter(|(_, names)| is_called(names)).map(|(id, _)| id).collect()
}

/// Refuses `--own` for a file whose rows name the agent by its id.
///
/// # Errors
/// `Invalid` if there is one.
pub(crate) fn refuse(own: &[String]) -> Result<()> {
    if own.is_empty() {
        return Ok(());
    }
    Err(Error::invalid("--own is for chat logs and exports of platforms")
        .with_code("GAL-MEMORY-OWN")
        .with_fix("leave it out: the rows of this file name the agent by its id"))
}

fn ambiguous(who: &str, asked: &str, several: &[&String]) -> Error {
    let asked = clipped(&one_line(asked), LONGEST);
    Error::invalid(format!("several {who} of this file are called {asked}"))
        .with_code("GAL-MEMORY-OWN")
        .with("they are", listed(several.iter().map(|id| (*id).clone())))
}

fn unknown(asked: &str, authors: &Authors) -> Error {
    let asked = clipped(&one_line(asked), LONGEST);
    Error::invalid(format!("no author of this file is called {asked}"))
        .with_code("GAL-MEMORY-OWN")
        .with("its authors are", listed(authors.iter().map(shown)))
        .with_fix(
            "give one of these names, or the id beside it; leave --own out if the agent wrote \
             nothing there",
        )
}

/// `Ann Lee (1001)`. A speaker of a chat log has no other id.
fn shown((id, names): (&String, &BTreeSet<String>)) -> String {
    let all: Vec<&str> = names.iter().map(String::as_str).collect();
    match all.as_slice() {
        [] => id.clone(),
        [name] if name == id => id.clone(),
        _ => format!("{} ({id})", all.join(", ")),
    }
}

fn listed(all: impl Iterator<Item = String>) -> String {
    let all: Vec<String> = all.map(|one| clipped(&one_line(&one), LONGEST)).collect();
    let mut text = all.iter().take(LISTED).cloned().collect::<Vec<_>>().join("; ");
    if all.len() > LISTED {
        text.push_str(&format!(" and {} more", all.len() - LISTED));
    }
    if text.is_empty() { "none".to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn people() -> Authors {
        let names = |all: &[&str]| all.iter().map(|name| (*name).to_owned()).collect();
        Authors::from([
            ("777".to_owned(), names(&["HelperBot", "helper_bot"])),
            ("1001".to_owned(), names(&["Ann Lee"])),
            ("1002".to_owned(), names(&["Bob"])),
            ("1003".to_owned(), names(&["bob"])),
        ])
    }

    #[test]
    fn an_author_is_named_by_name_or_id() {
        for asked in ["HelperBot", " helperbot", "@helper_bot", "777", "user777"] {
            let found = resolve(&people(), &[asked.to_owned()]).unwrap();
            assert_eq!(found, [RemoteId::new("777")], "{asked}");
        }
        assert_eq!(resolve(&people(), &[]).unwrap(), []);
    }

    #[test]
    fn a_name_of_no_author_or_of_several_is_refused() {
        for (asked, part) in
            [("Helper", "Ann Lee (1001)"), ("", "no author"), ("Bob", "1002; 1003")]
        {
            let error = resolve(&people(), &["777".to_owned(), asked.to_owned()]).unwrap_err();
            assert_eq!(error.code(), Some("GAL-MEMORY-OWN"));
            assert!(error.report().to_string().contains(part), "{}", error.report());
        }
        assert!(refuse(&[]).is_ok() && refuse(&["Bot".to_owned()]).is_err());
    }

    #[test]
    fn a_speaker_is_named_exactly_or_by_a_name_of_no_other() {
        let names = |all: &[&str]| -> BTreeSet<String> {
            all.iter().map(|name| (*name).to_owned()).collect()
        };
        let speakers = names(&["Ann", "Bob", "bob", "@Bob"]);
        let found = |own: &[&str]| {
            let own: Vec<String> = own.iter().map(|name| (*name).to_owned()).collect();
            own_speakers(speakers.clone(), &own, "ann")
        };
        assert_eq!(found(&[]).unwrap(), names(&["Ann"]), "the agent's own name");
        assert_eq!(found(&["Bob"]).unwrap(), names(&["Ann", "Bob"]), "the others are other people");
        assert_eq!(found(&["Bob", "@Bob"]).unwrap(), names(&["@Bob", "Ann", "Bob"]));
        for (asked, part) in [("BOB", "@Bob; Bob; bob"), ("Bot", "@Bob; Ann; Bob; bob")] {
            let error = found(&[asked]).unwrap_err();
            assert_eq!(error.code(), Some("GAL-MEMORY-OWN"));
            assert!(error.report().to_string().contains(part), "{}", error.report());
        }
        let of_agent = |own: &[String]| own_speakers(speakers.clone(), own, "BOB");
        assert!(of_agent(&[]).is_err(), "which of them is the agent is unknown");
        assert_eq!(of_agent(&["bob".to_owned()]).unwrap(), names(&["bob"]));
        assert_eq!(own_speakers(speakers.clone(), &[], "Eliza").unwrap(), names(&[]));
    }
}
