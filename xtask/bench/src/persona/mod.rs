//! `cargo xtask persona`: plays talks with a real model behind the program, on the loopback platforms,
//! and judges every answer.

mod bare;
mod stage;
mod talk;
mod verdict;
mod wiretap;

use anyhow::{Context, Result, bail};
use galatea_testkit::process::{Home, Program};
use serde_json::{Value, json};
use std::{
    fs,
    path::{Path, PathBuf},
    time::Duration,
};
use xtask::{cargo, target};

use bare::Bare;
use stage::Stage;
use talk::Talk;
use verdict::{Verdict, judge};
use wiretap::{Call, Wiretap};

/// The persona of the talks.
const CHARACTER: &str = "characters/helper.json";

/// The model that plays, and the talks.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Persona {
    /// Address of a server with OpenAI's API, or of Ollama's
    #[arg(long, value_name = "URL")]
    base_url: String,
    /// Name of the model
    #[arg(long, default_value = "local")]
    model: String,
    /// The server is Ollama's
    #[arg(long)]
    ollama: bool,
    /// Plays talks whose name contains this only
    #[arg(long, value_name = "TEXT")]
    only: Option<String>,
    /// Further settings of the program, for example MODEL_TOOLS=on
    #[arg(long = "set", value_name = "NAME=VALUE")]
    settings: Vec<String>,
    /// Plays the talks with the model itself: a bare persona and plain messages
    #[arg(long, conflicts_with = "ollama")]
    bare: bool,
    /// Prints every prompt, too
    #[arg(long)]
    prompts: bool,
    /// Plays this program in place of a release build of this checkout
    #[arg(long, value_name = "PATH")]
    binary: Option<PathBuf>,
}

/// Counts over all answers.
#[derive(Debug, Default)]
struct Sum {
    asked: usize,
    leaks: usize,
    empty: usize,
    repeated: usize,
    checked: usize,
    right: usize,
    seconds: f64,
    prompt: u64,
    processed: u64,
    written: u64,
}

/// Plays the talks and prints them with their verdicts and a table. Fails if an answer leaks, repeats
/// itself, or is missing.
pub(crate) fn run(root: &Path, options: &Persona) -> Result<()> {
    let talks = talk::read(options.only.as_deref())?;
    if talks.is_empty() {
        bail!("no talk has such a name");
    }
    let binary = match (&options.binary, options.bare) {
        (Some(binary), _) => std::path::absolute(binary)?,
        (None, true) => PathBuf::new(),
        (None, false) => build(root)?,
    };
    let text = fs::read_to_string(root.join(CHARACTER))
        .with_context(|| format!("cannot read {CHARACTER}"))?;
    let character: Value =
        serde_json::from_str(&text).with_context(|| format!("{CHARACTER} is not JSON"))?;
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    let sum = runtime.block_on(async {
        let mut sum = Sum::default();
        for talk in &talks {
            say(&format!("\n## {} ({:?})\n", talk.name, talk.place));
            if options.bare {
                play_bare(options, &character, talk, &mut sum).await?;
            } else {
                play(root, &binary, options, talk, &mut sum).await?;
            }
        }
        Ok::<_, anyhow::Error>(sum)
    })?;
    say(&table(&sum));
    let faults = sum.leaks + sum.repeated + sum.empty;
    if faults > 0 && !options.bare {
        bail!("{faults} answers leak, repeat themselves or are missing");
    }
    Ok(())
}

fn build(root: &Path) -> Result<PathBuf> {
    eprintln!("--- building the program");
    let status =
        cargo(root, &["build", "--release", "--locked", "--package", "galatea"]).status()?;
    if !status.success() {
        bail!("the release build failed ({status})");
    }
    Ok(target(root)?.join("release").join("galatea"))
}

#[allow(clippy::print_stdout, reason = "the talks are the result")]
fn say(text: &str) {
    println!("{text}");
}

async fn play_bare(options: &Persona, character: &Value, talk: &Talk, sum: &mut Sum) -> Result<()> {
    let mut bare = Bare::new(&options.base_url, &options.model, character, talk)?;
    for line in &talk.lines {
        let text = line.says.replace("{bot}", "Juniper,");
        say(&format!("{}: {}", line.by, text.trim()));
        let (answer, took) = bare.say(line, text.trim()).await?;
        if line.asks {
            let verdict = judge(line, &speakers(talk), answer.as_deref().unwrap_or_default());
            report(answer.as_deref(), &verdict, took, &[], sum);
        }
    }
    Ok(())
}

/// Plays one talk with a program of its own, so that no talk reaches into another.
async fn play(
    root: &Path,
    binary: &Path,
    options: &Persona,
    talk: &Talk,
    sum: &mut Sum,
) -> Result<()> {
    let (stage, home) = (Stage::set().await, Home::new());
    let (origin, path) = split(&options.base_url)?;
    let tap = Wiretap::start(&origin).await?;
    home.write("helper.json", &persona(root, &home, talk)?);
    let address = format!("{}{path}", tap.address());
    let model = &options.model;
    let mut program = Program::new(binary, &home)
        .args(["start", "--character", "helper.json"])
        .env("SERVER_PORT", "0")
        .env("NO_COLOR", "1")
        .env("TERMINAL_ENABLED", "false");
    for (name, value) in stage.settings(talk.place) {
        program = program.env(name, value);
    }
    let settings = if options.ollama {
        [
            ("OLLAMA_API_ENDPOINT", address.as_str()),
            ("OLLAMA_SMALL_MODEL", model),
            ("OLLAMA_LARGE_MODEL", model),
            ("MODEL_PROVIDER", "ollama"),
        ]
    } else {
        [
            ("OPENAI_BASE_URL", address.as_str()),
            ("OPENAI_SMALL_MODEL", model),
            ("OPENAI_LARGE_MODEL", model),
            ("OPENAI_API_KEY", "none-is-needed-on-loopback"),
        ]
    };
    for (name, value) in settings {
        program = program.env(name, value);
    }
    for setting in &options.settings {
        let (name, value) = setting.split_once('=').context("--set takes NAME=VALUE")?;
        program = program.env(name, value);
    }
    let room = stage.room(talk)?;
    let mut running = program.spawn();
    running.wait_for_line("ready in").await;
    if talk.document.is_some() {
        running.wait_for_line("documents are up to date").await;
    }
    stage.connected(talk.place).await;
    let mention = stage.mention(talk.place);
    for line in &talk.lines {
        let text = line.says.replace("{bot}", &mention);
        say(&format!("{}: {}", line.by, text.trim()));
        let (answer, took) = stage.say(&room, line, text.trim()).await;
        if line.asks {
            let verdict = judge(line, &speakers(talk), answer.as_deref().unwrap_or_default());
            let calls = tap.take();
            report(answer.as_deref(), &verdict, took, &calls, sum);
            if options.prompts {
                calls.iter().for_each(print_prompt);
            }
        }
    }
    running.terminate();
    running.finish().await;
    for violation in stage.violations() {
        say(&format!("   against the platform's documentation: {violation}"));
    }
    Ok(())
}

/// The character with the talk's document.
fn persona(root: &Path, home: &Home, talk: &Talk) -> Result<String> {
    let mut character: Value = serde_json::from_str(&fs::read_to_string(root.join(CHARACTER))?)?;
    if let (Some(text), Some(known)) = (&talk.document, character["knowledge"].as_array_mut()) {
        home.write("documents/kiln.md", text);
        known.push(json!({ "path": "documents/kiln.md" }));
    }
    Ok(character.to_string())
}

fn speakers(talk: &Talk) -> Vec<&str> {
    talk.people().into_iter().chain(["Juniper", "you"]).collect()
}

/// An address as origin and path.
fn split(address: &str) -> Result<(String, String)> {
    let after = address.find("://").context("--base-url begins with http:// or https://")? + 3;
    let path = address[after..].find('/').map_or(address.len(), |at| after + at);
    Ok((address[..path].to_owned(), address[path..].trim_end_matches('/').to_owned()))
}

#[allow(clippy::cast_precision_loss, reason = "seconds of an answer")]
fn report(answer: Option<&str>, verdict: &Verdict, took: Duration, calls: &[Call], sum: &mut Sum) {
    let number = |name| calls.iter().filter_map(|call| call.number("usage", name)).sum::<u64>();
    let processed: u64 = calls.iter().filter_map(|call| call.number("timings", "prompt_n")).sum();
    let (prompt, written) = (number("prompt_tokens"), number("completion_tokens"));
    say(&format!("Juniper: {}", answer.unwrap_or("(no answer)")));
    let mut notes = vec![format!("{:.1} s", took.as_secs_f64())];
    if !calls.is_empty() {
        notes.push(format!(
            "{} calls, prompt {prompt} ({processed} processed), answer {written}",
            calls.len()
        ));
    }
    notes.extend(verdict.leaks.iter().map(|leak| format!("LEAK {leak}")));
    notes.extend(verdict.repeated.iter().map(|text| format!("REPEATED {text:?}")));
    notes.extend(
        verdict.right.map(|right| if right { "right".to_owned() } else { "WRONG".to_owned() }),
    );
    for call in calls.iter().filter(|call| call.status >= 400) {
        notes.push(format!("{} answered {}", call.path, call.status));
    }
    sum.asked += 1;
    sum.leaks += usize::from(!verdict.leaks.is_empty());
    sum.repeated += usize::from(verdict.repeated.is_some());
    sum.empty += usize::from(answer.is_none_or(|text| text.trim().is_empty()));
    sum.checked += usize::from(verdict.right.is_some());
    sum.right += usize::from(verdict.right == Some(true));
    sum.seconds += took.as_secs_f64();
    sum.prompt += prompt;
    sum.processed += processed;
    sum.written += written;
    say(&format!("   ({})", notes.join("; ")));
}

fn print_prompt(call: &Call) {
    let empty = Vec::new();
    let tools = call.request["tools"].as_array().map_or(0, Vec::len);
    say(&format!("   --- {} ({tools} tools, {:.1} s)", call.path, call.took.as_secs_f64()));
    for message in call.request["messages"].as_array().unwrap_or(&empty) {
        let content = &message["content"];
        let text = content.as_str().map_or_else(|| content.to_string(), ToOwned::to_owned);
        let name = message["name"].as_str().map(|name| format!(" {name}")).unwrap_or_default();
        say(&format!("   <{}{name}>\n{text}", message["role"].as_str().unwrap_or("?")));
    }
    say(&format!("   --- answer\n{}\n   ---", call.answer.trim()));
}

#[allow(clippy::cast_precision_loss, reason = "hundreds of answers")]
fn table(sum: &Sum) -> String {
    format!(
        "\n| answers | leaks | missing | repeated | right | seconds each | prompt tokens | processed | written |\n|---|---|---|---|---|---|---|---|---|\n| {} | {} | {} | {} | {} of {} | {:.1} | {} | {} | {} |",
        sum.asked,
        sum.leaks,
        sum.empty,
        sum.repeated,
        sum.right,
        sum.checked,
        sum.seconds / sum.asked.max(1) as f64,
        sum.prompt,
        sum.processed,
        sum.written
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_split_at_its_path() {
        let split = |address| split(address).unwrap();
        assert_eq!(split("http://a:1/v1/"), ("http://a:1".to_owned(), "/v1".to_owned()));
        assert_eq!(split("http://a:1"), ("http://a:1".to_owned(), String::new()));
    }
}
