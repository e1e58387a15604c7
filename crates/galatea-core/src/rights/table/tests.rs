//! Every cell of the table, written out: a change of the rules has to be made here as well, cell by
//! cell.

use super::*;

/// Per scope and site: what members, admins, owners and owners of the agent get, first without,
/// then with other people's words. `.` done, `?` confirmed first, `x` refused.
const CELLS: &[(Scope, Site, &str, &str)] = &[
    (Scope::Conversation, Site::Private, "....", "...."),
    (Scope::Conversation, Site::Group, "....", "...."),
    (Scope::Conversation, Site::OwnPrivate, "xxxx", "xxxx"),
    (Scope::Conversation, Site::OthersPrivate, "xxxx", "xxxx"),
    (Scope::Conversation, Site::Joined, "xxxx", "xxxx"),
    (Scope::Conversation, Site::Foreign, "xxxx", "xxxx"),
    (Scope::Speaker, Site::Private, "....", "...."),
    (Scope::Speaker, Site::Group, "....", "...."),
    (Scope::Speaker, Site::OwnPrivate, "xxxx", "xxxx"),
    (Scope::Speaker, Site::OthersPrivate, "xxxx", "xxxx"),
    (Scope::Speaker, Site::Joined, "xxxx", "xxxx"),
    (Scope::Speaker, Site::Foreign, "xxxx", "xxxx"),
    (Scope::Room, Site::Private, "....", "...."),
    (Scope::Room, Site::Group, "x...", "x..."),
    (Scope::Room, Site::OwnPrivate, "....", "????"),
    (Scope::Room, Site::OthersPrivate, "xxx.", "xxx?"),
    (Scope::Room, Site::Joined, "x...", "x???"),
    (Scope::Room, Site::Foreign, "x...", "x???"),
    (Scope::World, Site::Private, "xxxx", "xxxx"),
    (Scope::World, Site::Group, "x...", "x???"),
    (Scope::World, Site::OwnPrivate, "xxxx", "xxxx"),
    (Scope::World, Site::OthersPrivate, "xxxx", "xxxx"),
    (Scope::World, Site::Joined, "x...", "x???"),
    (Scope::World, Site::Foreign, "x...", "x???"),
    (Scope::Elsewhere, Site::Private, "xxxx", "xxxx"),
    (Scope::Elsewhere, Site::Group, "xxxx", "xxxx"),
    (Scope::Elsewhere, Site::OwnPrivate, "....", "...."),
    (Scope::Elsewhere, Site::OthersPrivate, "xxx.", "xxx?"),
    (Scope::Elsewhere, Site::Joined, "....", "????"),
    (Scope::Elsewhere, Site::Foreign, "x...", "x???"),
    (Scope::Outside, Site::Private, "xxx.", "xxx?"),
    (Scope::Outside, Site::Group, "xxx.", "xxx?"),
    (Scope::Outside, Site::OwnPrivate, "xxx.", "xxx?"),
    (Scope::Outside, Site::OthersPrivate, "xxx.", "xxx?"),
    (Scope::Outside, Site::Joined, "xxx.", "xxx?"),
    (Scope::Outside, Site::Foreign, "xxx.", "xxx?"),
];

#[test]
fn every_cell_is_as_written() {
    let mut looked_at = 0;
    for (scope, site, own, others) in CELLS {
        for (words, cells) in [(Authorship::Own, own), (Authorship::Others, others)] {
            for (standing, cell) in Standing::ALL.iter().zip(cells.chars()) {
                let wanted = match cell {
                    '.' => Ruling::Allow,
                    '?' => Ruling::Confirm,
                    _ => Ruling::Refuse,
                };
                assert_eq!(
                    rule(*scope, *standing, *site, words),
                    wanted,
                    "{scope:?} by {standing:?} at {site:?}, others' words: {words}"
                );
                looked_at += 1;
            }
        }
    }
    assert_eq!(looked_at, rows().count(), "every cell once");
    assert_eq!(looked_at, 288);
}

#[test]
fn more_standing_never_gets_less_and_others_words_never_give_more() {
    for row in rows() {
        for higher in Standing::ALL.iter().filter(|s| **s > row.standing) {
            assert!(
                rule(row.scope, *higher, row.site, row.authorship) <= row.ruling,
                "{row:?} against {higher}"
            );
        }
        assert!(
            rule(row.scope, row.standing, row.site, Authorship::Others)
                >= rule(row.scope, row.standing, row.site, Authorship::Own),
            "{row:?}"
        );
    }
}
