//! Reads every source of settings once and records the origin of each value. Strongest first: the
//! character file, variables for this character only, the environment, `.env`, `galatea.toml`,
//! defaults.

mod character_env;
mod dotenv;
mod foreign;
#[cfg(feature = "fuzz")]
pub mod fuzz;
mod names;
mod own;
mod secret_files;
pub(crate) mod sign_in;
mod text_file;
mod toml_file;
mod variables;

use galatea_core::{
    Character, Settings,
    character::settings_layers,
    redact::Redactor,
    settings::{Layer, Origin, Setting},
};
use std::{
    collections::BTreeMap,
    ffi::OsString,
    path::{Path, PathBuf},
};

use crate::report::{Faults, Report};

pub use names::{ELIZAOS_ONLY, looks_secret, nearest};
pub use own::{
    CHARACTER_FILES, DATABASE_URL, GALATEA_DATA_DIR, GALATEA_ROLE, GALATEA_SECRET_KEY,
    LOG_JSON_FORMAT, LOG_LEVEL, SECRET_SALT, SERVER_HOST, SERVER_PORT, check_database,
};
pub use sign_in::{ForeignTokens, OidcProvider, PUBLIC_URL, PublicUrl, SignInOptions};
pub use variables::{Group, PROCESS, find as find_variable, groups};

/// Default path of the `.env`.
pub const ENV_FILE: &str = ".env";
/// Default path of the TOML file.
pub const CONFIG_FILE: &str = "galatea.toml";

/// Which files to read.
#[derive(Debug, Clone)]
pub struct Sources {
    working_dir: PathBuf,
    env_file: Option<PathBuf>,
    config: Option<PathBuf>,
}

/// A configuration file and whether it was there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceFile {
    /// Path as the user writes it.
    pub path: PathBuf,
    /// Whether it exists and was read.
    pub found: bool,
}

/// The configuration of a process.
#[derive(Clone)]
pub struct Configuration {
    /// Settings of the process: environment, `.env`, `galatea.toml`.
    pub settings: Settings,
    /// The files considered, strongest first.
    pub files: Vec<SourceFile>,
    /// Probable mistakes that do not stop a command.
    pub warnings: Vec<Report>,
    redactor: Redactor,
    working_dir: PathBuf,
}

impl Sources {
    /// The files named by flags; otherwise the default ones in the working folder.
    pub fn new(working_dir: PathBuf, env_file: Option<PathBuf>, config: Option<PathBuf>) -> Self {
        Self { working_dir, env_file, config }
    }

    /// Path of the `.env` to read.
    pub fn env_file(&self) -> &Path {
        self.env_file.as_deref().unwrap_or(Path::new(ENV_FILE))
    }
}

/// The values in a `.env`, for a command that changes it.
pub fn values_of(path: &Path, text: &str) -> BTreeMap<String, String> {
    dotenv::parse(path, text)
        .layer
        .into_iter()
        .map(|(name, setting)| (name, setting.text()))
        .collect()
}

impl Configuration {
    /// Reads the process environment and the files.
    ///
    /// # Errors
    /// Every fault found.
    pub fn load(sources: &Sources, redactor: &Redactor) -> Result<Self, Vec<Report>> {
        Self::read(sources, std::env::vars_os(), redactor)
    }

    fn read(
        sources: &Sources,
        environment: impl Iterator<Item = (OsString, OsString)>,
        redactor: &Redactor,
    ) -> Result<Self, Vec<Report>> {
        let mut errors = Vec::new();
        let mut warnings = Vec::new();
        let mut layers = vec![environment_layer(environment)];
        let mut files = Vec::new();
        let readers: [(&Option<PathBuf>, &str, text_file::Reader); 2] = [
            (&sources.env_file, ENV_FILE, dotenv::parse),
            (&sources.config, CONFIG_FILE, toml_file::parse),
        ];
        for (named, usual, parse) in readers {
            let path = named.clone().unwrap_or_else(|| usual.into());
            let parsed = match text_file::read(&sources.working_dir, &path, named.is_some()) {
                Ok(Some(text)) => Some(parse(&path, &text)),
                Ok(None) => None,
                Err(report) => {
                    errors.push(report);
                    None
                }
            };
            files.push(SourceFile { path, found: parsed.is_some() });
            let parsed = parsed.unwrap_or_default();
            // Register secrets before anything is reported, so that no message contains one.
            learn(&parsed.layer, redactor);
            warnings.extend(names::unknown(&parsed));
            errors.extend(parsed.errors);
            warnings.extend(parsed.warnings);
            layers.push(parsed.layer);
        }
        learn(&layers[0], redactor);
        warnings.splice(0..0, names::unknown_in_environment(&layers[0]));
        for layer in &mut layers {
            errors.extend(secret_files::resolve(layer, &sources.working_dir));
            learn(layer, redactor);
        }
        if !errors.is_empty() {
            return Err(errors);
        }
        Ok(Self {
            settings: Settings::new(layers),
            files,
            warnings,
            redactor: redactor.clone(),
            working_dir: sources.working_dir.clone(),
        })
    }

    /// Masks the secrets of the configuration.
    pub(crate) fn redactor(&self) -> &Redactor {
        &self.redactor
    }

    /// Settings of one agent: those of its character, then environment variables for this character
    /// only, then the shared ones.
    ///
    /// # Errors
    /// [`Faults::Settings`] if a file named by a secret's `_FILE` variable cannot be read.
    pub fn settings_for(
        &self,
        character: &Character,
        file: Option<&Path>,
    ) -> Result<Settings, Faults> {
        let mut layers = settings_layers(character, file);
        layers.extend(
            self.settings.layers().iter().flat_map(|layer| character_env::layers(layer, character)),
        );
        let mut errors = Vec::new();
        for layer in &mut layers {
            errors.extend(secret_files::resolve(layer, &self.working_dir));
            learn(layer, &self.redactor);
        }
        if !errors.is_empty() {
            return Err(Faults::Settings(errors));
        }
        layers.extend(self.settings.layers().iter().cloned());
        Ok(Settings::new(layers))
    }
}

/// The environment as a layer. Non-UTF-8 variables are ignored.
fn environment_layer(environment: impl Iterator<Item = (OsString, OsString)>) -> Layer {
    environment
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .map(|(name, value)| (name, Setting { value: value.into(), origin: Origin::Environment }))
        .collect()
}

/// Registers the secrets of a layer, so that no message contains one.
pub(crate) fn learn(layer: &Layer, redactor: &Redactor) {
    for (name, setting) in layer {
        if looks_secret(name) {
            redactor.learn(&setting.text());
            own::learn_password(&setting.text(), redactor);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use galatea_core::Variable;

    fn load(dir: &Path, environment: &[(&str, &str)]) -> Result<Configuration, Vec<Report>> {
        let environment = environment.iter().map(|(k, v)| (OsString::from(k), OsString::from(v)));
        Configuration::read(
            &Sources::new(dir.to_path_buf(), None, None),
            environment,
            &Redactor::default(),
        )
    }

    #[test]
    fn the_environment_beats_dotenv_beats_toml_and_each_value_knows_its_place() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(
            dir.path().join(".env"),
            "# mine\nDM_POLICY=open\nGROUP_POLICY=always\nALLOW_BOTS=\n",
        )
        .unwrap();
        std::fs::write(
            dir.path().join("galatea.toml"),
            "dm_policy = 'x'\nALLOW_BOTS = true\n[server]\nport = 3001\n",
        )
        .unwrap();
        let configuration = load(dir.path(), &[("DM_POLICY", "pairing")]).unwrap();
        let shown = |name| {
            configuration.settings.raw(name).map(|s| (s.text(), s.origin.to_string())).unwrap()
        };
        assert_eq!(shown("DM_POLICY"), ("pairing".into(), "environment".into()));
        assert_eq!(shown("GROUP_POLICY"), ("always".into(), ".env line 3".into()));
        assert_eq!(
            shown("ALLOW_BOTS"),
            ("true".into(), "galatea.toml line 2".into()),
            "an empty value is unset"
        );
        assert_eq!(shown("SERVER_PORT"), ("3001".into(), "galatea.toml line 4".into()));
    }

    #[test]
    fn a_character_has_its_own_variables_and_beats_them() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("token"), "from-a-file\n").unwrap();
        std::fs::write(
            dir.path().join(".env"),
            "MY_HELPER_TELEGRAM_BOT_TOKEN_FILE=token\nCHARACTER.MY_HELPER.OPENAI_API_KEY=own-key\n",
        )
        .unwrap();
        let configuration =
            load(dir.path(), &[("TELEGRAM_BOT_TOKEN", "shared"), ("OPENAI_API_KEY", "shared")])
                .unwrap();
        let mut character = Character { name: "My Helper".into(), ..Character::default() };
        let settings = configuration.settings_for(&character, None).unwrap();
        let token = Variable::new("TELEGRAM_BOT_TOKEN", "").secret();
        assert_eq!(settings.text(&token).unwrap(), "from-a-file");
        assert_eq!(settings.raw("OPENAI_API_KEY").unwrap().text(), "own-key");
        character.secrets.insert("TELEGRAM_BOT_TOKEN", "written-in-character");
        let settings = configuration.settings_for(&character, None).unwrap();
        assert_eq!(settings.text(&token).unwrap(), "written-in-character");
        assert_eq!(
            configuration.redactor.clean("x written-in-character from-a-file own-key"),
            "x [secret] [secret] [secret]"
        );
    }

    /// Whatever echoes one, its value is masked in the texts of errors, in every form.
    #[test]
    fn every_declared_secret_is_masked_by_its_value() {
        let dir = tempfile::tempdir().unwrap();
        let declared = groups().iter().flat_map(|group| &group.variables).filter(|v| v.secret);
        let names: Vec<&str> = declared.map(|variable| variable.name).collect();
        assert!(names.len() > 10, "{names:?}");
        let value = "plain words \"of\" a / canary";
        let json = serde_json::Value::from(value).to_string();
        for name in names {
            let configuration = load(dir.path(), &[(name, value)]).unwrap();
            let path = "plain%20words%20%22of%22%20a%20%2F%20canary";
            for echo in [value, json.trim_matches('"'), path] {
                let text = format!("refused: {echo} of this account");
                let clean = configuration.redactor.clean_error(&text);
                assert_eq!(clean, "refused: [secret] of this account", "{name}");
            }
        }
    }

    #[test]
    fn a_file_named_by_a_flag_has_to_exist() {
        let dir = tempfile::tempdir().unwrap();
        let sources = Sources::new(dir.path().to_path_buf(), Some("other.env".into()), None);
        let errors =
            Configuration::read(&sources, std::iter::empty(), &Redactor::default()).err().unwrap();
        assert!(errors[0].message.contains("other.env"), "{errors:?}");
    }
}
