//! The action that a name means: exact first, then another name for it, then a part of a name.

use galatea_core::action::ActionDocs;
use std::sync::Arc;

/// Says the text of the plan in this Room.
pub(super) const REPLY: &str = "REPLY";
/// The agent stays silent.
pub(super) const IGNORE: &str = "IGNORE";
/// No action besides the text.
pub(super) const NONE: &str = "NONE";

const ALWAYS: [&str; 3] = [REPLY, IGNORE, NONE];
/// Shorter names would be part of almost any other.
const SHORTEST_PART: usize = 4;
/// Longer than any action's name; such a text is not a name.
const LONGEST_NAME: usize = 128;

/// The actions known in this turn.
pub(super) struct Names<'a>(&'a [Arc<ActionDocs>]);

impl<'a> Names<'a> {
    pub(super) fn new(known: &'a [Arc<ActionDocs>]) -> Self {
        Self(known)
    }

    /// The known action that `name` means.
    pub(super) fn resolve(&self, name: &str) -> Option<&'a str> {
        if name.len() > LONGEST_NAME || letters(name).next().is_none() {
            return None;
        }
        self.all()
            .find(|known| same(known, name))
            .or_else(|| {
                self.0
                    .iter()
                    .find(|docs| docs.similes.iter().any(|s| same(s, name)))
                    .map(|docs| docs.name.as_str())
            })
            .or_else(|| self.by_part(name))
    }

    /// True if `name` is the own name of a known action.
    pub(super) fn has(&self, name: &str) -> bool {
        self.all().any(|known| same(known, name))
    }

    /// Whether `name` is an action's own name letter by letter.
    pub(super) fn has_exact(&self, name: &str) -> bool {
        self.all().any(|known| known == name)
    }

    fn all(&self) -> impl Iterator<Item = &'a str> {
        self.0.iter().map(|docs| docs.name.as_str()).chain(ALWAYS)
    }

    /// The name that differs least; `UNMUTE_ROOM` must not win where `MUTE` is meant.
    fn by_part(&self, name: &str) -> Option<&'a str> {
        let wanted: String = letters(name).collect();
        let names = self.all().map(|known| (known, known));
        let similes = self
            .0
            .iter()
            .flat_map(|docs| docs.similes.iter().map(|s| (docs.name.as_str(), s.as_str())));
        names
            .chain(similes)
            .enumerate()
            .filter_map(|(order, (known, spelling))| {
                let spelling: String = letters(spelling).collect();
                let (short, long) = if spelling.len() < wanted.len() {
                    (&spelling, &wanted)
                } else {
                    (&wanted, &spelling)
                };
                (short.len() >= SHORTEST_PART && long.contains(short.as_str()))
                    .then(|| ((long.len() - short.len(), order), known))
            })
            .min()
            .map(|(_, known)| known)
    }
}

/// Equality of names but for case, underscores, dashes and spaces.
pub(super) fn same(a: &str, b: &str) -> bool {
    letters(a).eq(letters(b))
}

fn letters(name: &str) -> impl Iterator<Item = char> {
    name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase)
}
