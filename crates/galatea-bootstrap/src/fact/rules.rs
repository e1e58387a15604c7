//! Decides what becomes of a learnt fact beside a known one. The model proposes; these rules are
//! about who said it.

use galatea_core::EntityId;

/// Facts that the rules look at: who a fact is about, and who said it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Claim {
    /// The person it is about.
    pub(crate) subject: EntityId,
    /// The author. `None` if unknown.
    pub(crate) said_by: Option<EntityId>,
}

impl Claim {
    fn is_own(self) -> bool {
        self.said_by == Some(self.subject)
    }
}

/// Judgement of the model about a learnt fact and a known one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Proposal {
    /// They say the same.
    Same,
    /// The known one no longer holds.
    Replaced,
}

/// Decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ruling {
    /// The learnt one is stored beside the known one.
    Beside,
    /// The known one gets a further source.
    Confirm,
    /// The learnt one is stored, and the validity of the known one ends.
    Supersede,
}

/// Rules on a proposal.
///
/// A fact about another person is left alone. What people say of themselves is superseded by their
/// own words only, and what one person says of another by the same author or by the person it is
/// about: otherwise any member of a group could rewrite what is known about the others. A
/// contradiction that remains is shown with both authors.
pub(crate) fn rule(learnt: Claim, known: Claim, proposal: Proposal) -> Ruling {
    if learnt.subject != known.subject {
        return Ruling::Beside;
    }
    match proposal {
        // Hearsay by the person's own words: the stronger one takes its place.
        Proposal::Same if learnt.is_own() && !known.is_own() => Ruling::Supersede,
        Proposal::Same => Ruling::Confirm,
        Proposal::Replaced if learnt.is_own() => Ruling::Supersede,
        Proposal::Replaced
            if !known.is_own() && known.said_by.is_none_or(|by| learnt.said_by == Some(by)) =>
        {
            Ruling::Supersede
        }
        Proposal::Replaced => Ruling::Beside,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use uuid::Uuid;

    fn claim(subject: u128, said_by: u128) -> Claim {
        Claim {
            subject: EntityId(Uuid::from_u128(subject)),
            said_by: (said_by > 0).then(|| EntityId(Uuid::from_u128(said_by))),
        }
    }

    #[test]
    fn only_their_own_words_supersede_what_people_say_of_themselves() {
        let (own, by_bob, by_carl, old) = (claim(1, 1), claim(1, 2), claim(1, 3), claim(1, 0));
        for (learnt, known, same, replaced) in [
            (own, own, Ruling::Confirm, Ruling::Supersede),
            (own, by_bob, Ruling::Supersede, Ruling::Supersede),
            (own, old, Ruling::Supersede, Ruling::Supersede),
            (by_bob, own, Ruling::Confirm, Ruling::Beside),
            (by_bob, by_bob, Ruling::Confirm, Ruling::Supersede),
            (by_bob, by_carl, Ruling::Confirm, Ruling::Beside),
            (by_bob, old, Ruling::Confirm, Ruling::Supersede),
        ] {
            assert_eq!(rule(learnt, known, Proposal::Same), same, "{learnt:?} {known:?}");
            assert_eq!(rule(learnt, known, Proposal::Replaced), replaced, "{learnt:?} {known:?}");
        }
    }

    #[test]
    fn a_fact_about_another_person_is_left_alone() {
        for proposal in [Proposal::Same, Proposal::Replaced] {
            assert_eq!(rule(claim(1, 1), claim(2, 2), proposal), Ruling::Beside);
            assert_eq!(rule(claim(1, 2), claim(2, 2), proposal), Ruling::Beside);
        }
    }
}
