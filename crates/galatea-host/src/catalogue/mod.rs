//! The explanation of every `GAL-…` code: meaning, cause and fix. `galatea explain` and the
//! generated reference print it. The pages of a connector's codes lie in the connector.

mod agents;
mod configuration;
mod http;
mod knowledge;
mod mcp;
mod models;
mod server;
mod storage;
mod tool;

use galatea_core::{Error, character::Explanation};
use serde::Serialize;
use std::fmt::Write as _;

use crate::{
    look::{Color, Look, wrap},
    platforms::PLATFORMS,
};

/// The page of one code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Entry(Explanation);

impl Entry {
    /// The code, such as `GAL-TG-409`.
    pub fn code(self) -> &'static str {
        self.0.code
    }

    /// The fix, for people.
    pub fn fix(self) -> &'static str {
        self.0.fix
    }
}

/// Every page, in no particular order.
pub fn all() -> impl Iterator<Item = Entry> {
    [
        tool::PAGES,
        configuration::PAGES,
        storage::PAGES,
        agents::PAGES,
        knowledge::PAGES,
        mcp::PAGES,
        models::PAGES,
        http::PAGES,
        server::PAGES,
        galatea_core::character::CODES,
    ]
    .into_iter()
    .chain(PLATFORMS.iter().map(|platform| platform.pages))
    .flatten()
    .map(|page| Entry(*page))
}

/// The page of a code. Case is ignored.
pub fn find(code: &str) -> Option<Entry> {
    all().find(|entry| entry.0.code.eq_ignore_ascii_case(code))
}

/// The error for a code without a page, with the closest known code.
pub fn unknown(code: &str) -> Error {
    let wanted = code.to_ascii_uppercase();
    let nearest = all()
        .map(|entry| (strsim::damerau_levenshtein(&wanted, entry.0.code), entry.0.code))
        .min()
        .filter(|(distance, known)| {
            wanted.len() <= 64 && (*distance <= 3 || known.starts_with(&wanted))
        });
    let area: Vec<_> = all()
        .map(|entry| entry.0.code)
        .filter(|known| wanted.len() > "GAL-".len() && known.starts_with(&wanted))
        .collect();
    let error = Error::not_found("there is no such code")
        .with_code("GAL-EXPLAIN-CODE")
        .with("asked for", code.chars().take(64).collect::<String>());
    match nearest {
        _ if area.len() > 1 => error.with_fix(format!("did you mean one of {}?", area.join(", "))),
        Some((_, known)) => error.with_fix(format!("did you mean {known}?")),
        None => {
            error.with_fix("codes stand in brackets behind the word error, as in error[GAL-TG-409]")
        }
    }
}

impl Entry {
    /// Renders the page. Every line ends with a newline.
    pub fn render(&self, look: impl Look) -> String {
        let Explanation { code, title, cause, fix } = self.0;
        let mut text = format!(
            "{}\n{}\n",
            look.bold(Color::Cyan, code),
            wrap(&sentence(title), look.width(), look.width()).join("\n")
        );
        for (label, body) in [("Why", cause), ("Fix", fix)] {
            let head = format!("  {label}  ");
            let lines = wrap(body, look.width() - head.len(), look.width() - head.len());
            let _ = write!(
                text,
                "\n{}{}\n",
                look.paint(Color::Cyan, &head),
                lines.join(&format!("\n{}", " ".repeat(head.len())))
            );
        }
        text
    }
}

fn sentence(title: &str) -> String {
    format!("{}.", title.trim_end_matches('.'))
}

#[cfg(test)]
mod tests;
