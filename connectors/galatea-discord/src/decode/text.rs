//! Converts Discord's Markdown to CommonMark. Only the marks for people, roles, channels, emoji,
//! commands, times and places of the server differ.

use serenity::all::Message;

use super::{Me, directory::Directory};

/// Longest mark: a command of three words of 32 characters each, and an id of 20 (Discord,
/// "Application Command Naming").
const MOST: usize = 128;
/// Names of the months and days of the week.
const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
const DAYS: [&str; 7] =
    ["Thursday", "Friday", "Saturday", "Sunday", "Monday", "Tuesday", "Wednesday"];

/// Replaces `<@1>` by `@Name`, `<#2>` by `#channel`, `<@&3>` by `@role`, `<:wave:4>` by `:wave:`,
/// `</ask:5>` by `/ask`, `<t:6>` by the date in words and `<id:guide>` by the place's name. Text in angle
/// brackets that is no mark of Discord's stays.
pub(super) fn to_markdown(content: &str, names: &dyn Fn(&str, u64) -> Option<String>) -> String {
    let mut out = String::with_capacity(content.len());
    let mut rest = content;
    while let Some(start) = rest.find('<') {
        out.push_str(&rest[..start]);
        rest = &rest[start..];
        let end = rest.char_indices().take(MOST).find(|(_, c)| *c == '>').map(|(at, _)| at);
        match end.and_then(|end| Some((end, mark(&rest[1..end], names)?))) {
            Some((end, text)) => {
                out.push_str(&text);
                rest = &rest[end + 1..];
            }
            None => {
                out.push('<');
                rest = &rest[1..];
            }
        }
    }
    out.push_str(rest);
    out
}

fn mark(inner: &str, names: &dyn Fn(&str, u64) -> Option<String>) -> Option<String> {
    for sign in ["@!", "@&", "@", "#"] {
        if let Some(id) = inner.strip_prefix(sign).and_then(number) {
            return Some(names(sign, id).unwrap_or_else(|| unknown(sign).to_owned()));
        }
    }
    if let Some(time) = inner.strip_prefix("t:") {
        let (seconds, style) = time.split_once(':').unwrap_or((time, "f"));
        return date(seconds.parse().ok()?, style);
    }
    if let Some(command) = inner.strip_prefix('/') {
        let (name, id) = command.rsplit_once(':')?;
        return (number(id).is_some() && !name.trim().is_empty()).then(|| format!("/{name}"));
    }
    if let Some(place) = inner.strip_prefix("id:") {
        return guild_place(place, names);
    }
    let (name, id) =
        inner.strip_prefix("a:").or_else(|| inner.strip_prefix(':'))?.split_once(':')?;
    (number(id).is_some() && !name.is_empty()).then(|| format!(":{name}:"))
}

fn number(text: &str) -> Option<u64> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok()).flatten()
}

/// Text that Discord's own clients show for an id that they do not know.
fn unknown(sign: &str) -> &'static str {
    match sign {
        "@&" => "@unknown-role",
        "#" => "#unknown-channel",
        _ => "@unknown-user",
    }
}

/// Places of a server that are no channels (Discord, "Guild Navigation Types").
fn guild_place(place: &str, names: &dyn Fn(&str, u64) -> Option<String>) -> Option<String> {
    if let Some(role) = place.strip_prefix("linked-roles:").and_then(number) {
        return Some(names("@&", role).unwrap_or_else(|| "Linked Roles".to_owned()));
    }
    let name = match place {
        "customize" => "Channels & Roles",
        "browse" => "Browse Channels",
        "guide" => "Server Guide",
        "home" => "Server Home",
        "linked-roles" => "Linked Roles",
        _ => return None,
    };
    Some(name.to_owned())
}

/// A time in words, in UTC, as exact as its style (Discord, "Timestamp Styles"). A relative one is shown
/// as the date it stands for: what is stored is read at another time.
fn date(seconds: i64, style: &str) -> Option<String> {
    // Discord shows the years that a JavaScript date has.
    const LATEST: i64 = 8_640_000_000_000;
    if !(-LATEST..=LATEST).contains(&seconds) {
        return None;
    }
    let (day, second) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    let (year, month, number) = civil(day);
    let month = usize::try_from(month - 1).ok().and_then(|month| MONTHS.get(month))?;
    let weekday = usize::try_from(day.rem_euclid(7)).ok().and_then(|day| DAYS.get(day))?;
    let clock = format!("{:02}:{:02}", second / 3_600, second / 60 % 60);
    Some(match style {
        "t" => format!("{clock} UTC"),
        "T" => format!("{clock}:{:02} UTC", second % 60),
        "d" | "D" => format!("{number} {month} {year}"),
        "F" => format!("{weekday}, {number} {month} {year}, {clock} UTC"),
        "S" => format!("{number} {month} {year}, {clock}:{:02} UTC", second % 60),
        "f" | "R" | "s" => format!("{number} {month} {year}, {clock} UTC"),
        _ => return None,
    })
}

/// Year, month and day of a day since 1970 in the Gregorian calendar (Howard Hinnant,
/// "chrono-Compatible Low-Level Date Algorithms", `civil_from_days`).
fn civil(day: i64) -> (i64, i64, i64) {
    let shifted = day + 719_468;
    let era = shifted.div_euclid(146_097);
    let of_era = shifted.rem_euclid(146_097);
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * of_year + 2) / 153;
    let number = of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    (year_of_era + era * 400 + i64::from(month <= 2), month, number)
}

/// The text of a message, with names in place of ids.
pub(super) fn readable_text(
    content: &str,
    message: &Message,
    guild: Option<u64>,
    me: &Me,
    directory: &Directory,
) -> String {
    to_markdown(content, &|sign, id| match sign {
        "@" | "@!" if id == me.id => Some(format!("@{}", me.name)),
        "@" | "@!" => {
            let user = message.mentions.iter().find(|u| u.id.get() == id)?;
            Some(format!("@{}", user.global_name.as_deref().unwrap_or(&user.name)))
        }
        "@&" => Some(format!("@{}", directory.guild(guild?)?.roles.get(&id)?)),
        _ => Some(format!("#{}", directory.channel(id)?.name?)),
    })
}

/// True if the message mentions the bot, by name or by one of its roles. A reply to the bot alone
/// is not a mention, though Discord lists the bot among the mentioned.
pub(super) fn mentions(message: &Message, is_reply: bool, mine: &[u64], me: &Me) -> bool {
    let named = message.content.contains(&format!("<@{}>", me.id))
        || message.content.contains(&format!("<@!{}>", me.id));
    let listed = message.mentions.iter().any(|u| u.id.get() == me.id);
    named || (listed && !is_reply) || message.mention_roles.iter().any(|r| mine.contains(&r.get()))
}
