//! Sections of a prompt, and how many tokens each may take of the model's window. The one table:
//! providers ask it by [`crate::Turn::budget`].

/// A part of a prompt with a budget of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Section {
    /// Identity of the agent.
    Bio,
    /// Examples of how it writes in conversations.
    Examples,
    /// Examples of its posts, in place of those of conversations.
    Posts,
    /// Summary of what left the prompt.
    Summary,
    /// People in the room.
    Entities,
    /// Whom the speaker knows.
    Relationships,
    /// Facts about people.
    Facts,
    /// Their profiles.
    Profiles,
    /// Pieces of documents.
    Knowledge,
    /// Earlier messages that fit the question.
    Memories,
    /// The newest messages.
    Conversation,
}

/// Every section, for tests of the table.
pub const SECTIONS: [Section; 11] = [
    Section::Bio,
    Section::Examples,
    Section::Posts,
    Section::Summary,
    Section::Entities,
    Section::Relationships,
    Section::Facts,
    Section::Profiles,
    Section::Knowledge,
    Section::Memories,
    Section::Conversation,
];

impl Section {
    /// The usual number of tokens, and the thousandths of the window that the section takes at most.
    ///
    /// The usual numbers are those with which prompts of large windows were measured
    /// (`docs/benchmarks.md`). The shares leave them unchanged from 16,000 tokens on, those of the
    /// character and of earlier messages from 8,000 on: there a character of usual size stands whole.
    /// All shares together are seven tenths: the rest is for rules, tools and the answer. A section
    /// without a number is bounded by how many items it has.
    const fn row(self) -> (Option<u64>, u64) {
        match self {
            Self::Bio => (Some(400), 50),
            Self::Examples => (Some(480), 60),
            Self::Posts => (Some(600), 60),
            Self::Summary => (None, 50),
            Self::Entities => (None, 10),
            Self::Relationships => (None, 10),
            Self::Facts => (None, 60),
            Self::Profiles => (None, 40),
            Self::Knowledge => (Some(1_600), 100),
            // They differ in every prompt, so no provider of a model caches them; without a hit that
            // fits they take nothing.
            Self::Memories => (Some(600), 75),
            // Unless `CONVERSATION_TOKENS` says otherwise.
            Self::Conversation => (Some(3_000), 250),
        }
    }

    /// The tokens of this section's share of a window; `u64::MAX` if the window is not known.
    pub fn share(self, window: Option<u32>) -> u64 {
        let (_, share) = self.row();
        window.map_or(u64::MAX, |window| u64::from(window) * share / 1_000)
    }

    /// The tokens that this section may take: its usual number, or its share of the window if that
    /// is less.
    pub fn budget(self, window: Option<u32>) -> u64 {
        let (usual, _) = self.row();
        usual.unwrap_or(u64::MAX).min(self.share(window))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_leave_room_for_rules_tools_and_the_answer() {
        let all: u64 = SECTIONS.iter().map(|section| section.row().1).sum();
        // Posts stand in place of examples.
        assert!(all - Section::Posts.row().1 <= 705, "{all}");
    }

    #[test]
    fn a_large_window_changes_nothing_and_a_small_one_takes_from_all_in_proportion() {
        for section in SECTIONS {
            let (usual, share) = section.row();
            if let Some(usual) = usual {
                assert_eq!(section.budget(Some(16_384)), usual, "{section:?}");
            }
            assert_eq!(section.budget(None), usual.unwrap_or(u64::MAX));
            assert_eq!(section.budget(Some(1_000)), share, "{section:?}");
            assert_eq!(section.budget(Some(2_000)), 2 * share, "{section:?}");
        }
        assert_eq!(Section::Knowledge.budget(Some(8_192)), 819);
        assert_eq!(Section::Bio.budget(Some(4_096)), 204);
        assert_eq!(Section::Facts.budget(Some(4_096)), 245);
        assert_eq!(Section::Facts.budget(Some(u32::MAX)), 257_698_037);
    }
}
