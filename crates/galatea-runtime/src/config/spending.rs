//! Limits of answers and money for people, Rooms, Worlds and the agent.

mod variables;

use galatea_core::{Result, Settings, Source, Variable};

use super::{flow::Flow, platform::PlatformSettings};
pub use variables::{
    BLOCK_PEOPLE, BLOCK_ROOMS, BLOCK_WORLDS, BUDGET_AGENT, BUDGET_PERSON, BUDGET_ROOM,
    BUDGET_STRANGER, COMMANDS_SHARE, LIMIT_AGENT, LIMIT_NOTICE, LIMIT_PERSON, LIMIT_ROOM,
    LIMIT_WAITING, LIMIT_WORLD, LIMITS, STRANGERS_SHARE,
};

/// Read here, declared by the standard plugin, whose rights it is about.
const OWNERS: Variable = Variable::new("AGENT_OWNERS", "Whose agent it is.");

/// A rate: none is without limit.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Rate {
    /// A minute, with what may come at once.
    pub(crate) flow: Option<Flow>,
    /// Most on one day (UTC).
    pub(crate) day: Option<u64>,
    /// The setting that says so.
    pub(crate) setting: String,
}

/// A cap: none is without limit.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Cap {
    /// Millionths of a US dollar a day.
    pub(crate) micros: Option<u64>,
    /// Tokens without a known price a day.
    pub(crate) tokens: Option<u64>,
    /// The setting that says so.
    pub(crate) setting: String,
}

/// All limits as they hold on one platform.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Spending {
    /// True if they hold, if the platform is public.
    pub(crate) on: bool,
    /// They also hold where only the owner can write.
    pub(crate) everywhere: bool,
    pub(crate) person: Rate,
    pub(crate) room: Rate,
    pub(crate) world: Rate,
    pub(crate) agent: Rate,
    /// Of this platform alone.
    pub(crate) platform: Option<Rate>,
    pub(crate) stranger_cap: Cap,
    pub(crate) person_cap: Cap,
    pub(crate) room_cap: Cap,
    pub(crate) agent_cap: Cap,
    /// Of this platform alone.
    pub(crate) platform_cap: Option<Cap>,
    /// Per cent of the agent's daily limit that people who are not on a list may use together.
    pub(crate) strangers: u64,
    /// The setting that says so.
    pub(crate) strangers_setting: String,
    /// Per cent of the answers of Rooms, Worlds, platforms and the agent that commands may use.
    pub(crate) commands: u64,
    /// The setting that says so.
    pub(crate) commands_setting: String,
    /// Messages of one person that wait.
    pub(crate) waiting: Option<usize>,
    /// The setting that says so.
    pub(crate) waiting_setting: String,
    /// The notice for people; none for the built-in sentences, empty for nothing.
    pub(crate) notice: Option<String>,
    /// Ids on this platform.
    pub(crate) owners: Vec<String>,
    pub(crate) blocked_people: Vec<String>,
    pub(crate) blocked_rooms: Vec<String>,
    pub(crate) blocked_worlds: Vec<String>,
    /// The settings that block people, Rooms and Worlds.
    pub(crate) block_settings: [String; 3],
}

impl Spending {
    /// Reads the settings for one platform.
    ///
    /// # Errors
    /// `Invalid` naming the variable and its place.
    pub fn from_settings(settings: &Settings, source: &Source) -> Result<Self> {
        let read = PlatformSettings::new(settings, source);
        let (switch, text) = read.text(&LIMITS);
        let (on, everywhere) = match text.to_ascii_lowercase().as_str() {
            "public" => (true, false),
            "on" | "true" | "yes" | "1" => (true, true),
            "off" | "false" | "no" | "0" => (false, false),
            _ => return Err(read.invalid_setting(&switch, "is none of public, on, off")),
        };
        let (strangers_setting, strangers) = share(&read, &STRANGERS_SHARE)?;
        let (commands_setting, commands) = share(&read, &COMMANDS_SHARE)?;
        let (waiting_setting, waiting) = read.text(&LIMIT_WAITING);
        let waiting = match waiting.as_str() {
            "none" => None,
            n => Some(n.parse().map_err(|_| {
                read.invalid_setting(&waiting_setting, "is neither a whole number nor none")
            })?),
        };
        let (_, notice) = read.text(&LIMIT_NOTICE);
        let notice = Some(notice)
            .filter(|text| !text.is_empty())
            .map(|text| if text.eq_ignore_ascii_case("none") { String::new() } else { text });
        let owners = owners(settings)?
            .into_iter()
            .filter(|(at, _)| source.as_str().eq_ignore_ascii_case(at.as_str()));
        let (people_setting, blocked_people) = read.both_lists(&BLOCK_PEOPLE)?;
        let (rooms_setting, blocked_rooms) = read.both_lists(&BLOCK_ROOMS)?;
        let (worlds_setting, blocked_worlds) = read.both_lists(&BLOCK_WORLDS)?;
        Ok(Self {
            on,
            everywhere,
            person: rate_of(&read, &LIMIT_PERSON)?,
            room: rate_of(&read, &LIMIT_ROOM)?,
            world: rate_of(&read, &LIMIT_WORLD)?,
            agent: rate(&settings.text(&LIMIT_AGENT).unwrap_or_default(), LIMIT_AGENT.name)
                .map_err(|what| settings.invalid_setting(&LIMIT_AGENT, &what))?,
            platform: read
                .own(&LIMIT_AGENT)
                .map(|(name, text)| {
                    rate(&text, &name).map_err(|what| read.invalid_setting(&name, &what))
                })
                .transpose()?,
            stranger_cap: cap_of(&read, &BUDGET_STRANGER)?,
            person_cap: cap_of(&read, &BUDGET_PERSON)?,
            room_cap: cap_of(&read, &BUDGET_ROOM)?,
            agent_cap: cap(
                &settings.text(&BUDGET_AGENT).unwrap_or_default(),
                BUDGET_AGENT.name,
                &unset(&BUDGET_AGENT),
            )
            .map_err(|what| settings.invalid_setting(&BUDGET_AGENT, &what))?,
            platform_cap: read
                .own(&BUDGET_AGENT)
                .map(|(name, text)| {
                    // The agent's own cap holds besides.
                    cap(&text, &name, &Cap::default())
                        .map_err(|what| read.invalid_setting(&name, &what))
                })
                .transpose()?,
            strangers,
            strangers_setting,
            commands,
            commands_setting,
            waiting,
            waiting_setting,
            notice,
            owners: owners.map(|(_, id)| id).collect(),
            blocked_people: blocked_people.iter().map(|name| name.to_lowercase()).collect(),
            blocked_rooms,
            blocked_worlds,
            block_settings: [people_setting, rooms_setting, worlds_setting],
        })
    }

    /// The names of those settings that every account may have its own of.
    pub(super) fn names(&mut self) -> impl Iterator<Item = &mut String> {
        let rates =
            [&mut self.person, &mut self.room, &mut self.world].map(|rate| &mut rate.setting);
        let caps = [&mut self.stranger_cap, &mut self.person_cap, &mut self.room_cap]
            .map(|cap| &mut cap.setting);
        rates
            .into_iter()
            .chain(caps)
            .chain([
                &mut self.strangers_setting,
                &mut self.commands_setting,
                &mut self.waiting_setting,
            ])
            .chain(&mut self.block_settings)
    }

    /// True if limits hold on a platform.
    pub(crate) fn holds(&self, public: bool) -> bool {
        self.on && (public || self.everywhere)
    }
}

/// The agent's owners: platform and id there.
///
/// # Errors
/// `Invalid` for a list that cannot be read.
pub(crate) fn owners(settings: &Settings) -> Result<Vec<(Source, String)>> {
    let listed = settings.list(&OWNERS)?.unwrap_or_default();
    let owner = |text: &String| {
        text.split_once(':').map(|(source, id)| {
            (Source::from_name(source.trim().to_ascii_lowercase()), id.trim().to_owned())
        })
    };
    Ok(listed.iter().filter_map(owner).collect())
}

/// Per cent, with the name of the setting.
fn share(read: &PlatformSettings<'_>, policy: &Variable) -> Result<(String, u64)> {
    read.parse(policy, "is not a number from 0 to 100", |text| {
        text.trim_end_matches('%').trim().parse().ok().filter(|n| *n <= 100)
    })
}

fn rate_of(read: &PlatformSettings<'_>, policy: &Variable) -> Result<Rate> {
    let (name, text) = read.text(policy);
    rate(&text, &name).map_err(|what| read.invalid_setting(&name, &what))
}

fn cap_of(read: &PlatformSettings<'_>, policy: &Variable) -> Result<Cap> {
    let parse = |text: &str, name: &str, unset: &Cap| {
        cap(text, name, unset).map_err(|what| read.invalid_setting(name, &what))
    };
    let text = read.settings.text(policy).unwrap_or_default();
    let everywhere = parse(&text, policy.name, &unset(policy))?;
    match read.own(policy) {
        Some((name, text)) => parse(&text, &name, &everywhere),
        None => Ok(everywhere),
    }
}

fn items(text: &str) -> impl Iterator<Item = String> {
    text.split(',').map(|item| item.trim().to_ascii_lowercase()).filter(|item| !item.is_empty())
}

/// Reads a rate such as `8/min, 300/day, burst=12`.
fn rate(text: &str, setting: &str) -> std::result::Result<Rate, String> {
    const WRONG: &str = "is not written like `8/min, 300/day, burst=12`, and not none";
    let (mut minute, mut day, mut burst): (Option<u32>, Option<u64>, Option<u32>) =
        (None, None, None);
    for item in items(text).filter(|item| item != "none") {
        if let Some(n) = item.strip_prefix("burst=") {
            burst = Some(n.trim().parse().ok().filter(|n| *n > 0).ok_or(WRONG)?);
            continue;
        }
        let (n, per) = item.split_once('/').ok_or(WRONG)?;
        match per.trim() {
            "min" | "minute" => minute = Some(n.trim().parse().map_err(|_| WRONG)?),
            "day" | "d" => day = Some(n.trim().parse().map_err(|_| WRONG)?),
            _ => return Err(WRONG.to_owned()),
        }
    }
    let flow = minute.map(|per_minute| Flow { per_minute, burst: burst.unwrap_or(per_minute) });
    Ok(Rate { flow, day, setting: setting.to_owned() })
}

/// Reads a cap such as `0.05 USD, 100000 tokens`. A half that is not written is that of `unset`: a cap
/// on money alone would let models whose price is not known answer without end.
fn cap(text: &str, setting: &str, unset: &Cap) -> std::result::Result<Cap, String> {
    const WRONG: &str = "is not written like `0.05 USD, 100000 tokens`, and not none";
    let lifted = Cap { setting: setting.to_owned(), ..Cap::default() };
    if items(text).all(|item| item == "none") {
        return Ok(lifted);
    }
    // `5 USD, none` means 5 USD and no cap on tokens.
    let mut cap = match items(text).any(|item| item == "none") {
        true => lifted,
        false => Cap { micros: unset.micros, tokens: unset.tokens, ..lifted },
    };
    for item in items(text).filter(|item| item != "none") {
        if let Some(n) = item.strip_suffix("tokens") {
            cap.tokens = match n.trim() {
                "none" => None,
                n => Some(n.parse().map_err(|_| WRONG)?),
            };
            continue;
        }
        let n = item.strip_suffix("usd").or_else(|| item.strip_prefix('$')).unwrap_or(&item);
        cap.micros = match n.trim() {
            "none" => None,
            n => Some(micros(n).ok_or(WRONG)?),
        };
    }
    Ok(cap)
}

/// Millionths of a dollar.
fn micros(dollars: &str) -> Option<u64> {
    let dollars: f64 = dollars.parse().ok()?;
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "between 0 and 10^15"
    )]
    (0.0..=1e9).contains(&dollars).then(|| (dollars * 1e6).round() as u64)
}

/// The default of a setting.
fn unset(variable: &Variable) -> Cap {
    cap(variable.default.unwrap_or_default(), variable.name, &Cap::default()).unwrap_or_default()
}

#[cfg(test)]
mod tests;
