//! SETTINGS: settings of this room, made by its admins; those of its World; and the question for one
//! that is missing.

use async_trait::async_trait;
use galatea_core::{
    Fragment, Provider, ProviderUse, Result, Turn,
    rights::{Authorship, Standing},
    standing,
    world_settings::{self, LONGEST_WORLD_SETTING},
};

use crate::words;

pub(crate) struct WorldSettings;

/// Limits: settings shown, graphemes of each.
const MOST: usize = 50;
const LONGEST: usize = 200;

#[async_trait]
impl Provider for WorldSettings {
    fn name(&self) -> &'static str {
        "SETTINGS"
    }
    fn description(&self) -> &'static str {
        "Settings of this room and place that an admin can change"
    }
    fn position(&self) -> i32 {
        45
    }
    fn when(&self) -> ProviderUse {
        // The room's metadata is already loaded, so no query is needed.
        ProviderUse::Always
    }
    fn authorship(&self) -> Authorship {
        Authorship::Own
    }
    async fn provide(&self, turn: &Turn<'_>) -> Result<Fragment> {
        let parts: Vec<String> =
            [of_room(turn), of_world(turn), missing(turn)?].into_iter().flatten().collect();
        if parts.is_empty() {
            return Ok(Fragment::default());
        }
        let text = parts.join("\n\n");
        Ok(Fragment::text(text.clone()).value("settings", text))
    }
}

fn of_room(turn: &Turn<'_>) -> Option<String> {
    let settings = turn.room.metadata.get("settings")?.as_object()?;
    let list: Vec<String> = settings
        .iter()
        .take(MOST)
        .map(|(key, value)| {
            let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            line(&words::name(key), &value)
        })
        .collect();
    told("The admins of this room have set", &list)
}

/// Answers of the World's admins to the character's declared settings.
fn of_world(turn: &Turn<'_>) -> Option<String> {
    let world = turn.world.filter(|_| !turn.room.kind.is_direct())?;
    let list: Vec<String> = world_settings::declared(&turn.agent.character.settings)
        .iter()
        .filter_map(|setting| {
            let value = words::line(world.setting(&setting.key)?, LONGEST_WORLD_SETTING);
            Some(format!("{} to {}", setting.name, words::quoted(&value)))
        })
        .collect();
    told("The admins of this place have set", &list)
}

/// The next question to an admin of the World, while settings that the character needs are missing.
fn missing(turn: &Turn<'_>) -> Result<Option<String>> {
    let declared = world_settings::declared(&turn.agent.character.settings);
    let Some(world) = turn.world.filter(|_| !turn.room.kind.is_direct() && !declared.is_empty())
    else {
        return Ok(None);
    };
    if standing::standing(turn, turn.world)? < Standing::Admin {
        return Ok(None);
    }
    let is_set = |key: &str| world.setting(key).is_some();
    let Some(next) = world_settings::missing(&declared, is_set) else { return Ok(None) };
    let options = match next.options.as_slice() {
        [] => String::new(),
        options => format!(" One of: {}.", words::line(&options.join(", "), LONGEST_WORLD_SETTING)),
    };
    Ok(Some(format!(
        "A setting of this place is missing, {}: {}{options} The person you answer may set it. \
         Unless it was asked above already, ask for it in one sentence after your answer. Store what they say with UPDATE_SETTINGS, key {}.",
        next.name,
        words::line(&next.question, LONGEST_WORLD_SETTING),
        next.key
    )))
}

fn line(name: &str, value: &str) -> String {
    format!("{name} to {}", words::quoted(&words::line(value, LONGEST)))
}

fn told(begins: &str, list: &[String]) -> Option<String> {
    (!list.is_empty()).then(|| words::ended(&format!("{begins} {}", list.join(", "))))
}
