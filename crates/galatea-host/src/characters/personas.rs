//! Loads the characters to run, each with the settings it sees.

use galatea_core::{
    Character, Error, ErrorKind, ExposeSecret as _, Settings,
    character::{self, Loaded, MAX_PICTURE},
    settings::Origin,
    store::{AboutAgent, digest},
};
use serde_json::Value;
use std::{
    fs::File,
    io::Read,
    path::{Path, PathBuf},
};

use super::wants;
use crate::{
    config::{self, CHARACTER_FILES, Configuration},
    report::{Faults, Report},
    storage::seal,
};

/// The built-in character.
const ELIZA: &str = include_str!("../../../../characters/eliza.json");

/// Code of the warning about values that elizaOS encrypted.
const ENCRYPTED: &str = "GAL-CHAR-ENCRYPTED";

/// One character with its settings.
#[derive(Debug, Clone)]
pub struct Persona {
    /// The character.
    pub character: Character,
    /// The file it was read from; `None` for the built-in character.
    pub file: Option<PathBuf>,
    /// The folder that relative paths of settings start at.
    pub working_dir: PathBuf,
    /// The settings this character sees.
    pub settings: Settings,
    /// Warnings about its file, ready to show.
    pub warnings: Vec<Report>,
}

impl Persona {
    /// The folder that the character's own paths start at.
    pub fn folder(&self) -> PathBuf {
        let folder = self.file.as_deref().and_then(Path::parent).unwrap_or(Path::new(""));
        self.working_dir.join(folder)
    }

    /// What other processes of the cluster compare with their own: a digest of the character, and
    /// of each given setting that has the same meaning on every machine.
    pub fn about(&self) -> AboutAgent {
        let everywhere = config::groups()
            .iter()
            .filter(|group| group.title != config::PROCESS)
            .flat_map(|group| &group.variables);
        let given = everywhere.filter(|variable| !variable.secret).filter_map(|variable| {
            Some((variable.name.to_owned(), digest(&self.settings.find(variable)?.text())))
        });
        AboutAgent {
            name: self.character.name.clone(),
            character: serde_json::to_string(&self.character)
                .map(|text| digest(&text))
                .unwrap_or_default(),
            settings: given.collect(),
            ..AboutAgent::default()
        }
    }
}

/// Reads the characters named by `files`; otherwise those named in the settings; otherwise the
/// built-in one.
///
/// # Errors
/// `Invalid` with the place of a fault in a file, `NotFound` for a missing file, `Conflict` if two
/// characters have the same id.
pub fn load(
    files: &[PathBuf],
    configuration: &Configuration,
    working_dir: &Path,
) -> Result<Vec<Persona>, Faults> {
    let named = if files.is_empty() {
        configured(&configuration.settings, working_dir)?
    } else {
        files.to_vec()
    };
    let mut personas = Vec::new();
    for file in &named {
        personas.push(one(file, configuration, working_dir)?);
    }
    if personas.is_empty() {
        personas.push(persona(
            character::load("characters/eliza.json", ELIZA).map_err(Error::from)?,
            None,
            configuration,
            working_dir,
        )?);
    }
    unlike(&personas)?;
    Ok(personas)
}

/// Reads one character.
///
/// # Errors
/// As [`load`].
pub fn one(
    file: &Path,
    configuration: &Configuration,
    working_dir: &Path,
) -> Result<Persona, Faults> {
    let bytes = read(&working_dir.join(file))?;
    let loaded = character::load_bytes(&file.display().to_string(), &bytes).map_err(Error::from)?;
    let mut persona = persona(loaded, Some(file), configuration, working_dir)?;
    persona.warnings.extend(wants::remarks(&persona.character, Some(file), working_dir));
    Ok(persona)
}

/// Reads one character from its text. `name` stands in messages about faults; TOML if it ends in
/// `.toml`, else JSON. The character's own paths start at the working folder.
///
/// # Errors
/// `Invalid` with the place of a fault.
pub fn of_text(
    name: &str,
    text: &str,
    configuration: &Configuration,
    working_dir: &Path,
) -> Result<Persona, Faults> {
    let loaded = character::load(name, text).map_err(Error::from)?;
    persona(loaded, None, configuration, working_dir)
}

/// A character that the program made itself, with its settings.
///
/// # Errors
/// `Invalid` if a file named by a secret's `_FILE` variable cannot be read.
pub fn of_character(
    character: Character,
    configuration: &Configuration,
    working_dir: &Path,
) -> Result<Persona, Faults> {
    Ok(Persona {
        settings: configuration.settings_for(&character, None)?,
        file: None,
        working_dir: working_dir.to_path_buf(),
        warnings: Vec::new(),
        character,
    })
}

/// The files named in the settings. A relative path in a configuration file is relative to that
/// file, so that it is valid from every working folder. If no file exists there, and for paths in
/// the environment, it is relative to the working folder.
fn configured(settings: &Settings, working_dir: &Path) -> galatea_core::Result<Vec<PathBuf>> {
    let named = settings.list(&CHARACTER_FILES)?.unwrap_or_default().into_iter().map(PathBuf::from);
    let beside = match settings.find(&CHARACTER_FILES).map(|setting| &setting.origin) {
        Some(Origin::File { path, .. }) => {
            path.parent().map(Path::to_path_buf).filter(|folder| !folder.as_os_str().is_empty())
        }
        _ => None,
    };
    let Some(beside) = beside else { return Ok(named.collect()) };
    let found = |file: PathBuf| {
        Some(beside.join(&file))
            .filter(|there| working_dir.join(there).exists() || !working_dir.join(&file).exists())
            .unwrap_or(file)
    };
    Ok(named.map(found).collect())
}

fn persona(
    loaded: Loaded,
    file: Option<&Path>,
    configuration: &Configuration,
    working_dir: &Path,
) -> Result<Persona, Faults> {
    let Loaded { mut character, mut warnings, .. } = loaded;
    let salt = configuration.settings.secret(&config::SECRET_SALT);
    if open_elizaos(&mut character, salt.as_ref().map(|salt| salt.expose_secret())) {
        warnings.retain(|warning| warning.code != ENCRYPTED);
    }
    let warnings = warnings.iter().map(Report::from).collect();
    Ok(Persona {
        settings: configuration.settings_for(&character, file)?,
        file: file.map(Path::to_path_buf),
        working_dir: working_dir.to_path_buf(),
        warnings,
        character,
    })
}

/// Opens secrets that elizaOS encrypted. True if none of them is left.
fn open_elizaos(character: &mut Character, salt: Option<&str>) -> bool {
    let open =
        |value: &Value| Some(seal::of_elizaos(value.as_str()?, salt)?.expose_secret().to_owned());
    let mut left = false;
    for secrets in [&mut character.secrets, &mut character.settings_secrets] {
        for (name, value) in secrets.clone().iter() {
            match open(value) {
                Some(plain) => secrets.insert(name.clone(), plain),
                None => left |= character::is_encrypted(value),
            }
        }
    }
    for value in character.settings.values_mut() {
        match open(value) {
            Some(plain) => *value = plain.into(),
            None => left |= character::is_encrypted(value),
        }
    }
    !left
}

fn read(path: &Path) -> galatea_core::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    // One byte more than allowed distinguishes a file that is too large from one that just fits.
    let limit = u64::try_from(MAX_PICTURE).unwrap_or(u64::MAX).saturating_add(1);
    File::open(path).and_then(|file| file.take(limit).read_to_end(&mut bytes)).map_err(|e| {
        let kind = match e.kind() {
            std::io::ErrorKind::NotFound => ErrorKind::NotFound,
            std::io::ErrorKind::PermissionDenied => ErrorKind::Forbidden,
            _ => ErrorKind::Unavailable,
        };
        Error::new(kind, format!("the character file {} cannot be read", path.file_name().unwrap_or_default().display()))
            .with_code("GAL-CHAR-FILE")
            .with("cause", &e)
            .with("where", path.display())
            .with_fix("check the path given with --character or CHARACTER_FILES; `galatea character new` writes an example")
            .with_source(e)
    })?;
    Ok(bytes)
}

/// Rejects two characters of the same id, because they would share rooms and memories.
fn unlike(personas: &[Persona]) -> galatea_core::Result<()> {
    for (n, persona) in personas.iter().enumerate() {
        if let Some(twin) = personas[..n]
            .iter()
            .find(|other| other.character.identity().id() == persona.character.identity().id())
        {
            return Err(Error::new(
                ErrorKind::Conflict,
                format!(
                    "two characters are the same: {} and {}",
                    twin.character.name, persona.character.name
                ),
            )
            .with_code("GAL-CHAR-SAME")
            .with_fix("give one of them another name, or an `id` of its own"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Sources;
    use galatea_core::redact::Redactor;

    /// A folder with these files, read as configuration.
    fn folder(files: &[(&str, &str)]) -> (tempfile::TempDir, Configuration) {
        let dir = tempfile::tempdir().unwrap();
        for (name, text) in files {
            std::fs::write(dir.path().join(name), text).unwrap();
        }
        let sources = Sources::new(dir.path().to_path_buf(), None, None);
        let configuration = Configuration::load(&sources, &Redactor::default()).unwrap();
        (dir, configuration)
    }

    fn code(faults: &Faults) -> Option<String> {
        faults.reports()[0].code.clone()
    }

    #[test]
    fn the_built_in_character_needs_no_file_and_has_no_warnings() {
        let (dir, configuration) = folder(&[]);
        let [eliza] = load(&[], &configuration, dir.path()).unwrap().try_into().unwrap();
        assert_eq!(
            (eliza.character.name.as_str(), &eliza.file, eliza.warnings.as_slice()),
            ("Eliza", &None, &[] as &[Report])
        );
    }

    #[test]
    fn flags_beat_settings_and_each_file_sees_its_own_settings_first() {
        let (dir, configuration) = folder(&[
            (".env", "CHARACTER_FILES=ada.json,bob.json\nDM_POLICY=open\n"),
            ("ada.json", r#"{"name": "Ada", "bio": "x", "settings": {"DM_POLICY": "disabled"}}"#),
            ("bob.json", r#"{"name": "Bob", "bio": "x"}"#),
        ]);
        let both = load(&[], &configuration, dir.path()).unwrap();
        let policies: Vec<_> =
            both.iter().map(|p| p.settings.raw("DM_POLICY").unwrap().text()).collect();
        assert_eq!(policies, ["disabled", "open"]);
        assert_eq!(load(&["bob.json".into()], &configuration, dir.path()).unwrap().len(), 1);
        let twice =
            load(&["bob.json".into(), "bob.json".into()], &configuration, dir.path()).unwrap_err();
        assert_eq!(code(&twice).as_deref(), Some("GAL-CHAR-SAME"));
    }

    #[test]
    fn broken_and_missing_files_are_reported_with_their_place() {
        let (dir, configuration) =
            folder(&[("broken.json", "{\n  \"name\": \"Ada\",\n  \"bio\" \"x\"\n}")]);
        let refused = load(&["broken.json".into()], &configuration, dir.path()).unwrap_err();
        assert_eq!(code(&refused).as_deref(), Some("GAL-CHAR-SYNTAX"));
        let place = refused.reports()[0].place.clone().unwrap();
        assert_eq!((place.file.as_str(), place.line), ("broken.json", 3));
        for missing in ["missing.json", "."] {
            let refused = load(&[missing.into()], &configuration, dir.path()).unwrap_err();
            assert_eq!(code(&refused).as_deref(), Some("GAL-CHAR-FILE"), "{missing}");
        }
    }

    #[test]
    fn a_relative_path_in_a_file_is_taken_from_that_file() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(dir.path().join("bot/characters")).unwrap();
        std::fs::write(
            dir.path().join("bot/characters/ada.json"),
            r#"{"name": "Ada", "bio": "b"}"#,
        )
        .unwrap();
        std::fs::write(dir.path().join("here.json"), r#"{"name": "Here", "bio": "b"}"#).unwrap();
        std::fs::write(
            dir.path().join("bot/.env"),
            "CHARACTER_FILES=characters/ada.json,here.json\n",
        )
        .unwrap();
        let names = |working_dir: &Path, env: &str| -> Vec<String> {
            let sources = Sources::new(working_dir.to_path_buf(), Some(env.into()), None);
            let configuration = Configuration::load(&sources, &Redactor::default()).unwrap();
            load(&[], &configuration, working_dir)
                .unwrap()
                .into_iter()
                .map(|p| p.character.name)
                .collect()
        };
        // The second file exists in the working folder only, where relative paths were resolved by
        // earlier versions.
        assert_eq!(names(dir.path(), "bot/.env"), ["Ada", "Here"]);
    }
}
