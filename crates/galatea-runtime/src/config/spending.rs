//! Spending: how many answers and how much money people, Rooms, Worlds and the agent may use.

use galatea_core::{Error, Result, Settings, Source, Variable};

use super::flow::Flow;

/// Where the limits hold.
pub const LIMITS: Variable = Variable::new(
    "LIMITS",
    "Where the limits below hold: public (platforms on which strangers can write), on (everywhere) or off. AGENT_OWNERS are exempt. \
     <SOURCE>_LIMITS (TELEGRAM_LIMITS, …) overrides it per platform, as <SOURCE>_… does for every setting of this list.",
)
.or("public");
/// One person's answers. A person who reads the answers rarely writes more than once in eight
/// seconds for minutes; 300 a day is an hour of that.
pub const LIMIT_PERSON: Variable = Variable::new(
    "LIMIT_PERSON",
    "Answers to one person, such as `8/min, 300/day`; `burst=12` after a comma says how many at once (as many as a minute's when unset), none lifts it.",
)
.or("8/min, 300/day");
/// A Room's answers. Telegram lets a bot send 20 messages a minute to a group (Bots FAQ, "My bot is
/// hitting limits"): more would wait anyway.
pub const LIMIT_ROOM: Variable =
    Variable::new("LIMIT_ROOM", "Answers in one room, written as for LIMIT_PERSON.")
        .or("20/min, 2000/day");
/// A World's answers: three busy Rooms.
pub const LIMIT_WORLD: Variable = Variable::new(
    "LIMIT_WORLD",
    "Answers in one World (a server, or a group with its topics), written as for LIMIT_PERSON.",
)
.or("60/min, 5000/day");
/// The agent's answers. Five a second are a sixth of what Telegram lets a bot send; strangers get
/// their share of it.
pub const LIMIT_AGENT: Variable =
    Variable::new("LIMIT_AGENT", "Answers of the agent as a whole, written as for LIMIT_PERSON; <SOURCE>_LIMIT_AGENT limits those on one platform besides.")
        .or("300/min, 20000/day");
/// What a stranger may cost: about seven answers of a large model, or eighty of a small one.
pub const BUDGET_STRANGER: Variable = Variable::new(
    "BUDGET_STRANGER",
    "What one stranger may cost a day (UTC): US dollars, and tokens of models whose price is not known; none lifts it. A stranger is \
     who was not answered on an earlier day and is neither on an allowlist nor approved.",
)
.or("0.05 USD, 100000 tokens");
/// What a known person may cost.
pub const BUDGET_PERSON: Variable = Variable::new(
    "BUDGET_PERSON",
    "What one person who is no stranger may cost a day, written as for BUDGET_STRANGER.",
)
.or("0.50 USD, 1000000 tokens");
/// What a Room may cost.
pub const BUDGET_ROOM: Variable =
    Variable::new("BUDGET_ROOM", "What one room may cost a day, written as for BUDGET_STRANGER.")
        .or("2 USD, 4000000 tokens");
/// What the agent may cost.
pub const BUDGET_AGENT: Variable = Variable::new(
    "BUDGET_AGENT",
    "What the agent may cost a day, written as for BUDGET_STRANGER. At 80 % its owners are warned and the small model answers; once it is \
     used up nobody but them is answered. <SOURCE>_BUDGET_AGENT caps one platform besides.",
)
.or("10 USD, 20000000 tokens");
/// The part of the agent's limits that strangers share: regulars keep the rest.
pub const STRANGERS_SHARE: Variable =
    Variable::new("STRANGERS_SHARE", "Per cent of the agent's answers and budget that all strangers together may use; the rest is kept for known people.")
        .or("50");
/// The queue share.
pub const LIMIT_WAITING: Variable = Variable::new(
    "LIMIT_WAITING",
    "Messages of one person that wait in a group while others wait, too; of more than that the newest are answered. none lifts it.",
)
.or("5");
/// What people read.
pub const LIMIT_NOTICE: Variable = Variable::new(
    "LIMIT_NOTICE",
    "What a person reads who has reached a limit, once a day for the rate and once for the day; none says nothing. A sentence of its own when unset.",
);
/// Blocked people.
pub const BLOCK_PEOPLE: Variable = Variable::new(
    "BLOCK_PEOPLE",
    "People who are never answered: platform ids or @handles (which may change their owner), separated by commas. `galatea block` does it while it runs.",
);
/// Blocked Rooms.
pub const BLOCK_ROOMS: Variable =
    Variable::new("BLOCK_ROOMS", "Rooms in which nothing is answered, by the platform's ids.");
/// Blocked Worlds.
pub const BLOCK_WORLDS: Variable = Variable::new(
    "BLOCK_WORLDS",
    "Worlds (servers, groups with their topics) in which nothing is answered, by the platform's ids.",
);
/// Read here, declared by the standard plugin, whose rights it is about.
const OWNERS: Variable = Variable::new("AGENT_OWNERS", "Whose agent it is.");

/// Those of this file that every platform has a form of.
pub(super) const EACH: &[(&Variable, &str)] = &[
    (&LIMITS, "LIMITS for {}."),
    (&LIMIT_PERSON, "LIMIT_PERSON for {}."),
    (&LIMIT_ROOM, "LIMIT_ROOM for {}."),
    (&LIMIT_WORLD, "LIMIT_WORLD for {}."),
    (&LIMIT_AGENT, "Answers of the agent on {}, besides LIMIT_AGENT."),
    (&BUDGET_STRANGER, "BUDGET_STRANGER for {}."),
    (&BUDGET_PERSON, "BUDGET_PERSON for {}."),
    (&BUDGET_ROOM, "BUDGET_ROOM for {}."),
    (&BUDGET_AGENT, "What the agent may cost a day on {}, besides BUDGET_AGENT."),
    (&STRANGERS_SHARE, "STRANGERS_SHARE for {}."),
    (&LIMIT_WAITING, "LIMIT_WAITING for {}."),
    (&LIMIT_NOTICE, "LIMIT_NOTICE for {}."),
    (&BLOCK_PEOPLE, "BLOCK_PEOPLE for {}."),
    (&BLOCK_ROOMS, "BLOCK_ROOMS for {}."),
    (&BLOCK_WORLDS, "BLOCK_WORLDS for {}."),
];

/// How often: none is without limit.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Rate {
    /// A minute, with what may come at once.
    pub(crate) flow: Option<Flow>,
    /// A day.
    pub(crate) day: Option<u64>,
    /// The setting that says so.
    pub(crate) setting: String,
}

/// How much: none is without limit.
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
    /// Whether they hold, if the platform is public.
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
    /// Per cent.
    pub(crate) strangers: u64,
    /// The setting that says so.
    pub(crate) strangers_setting: String,
    /// Messages of one person that wait.
    pub(crate) waiting: Option<usize>,
    /// The setting that says so.
    pub(crate) waiting_setting: String,
    /// What people read; none for the built-in sentences, empty for nothing.
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
        let read = Read { settings, prefix: source.as_str().to_ascii_uppercase() };
        let (switch, text) = read.text(&LIMITS);
        let (on, everywhere) = match text.to_ascii_lowercase().as_str() {
            "public" => (true, false),
            "on" | "true" | "yes" | "1" => (true, true),
            "off" | "false" | "no" | "0" => (false, false),
            _ => return Err(read.complain(&switch, "is none of public, on, off")),
        };
        let (strangers_setting, share) = read.text(&STRANGERS_SHARE);
        let strangers = share.trim_end_matches('%').trim().parse().ok().filter(|n| *n <= 100);
        let strangers = strangers
            .ok_or_else(|| read.complain(&strangers_setting, "is no number from 0 to 100"))?;
        let (waiting_setting, waiting) = read.text(&LIMIT_WAITING);
        let waiting = match waiting.as_str() {
            "none" => None,
            n => Some(n.parse().map_err(|_| {
                read.complain(&waiting_setting, "is neither a whole number nor none")
            })?),
        };
        let (_, notice) = read.text(&LIMIT_NOTICE);
        let notice = Some(notice)
            .filter(|text| !text.is_empty())
            .map(|text| if text.eq_ignore_ascii_case("none") { String::new() } else { text });
        let owners = owners(settings)?
            .into_iter()
            .filter(|(at, _)| source.as_str().eq_ignore_ascii_case(at.as_str()));
        let (people_setting, blocked_people) = read.list(&BLOCK_PEOPLE)?;
        let (rooms_setting, blocked_rooms) = read.list(&BLOCK_ROOMS)?;
        let (worlds_setting, blocked_worlds) = read.list(&BLOCK_WORLDS)?;
        Ok(Self {
            on,
            everywhere,
            person: read.rate(&LIMIT_PERSON)?,
            room: read.rate(&LIMIT_ROOM)?,
            world: read.rate(&LIMIT_WORLD)?,
            agent: rate(&settings.text(&LIMIT_AGENT).unwrap_or_default(), LIMIT_AGENT.name)
                .map_err(|what| settings.complain(&LIMIT_AGENT, &what))?,
            platform: read
                .own(&LIMIT_AGENT)
                .map(|(name, text)| rate(&text, &name).map_err(|what| read.complain(&name, &what)))
                .transpose()?,
            stranger_cap: read.cap(&BUDGET_STRANGER)?,
            person_cap: read.cap(&BUDGET_PERSON)?,
            room_cap: read.cap(&BUDGET_ROOM)?,
            agent_cap: cap(&settings.text(&BUDGET_AGENT).unwrap_or_default(), BUDGET_AGENT.name)
                .map_err(|what| settings.complain(&BUDGET_AGENT, &what))?,
            platform_cap: read
                .own(&BUDGET_AGENT)
                .map(|(name, text)| cap(&text, &name).map_err(|what| read.complain(&name, &what)))
                .transpose()?,
            strangers,
            strangers_setting,
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
            .chain([&mut self.strangers_setting, &mut self.waiting_setting])
            .chain(&mut self.block_settings)
    }

    /// Whether limits hold on a platform.
    pub(crate) fn holds(&self, public: bool) -> bool {
        self.on && (public || self.everywhere)
    }
}

/// Whose agent it is: platform and id there.
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

struct Read<'a> {
    settings: &'a Settings,
    prefix: String,
}

impl Read<'_> {
    /// The platform's own value with its name.
    fn own(&self, general: &Variable) -> Option<(String, String)> {
        let name = format!("{}_{}", self.prefix, general.name);
        self.settings.raw(&name).map(|setting| (name, setting.text().trim().to_owned()))
    }

    fn text(&self, general: &Variable) -> (String, String) {
        self.own(general).unwrap_or_else(|| {
            (
                general.name.to_owned(),
                self.settings.text(general).unwrap_or_default().trim().to_owned(),
            )
        })
    }

    /// Both hold: who is blocked everywhere is blocked here.
    fn list(&self, general: &Variable) -> Result<(String, Vec<String>)> {
        let mut all = self.settings.list(general)?.unwrap_or_default();
        let Some((name, text)) = self.own(general) else {
            return Ok((general.name.to_owned(), all));
        };
        let own = Settings::from_pairs([(general.name, text)]);
        all.extend(
            own.list(general)
                .map_err(|_| self.complain(&name, "is not a list"))?
                .unwrap_or_default(),
        );
        Ok((name, all))
    }

    fn rate(&self, general: &Variable) -> Result<Rate> {
        let (name, text) = self.text(general);
        rate(&text, &name).map_err(|what| self.complain(&name, &what))
    }

    fn cap(&self, general: &Variable) -> Result<Cap> {
        let (name, text) = self.text(general);
        cap(&text, &name).map_err(|what| self.complain(&name, &what))
    }

    fn complain(&self, name: &str, what: &str) -> Error {
        let place =
            self.settings.raw(name).map_or(String::from("default"), |s| s.origin.to_string());
        Error::invalid(format!("{name} {what}")).with_code("GAL-CFG-VALUE").with("where", place)
    }
}

fn items(text: &str) -> impl Iterator<Item = String> {
    text.split(',').map(|item| item.trim().to_ascii_lowercase()).filter(|item| !item.is_empty())
}

/// `8/min, 300/day, burst=12`.
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

/// `0.05 USD, 100000 tokens`.
fn cap(text: &str, setting: &str) -> std::result::Result<Cap, String> {
    const WRONG: &str = "is not written like `0.05 USD, 100000 tokens`, and not none";
    let mut cap = Cap { setting: setting.to_owned(), ..Cap::default() };
    for item in items(text).filter(|item| item != "none") {
        if let Some(n) = item.strip_suffix("tokens") {
            cap.tokens = Some(n.trim().parse().map_err(|_| WRONG)?);
            continue;
        }
        let n = item.strip_suffix("usd").or_else(|| item.strip_prefix('$')).unwrap_or(&item);
        let dollars: f64 = n.trim().parse().map_err(|_| WRONG)?;
        if !(0.0..=1e9).contains(&dollars) {
            return Err(WRONG.to_owned());
        }
        #[allow(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "between 0 and 10^15"
        )]
        let micros = (dollars * 1e6).round() as u64;
        cap.micros = Some(micros);
    }
    Ok(cap)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TELEGRAM: Source = Source::new("telegram");

    fn read(pairs: &[(&str, &str)]) -> Result<Spending> {
        Spending::from_settings(
            &Settings::from_pairs(pairs.iter().map(|(k, v)| (*k, *v))),
            &TELEGRAM,
        )
    }

    #[test]
    fn defaults_hold_where_strangers_write() {
        let spending = read(&[]).unwrap();
        assert!(spending.holds(true) && !spending.holds(false));
        assert_eq!(spending.person.flow, Some(Flow { per_minute: 8, burst: 8 }));
        assert_eq!((spending.person.day, spending.agent.day), (Some(300), Some(20_000)));
        assert_eq!(
            (spending.stranger_cap.micros, spending.stranger_cap.tokens),
            (Some(50_000), Some(100_000))
        );
        assert_eq!((spending.platform, spending.platform_cap), (None, None));
    }

    #[test]
    fn a_platforms_own_values_beat_general_ones() {
        let pairs = [
            ("LIMIT_PERSON", "1/min"),
            ("TELEGRAM_LIMIT_PERSON", "2/min, burst=9"),
            ("TELEGRAM_BUDGET_AGENT", "$3"),
            ("TELEGRAM_LIMITS", "on"),
            ("TELEGRAM_LIMIT_ROOM", "none"),
            ("AGENT_OWNERS", "telegram:7, discord:8"),
            ("BLOCK_PEOPLE", "13"),
            ("TELEGRAM_BLOCK_PEOPLE", "@Spammer"),
        ];
        let spending = read(&pairs).unwrap();
        assert_eq!(
            (spending.person.flow, spending.person.day),
            (Some(Flow { per_minute: 2, burst: 9 }), None)
        );
        assert_eq!(spending.person.setting, "TELEGRAM_LIMIT_PERSON");
        assert_eq!(
            spending.platform_cap,
            Some(Cap {
                micros: Some(3_000_000),
                tokens: None,
                setting: "TELEGRAM_BUDGET_AGENT".into()
            })
        );
        assert_eq!(spending.agent_cap.setting, "BUDGET_AGENT");
        assert_eq!((spending.room.flow, spending.room.day), (None, None));
        assert!(spending.holds(false));
        assert_eq!(spending.owners, ["7"]);
        assert_eq!(spending.blocked_people, ["13", "@spammer"]);
    }

    #[test]
    fn wrong_values_name_their_place() {
        for (name, value) in [
            ("LIMITS", "sometimes"),
            ("LIMIT_PERSON", "8"),
            ("TELEGRAM_LIMIT_ROOM", "8/hour"),
            ("LIMIT_AGENT", "x/min"),
            ("BUDGET_PERSON", "-1 USD"),
            ("TELEGRAM_BUDGET_AGENT", "much"),
            ("STRANGERS_SHARE", "101"),
            ("LIMIT_WAITING", "few"),
        ] {
            let error = read(&[(name, value)]).unwrap_err();
            assert!(
                error.to_string().contains(name) && error.to_string().contains("environment"),
                "{error}"
            );
        }
    }
}
