//! A conversation on a terminal, with line history.

use galatea_core::{Error, Result};
use galatea_terminal::{Heard, TerminalClient, frame::Message};
use rustyline::{Config, DefaultEditor, ExternalPrinter, error::ReadlineError};
use std::{io::Write, path::PathBuf, sync::mpsc as blocking};
use tokio::sync::mpsc;

use super::{
    exchange::{self, FailureLookup, Progress},
    transcript::{YOU, format_message, prompt, speaker},
};
use crate::report::{output::Output, printable};
use galatea_host::{
    look::{Color, Look},
    report::Report,
};

/// How the conversation ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// Ctrl-D or /quit.
    Done,
    /// Ctrl-C.
    Interrupted,
}

/// Number of lines in the history.
const HISTORY: usize = 1000;

enum Input {
    Line(String),
    End(End),
}

/// Reads the keyboard on its own thread, because reading blocks. Reads one line per prompt it
/// receives.
struct Keyboard {
    prompts: blocking::Sender<String>,
    lines: mpsc::Receiver<Input>,
    printer: Box<dyn FnMut(String) + Send>,
}

/// Talks until the person ends the conversation.
///
/// # Errors
/// `Unavailable` if the connection closed, or if there is no usable terminal.
pub(crate) async fn talk(
    client: &mut TerminalClient,
    output: &Output,
    history: PathBuf,
    lookup: &impl FailureLookup,
) -> Result<End> {
    let mut keyboard = Keyboard::open(history)?;
    let mut page = Page {
        agent: client.agent().to_owned(),
        width: client.agent().chars().count().max(YOU.len()),
        output,
    };
    output.say(format_args!(
        "Talking to {}. /help shows what you can do; Ctrl-D ends.",
        client.agent()
    ));
    loop {
        let line = match next_line(client, &mut keyboard, &mut page).await {
            Ok(Input::Line(line)) => line,
            Ok(Input::End(end)) => return Ok(end),
            Err(error) => {
                // The keyboard thread keeps the terminal in raw mode until it has read its line.
                (keyboard.printer)(format!("{}; press Enter to end\n", error.message()));
                let _ = keyboard.lines.recv().await;
                return Err(error);
            }
        };
        match line.trim() {
            "" => continue,
            "/quit" | "/exit" => return Ok(End::Done),
            "/help" => output
                .say("Here: /quit ends, the arrow keys bring back what you said. To the agent:"),
            _ => {}
        }
        let mut on = |progress: Progress<'_>| match progress {
            Progress::Typing => page.typing(),
            Progress::Message(message) => page.show(message),
        };
        let answered = tokio::select! {
            answered = exchange::ask(client, &line, lookup, &mut on) => answered,
            _ = tokio::signal::ctrl_c() => {
                page.untype();
                output.say("(not waiting any longer; an answer that comes later is shown then)");
                continue;
            }
        };
        page.untype();
        match answered {
            Ok(memory) => {
                if let Some(error) = lookup.failure(memory).await {
                    output.report(&Report::from(&error));
                }
            }
            Err(error)
                if error.code() == Some("GAL-CHAT-CLOSED")
                    || error.code() == Some("GAL-TERM-CLOSED") =>
            {
                return Err(error);
            }
            Err(error) => output.report(&Report::from(&error)),
        }
    }
}

/// Waits for the next line. Messages of the agent appear above the prompt.
async fn next_line(
    client: &mut TerminalClient,
    keyboard: &mut Keyboard,
    page: &mut Page<'_>,
) -> Result<Input> {
    if keyboard.prompts.send(prompt(YOU, page.width)).is_err() {
        return Ok(Input::End(End::Done));
    }
    loop {
        tokio::select! {
            input = keyboard.lines.recv() => return Ok(input.unwrap_or(Input::End(End::Done))),
            heard = client.next() => match heard?.ok_or_else(exchange::gone)? {
                Heard::Message(message) => {
                    (keyboard.printer)(format!("{}\n", page.render(&message)));
                    client.confirm(&message).await?;
                }
                Heard::Refused { message, .. } => (keyboard.printer)(format!("{message}\n")),
                Heard::Received { .. } | Heard::Typing => {}
            }
        }
    }
}

/// Writes the conversation to the screen.
struct Page<'a> {
    agent: String,
    width: usize,
    output: &'a Output,
}

impl Page<'_> {
    fn render(&mut self, message: &Message) -> String {
        let speaker = speaker(&self.agent, message.part.label.as_deref());
        self.width = self.width.max(speaker.chars().count());
        format_message(&speaker, self.width, &message.part.text)
    }

    fn show(&mut self, message: &Message) {
        self.untype();
        let text = self.render(message);
        self.output.data(text);
    }

    fn typing(&self) {
        let note =
            self.output.talk_style.paint(Color::Cyan, &format!("{} is typing …", self.agent));
        self.overwrite(&note);
    }

    fn untype(&self) {
        self.overwrite("");
    }

    /// The line after the last contains only the note, so it can be cleared (ECMA-48 EL).
    fn overwrite(&self, note: &str) {
        if self.output.talk_style.is_colored() {
            let mut stderr = std::io::stderr().lock();
            let note = self.output.talk_style.printable(note);
            let _ = write!(stderr, "\r\x1b[K{note}").and_then(|()| stderr.flush());
        }
    }
}

impl Keyboard {
    fn open(history: PathBuf) -> Result<Self> {
        let unusable = |e: ReadlineError| {
            Error::invalid("this terminal cannot be read from")
                .with("cause", e)
                .with_fix("use `galatea chat -m TEXT`")
        };
        let config = Config::builder()
            .max_history_size(HISTORY)
            .map_err(unusable)?
            .auto_add_history(true)
            .build();
        let mut editor = DefaultEditor::with_config(config).map_err(unusable)?;
        // A missing history file is an empty history.
        let _ = editor.load_history(&history);
        let mut outside = editor.create_external_printer().map_err(unusable)?;
        let (prompts, wanted) = blocking::channel::<String>();
        let (put, lines) = mpsc::channel(1);
        std::thread::spawn(move || {
            while let Ok(prompt) = wanted.recv() {
                let input = match editor.readline(&prompt) {
                    Ok(line) => Input::Line(line),
                    Err(ReadlineError::Interrupted) => Input::End(End::Interrupted),
                    Err(ReadlineError::Eof) => Input::End(End::Done),
                    Err(error) => {
                        tracing::debug!(%error, "failed to read the keyboard; ending");
                        Input::End(End::Done)
                    }
                };
                let _ = editor.append_history(&history);
                if put.blocking_send(input).is_err() {
                    return;
                }
            }
        });
        let printer = Box::new(move |text: String| {
            let _ = outside.print(printable::text(&text).into_owned());
        });
        Ok(Self { prompts, lines, printer })
    }
}
