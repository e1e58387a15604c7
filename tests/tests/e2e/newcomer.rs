//! The commands of README.md, read from its text and run in order in a fresh folder. Every way to
//! start leads to a bot that answers.

use std::path::Path;

use galatea_testkit::{
    discord::{self, DiscordApi, Guild},
    process::{Home, Program, Running},
};

use crate::stage::{KEY, Stage, binary};

const README: &str = include_str!("../../../README.md");
/// An old elizaOS file, in place of the reader's own.
const OLD: &str = include_str!("../../../crates/galatea-core/src/character/tests/fixtures/v0.json");

/// A character card, in place of the reader's own.
const CARD: &[u8] = include_bytes!("../../../fuzz/corpus/character_card/v2.png");

/// Commands in fenced blocks of a text, in order. Transcripts of examples (`$ …`) are left out.
fn commands(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some((_, behind)) = rest.split_once("\n```\n") {
        let Some((block, after)) = behind.split_once("\n```\n") else { break };
        rest = after;
        if block.starts_with("$ ") {
            continue;
        }
        let joined = block.replace("\\\n", " ");
        let command = |line: &str| line.split("  #").next().unwrap_or_default().trim().to_owned();
        found.extend(
            joined.lines().map(command).filter(|line| !line.is_empty() && !line.starts_with('#')),
        );
    }
    found
}

/// True if a command needs the internet, a compiler, a browser or Docker. Other tests cover these
/// (Docker's are in `deployed.rs`); here the program is already built and in PATH.
fn is_before(command: &str) -> bool {
    ["sudo apt-get", "apt-get", "git clone", "cd ", "cargo ", "export PATH=", "docker "]
        .iter()
        .any(|begin| command.starts_with(begin))
}

/// Fills in the placeholders, as a reader does.
fn filled(command: &str, stage: &Stage, message: &str) -> String {
    command
        .replace("OPENAI_API_KEY=…", &format!("OPENAI_API_KEY={KEY}"))
        .replace("TELEGRAM_BOT_TOKEN=…", &format!("TELEGRAM_BOT_TOKEN={}", stage.telegram.token()))
        .replace("<message>", message)
}

/// Environment variables in front of a command: name and value.
type Settings = Vec<(String, String)>;

/// Environment variables in front of a command, and its arguments; `None` for a command of another
/// program.
fn split_command(command: &str) -> Option<(Settings, Vec<String>)> {
    let mut env = Vec::new();
    let mut words = command.split_whitespace().map(str::to_owned).peekable();
    while let Some((name, value)) = words
        .peek()
        .and_then(|word| word.split_once('='))
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
    {
        env.push((name, value));
        words.next();
    }
    (words.next()? == "galatea").then(|| (env, words.collect()))
}

/// The reader's folder: the parts of a fresh clone that the commands need.
fn folder() -> Home {
    let home = Home::new();
    let characters = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../characters");
    let all = std::fs::read_dir(characters).unwrap().map(|file| file.unwrap().path());
    for file in all.filter(|path| path.is_file()) {
        home.write(
            &format!("characters/{}", file.file_name().unwrap().to_str().unwrap()),
            &std::fs::read_to_string(&file).unwrap(),
        );
    }
    home.write("my-old-eliza.json", OLD);
    std::fs::write(home.path().join("card.png"), CARD).unwrap();
    home
}

struct Newcomer {
    stage: Stage,
    discord: DiscordApi,
    dora: discord::User,
    /// The server to which the reader has invited the bot.
    guild: Option<Guild>,
    /// Sessions with Discord before the last start.
    sessions: usize,
    home: Home,
    running: Option<Running>,
    asked: u32,
    has_key: bool,
    /// An answered message, in the form that `explain` accepts.
    message: String,
}

impl Newcomer {
    fn at(&self, program: Program) -> Program {
        let path =
            format!("{}:{}", binary().parent().unwrap().display(), std::env::var("PATH").unwrap());
        let program = program
            .env("PATH", path)
            .env("TELEGRAM_API_ROOT", self.stage.telegram.url())
            .env("DISCORD_API_ROOT", self.discord.url())
            .env("SERVER_PORT", "0")
            .env("NO_COLOR", "1");
        // The address alone would count as a local model, so it is set only once there is a key.
        if self.has_key {
            program.env("OPENAI_BASE_URL", self.stage.model.base_url())
        } else {
            program
        }
    }

    fn program(&self) -> Program {
        self.at(Program::new(binary(), &self.home))
    }

    /// Asks a question in the terminal, and one on Telegram and on Discord if the bot is connected
    /// there, and checks the answers.
    async fn answered(&mut self) {
        self.asked += 1;
        let chat = self.program().args(["chat", "-m", "are you there?"]).run().await;
        assert!(
            chat.code == Some(0) && chat.stdout.contains(" › "),
            "{}{}",
            chat.stdout,
            chat.stderr
        );
        let banner = self.running.as_ref().unwrap().stderr();
        if banner.contains("Telegram   on") {
            let direct = self.stage.ann.direct();
            let number = self.stage.ann.says(&direct, &format!("Q{}", self.asked)).send();
            self.stage.wait_text(&direct, &format!("A{}", self.asked)).await;
            self.message = format!("{}:{number}", direct.id);
        }
        if let Some(guild) = &self.guild {
            assert!(banner.contains("Discord    on"), "{banner}");
            // Discord keeps no events for a bot without a session.
            let before = self.sessions;
            let connected = |d: &discord::Handle| {
                (d.connected() == 1 && d.identified() + d.resumed() > before).then_some(())
            };
            self.discord.wait_for("the session", connected).await;
            let (general, answer) = (guild.general(), format!("A{}", self.asked));
            let asked = format!("{} Q{}", self.discord.mention(), self.asked);
            self.dora.says(&general, &asked).send();
            let shown = |d: &discord::Handle| {
                d.shown(general.id).last().is_some_and(|m| m.text == answer).then_some(())
            };
            self.discord.wait_for(&format!("{answer} on Discord"), shown).await;
        }
    }

    async fn stop(&mut self) {
        if let Some(mut running) = self.running.take() {
            running.terminate();
            let finished = running.finish().await;
            assert_eq!(finished.code, Some(0), "{}", finished.stderr);
        }
    }

    async fn does(&mut self, command: &str) {
        let command = filled(command, &self.stage, &self.message);
        self.has_key |= command.contains("MODEL_KEY") || command.contains(KEY);
        match split_command(&command) {
            Some((env, args)) if args.is_empty() || args[0] == "start" => {
                self.stop().await;
                let is_other_persona = args.iter().any(|arg| arg == "--character");
                self.sessions = self.discord.identified() + self.discord.resumed();
                let program =
                    env.into_iter().fold(self.program().args(args), |program, (name, value)| {
                        program.env(name, value)
                    });
                let running = program.spawn();
                running.wait_for_line("ready in").await;
                running.wait_for_line("terminal.sock").await;
                self.running = Some(running);
                self.answered().await;
                // Another persona does not know when the one before it identified itself, and the
                // test is faster than a reader.
                let violations = self.discord.violations();
                assert!(is_other_persona || violations.is_empty(), "{command}: {violations:?}");
                self.discord.allow_violation("identified again within five seconds");
            }
            // This command asks on a terminal; the README's variant without questions follows it.
            Some((_, args)) if args == ["init"] => {
                let refused = self.program().args(args).run().await;
                assert!(
                    refused.code == Some(2) && refused.stderr.contains("--yes"),
                    "{}",
                    refused.stderr
                );
            }
            Some((_, args)) if args == ["chat"] => {
                let mut chat = self.program().args(args).spawn();
                chat.write_line("hello").await;
                chat.close_stdin();
                let finished = chat.finish().await;
                assert!(
                    finished.code == Some(0) && finished.stdout.contains(" › "),
                    "{command}: {}{}",
                    finished.stdout,
                    finished.stderr
                );
            }
            _ => {
                let shell = self
                    .at(Program::new("/bin/sh", &self.home))
                    .env("TELEGRAM_TOKEN", self.stage.telegram.token())
                    .env("DISCORD_TOKEN", self.discord.token())
                    .env("MODEL_KEY", KEY);
                let done = shell.args(["-c", &command]).run().await;
                assert_eq!(done.code, Some(0), "{command}\n{}{}", done.stdout, done.stderr);
                if command.contains("--connect discord") {
                    assert!(done.stderr.contains("/oauth2/authorize?"), "{}", done.stderr);
                    self.guild = Some(self.discord.guild("Garden", &[&self.dora]));
                }
            }
        }
    }
}

#[tokio::test]
async fn the_readme_followed_to_the_letter_ends_in_an_answered_telegram_message() {
    let all = commands(README);
    let (own, before): (Vec<_>, Vec<_>) = all.iter().partition(|command| !is_before(command));
    for needed in ["git clone", "cargo build --release", "export PATH="] {
        assert!(
            before.iter().any(|command| command.starts_with(needed)),
            "a newcomer needs {needed}"
        );
    }
    for word in [
        "rustup.rs",
        "@BotFather",
        "/newbot",
        "discord.com/developers/applications",
        "galatea init",
        "build-essential",
    ] {
        assert!(README.contains(word), "{word} is not in README.md");
    }
    assert!(own.iter().any(|command| command.contains("init --yes")) && own.len() > 12, "{own:#?}");
    let discord = DiscordApi::start().await;
    let mut newcomer = Newcomer {
        stage: Stage::set().await,
        dora: discord.user("Dora", "dora_d"),
        discord,
        guild: None,
        sessions: 0,
        home: folder(),
        running: None,
        asked: 0,
        has_key: false,
        message: String::new(),
    };
    for command in own {
        newcomer.does(command).await;
    }
    newcomer.stop().await;
    assert!(!newcomer.message.is_empty(), "Telegram was never answered");
    assert!(newcomer.guild.is_some(), "Discord was never connected");
}
