//! The talk that an answer belongs to, as far as it tells words from what leaked into them.

/// The talk that an answer belongs to.
#[derive(Debug, Clone, Default)]
pub(crate) struct Talk {
    /// Names of the agent: name, handle.
    pub(crate) own: Vec<String>,
    /// Names of the others who speak here.
    pub(crate) others: Vec<String>,
    /// Names and ids of the person who is answered.
    pub(crate) asker: Vec<String>,
    /// Names of this place.
    pub(crate) here: Vec<String>,
    /// True if one person talks with the agent alone.
    pub(crate) direct: bool,
    /// The question.
    pub(crate) question: String,
    /// Words of people from the last messages, to tell a quotation from a mark of the prompt.
    pub(crate) said: Vec<String>,
    /// Lines that head sections of the prompt.
    pub(crate) heads: Vec<String>,
}

/// Words of a question that asks for code or data.
const CODE: &str = "json|code|xml|yaml|toml|payload|schema|syntax|curl|function call|tool call|snippet|\
    python|javascript|typescript|request body|markup|код|代码|コード|코드|código|script|\
    openai format|config";
/// Words of a question that asks for a text in which others speak.
const VOICES: &str = "dialog|conversation between|talk between|chat between|script|screenplay|a play|skit|\
    scene|roleplay|role-play|role play|chat log|transcript|sketch|interview|story|poem|song|\
    gespräch|szene|geschichte|scène|escena|диалог|сцен|对话|対話|会話|minutes";
/// Words of a question that asks for something about each of several people.
const LISTS: &str = "each|everyone|everybody|who |whose|whom|list|summar|recap|table|said|says|wrote|quote|\
    assign|rank|compare|both|all of us|format|liste|jeder|wer |chacun|qui |lista|quién|cada|\
    список|кто |каждый|谁|誰";
/// Words of a question that asks for the time or the date.
const TIMES: [&str; 24] = [
    "time", "date", "day", "today", "clock", "hour", "when", "now", "week", "month", "year",
    "zeit", "datum", "uhr", "tag", "heure", "jour", "hora", "fecha", "врем", "час", "дата", "几点",
    "時",
];
/// Words of a question that asks for the time of day.
const CLOCK: &str = "time|clock|hour|how late|uhr|spät|zeit|hora|heure|час|врем|几点|点|時";
/// Words of a question that asks for something several times.
const REPEATS: &str = " times|mal |wiederhol|fois|répèt|veces|repite|repita| раз|повтор|遍|重复|繰り返|\
    again and again|over and over";
/// Words in front of "repeat" where it is asked for.
const ASK_BEFORE: [&str; 8] = ["please", "you", "to", "and", "then", "just", "now", "always"];
/// Words of a question that asks for a quotation.
const QUOTES: &str = "quote|quotation|cite|blockquote|markdown|zitat|zitier|cita|цитат";

impl Talk {
    pub(super) fn wants_code(&self) -> bool {
        self.asks(CODE)
    }

    pub(super) fn wants_voices(&self) -> bool {
        self.asks(VOICES)
    }

    pub(super) fn wants_list(&self) -> bool {
        self.asks(LISTS)
    }

    pub(super) fn wants_time(&self) -> bool {
        let question = self.question.to_lowercase();
        let words: Vec<&str> = question.split(|c: char| !c.is_alphanumeric()).collect();
        // "now" is a part of "know", and "day" of "holiday".
        TIMES.iter().any(|word| words.contains(word) || !word.is_ascii() && question.contains(word))
    }

    pub(super) fn wants_clock(&self) -> bool {
        self.asks(CLOCK)
    }

    pub(super) fn wants_repeats(&self) -> bool {
        self.asks(REPEATS) || self.asks_to_repeat()
    }

    /// "Repeat it", but not "the third repeat of the pattern".
    fn asks_to_repeat(&self) -> bool {
        let question = self.question.to_lowercase();
        let mut found = question.match_indices("repeat");
        found.any(|(at, _)| {
            let before = question[..at].trim_end();
            let word = before.rsplit(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
            word.is_empty() || ASK_BEFORE.contains(&word)
        })
    }

    pub(super) fn wants_quotes(&self) -> bool {
        self.asks(QUOTES)
    }

    fn asks(&self, words: &str) -> bool {
        let question = format!("{} ", self.question.to_lowercase());
        words.split('|').any(|word| question.contains(word))
    }

    /// True if a person said these words.
    pub(super) fn was_said(&self, words: &str) -> bool {
        let words = flat(words);
        let said = self.said.iter().chain(std::iter::once(&self.question));
        !words.is_empty() && said.into_iter().any(|said| flat(said).contains(&words))
    }

    /// True if these words mention the agent, as those of people do.
    pub(super) fn is_addressed(&self, words: &str) -> bool {
        let words = words.to_lowercase();
        self.own.iter().any(|name| words.contains(&format!("@{}", name.to_lowercase())))
    }

    pub(super) fn is_own(&self, name: &str) -> bool {
        is_one(name, &self.own)
    }

    pub(super) fn is_asker(&self, name: &str) -> bool {
        is_one(name, &self.asker) || is_first_of(name, &self.asker)
    }

    pub(super) fn is_other(&self, name: &str) -> bool {
        is_one(name, &self.others) || is_one(name, &self.asker) || is_first_of(name, &self.others)
    }

    /// True if a message to this target would be said here: to the place itself, or to the person
    /// who is answered. In a group, a message to that person is one in private, unless it was
    /// written as text by a model that cannot call tools.
    pub(super) fn is_here(&self, target: &str, as_text: bool) -> bool {
        const PLACES: &str = "|here|this room|this chat|this channel|this conversation|current|current room|\
            current channel|current chat|room|channel|chat|user|the user|everyone|all|group";
        const ASKERS: &str = "me|you|asker|sender|speaker";
        let target = target.trim().trim_start_matches(['#', '@']);
        let is = |names: &str| names.split('|').any(|name| target.eq_ignore_ascii_case(name));
        is(PLACES)
            || is_one(target, &self.here)
            || self.is_own(target)
            || (self.direct && is(ASKERS))
            || ((self.direct || as_text) && is_one(target, &self.asker))
    }
}

fn is_one(name: &str, of: &[String]) -> bool {
    let name = name.trim().trim_start_matches('@').to_lowercase();
    !name.is_empty() && of.iter().any(|known| known.trim().to_lowercase() == name)
}

/// True if people of longer names are called so.
fn is_first_of(name: &str, of: &[String]) -> bool {
    let name = name.trim().to_lowercase();
    let first = |known: &String| known.split_whitespace().next().map(str::to_lowercase);
    !name.is_empty() && of.iter().any(|known| first(known).as_deref() == Some(name.as_str()))
}

/// Words alone, to compare what is quoted.
fn flat(text: &str) -> String {
    let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    words.map(str::to_lowercase).collect::<Vec<_>>().join(" ")
}
