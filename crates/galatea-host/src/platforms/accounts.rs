//! Several accounts of one character on one platform. A platform setting whose name ends in `_2`,
//! `_3`, … belongs to that account. Settings without a number are shared.

use galatea_core::{
    Account, ConnectorInfo, Result, Settings, Source, Variable,
    rights::owner_remarks,
    settings::{Layer, Setting},
};
use galatea_runtime::config::remarks;
use std::collections::{BTreeSet, HashMap};

use super::{
    gates::{gate_variables, names_of},
    list::{PLATFORMS, Platform, with_policies},
};

/// One account of a character on a platform, as configured.
pub struct AccountSettings {
    /// 1 for the account whose settings have no number.
    pub number: u8,
    /// The settings its connector sees.
    pub settings: Settings,
}

/// `DISCORD_API_TOKEN_2` → (`DISCORD_API_TOKEN`, 2). Numbers go from 2 to 99, without a leading
/// zero.
pub fn split(name: &str) -> Option<(&str, u8)> {
    let (base, number) = name.rsplit_once('_')?;
    let plain = matches!(number.len(), 1 | 2)
        && !number.starts_with('0')
        && number.bytes().all(|b| b.is_ascii_digit());
    let number = number.parse().ok().filter(|n| plain && *n >= 2)?;
    Some((base, number))
}

/// The configured accounts: always the first, then every account with a numbered setting.
pub fn of(platform: &Platform, settings: &Settings) -> Vec<AccountSettings> {
    let mut all = vec![AccountSettings { number: 1, settings: settings.clone() }];
    if !platform.has_login() {
        return all;
    }
    let known = known_names(platform);
    let numbers: BTreeSet<u8> = settings
        .layers()
        .iter()
        .flat_map(|layer| layer.keys())
        .filter_map(|name| split(name).filter(|(base, _)| known.contains(base)))
        .map(|(_, number)| number)
        .collect();
    all.extend(numbers.into_iter().map(|number| numbered_settings(platform, settings, number)));
    all
}

/// The account whose own settings end in `suffix`, even if it has none here.
pub fn numbered(platform: &Platform, settings: &Settings, suffix: &str) -> AccountSettings {
    match split(&format!("A{suffix}")) {
        Some((_, number)) => numbered_settings(platform, settings, number),
        None => AccountSettings { number: 1, settings: settings.clone() },
    }
}

fn known_names(platform: &Platform) -> BTreeSet<&str> {
    platform.variables.iter().chain(gate_variables(platform)).flat_map(names_of).collect()
}

/// The settings of an account with a number: its own, then the shared ones.
fn numbered_settings(platform: &Platform, settings: &Settings, number: u8) -> AccountSettings {
    let known = known_names(platform);
    let own = |layer: &Layer| -> Layer {
        let mine = |(name, setting): (&String, &Setting)| {
            split(name)
                .filter(|(base, n)| *n == number && known.contains(base))
                .map(|(base, _)| (base.to_owned(), setting.clone()))
        };
        layer.iter().filter_map(mine).collect()
    };
    let mut layers: Vec<Layer> =
        settings.layers().iter().map(own).filter(|layer| !layer.is_empty()).collect();
    let login = platform.variables.iter().filter(|v| v.required && v.secret);
    let logs_in = login.clone().any(|v| Settings::new(layers.clone()).find(v).is_some());
    let shared = settings
        .layers()
        .iter()
        .map(|layer| if logs_in { layer.clone() } else { without(layer, login.clone()) });
    layers.extend(shared);
    AccountSettings { number, settings: Settings::new(layers) }
}

/// Removes the login from shared settings. An account without its own login must not log in as the
/// first one.
fn without<'a>(layer: &Layer, login: impl Iterator<Item = &'a Variable>) -> Layer {
    let names: BTreeSet<&str> = login.flat_map(names_of).collect();
    layer
        .iter()
        .filter(|(name, _)| !names.contains(name.as_str()))
        .map(|(name, setting)| (name.clone(), setting.clone()))
        .collect()
}

/// Remarks about suspicious lists of people in an agent's settings, one sentence each. Lists that
/// cannot be read are skipped, because they are reported as errors elsewhere.
pub fn listed(settings: &Settings) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for platform in PLATFORMS.iter().filter(|platform| platform.has_login()) {
        for account in of(platform, settings) {
            found.extend(
                remarks(&account.settings, &platform.source, platform.is_person_id)
                    .unwrap_or_default(),
            );
        }
    }
    let ids = |source: &str| {
        PLATFORMS
            .iter()
            .find(|platform| platform.source.as_str() == source)
            .map(|platform| platform.is_person_id)
    };
    found.extend(owner_remarks(settings, ids).unwrap_or_default());
    let mut seen = BTreeSet::new();
    found.retain(|remark| seen.insert(remark.clone()));
    found
}

impl AccountSettings {
    /// Name for people: `Discord`, `Discord 2`.
    pub fn title(&self, platform: &Platform) -> String {
        if self.number == 1 {
            platform.title.to_owned()
        } else {
            format!("{} {}", platform.title, self.number)
        }
    }

    /// The name of `variable` for this account.
    pub fn name_of(&self, variable: &str) -> String {
        if self.number == 1 { variable.to_owned() } else { format!("{variable}_{}", self.number) }
    }
}

/// Gate settings of the accounts that have their own.
pub type OwnSettings = HashMap<(Source, Account), galatea_runtime::AccountSettings>;

/// Stores the gate settings of a connected account, unless it is the first, which uses the
/// character's.
///
/// # Errors
/// As [`with_policies`].
pub fn keep(own: &mut OwnSettings, account: &AccountSettings, info: &ConnectorInfo) -> Result<()> {
    if account.number > 1 {
        own.insert((info.source.clone(), info.account.clone()), own_settings(account)?);
    }
    Ok(())
}

/// The gate settings of an account that has its own.
///
/// # Errors
/// As [`with_policies`].
pub fn own_settings(account: &AccountSettings) -> Result<galatea_runtime::AccountSettings> {
    Ok(galatea_runtime::AccountSettings {
        settings: with_policies(&account.settings)?,
        suffix: account.name_of(""),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn platform(source: &str) -> &'static Platform {
        PLATFORMS.iter().find(|p| p.source.as_str() == source).unwrap()
    }

    fn text(account: &AccountSettings, name: &str) -> Option<String> {
        account.settings.raw(name).map(Setting::text)
    }

    #[test]
    fn numbers_are_distinguished_from_names() {
        assert_eq!(split("DISCORD_API_TOKEN_2"), Some(("DISCORD_API_TOKEN", 2)));
        assert_eq!(split("A_12"), Some(("A", 12)));
        for name in ["DISCORD_API_TOKEN", "A_1", "A_0", "A_02", "A_100", "A_", "A_+2", "TWO"] {
            assert_eq!(split(name), None, "{name}");
        }
    }

    #[test]
    fn another_account_has_its_own_settings_and_shares_the_rest() {
        let settings = Settings::from_pairs([
            ("TELEGRAM_BOT_TOKEN", "1:a"),
            ("TELEGRAM_BOT_TOKEN_2", "2:b"),
            ("TELEGRAM_DM_POLICY_2", "disabled"),
            ("TELEGRAM_API_ROOT", "http://a"),
            ("OPENAI_BASE_URL_2", "x"),
        ]);
        let [first, second] = of(platform("telegram"), &settings).try_into().ok().unwrap();
        assert_eq!(
            (text(&first, "TELEGRAM_BOT_TOKEN").unwrap(), text(&first, "TELEGRAM_DM_POLICY")),
            ("1:a".to_owned(), None)
        );
        assert_eq!(
            (
                text(&second, "TELEGRAM_BOT_TOKEN").unwrap(),
                text(&second, "TELEGRAM_DM_POLICY").unwrap()
            ),
            ("2:b".to_owned(), "disabled".to_owned())
        );
        assert_eq!(text(&second, "TELEGRAM_API_ROOT").unwrap(), "http://a");
        assert_eq!(
            (second.title(platform("telegram")), second.name_of("A")),
            ("Telegram 2".to_owned(), "A_2".to_owned())
        );
        assert_eq!(of(platform("discord"), &settings).len(), 1);
    }

    #[test]
    fn an_account_without_a_login_is_not_the_first_one_again() {
        let settings =
            Settings::from_pairs([("DISCORD_API_TOKEN", "a"), ("DISCORD_DM_POLICY_3", "open")]);
        let [_, third] = of(platform("discord"), &settings).try_into().ok().unwrap();
        assert_eq!((third.number, text(&third, "DISCORD_API_TOKEN")), (3, None));
    }

    #[test]
    fn accounts_of_x_share_their_app() {
        let settings = Settings::from_pairs([
            ("TWITTER_API_KEY", "k"),
            ("TWITTER_ACCESS_TOKEN", "1-a"),
            ("TWITTER_ACCESS_TOKEN_SECRET", "s"),
            ("X_ACCESS_TOKEN_2", "2-b"),
            ("TWITTER_ACCESS_TOKEN_SECRET_2", "t"),
        ]);
        let [_, second] = of(platform("x"), &settings).try_into().ok().unwrap();
        let token =
            platform("x").variables.iter().find(|v| v.name == "TWITTER_ACCESS_TOKEN").unwrap();
        assert_eq!(second.settings.text(token).unwrap(), "2-b");
        assert_eq!(
            (
                text(&second, "TWITTER_API_KEY").unwrap(),
                text(&second, "TWITTER_ACCESS_TOKEN_SECRET").unwrap()
            ),
            ("k".to_owned(), "t".to_owned())
        );
    }
}
