//! Reads [`XConfig`] from the settings. Pure.

use galatea_core::{
    Error, People, Result, Settings, Variable,
    people::{PersonEntry, is_number},
};
use galatea_http::{Origins, address};
use std::time::Duration;

use crate::error::codes;

use super::{Credentials, PollPace, Posting, Quiet, Tier, XConfig, variables as v};

/// Shortest poll interval: X permits 300 reads of mentions in 15 minutes (X API, rate limits), one
/// every 3 s.
const FASTEST: Duration = Duration::from_secs(3);
/// Longest accepted interval, in minutes: 30 days.
const LONGEST: f64 = 30.0 * 24.0 * 60.0;

/// Places of the settings that errors are about.
fn origins(settings: &Settings, credentials: &Credentials) -> Origins {
    let keys = match credentials {
        Credentials::OAuth1 { .. } => &v::TOKEN,
        Credentials::OAuth2 { .. } => &v::CLIENT_ID,
    };
    let about_keys = &[
        codes::TOKEN,
        codes::LOGIN,
        codes::UNAUTHORIZED,
        codes::PERMISSION,
        codes::ENROLL,
        codes::CREDITS,
    ];
    Origins::read(
        settings,
        &[
            (keys, about_keys),
            (&v::API_ROOT, &[codes::CONNECT, codes::TIMEOUT, codes::GARBAGE]),
            (&v::DRY_RUN, &[codes::DRY_RUN]),
        ],
    )
}

/// Reads the settings; `None` when no account is configured.
pub(crate) fn read(settings: &Settings) -> Result<Option<XConfig>> {
    let Some(credentials) = credentials(settings)? else { return Ok(None) };
    let origins = origins(settings, &credentials);
    let mut config = XConfig { origins, ..XConfig::new(credentials) };
    if let Some(root) = address(settings, &v::API_ROOT)? {
        config.api_root = root;
    }
    config.account().map_err(|e| config.origins.add(e))?;
    if let Some(page) = address(settings, &v::AUTHORIZE)? {
        config.authorize_url = page;
    }
    config.dry_run = settings.flag(&v::DRY_RUN)?;
    config.target_users = target_users(settings)?;
    config.replies = settings.flag(&v::ENABLE_REPLIES)?;
    if let Some(slowest) = minutes(settings, &v::POLL_INTERVAL)? {
        let slowest = slowest.max(FASTEST);
        config.poll = PollPace { fastest: PollPace::default().fastest.min(slowest), slowest };
    }
    config.posting = posting(settings)?;
    (config.tier, config.notices) = for_encoding(settings)?;
    config.may_mention = settings
        .list(&v::MAY_MENTION)?
        .unwrap_or_default()
        .iter()
        .map(|name| name.trim().trim_start_matches('@').to_lowercase())
        .collect();
    if let Some(limit) = settings.parse(&v::LIMIT, "an amount such as 1.00")? {
        config.daily_limit = limit;
    }
    if let Some(list) = settings.list(&v::PRICES)? {
        for item in &list {
            let known = item.split_once('=').is_some_and(|(kind, price)| {
                price.trim().parse().is_ok_and(|price| config.prices.set(kind.trim(), price))
            });
            if !known {
                return Err(settings
                    .invalid_setting(&v::PRICES, "is not a list such as post=0.015,link=0.200"));
            }
        }
    }
    Ok(Some(config))
}

/// The settings that decide how messages are encoded: the account's tier, and whether failure
/// notices are shown.
pub(crate) fn for_encoding(settings: &Settings) -> Result<(Tier, bool)> {
    let tier =
        match settings.text(&v::TIER).unwrap_or_default().trim().to_ascii_lowercase().as_str() {
            "self-serve" => Tier::SelfServe,
            "enterprise" => Tier::Enterprise,
            _ => {
                return Err(
                    settings.invalid_setting(&v::TIER, "is neither self-serve nor enterprise")
                );
            }
        };
    Ok((tier, settings.flag(&v::NOTICES)?))
}

/// The people the agent answers; an empty list means everyone. elizaOS lists handles without `@`;
/// an entry of digits only is an id.
pub(crate) fn target_users(settings: &Settings) -> Result<People> {
    let listed = settings.list(&v::TARGET_USERS)?.unwrap_or_default();
    if listed.iter().any(|name| name.trim().trim_start_matches('@') == "*") {
        return Ok(People::default());
    }
    let person = |name: &String| match PersonEntry::parse(name)? {
        PersonEntry::Id(text) if !is_number(&text) => {
            Some(PersonEntry::Handle(text.to_lowercase()))
        }
        other => Some(other),
    };
    Ok(listed.iter().filter_map(person).collect())
}

fn credentials(settings: &Settings) -> Result<Option<Credentials>> {
    let keys = [v::API_KEY, v::API_SECRET, v::TOKEN, v::TOKEN_SECRET]
        .map(|variable| (variable, settings.secret(&variable)));
    let missing: Vec<&str> = keys
        .iter()
        .filter(|(_, value)| value.is_none())
        .map(|(variable, _)| variable.name)
        .collect();
    if let [(_, Some(api_key)), (_, Some(api_secret)), (_, Some(token)), (_, Some(token_secret))] =
        keys
    {
        return Ok(Some(Credentials::OAuth1 { api_key, api_secret, token, token_secret }));
    }
    if let Some(client_id) = settings.text(&v::CLIENT_ID).map(|id| id.trim().to_owned()) {
        let redirect = address(settings, &v::REDIRECT)?
            .ok_or_else(|| settings.invalid_setting(&v::REDIRECT, "is missing"))?;
        return Ok(Some(Credentials::OAuth2 {
            client_id,
            client_secret: settings.secret(&v::CLIENT_SECRET),
            redirect,
        }));
    }
    // A missing key is an error only when the access token is set: it belongs to the account, while
    // the app's keys alone may be set for another program.
    if missing.len() < 4 && !missing.contains(&v::TOKEN.name) {
        return Err(Error::invalid("X needs four keys, and some are missing")
            .with_code("GAL-CFG-VALUE")
            .with("missing", missing.join(", "))
            .with_fix(format!(
                "set {}; all four are under Keys and tokens of the app in console.x.com",
                missing.join(" and ")
            )));
    }
    Ok(None)
}

fn posting(settings: &Settings) -> Result<Option<Posting>> {
    let (enabled, immediately) = (settings.flag(&v::ENABLE_POST)?, settings.flag(&v::POST_NOW)?);
    let usual = minutes(settings, &v::POST_INTERVAL)?.unwrap_or(Duration::from_secs(120 * 60));
    let (least, most) = (minutes(settings, &v::POST_MIN)?, minutes(settings, &v::POST_MAX)?);
    let (least, most) = match (least, most) {
        // elizaOS varies its default of 120 minutes between 90 and 150.
        (None, None) => (usual.mul_f64(0.75), usual.mul_f64(1.25)),
        (Some(least), None) => (least, usual.max(least)),
        (None, Some(most)) => (usual.min(most), most),
        (Some(least), Some(most)) => (least, most),
    };
    if least > most {
        return Err(
            settings.invalid_setting(&v::POST_MIN, "is more than TWITTER_POST_INTERVAL_MAX")
        );
    }
    let quiet = match settings.text(&v::QUIET) {
        None => None,
        Some(text) => Some(quiet(&text).ok_or_else(|| {
            settings.invalid_setting(&v::QUIET, "is not two different hours such as 22-7")
        })?),
    };
    Ok(enabled.then_some(Posting { least, most, immediately, quiet }))
}

fn quiet(text: &str) -> Option<Quiet> {
    let (from, to) = text.split_once('-')?;
    let hour = |text: &str| {
        text.trim().trim_end_matches(":00").parse::<u8>().ok().filter(|hour| *hour < 24)
    };
    let quiet = Quiet { from: hour(from)?, to: hour(to)? };
    (quiet.from != quiet.to).then_some(quiet)
}

fn minutes(settings: &Settings, variable: &Variable) -> Result<Option<Duration>> {
    let Some(minutes) = settings.parse::<f64>(variable, "a number of minutes")? else {
        return Ok(None);
    };
    if !minutes.is_finite() || minutes <= 0.0 || minutes > LONGEST {
        return Err(settings
            .invalid_setting(variable, "has to be more than 0 and at most 30 days, in minutes"));
    }
    Ok(Some(Duration::from_secs_f64(minutes * 60.0)))
}
