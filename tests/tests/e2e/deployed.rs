//! The systemd unit and the compose files as shipped, with the settings that `init` writes: their
//! own paths lead to a bot that answers.

use std::{collections::BTreeMap, fs, path::Path};

use galatea_testkit::process::{Home, Program, Running};

use crate::stage::{KEY, Stage, binary};

const UNIT: &str = include_str!("../../../deploy/galatea.service");
const COMPOSE: &str = include_str!("../../../compose.yaml");
const CLUSTER: &str = include_str!("../../../deploy/compose.cluster.yaml");
const DOCKERFILE: &str = include_str!("../../../Dockerfile");

/// A checkout in which `init` was run for Telegram and a model.
async fn checkout(stage: &Stage) -> Home {
    let home = Home::new();
    home.write("deploy/galatea.service", UNIT);
    home.write("target/release/galatea", "the binary");
    let mut init = on(Program::new(binary(), &home), stage)
        .args(["init", "--yes", "--telegram-token-stdin", "--model", "openai", "--model-key-stdin"])
        .spawn();
    init.write_line(&stage.telegram.token()).await;
    init.write_line(KEY).await;
    init.close_stdin();
    let finished = init.finish().await;
    assert_eq!(finished.code, Some(0), "{}{}", finished.stdout, finished.stderr);
    home
}

/// Adds the addresses of the loopback servers, which only a test has to set.
fn on(program: Program, stage: &Stage) -> Program {
    program
        .env("TELEGRAM_API_ROOT", stage.telegram.url())
        .env("OPENAI_BASE_URL", stage.model.base_url())
        .env("SERVER_PORT", "0")
        .env("NO_COLOR", "1")
}

async fn answers(stage: &Stage, running: &Running) {
    running.wait_for_line("polling").await;
    assert!(
        running.stderr().contains("Helper"),
        "the character that `init` wrote: {}",
        running.stderr()
    );
    let direct = stage.ann.direct();
    stage.ann.says(&direct, "Q7").send();
    stage.wait_text(&direct, "A7").await;
}

/// Values of a key in a section, in the form `KEY=value`.
fn entries<'a>(unit: &'a str, key: &str) -> Vec<&'a str> {
    unit.lines().filter_map(|line| line.strip_prefix(key)?.strip_prefix('=')).collect()
}

#[tokio::test]
async fn the_systemd_unit_as_shipped_starts_a_bot_that_answers() {
    let stage = Stage::set().await;
    let home = checkout(&stage).await;
    let root = Home::new();
    let under = |path: &str| format!("{}{path}", root.path().display());
    // The install commands in the unit's header, carried out below another root.
    for folder in ["/usr/local/bin", "/etc/systemd/system", "/var/lib/galatea"] {
        fs::create_dir_all(under(folder)).unwrap();
    }
    let commands: Vec<&str> = UNIT
        .lines()
        .filter_map(|line| line.strip_prefix("#   "))
        .filter(|line| line.starts_with("install "))
        .collect();
    assert!(commands.len() >= 4, "{commands:?}");
    for command in commands {
        let command = ["/usr/local/", "/etc/"].iter().fold(command.to_owned(), |command, path| {
            command.replace(&format!(" {path}"), &format!(" {}", under(path)))
        });
        let done = Program::new("/bin/sh", &home).args(["-c", &command]).run().await;
        assert_eq!(done.code, Some(0), "{command}: {}", done.stderr);
    }
    let [exec] = entries(UNIT, "ExecStart").try_into().unwrap();
    let mut words = exec.split(' ');
    assert_eq!(
        fs::read_to_string(under(words.next().unwrap())).unwrap(),
        "the binary",
        "ExecStart runs what was installed"
    );
    // systemd reads the file itself, as root (systemd.exec(5), EnvironmentFile=), then adds
    // Environment=.
    let [file] = entries(UNIT, "EnvironmentFile").try_into().unwrap();
    let env: BTreeMap<String, String> = fs::read_to_string(under(file.trim_start_matches('-')))
        .unwrap()
        .lines()
        .filter_map(assignment)
        .collect();
    let [working_dir] = entries(UNIT, "WorkingDirectory").try_into().unwrap();
    let mut program = on(Program::new(binary(), &root).dir(under(working_dir)), &stage).args(words);
    for (name, value) in
        env.into_iter().chain(entries(UNIT, "Environment").into_iter().filter_map(assignment))
    {
        // Only paths of this machine are moved below the other root.
        program = program.env(name, if value.starts_with("/var/") { under(&value) } else { value });
    }
    let running = program.spawn();
    answers(&stage, &running).await;
    assert!(
        Path::new(&under("/var/lib/galatea/galatea.db")).exists(),
        "the data lies in StateDirectory"
    );
    // Exit codes after which a restart does not help, as docs/operating.md lists them.
    assert_eq!(entries(UNIT, "RestartPreventExitStatus"), ["2 3 4"]);
}

/// Parses `NAME=value` as systemd and compose do for values without escapes.
fn assignment(line: &str) -> Option<(String, String)> {
    let (name, value) = line.split_once('=').filter(|_| !line.trim_start().starts_with('#'))?;
    let value = value.trim().trim_matches('\'').trim_matches('"');
    Some((name.trim().to_owned(), value.to_owned()))
}

/// Value of a key in YAML that contains it once, or with the same value in several services.
fn value<'a>(yaml: &'a str, key: &str) -> &'a str {
    let all: Vec<&str> = yaml
        .lines()
        .filter_map(|line| line.trim().strip_prefix(key)?.strip_prefix(':'))
        .map(str::trim)
        .collect();
    all.first().unwrap_or_else(|| panic!("no {key}"))
}

/// The lines of a service in a compose file.
fn service(yaml: &str, name: &str) -> String {
    let head = format!("  {name}:");
    let inside = |line: &&str| line.is_empty() || line.starts_with("   ");
    let lines = yaml.lines().skip_while(|line| **line != head).skip(1).take_while(inside);
    let lines: Vec<&str> = lines.collect();
    assert!(!lines.is_empty(), "there is no service {name}");
    lines.join("\n")
}

/// A program in the container of the agent, as the compose file describes it, with the mounts of a
/// checkout.
fn in_container(stage: &Stage, home: &Home, container: &Home) -> Program {
    let compose = service(COMPOSE, "galatea");
    let inside = |path: &str| format!("{}{path}", container.path().display());
    // Mounts: source and target.
    let mounts: Vec<(&str, &str)> = compose
        .lines()
        .filter_map(|line| line.trim().strip_prefix("- ./")?.split_once(':'))
        .map(|(from, to)| (from, to.trim_end_matches(":ro")))
        .collect();
    assert_eq!(mounts.len(), 1, "{mounts:?}");
    for (from, to) in mounts {
        if !Path::new(&inside(to)).exists() {
            std::os::unix::fs::symlink(home.path().join(from), inside(to)).unwrap();
        }
    }
    let env_file = value(&compose, "- path");
    let env: BTreeMap<String, String> = fs::read_to_string(home.path().join(env_file))
        .unwrap()
        .lines()
        .filter_map(assignment)
        .collect();
    let image: BTreeMap<String, String> =
        DOCKERFILE.lines().filter_map(|line| assignment(line.strip_prefix("ENV ")?)).collect();
    let dir = inside(value(&compose, "working_dir"));
    let mut program = on(Program::new(binary(), container).dir(dir), stage);
    for (name, value) in image.into_iter().chain(env) {
        program =
            program.env(name, if value.starts_with("/data") { inside(&value) } else { value });
    }
    program
}

#[tokio::test]
async fn the_compose_file_as_shipped_starts_a_bot_that_answers() {
    let stage = Stage::set().await;
    let home = checkout(&stage).await;
    let container = Home::new();
    assert!(DOCKERFILE.contains("ENTRYPOINT [\"galatea\"]\nCMD [\"start\"]"));
    let running = in_container(&stage, &home, &container).arg("start").spawn();
    answers(&stage, &running).await;
    assert!(container.path().join("data/galatea.db").exists(), "the data lies in the volume");
    // The compose file of the cluster has the same paths.
    assert_eq!(value(CLUSTER, "working_dir"), value(COMPOSE, "working_dir"));
    assert!(CLUSTER.contains("../characters:/characters:ro") && CLUSTER.contains("../.env"));
}

/// The commands that the README gives to readers with Docker, as far as they need no daemon.
#[tokio::test]
async fn with_compose_init_writes_what_the_agent_reads_and_chat_reaches_it() {
    use std::os::unix::fs::PermissionsExt as _;
    let readme = include_str!("../../../README.md");
    for command in [
        "docker compose build",
        "docker compose run --rm --user \"$(id -u):$(id -g)\" init",
        "docker compose up --detach",
        "docker compose exec galatea galatea chat",
    ] {
        assert!(readme.contains(command) && COMPOSE.contains(command), "{command}");
    }
    let stage = Stage::set().await;
    // `init` in its container: this folder is mounted as its working folder, and it may write
    // nowhere else but to /tmp.
    let init = service(COMPOSE, "init");
    assert_eq!(value(&init, "entrypoint"), "[galatea, init]");
    assert_eq!(value(&init, "- ."), value(&init, "working_dir"), "{init}");
    assert_eq!(value(&init, "profiles"), "[setup]", "`up` leaves it out");
    let (home, tmp) = (Home::new(), Home::new());
    assert_eq!(value(&init, "GALATEA_DATA_DIR"), "/tmp");
    let mut running = on(Program::new(binary(), &home), &stage)
        .env("GALATEA_DATA_DIR", tmp.path().display().to_string())
        .args(["init", "--yes", "--telegram-token-stdin", "--model", "openai", "--model-key-stdin"])
        .spawn();
    running.write_line(&stage.telegram.token()).await;
    running.write_line(KEY).await;
    running.close_stdin();
    let finished = running.finish().await;
    assert_eq!(finished.code, Some(0), "{}{}", finished.stdout, finished.stderr);
    let mode = |path: &str| fs::metadata(home.path().join(path)).unwrap().permissions().mode();
    assert_eq!(mode(".env") & 0o777, 0o600);
    // The agent runs as another user than the one who wrote its character.
    assert!(DOCKERFILE.contains("--uid 10001") && DOCKERFILE.contains("USER galatea"));
    assert_eq!(mode("characters/helper.json") & 0o004, 0o004);
    assert_eq!(mode("characters") & 0o005, 0o005);

    let container = Home::new();
    let running = in_container(&stage, &home, &container).arg("start").spawn();
    answers(&stage, &running).await;
    // `docker compose exec` runs in the same container, with its settings.
    let chat = in_container(&stage, &home, &container).args(["chat", "-m", "Q8"]).run().await;
    assert!(chat.stdout.contains("A8"), "{}{}", chat.stdout, chat.stderr);
    // The root file system is read-only, so nothing was written to it.
    assert_eq!(value(&service(COMPOSE, "galatea"), "read_only"), "true");
    let mut found: Vec<_> = fs::read_dir(container.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    found.sort();
    assert_eq!(found, ["characters", "data"]);
}

#[tokio::test]
async fn what_init_wrote_is_found_from_another_folder() {
    let stage = Stage::set().await;
    let home = checkout(&stage).await;
    let elsewhere = Home::new();
    let env = home.path().join(".env");
    let running = on(Program::new(binary(), &elsewhere), &stage)
        .arg("--env-file")
        .arg(env)
        .arg("start")
        .spawn();
    answers(&stage, &running).await;
}
