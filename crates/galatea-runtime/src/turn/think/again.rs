//! The second question to a model whose answer held no words: without tools, and plainly for words.

use galatea_core::model::{
    ToolChoice,
    text_actions::{ANSWER_JSON, CALL_TOOLS},
};

use crate::turn::prompt::fit::{Draft, DraftSection, SectionPlace};

/// Stands among the instructions of a question that is asked again.
const IN_WORDS: &str = "Answer the last message now, in plain words and nothing else: no tools, no JSON, no tags, no headings. Write only what you say to the person.";
/// Said for a model that answers every time with calls of tools that it does not have.
pub(crate) const CANNOT: &str = "Sorry, I can't do that here. Could you put it another way?";

/// Asks for words: the tools, and what the instructions say of them, are left out.
pub(crate) fn in_words(draft: &mut Draft) {
    if draft.steps.is_empty() {
        draft.tools = Default::default();
    } else {
        // Some services refuse results of tools that they are not offered.
        draft.tool_choice = ToolChoice::None;
    }
    for section in &mut draft.sections {
        if let Some(at) = section.text.find(ANSWER_JSON) {
            section.text.truncate(at);
        }
        if section.text.contains(CALL_TOOLS) {
            section.text = section.text.replace(CALL_TOOLS, "");
        }
    }
    draft.sections.push(DraftSection {
        name: "the request for words".to_owned(),
        text: IN_WORDS.to_owned(),
        needed: true,
        place: SectionPlace::Instructions,
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_of_tools_is_left_in_the_second_question() {
        let section = |text: String| DraftSection {
            name: "rules".to_owned(),
            text,
            needed: true,
            place: SectionPlace::Instructions,
        };
        let mut draft = Draft {
            sections: vec![
                section(format!("Be kind.{CALL_TOOLS} Be brief.")),
                section(format!("Rules.{ANSWER_JSON}- SEND: Sends.")),
            ],
            ..Draft::default()
        };
        in_words(&mut draft);
        let texts: Vec<&str> = draft.sections.iter().map(|section| section.text.as_str()).collect();
        assert_eq!(texts, ["Be kind. Be brief.", "Rules.", IN_WORDS]);
    }
}
