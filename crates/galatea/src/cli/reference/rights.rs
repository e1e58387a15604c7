//! Generates the reference of rights and of the actions each role may request, as Markdown.

use galatea_core::rights::{Authorship, Ruling, Scope, Site, Standing, rule};
use std::fmt::Write as _;

/// The whole page.
pub(super) fn markdown() -> String {
    let mut text = INTRODUCTION.to_owned();
    text.push_str("\n## Actions\n\n| action | what it does | scope | in a private chat | in a group |\n|---|---|---|---|---|\n");
    let mut actions: Vec<_> = galatea_bootstrap::plugin().actions;
    actions.sort_by_key(|action| action.docs().name);
    for action in &actions {
        let (docs, scope) = (action.docs(), action.scope());
        let (private, group) = match scope {
            Scope::Elsewhere => (
                "see below: by where it is said".to_owned(),
                "see below: by where it is said".to_owned(),
            ),
            _ => (who(scope, Site::Private), who(scope, Site::Group)),
        };
        let _ = writeln!(
            text,
            "| `{}` | {} | {scope} | {private} | {group} |",
            docs.name,
            docs.description.replace('|', "\\|")
        );
    }
    for scope in Scope::ALL {
        let _ = write!(text, "\n## {}\n\n| where |", capital(&scope.to_string()));
        for standing in Standing::ALL {
            let _ = write!(text, " {standing} |");
        }
        text.push_str("\n|---|---|---|---|---|\n");
        for site in Site::ALL {
            let _ = write!(text, "| {site} |");
            for standing in Standing::ALL {
                let _ = write!(text, " {} |", cell(*scope, *standing, *site));
            }
            text.push('\n');
        }
    }
    text
}

/// The ruling for the requester's own words, and for other people's words if it differs.
fn cell(scope: Scope, standing: Standing, site: Site) -> String {
    let (own, others) = (
        rule(scope, standing, site, Authorship::Own),
        rule(scope, standing, site, Authorship::Others),
    );
    if own == others { own.to_string() } else { format!("{own}; with others' words {others}") }
}

/// The least standing that may request an action of this scope.
fn who(scope: Scope, site: Site) -> String {
    let least = Standing::ALL
        .iter()
        .find(|standing| rule(scope, **standing, site, Authorship::Own) != Ruling::Refuse);
    let Some(least) = least else { return "no one".to_owned() };
    let confirmed = rule(scope, *least, site, Authorship::Others) == Ruling::Confirm;
    let who = match least {
        Standing::Member => "everyone".to_owned(),
        Standing::AgentOwner => "owners of the agent".to_owned(),
        Standing::Admin | Standing::Owner => format!("from {least} on"),
    };
    if confirmed { format!("{who}, confirmed first where others' words are") } else { who }
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}

const INTRODUCTION: &str = "# Rights of actions

What a language model wants done is done only as far as this table lets it. It is held against the table in the step that carries actions out:
before an action runs, by the scope its author declared, and afterwards for each message elsewhere and each change it returned. A plugin's action
that declares no scope is `anything else`.

- **Who**: the standing of the people who are answered, where the effect is, as the platform tells it; of several, the least. Names and
  texts never give rights. Owners of the agent are in `AGENT_OWNERS`, by platform and id.
- **Where**: a private chat is a person's own if only they and the agent are in it.
- **Others' words**: what other people wrote, quoted or forwarded, files, facts and documents are in the prompt, or the agent's own words that were
  said while they were. In a group always. They may have moved the model, so the person who asked has to confirm what goes beyond the present room:
  with a button, or by the word the question names. The question shows what is stored, word for word. It is good for
  `ACTION_CONFIRMATION_MINUTES`, survives restarts, is carried out once, and by the rights they have then. `ACTION_CONFIRMATION` changes when it is asked.
- **The platform's word**: before something is said in another room for a person, the platform is asked whether they may write there: a person who
  left, is banned, muted, restricted or timed out cannot have it said. Where a platform cannot tell (X, another platform than theirs), nothing is
  said. Owners of the agent are not asked for.
- What is said elsewhere begins with who asked, and every line of it is quoted.

`galatea explain` shows the rule that refused an action or had it confirmed.
";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_action_and_every_cell_is_reported() {
        let page = markdown();
        for action in galatea_bootstrap::plugin().actions {
            assert!(page.contains(&format!("| `{}` |", action.docs().name)));
        }
        assert!(page.contains("| another's private chat | refused | refused | refused | done; with others' words confirmed first |"), "{page}");
        assert_eq!(
            page.lines()
                .filter(|line| Site::ALL
                    .iter()
                    .any(|site| line.starts_with(&format!("| {site} |"))))
                .count(),
            36
        );
    }
}
