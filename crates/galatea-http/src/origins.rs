//! Places of the settings that a connector's errors are about.

use galatea_core::{Error, Settings, Variable};

/// The place of each setting, such as `TELEGRAM_BOT_TOKEN from .env line 4`, with the codes of the
/// errors that are about it.
#[derive(Debug, Clone, Default)]
pub struct Origins(Vec<(&'static [&'static str], String)>);

impl Origins {
    /// Looks up the settings. One that is not set has no place, and adds nothing to an error.
    pub fn read(settings: &Settings, about: &[(&Variable, &'static [&'static str])]) -> Self {
        let place = |variable: &Variable| {
            let setting = settings.find(variable)?;
            Some(format!("{} from {}", variable.name, setting.origin))
        };
        Self(
            about.iter().filter_map(|(variable, codes)| Some((*codes, place(variable)?))).collect(),
        )
    }

    /// Adds the place of the setting that `error` is about, unless the error has a place.
    pub fn add(&self, error: Error) -> Error {
        if error.context().iter().any(|(key, _)| *key == "where") {
            return error;
        }
        let code = error.code().unwrap_or_default();
        match self.0.iter().find(|(codes, _)| codes.contains(&code)) {
            Some((_, place)) => error.with("where", place),
            None => error,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_names_the_setting_it_is_about_once() {
        const TOKEN: Variable = Variable::new("PARROT_TOKEN", "the token");
        const ROOT: Variable = Variable::new("PARROT_API_ROOT", "the address");
        let settings = Settings::from_pairs([("PARROT_TOKEN", "x")]);
        let origins = Origins::read(
            &settings,
            &[(&TOKEN, &["GAL-TOKEN", "GAL-401"]), (&ROOT, &["GAL-ROOT"])],
        );
        let error = |code| Error::invalid("wrong").with_code(code);
        assert!(origins.add(error("GAL-401")).report().contains("PARROT_TOKEN from"));
        assert!(!origins.add(error("GAL-ROOT")).report().contains("from"), "it is not set");
        let placed = origins.add(error("GAL-TOKEN").with("where", "#room")).report();
        assert!(placed.contains("#room") && !placed.contains("PARROT_TOKEN"));
    }
}
