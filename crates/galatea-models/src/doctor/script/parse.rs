//! Parses the script format into a [`Script`].

use super::{AnswerStep, Match, Rule, Script, Substitution, Template, TemplatePiece};
use crate::doctor::pattern::{Token, Word};

/// Most elements of a pattern, and largest fixed number of words in it. Bounds the cost of a match.
const MAX_TOKENS: usize = 32;

/// A mistake in a script. Line and column count from 1.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    pub(crate) line: usize,
    pub(crate) column: usize,
    pub(crate) what: String,
}

/// A piece of a line with its position.
#[derive(Clone, Copy)]
struct Span<'a> {
    text: &'a str,
    line: usize,
    /// Number of characters before it in the line.
    before: usize,
}

impl<'a> Span<'a> {
    fn trim(self) -> Self {
        let left = self.text.trim_start();
        let skipped = self.text.len() - left.len();
        Self {
            text: left.trim_end(),
            before: self.before + self.text[..skipped].chars().count(),
            ..self
        }
    }

    fn split(self, separator: &str) -> Option<(Self, Self)> {
        let at = self.text.find(separator)?;
        let (left, right) = (&self.text[..at], &self.text[at + separator.len()..]);
        let before = self.before + self.text[..at + separator.len()].chars().count();
        Some((Self { text: left, ..self }.trim(), Self { text: right, before, ..self }.trim()))
    }

    fn fault(self, what: impl Into<String>) -> Fault {
        Fault { line: self.line, column: self.before + 1, what: what.into() }
    }

    fn required(self, what: &str) -> Result<&'a str, Fault> {
        if self.text.is_empty() {
            Err(self.fault(format!("{what} is missing")))
        } else {
            Ok(self.text)
        }
    }

    fn split_words(self) -> Vec<String> {
        self.text
            .to_lowercase()
            .split([',', ' ', '\t'])
            .filter(|w| !w.is_empty())
            .map(str::to_owned)
            .collect()
    }
}

/// The section that the current lines belong to.
#[derive(Clone, Copy, PartialEq)]
enum ScriptSection {
    None,
    Top,
    Key(usize),
    Memory,
}

#[derive(Default)]
struct Parser<'a> {
    script: Script,
    jumps: Vec<(Span<'a>, String)>,
    aliases: Vec<(Span<'a>, String, String)>,
    classes: Vec<(Span<'a>, String)>,
}

pub(crate) fn parse(text: &str) -> Result<Script, Fault> {
    let mut parser = Parser::default();
    let mut section = ScriptSection::Top;
    let mut last = 1;
    for (i, line) in text.trim_start_matches('\u{feff}').lines().enumerate() {
        last = i + 1;
        let line = Span { text: line, line: last, before: 0 }.trim();
        if line.text.is_empty() || line.text.starts_with('#') {
            continue;
        }
        section = parser.line(line, section)?;
    }
    parser.finish(last)
}

impl<'a> Parser<'a> {
    fn line(&mut self, line: Span<'a>, section: ScriptSection) -> Result<ScriptSection, Fault> {
        if line.text == "next" {
            self.step(line, section, AnswerStep::Next)?;
            return Ok(section);
        }
        let (name, value) = line
            .split(":")
            .ok_or_else(|| line.fault("expected a directive such as `say: text`"))?;
        let (name, argument) = match name.text.split_once(char::is_whitespace) {
            Some((name, argument)) => (name, argument.trim()),
            None => (name.text, ""),
        };
        let script = &mut self.script;
        match (name, argument) {
            ("greeting", "") => script.greetings.push(value.required("the greeting")?.to_owned()),
            ("farewell", "") => script.farewells.push(value.required("the farewell")?.to_owned()),
            ("quit", "") => script.quit.extend(value.split_words()),
            ("pre", "") => script.pre.push(substitution(value)?),
            ("post", "") => script.post.push(substitution(value)?),
            ("post-end", "") => script.post_end.push(substitution(value)?),
            ("class", class) if !class.is_empty() => {
                value.required("the list of words")?;
                script.classes.entry(class.to_owned()).or_default().extend(value.split_words());
            }
            ("key", rank) => {
                return self.keyword_section(value, if rank.is_empty() { "0" } else { rank });
            }
            ("memory", "") => {
                if script.memory.is_some() {
                    return Err(line.fault("there is a memory already"));
                }
                let key = value.required("the keyword")?.to_lowercase();
                self.jumps.push((value, key.clone()));
                self.script.memory = Some(Rule { key, rank: 0, matches: Vec::new() });
                return Ok(ScriptSection::Memory);
            }
            ("none", "") if value.text.is_empty() => return Ok(ScriptSection::None),
            ("match", "") => self.matching(value, section)?,
            ("say", "") if section == ScriptSection::None => {
                value.required("the text")?;
                let template = template(value, 0)?;
                script.none.push(template);
            }
            ("say", "") => {
                value.required("the text")?;
                let template = template(value, self.elements(line, section)?)?;
                self.step(line, section, AnswerStep::Say(template))?;
            }
            ("goto", "") => {
                let key = value.required("the keyword")?.to_lowercase();
                self.jumps.push((value, key.clone()));
                self.step(line, section, AnswerStep::Goto(key))?;
            }
            ("restate", "") => {
                let (text, key) =
                    value.split("=>").ok_or_else(|| value.fault("expected `text => keyword`"))?;
                let key_name = key.required("the keyword")?.to_lowercase();
                let template = template(text, self.elements(line, section)?)?;
                self.jumps.push((key, key_name.clone()));
                self.step(line, section, AnswerStep::Restate(template, key_name))?;
            }
            _ => return Err(line.fault(format!("unknown directive `{name}`"))),
        }
        Ok(section)
    }

    fn keyword_section(&mut self, value: Span<'a>, rank: &str) -> Result<ScriptSection, Fault> {
        let rank = rank
            .parse()
            .map_err(|_| value.fault("the rank before the colon is not a whole number"))?;
        if let Some((word, same)) = value.split("=") {
            let word_text = word.required("the word")?.to_lowercase();
            self.aliases.push((same, word_text, same.required("the keyword")?.to_lowercase()));
            return Ok(ScriptSection::Top);
        }
        let key = value.required("the keyword")?.to_lowercase();
        if key.contains(char::is_whitespace) {
            return Err(value.fault("a keyword is one word; join phrases with `pre`"));
        }
        let at = self.script.rules.len();
        if self.script.keys.insert(key.clone(), at).is_some() {
            return Err(value.fault(format!("`{key}` has rules already")));
        }
        self.script.rules.push(Rule { key, rank, matches: Vec::new() });
        Ok(ScriptSection::Key(at))
    }

    fn rule(&mut self, section: ScriptSection) -> Option<&mut Rule> {
        match section {
            ScriptSection::Key(at) => self.script.rules.get_mut(at),
            ScriptSection::Memory => self.script.memory.as_mut(),
            ScriptSection::None | ScriptSection::Top => None,
        }
    }

    fn matching(&mut self, value: Span<'a>, section: ScriptSection) -> Result<(), Fault> {
        let pattern = self.pattern(value)?;
        let choice = self.script.choices;
        self.script.choices += 1;
        let rule = self
            .rule(section)
            .ok_or_else(|| value.fault("`match` belongs under a `key` or the `memory`"))?;
        rule.matches.push(Match { pattern, steps: Vec::new(), choice });
        Ok(())
    }

    fn elements(&mut self, line: Span<'a>, section: ScriptSection) -> Result<usize, Fault> {
        let last = self.rule(section).and_then(|rule| rule.matches.last());
        last.map(|m| m.pattern.len()).ok_or_else(|| line.fault("this belongs under a `match`"))
    }

    fn step(
        &mut self,
        line: Span<'a>,
        section: ScriptSection,
        step: AnswerStep,
    ) -> Result<(), Fault> {
        if section == ScriptSection::Memory && !matches!(step, AnswerStep::Say(_)) {
            return Err(line.fault("a memory can only `say`"));
        }
        let last = self.rule(section).and_then(|rule| rule.matches.last_mut());
        last.ok_or_else(|| line.fault("this belongs under a `match`"))?.steps.push(step);
        Ok(())
    }

    fn pattern(&mut self, value: Span<'a>) -> Result<Vec<Token>, Fault> {
        let mut tokens = Vec::new();
        let mut rest = value;
        rest.required("the pattern")?;
        while !rest.text.is_empty() {
            let end = if rest.text.starts_with('(') {
                rest.text.find(')').map(|at| at + 1).ok_or_else(|| rest.fault("`(` without `)`"))?
            } else {
                rest.text.find(char::is_whitespace).unwrap_or(rest.text.len())
            };
            let here = Span { text: &rest.text[..end], ..rest };
            tokens.push(self.token(here)?);
            if tokens.len() > MAX_TOKENS {
                return Err(here.fault(format!("a pattern has at most {MAX_TOKENS} elements")));
            }
            rest = Span {
                text: &rest.text[end..],
                before: rest.before + here.text.chars().count(),
                ..rest
            }
            .trim();
        }
        Ok(tokens)
    }

    fn token(&mut self, span: Span<'a>) -> Result<Token, Fault> {
        if let Some(inner) = span.text.strip_prefix('(').and_then(|t| t.strip_suffix(')')) {
            if let Some(class) = inner.strip_prefix('/') {
                self.classes.push((span, class.trim().to_owned()));
                return Ok(Token::Class(class.trim().to_owned()));
            }
            let list: Vec<String> = inner
                .strip_prefix('*')
                .unwrap_or_default()
                .split_whitespace()
                .map(str::to_lowercase)
                .collect();
            return if list.is_empty() {
                Err(span.fault("expected (*word word) or (/CLASS)"))
            } else {
                Ok(Token::OneOf(list))
            };
        }
        if span.text.bytes().all(|b| b.is_ascii_digit()) {
            return match span.text.parse() {
                Ok(0) => Ok(Token::Any),
                Ok(n) if n <= MAX_TOKENS => Ok(Token::Exactly(n)),
                _ => Err(span.fault(format!("at most {MAX_TOKENS} words"))),
            };
        }
        Ok(Token::Word(span.text.to_lowercase()))
    }

    fn finish(mut self, last: usize) -> Result<Script, Fault> {
        for (span, word, same) in self.aliases {
            let at = *self.script.keys.get(&same).ok_or_else(|| {
                span.fault(format!("there is no keyword `{same}` above or below"))
            })?;
            if self.script.keys.insert(word.clone(), at).is_some() {
                return Err(span.fault(format!("`{word}` has rules already")));
            }
        }
        if let Some((span, key)) =
            self.jumps.into_iter().find(|(_, key)| !self.script.keys.contains_key(key))
        {
            return Err(span.fault(format!("there is no keyword `{key}`")));
        }
        if let Some((span, class)) =
            self.classes.into_iter().find(|(_, class)| !self.script.classes.contains_key(class))
        {
            return Err(span.fault(format!("there is no class `{class}`")));
        }
        let end = |what: &str| Fault { line: last, column: 1, what: what.to_owned() };
        if self.script.greetings.is_empty() {
            return Err(end("there is no `greeting`"));
        }
        if self.script.none.is_empty() {
            return Err(end("there is no `none` with something to say"));
        }
        let silent = self.script.rules.iter().chain(&self.script.memory).find(|rule| {
            rule.matches.is_empty() || rule.matches.iter().any(|m| m.steps.is_empty())
        });
        if let Some(rule) = silent {
            return Err(end(&format!(
                "the rules of `{}` lack a `match` or something to say",
                rule.key
            )));
        }
        for list in [&mut self.script.pre, &mut self.script.post, &mut self.script.post_end] {
            // Longer phrases first, so that `i am` is tried before `i`.
            list.sort_by_key(|s| std::cmp::Reverse(s.from.len()));
        }
        Ok(self.script)
    }
}

fn substitution(value: Span<'_>) -> Result<Substitution, Fault> {
    let (from, to) =
        value.split("=").ok_or_else(|| value.fault("expected `words = other words`"))?;
    from.required("what is replaced")?;
    Ok(Substitution {
        from: from.split_words(),
        to: to.text.split_whitespace().map(Word::new).collect(),
    })
}

/// Parses text with placeholders `{n}`; `elements` is the number of elements of the pattern above.
fn template(value: Span<'_>, elements: usize) -> Result<Template, Fault> {
    let mut pieces = Vec::new();
    let mut rest = value;
    while let Some(at) = rest.text.find('{') {
        let (text, after) = rest.text.split_at(at);
        let place = Span { text: after, before: rest.before + text.chars().count(), ..rest };
        let end = after.find('}').ok_or_else(|| place.fault("`{` without `}`"))?;
        let number: usize = after[1..end]
            .trim()
            .parse()
            .map_err(|_| place.fault("expected a number between the braces"))?;
        if number == 0 || number > elements {
            return Err(place.fault(format!("the pattern above has {elements} elements")));
        }
        if !text.is_empty() {
            pieces.push(TemplatePiece::Text(text.to_owned()));
        }
        pieces.push(TemplatePiece::Part(number - 1));
        rest = Span {
            text: &after[end + 1..],
            before: place.before + after[..=end].chars().count(),
            ..rest
        };
    }
    if !rest.text.is_empty() {
        pieces.push(TemplatePiece::Text(rest.text.to_owned()));
    }
    Ok(Template(pieces))
}
