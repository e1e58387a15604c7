//! The table of rights: scope of an action × standing of who asks × site of its effect × whose
//! words are in the prompt. A pure function.

use serde::{Deserialize, Serialize};
use std::fmt;

use crate::world::Role;

macro_rules! side {
    ($(#[$doc:meta])* $name:ident { $($(#[$about:meta])* $variant:ident = $text:literal),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(rename_all = "kebab-case")]
        pub enum $name {
            $($(#[$about])* $variant),+
        }

        impl $name {
            /// Every value, in the table's order.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(match self { $(Self::$variant => $text),+ })
            }
        }
    };
}

side! {
    /// Scope of an action. Declared by its author; what it returns is judged by itself as well.
    Scope {
        /// Says something in this Room, or does nothing.
        Conversation = "says something here",
        /// Keeps or changes what is known of the speaker, in this Room.
        Speaker = "what is kept of the speaker",
        /// Changes how the agent behaves in a Room.
        Room = "how a room is served",
        /// Changes roles in a World.
        World = "roles in a World",
        /// Says something in another Room.
        Elsewhere = "says something elsewhere",
        /// Anything else, such as a call of another service. What an action is that declares
        /// nothing.
        Outside = "anything else",
    }
}

side! {
    /// Role of the people who are being answered, where the effect is. When several are answered
    /// together, the least of them.
    Standing {
        /// Takes part, without any right to manage the place.
        Member = "member",
        /// Admin of the World.
        Admin = "admin",
        /// Owner of the World.
        Owner = "owner",
        /// Named in `AGENT_OWNERS`.
        AgentOwner = "owner of the agent",
    }
}

side! {
    /// Position of the effect for the people who are being answered.
    Site {
        /// This Room, a conversation of two.
        Private = "this private chat",
        /// This Room, with several people.
        Group = "this group",
        /// The private chat of the person who asks.
        OwnPrivate = "the speaker's private chat",
        /// Another person's private chat.
        OthersPrivate = "another's private chat",
        /// Another Room that they take part in.
        Joined = "another room they are in",
        /// Another Room that they do not take part in.
        Foreign = "a room they are not in",
    }
}

side! {
    /// Authors of the prompt's words.
    Authorship {
        /// Only those of the one person who is answered, and the agent's own.
        Own = "no",
        /// Words of other people too, or of files, facts and documents.
        Others = "yes",
    }
}

side! {
    /// Ruling of the table.
    Ruling {
        /// The action is carried out.
        Allow = "done",
        /// The person who asked has to confirm it first.
        Confirm = "confirmed first",
        /// It is not done.
        Refuse = "refused",
    }
}

impl Default for Authorship {
    /// Until something says otherwise, words are other people's.
    fn default() -> Self {
        Self::Others
    }
}

impl From<Role> for Standing {
    fn from(role: Role) -> Self {
        match role {
            Role::None => Self::Member,
            Role::Admin => Self::Admin,
            Role::Owner => Self::Owner,
        }
    }
}

/// Ruling on an action. The one place that decides it.
///
/// What goes beyond the present Room has to be confirmed once other people's words are in the
/// prompt: they may have moved the model to use rights that are not theirs. Whose words they are
/// never makes something possible or impossible by itself.
pub fn rule(scope: Scope, standing: Standing, site: Site, authorship: Authorship) -> Ruling {
    let owns_agent = standing == Standing::AgentOwner;
    let leads = standing >= Standing::Admin;
    let allowed = match (scope, site) {
        (Scope::Conversation | Scope::Speaker, Site::Private | Site::Group) => true,
        (Scope::Conversation | Scope::Speaker, _) => false,
        (Scope::Room, Site::Private | Site::OwnPrivate) => true,
        (Scope::Room, Site::Group | Site::Joined | Site::Foreign) => leads,
        (Scope::Room | Scope::Elsewhere, Site::OthersPrivate) => owns_agent,
        // Between two there are no roles.
        (Scope::World, Site::Private | Site::OwnPrivate | Site::OthersPrivate) => false,
        (Scope::World, Site::Group | Site::Joined | Site::Foreign) => leads,
        // A message in this Room is a reply.
        (Scope::Elsewhere, Site::Private | Site::Group) => false,
        (Scope::Elsewhere, Site::OwnPrivate | Site::Joined) => true,
        (Scope::Elsewhere, Site::Foreign) => leads,
        (Scope::Outside, _) => owns_agent,
    };
    let beyond = match scope {
        Scope::Conversation | Scope::Speaker => false,
        Scope::Room => !matches!(site, Site::Private | Site::Group),
        Scope::Elsewhere => site != Site::OwnPrivate,
        Scope::World | Scope::Outside => true,
    };
    match (allowed, beyond && authorship == Authorship::Others) {
        (false, _) => Ruling::Refuse,
        (true, true) => Ruling::Confirm,
        (true, false) => Ruling::Allow,
    }
}

/// A cell of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Row {
    /// Effect of the action.
    pub scope: Scope,
    /// Role of the asking person in that place.
    pub standing: Standing,
    /// Position of the effect.
    pub site: Site,
    /// Authors of the prompt's words.
    pub authorship: Authorship,
    /// Ruling.
    pub ruling: Ruling,
}

/// Every cell of the table, in order.
pub fn rows() -> impl Iterator<Item = Row> {
    let cells =
        Scope::ALL.iter().flat_map(|scope| Site::ALL.iter().map(move |site| (*scope, *site)));
    let cells = cells.flat_map(|(scope, site)| {
        Standing::ALL.iter().map(move |standing| (scope, site, *standing))
    });
    cells.flat_map(|(scope, site, standing)| {
        Authorship::ALL.iter().map(move |authorship| Row {
            scope,
            standing,
            site,
            authorship: *authorship,
            ruling: rule(scope, standing, site, *authorship),
        })
    })
}

#[cfg(test)]
mod tests;
