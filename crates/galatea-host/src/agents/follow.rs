//! Follows the character files of running agents: a change applies from the next turn on.

use galatea_core::{AgentId, Error, ErrorKind};
use galatea_runtime::Orchestrator;
use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, SystemTime},
};

use super::{
    boot::Booted,
    factory::{PersonaFactory, change_to, needs_restart},
};
use crate::{characters::personas::Persona, report::Faults};

/// Pause between two looks at the files. A change applies after two of them.
const LOOK: Duration = Duration::from_millis(200);
/// How long turns may take to end where an agent has to be made anew.
const DRAIN: Duration = Duration::from_secs(25);

/// What became of a changed file.
#[derive(Debug)]
pub enum Followed {
    /// The change applies from the next turn on.
    Applied,
    /// The agent was made anew, since its models, connectors or documents changed.
    Restarted,
    /// The file cannot be used; the agent goes on as it was.
    Refused(Faults),
}

/// When a file was written last, and its length.
type Stamp = Option<(SystemTime, u64)>;

struct Watched {
    id: AgentId,
    file: PathBuf,
    factory: Arc<PersonaFactory>,
    /// As it was applied or refused last.
    known: Stamp,
    /// As the last look saw it.
    seen: Stamp,
}

impl Booted {
    /// Follows the files of all agents until it is dropped. `read` reads a file; `told` is called for
    /// each change, with the name of the agent.
    pub async fn follow_files(
        &self,
        read: impl Fn(&Path) -> Result<Persona, Faults>,
        told: impl Fn(&str, &Path, Followed),
    ) {
        let mut files: Vec<Watched> = self
            .factories()
            .iter()
            .filter_map(|factory| {
                let persona = factory.persona();
                let file = persona.file.clone()?;
                let stamp = stamp(&persona.working_dir.join(&file));
                let (id, factory) = (persona.character.identity().id(), Arc::clone(factory));
                Some(Watched { id, file, factory, known: stamp, seen: stamp })
            })
            .collect();
        loop {
            tokio::time::sleep(LOOK).await;
            for watched in &mut files {
                let before = watched.factory.persona();
                let now = stamp(&before.working_dir.join(&watched.file));
                // Half-written files are left for the next look, and so are those that an editor is
                // about to replace.
                let is_settled = now == watched.seen && now.is_some();
                watched.seen = now;
                if !is_settled || now == watched.known {
                    continue;
                }
                watched.known = now;
                let outcome = match read(&watched.file) {
                    Ok(after) => apply(&self.orchestrator, watched, before.clone(), after).await,
                    Err(faults) => Followed::Refused(faults),
                };
                told(&before.character.name, &watched.file, outcome);
            }
        }
    }
}

fn stamp(file: &Path) -> Stamp {
    let data = std::fs::metadata(file).ok()?;
    Some((data.modified().ok()?, data.len()))
}

async fn apply(
    orchestrator: &Orchestrator,
    watched: &Watched,
    before: Persona,
    after: Persona,
) -> Followed {
    if after.character.identity() != before.character.identity() {
        let error = Error::new(ErrorKind::Conflict, "the character has another id than the agent")
            .with_fix("keep its `id`, or its name if it has none; another id is another agent, which needs a start");
        return Followed::Refused(Faults::Error(error));
    }
    let restarts = needs_restart(&before, &after);
    let change = match change_to(&after) {
        Ok(change) => change,
        Err(error) => return Followed::Refused(Faults::Error(error)),
    };
    watched.factory.set(after);
    let outcome = if restarts {
        orchestrator.restart_agent(watched.id, DRAIN).await.map(|()| Followed::Restarted)
    } else {
        orchestrator.update_agent(watched.id, change).await.map(|()| Followed::Applied)
    };
    outcome.unwrap_or_else(|error| {
        watched.factory.set(before);
        Followed::Refused(Faults::Error(error))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        agents::{
            Platforms,
            boot::{BootOptions, Place, boot},
        },
        characters::personas,
        config::{Configuration, Sources},
        storage::data_dir::DataDir,
    };
    use galatea_core::{Settings, redact::Redactor, store::ProcessRole};
    use std::{sync::mpsc, time::Instant};

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_changed_file_applies_within_a_second_and_a_broken_one_changes_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let file = PathBuf::from("nova.json");
        let write = |text: &str| std::fs::write(folder.path().join(&file), text).unwrap();
        write(r#"{"name": "Nova", "bio": "A gardener."}"#);
        let settings = Settings::default();
        let sources = Sources::new(folder.path().to_owned(), None, None);
        let configuration = Configuration::load(&sources, &Redactor::default()).unwrap();
        let read = |file: &Path| personas::one(file, &configuration, folder.path());
        let options = BootOptions {
            settings: &settings,
            data_dir: &DataDir::of_file(&folder.path().join("a.db")),
            platforms: Platforms::None,
            role: ProcessRole::default(),
            redactor: &Redactor::default(),
            version: "1",
            parser: Path::new(""),
            place: Place::Memory,
        };
        let booted = boot(options, vec![read(&file).unwrap()]).await.unwrap();
        booted.orchestrator.start().unwrap();
        let (told, heard) = mpsc::channel();
        let following = booted.follow_files(read, move |name, _, followed| {
            told.send((name.to_owned(), followed)).unwrap();
        });
        let bio = || booted.factories()[0].persona().character.bio.clone();
        let changes = async {
            let next = async |most: Duration| {
                let from = Instant::now();
                while from.elapsed() < most {
                    if let Ok(found) = heard.try_recv() {
                        return found;
                    }
                    tokio::time::sleep(Duration::from_millis(10)).await;
                }
                panic!("no change was seen");
            };
            // A busy machine may take longer than the second that people are promised.
            let patience = Duration::from_secs(20);
            tokio::time::sleep(Duration::from_millis(50)).await;
            write(r#"{"name": "Nova", "bio": "A plumber of many years."}"#);
            let (name, followed) = next(patience).await;
            assert!(name == "Nova" && matches!(followed, Followed::Applied), "{followed:?}");
            assert!(format!("{:?}", bio()).contains("plumber"));
            write(r#"{"name": "Nova", "bio": "#);
            let (_, followed) = next(patience).await;
            assert!(matches!(followed, Followed::Refused(_)), "{followed:?}");
            assert!(format!("{:?}", bio()).contains("plumber"), "it goes on as it was");
            write(r#"{"name": "Another", "bio": "Somebody else."}"#);
            let (_, followed) = next(patience).await;
            assert!(matches!(followed, Followed::Refused(_)), "another id: {followed:?}");
            write(
                r#"{"name": "Nova", "bio": "A plumber again.", "settings": {"OPENAI_API_KEY": "k"}}"#,
            );
            let (_, followed) = next(patience).await;
            assert!(matches!(followed, Followed::Restarted), "{followed:?}");
        };
        tokio::select! {
            () = following => unreachable!("it follows for ever"),
            () = changes => {}
        }
        booted.stop(Duration::from_secs(5)).await;
    }
}
