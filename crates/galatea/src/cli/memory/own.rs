//! Who of the authors of a file is the agent itself.

use galatea_core::{
    AgentId, Error, Host, Incoming, RemoteId, Source, Store, SystemClock, visible::one_line,
};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use super::select::{clipped, rooms};
use crate::{
    accounts,
    connectors::{Built, PLATFORMS, Taken},
    context::Context,
    data_dir::DataDir,
    failure::Result,
    personas,
};

/// Authors that an error names at most, and the longest text of one in characters.
const LISTED: usize = 12;
const LONGEST: usize = 60;

/// The authors of messages: the platform's id of each with the names that it has in the file.
pub(super) type Authors = BTreeMap<RemoteId, BTreeSet<String>>;

/// The authors of these messages.
pub(super) fn authors(messages: &[Incoming]) -> Authors {
    let mut found = Authors::new();
    for entity in messages.iter().filter_map(|message| message.connection.entity.as_ref()) {
        let names = found.entry(entity.remote.clone()).or_default();
        names.extend([&entity.name, &entity.user_name].into_iter().flatten().cloned());
    }
    found
}

/// The authors that these texts of `--own` name: by the platform's id, as the file or as the platform
/// writes it, or by a name.
///
/// # Errors
/// `Invalid` for a text that fits no author. So does one that is the name of several: another person
/// may have called themselves like the agent, and their words must not become the agent's.
pub(super) fn resolve(authors: &Authors, own: &[String]) -> galatea_core::Result<Vec<RemoteId>> {
    let mut found = Vec::new();
    for text in own {
        let asked = text.trim();
        // Telegram's exports have `user` in front of the ids of people and bots.
        let id = RemoteId::new(asked.strip_prefix("user").unwrap_or(asked));
        if let Some(id) = [RemoteId::new(asked), id].into_iter().find(|id| authors.contains_key(id))
        {
            found.push(id);
            continue;
        }
        let named: Vec<&RemoteId> = authors
            .iter()
            .filter(|(_, names)| names.iter().any(|name| fits(name, asked)))
            .map(|(id, _)| id)
            .collect();
        match named.as_slice() {
            [one] => found.push((*one).clone()),
            [] => return Err(unknown(asked, authors.iter().map(shown))),
            several => {
                let ids = several.iter().map(|id| id.to_string());
                return Err(ambiguous("authors", asked, ids)
                    .with_fix("give the id of the agent's own account to --own"));
            }
        }
    }
    Ok(found)
}

/// The speakers of a chat log who are the agent: those that these texts of `--own` name, and the one
/// with the agent's own name. The exact name of a speaker means this one alone.
///
/// # Errors
/// `Invalid` for a text of `--own` that fits no speaker, or several: each of them is a person of their
/// own. So is the agent's name, if several have it and there is no `--own` to say which.
pub(super) fn own_speakers(
    speakers: &BTreeSet<String>,
    own: &[String],
    agent: &str,
) -> galatea_core::Result<BTreeSet<String>> {
    let mut found = BTreeSet::new();
    let asked = own.iter().map(|name| (name.as_str(), true));
    for (asked, is_given) in asked.chain([(agent, false)]) {
        let fitting: Vec<&String> = match speakers.get(asked) {
            Some(exact) => vec![exact],
            None => speakers.iter().filter(|name| fits(name, asked)).collect(),
        };
        match fitting.as_slice() {
            [one] => drop(found.insert((*one).clone())),
            [] if is_given => return Err(unknown(asked, speakers.iter().cloned())),
            [] => {}
            several if is_given || own.is_empty() => {
                let names = several.iter().map(|name| (*name).clone());
                return Err(ambiguous("speakers", asked, names)
                    .with_fix("give --own the agent's name as the file writes it, once for each of these that is the agent"));
            }
            _ => {}
        }
    }
    Ok(found)
}

/// Refuses `--own` for a file whose rows name the agent by its id.
///
/// # Errors
/// `Invalid` if there is one.
pub(super) fn refuse(own: &[String]) -> galatea_core::Result<()> {
    if own.is_empty() {
        return Ok(());
    }
    Err(Error::invalid("--own is for chat logs and exports of platforms")
        .with_code("GAL-MEMORY-OWN")
        .with_fix("leave it out: the rows of this file name the agent by its id"))
}

/// Whether `--own` names a speaker.
pub(super) fn fits(name: &str, asked: &str) -> bool {
    let plain = |text: &str| text.trim().trim_start_matches('@').to_lowercase();
    plain(name) == plain(asked)
}

fn ambiguous(who: &str, asked: &str, several: impl Iterator<Item = String>) -> Error {
    Error::invalid(format!(
        "several {who} of this file are called {}",
        clipped(&one_line(asked), LONGEST)
    ))
    .with_code("GAL-MEMORY-OWN")
    .with("they are", listed(several))
}

fn unknown(asked: &str, authors: impl Iterator<Item = String>) -> Error {
    Error::invalid(format!(
        "no author of this file is called {}",
        clipped(&one_line(asked), LONGEST)
    ))
    .with_code("GAL-MEMORY-OWN")
    .with("its authors are", listed(authors))
    .with_fix("give one of these names, or the id beside it; leave --own out if the agent wrote nothing there")
}

/// `Ann Lee (1001)`.
fn shown((id, names): (&RemoteId, &BTreeSet<String>)) -> String {
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    if names.is_empty() { id.to_string() } else { format!("{} ({id})", names.join(", ")) }
}

fn listed(all: impl Iterator<Item = String>) -> String {
    let all: Vec<String> = all.map(|one| clipped(&one_line(&one), LONGEST)).collect();
    let mut text = all.iter().take(LISTED).cloned().collect::<Vec<_>>().join("; ");
    if all.len() > LISTED {
        text.push_str(&format!(" and {} more", all.len() - LISTED));
    }
    if text.is_empty() { "none".to_owned() } else { text }
}

/// The agent's accounts on a platform as far as this installation knows them: those of its rooms, and
/// those that its settings configure. Settings that cannot be read configure none.
///
/// # Errors
/// Those of the store.
pub(super) async fn known(
    store: &dyn Store,
    agent: AgentId,
    source: &Source,
    context: &Context,
) -> Result<Vec<RemoteId>> {
    let rooms = rooms(store, agent).await?;
    let of_rooms = rooms.iter().filter(|room| room.source == *source).map(|room| &room.account);
    let mut found: BTreeSet<RemoteId> = of_rooms.map(RemoteId::new).collect();
    found.extend(configured(agent, source, context).unwrap_or_default());
    Ok(found.into_iter().collect())
}

fn configured(agent: AgentId, source: &Source, context: &Context) -> Result<Vec<RemoteId>> {
    let configuration = context.configuration()?;
    let data_dir = DataDir::locate(&configuration.settings, &context.working_dir);
    let mut found = Vec::new();
    for persona in personas::load(&[], configuration, &context.working_dir)? {
        let identity = persona.character.identity();
        if identity.id() != agent {
            continue;
        }
        let host = Host {
            agent: identity,
            agent_name: persona.character.name.clone(),
            data_dir: data_dir.path().to_owned(),
            clock: Arc::new(SystemClock),
        };
        for platform in PLATFORMS.iter().filter(|platform| platform.source == *source) {
            for account in accounts::of(platform, &persona.settings) {
                let built = platform.connector(&account, &host, &mut Taken::default());
                if let Ok(Built::On(connector)) = built {
                    found.push(RemoteId::new(&connector.info().account));
                }
            }
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn people() -> Authors {
        let names = |all: &[&str]| all.iter().map(|name| (*name).to_owned()).collect();
        Authors::from([
            (RemoteId::new("777"), names(&["HelperBot", "helper_bot"])),
            (RemoteId::new("1001"), names(&["Ann Lee"])),
            (RemoteId::new("1002"), names(&["Bob"])),
            (RemoteId::new("1003"), names(&["bob"])),
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
            own_speakers(&speakers, &own, "ann")
        };
        assert_eq!(found(&[]).unwrap(), names(&["Ann"]), "the agent's own name");
        assert_eq!(found(&["Bob"]).unwrap(), names(&["Ann", "Bob"]), "the others are other people");
        assert_eq!(found(&["Bob", "@Bob"]).unwrap(), names(&["@Bob", "Ann", "Bob"]));
        for (asked, part) in [("BOB", "@Bob; Bob; bob"), ("Bot", "@Bob; Ann; Bob; bob")] {
            let error = found(&[asked]).unwrap_err();
            assert_eq!(error.code(), Some("GAL-MEMORY-OWN"));
            assert!(error.report().to_string().contains(part), "{}", error.report());
        }
        let of_agent = |own: &[String]| own_speakers(&speakers, own, "BOB");
        assert!(of_agent(&[]).is_err(), "which of them is the agent is unknown");
        assert_eq!(of_agent(&["bob".to_owned()]).unwrap(), names(&["bob"]));
        assert_eq!(own_speakers(&speakers, &[], "Eliza").unwrap(), names(&[]));
    }
}
