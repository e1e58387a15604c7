//! Checks what an action is about to do, and what it returned, against the table of rights
//! and the platform's own rules.

use galatea_core::{
    ActionResult, Address, EntityId, RemoteId, Result, Room, Speak, Store, Task, Turn, World,
    rights::{
        Authorship, Grant, Ruling, Scope, Site, Standing, ToolIdentity, ToolUse, judge, rule,
    },
    standing,
    store::RequestedChange,
    world_settings::{self, LONGEST_WORLD_SETTING},
};
use std::{collections::BTreeSet, sync::Arc};

use crate::{config::Confirmation, directory::Directory, outbox::Outbox, turn::Engine};

/// elizaOS's tag of a decision that is open in a Room.
const OPEN_CHOICE: &str = "AWAITING_CHOICE";

/// Consent of the person who asked to exactly this action.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Consent {
    /// They asked for it, as the model understood.
    Asked,
    /// They were shown it and confirmed it.
    Given,
}

/// A ruling and the rule behind it, without any message text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Checked {
    pub(super) ruling: Ruling,
    pub(super) why: String,
    /// If it has to be confirmed: the person may answer for longer than this once.
    pub(super) may_be_kept: bool,
}

impl Checked {
    fn allowed() -> Self {
        Self { ruling: Ruling::Allow, why: String::new(), may_be_kept: false }
    }

    fn refused(why: &str) -> Self {
        Self { ruling: Ruling::Refuse, why: why.to_owned(), may_be_kept: false }
    }

    fn deletes() -> Self {
        Self {
            ruling: Ruling::Confirm,
            why: "it deletes what others wrote".to_owned(),
            may_be_kept: false,
        }
    }

    /// The stricter of two.
    pub(super) fn or_worse(self, other: Self) -> Self {
        if other.ruling > self.ruling { other } else { self }
    }
}

/// An action as its author and its plugin describe it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Declared<'a> {
    pub(super) tool: &'a ToolIdentity,
    pub(super) scope: Scope,
    pub(super) side_effect: bool,
}

/// Checks the actions of one step of a turn.
pub(super) struct Checker<'a> {
    turn: &'a Turn<'a>,
    store: &'a dyn Store,
    directory: &'a Directory,
    outbox: &'a Outbox,
    confirmation: Confirmation,
    consent: Consent,
    /// The agent's grants; none while they cannot be read, so nothing is done.
    grants: Option<Arc<[Grant]>>,
    /// Authors of what the tools of earlier steps returned.
    returned: Authorship,
}

impl<'a> Checker<'a> {
    pub(super) fn new(
        turn: &'a Turn<'a>,
        engine: &'a Engine,
        consent: Consent,
        grants: Option<Arc<[Grant]>>,
    ) -> Self {
        Self {
            turn,
            store: &*engine.store,
            directory: &engine.directory,
            outbox: &engine.outbox,
            confirmation: engine.limits.confirmation,
            consent,
            grants,
            returned: Authorship::Own,
        }
    }

    /// After steps whose results had these authors: the model has read them.
    pub(super) fn after(mut self, returned: Authorship) -> Self {
        self.returned = returned;
        self
    }

    /// Checks an action by the scope that its author declared, before it runs. An action that sends
    /// messages elsewhere is checked by what it returns, unless it sends them itself.
    pub(super) fn scope(&self, action: Declared<'_>) -> Checked {
        let people: BTreeSet<EntityId> = standing::speakers(self.turn).collect();
        let people: Vec<EntityId> = people.into_iter().collect();
        self.scope_for(standing::standing(self.turn, self.turn.world), action, &people)
    }

    /// Check for the person of the conversation who may do most.
    pub(super) fn scope_of_present(&self, action: Declared<'_>) -> Checked {
        self.scope_for(standing::highest_present(self.turn), action, &[])
    }

    /// The table's ruling, as the grants change it.
    fn scope_for(
        &self,
        standing: Result<Standing>,
        action: Declared<'_>,
        people: &[EntityId],
    ) -> Checked {
        let Ok(standing) = standing else {
            return Checked::refused("AGENT_OWNERS cannot be read");
        };
        let Some(grants) = &self.grants else {
            return Checked::refused("the grants of tools cannot be read just now");
        };
        let table = match action.scope {
            Scope::Elsewhere if !action.side_effect => Checked::allowed(),
            Scope::Elsewhere => self.decide(action.scope, standing, Site::Foreign),
            _ => self.decide(action.scope, standing, here(self.turn)),
        };
        let judged = judge(
            grants,
            &ToolUse {
                tool: action.tool,
                world: Some(self.turn.room.world_id),
                room: self.turn.room.id,
                people,
                standing,
                table: table.ruling,
                words: self.words(),
                given: self.consent == Consent::Given,
                may_be_kept: self.confirmation == Confirmation::OthersWords,
            },
        );
        let why = match judged.by {
            Some(grant) => format!("a grant says {grant}; the speaker is {standing} here"),
            None => table.why,
        };
        Checked { ruling: judged.ruling, why, may_be_kept: judged.may_be_kept }
    }

    /// Authors of the words before the model, as far as they count.
    fn words(&self) -> Authorship {
        match (self.confirmation, self.consent) {
            (Confirmation::Never, _) | (_, Consent::Given) => Authorship::Own,
            (Confirmation::Always, _) => Authorship::Others,
            (Confirmation::OthersWords, _) => self.returned.max(standing::authorship(self.turn)),
        }
    }

    /// Check of an action's result: each message elsewhere and each change for itself, the
    /// strictest ruling counts.
    pub(super) async fn result(&self, result: &ActionResult) -> Checked {
        let mut worst = Checked::allowed();
        for (there, _) in &result.elsewhere {
            worst = worst.or_worse(
                self.message(there)
                    .await
                    .unwrap_or_else(|_| Checked::refused("the place could not be looked up")),
            );
        }
        for effect in &result.effects {
            worst = worst.or_worse(
                self.change(effect)
                    .await
                    .unwrap_or_else(|_| Checked::refused("the place could not be looked up")),
            );
        }
        worst
    }

    fn decide(&self, scope: Scope, standing: Standing, site: Site) -> Checked {
        let ruling = rule(scope, standing, site, self.words());
        let why = match ruling {
            Ruling::Allow => String::new(),
            Ruling::Confirm if self.confirmation == Confirmation::Always => {
                format!(
                    "{scope}, in {site}, for a speaker who is {standing} there, since ACTION_CONFIRMATION is always"
                )
            }
            Ruling::Confirm => format!(
                "{scope}, in {site}, for a speaker who is {standing} there, while other people's words are in the prompt"
            ),
            Ruling::Refuse => format!("{scope}, in {site}, for a speaker who is {standing} there"),
        };
        Checked { ruling, why, may_be_kept: false }
    }

    /// Something that is said elsewhere.
    async fn message(&self, there: &Address) -> Result<Checked> {
        let Some(info) = self.directory.rooms.load(self.store, there.room).await? else {
            return Ok(Checked::refused("there is no such room"));
        };
        let room = &info.room;
        if room.agent_id != self.turn.agent.identity.id()
            || room.source != there.source
            || room.account != there.account
            || room.remote != there.remote
        {
            return Ok(Checked::refused("there is no such room"));
        }
        let (standing, site) = (
            standing::standing(self.turn, info.world.as_ref())?,
            standing::site(self.turn, room).await?,
        );
        let checked = self.decide(Scope::Elsewhere, standing, site);
        let others =
            matches!(site, Site::Joined | Site::Foreign) && standing != Standing::AgentOwner;
        if checked.ruling == Ruling::Refuse || !others || self.may_speak(room, there).await {
            return Ok(checked);
        }
        Ok(Checked::refused(
            "the platform does not let the person who asks say something there, or cannot tell",
        ))
    }

    /// The platform's right to speak: of each person who asks, as it stands now.
    async fn may_speak(&self, room: &Room, there: &Address) -> bool {
        // An equal number on another platform is another person.
        if room.source != self.turn.room.source {
            return false;
        }
        let Some(route) = self.outbox.routes.ready(&there.source, &there.account) else {
            return false;
        };
        let speakers: BTreeSet<EntityId> = standing::speakers(self.turn).collect();
        for speaker in speakers {
            let Some(remote) = remote(self.turn, speaker).await else { return false };
            match route.stack.may_speak(there, &remote).await {
                Ok(Speak::Yes) => {}
                Ok(Speak::No | Speak::Unknown) => return false,
                Err(error) => {
                    tracing::info!(turn = %self.turn.id, room = %room.id, error = %error.report(), "the right of a person to speak in a room could not be asked; nothing is said there");
                    return false;
                }
            }
        }
        true
    }

    /// Scope of a change by an action: the scope follows from the row that changes.
    async fn change(&self, effect: &RequestedChange) -> Result<Checked> {
        let person = |entity: EntityId| {
            if standing::speakers(self.turn).all(|speaker| speaker == entity) {
                Scope::Speaker
            } else {
                Scope::Outside
            }
        };
        let (scope, standing, site) = match effect {
            RequestedChange::SetParticipantState { room, .. }
            | RequestedChange::MergeRoomMetadata { room, .. } => {
                let Some(info) = self.directory.rooms.load(self.store, *room).await? else {
                    return Ok(Checked::refused("there is no such room"));
                };
                (
                    Scope::Room,
                    standing::standing(self.turn, info.world.as_ref())?,
                    standing::site(self.turn, &info.room).await?,
                )
            }
            // It deletes what all members wrote, so a word that the model misread is not enough, whatever
            // `ACTION_CONFIRMATION` says.
            RequestedChange::SetRetention { world, days } => {
                let standing = standing::standing(self.turn, self.turn.world)?;
                if *world != self.turn.room.world_id || standing < Standing::Owner {
                    return Ok(Checked::refused(
                        "only its owner says how long a World keeps messages",
                    ));
                }
                let checked = self.decide(Scope::World, standing, here(self.turn));
                let asks = *days > 0 && self.consent == Consent::Asked;
                return Ok(if asks { checked.or_worse(Checked::deletes()) } else { checked });
            }
            RequestedChange::SetWorldSetting { world, key, value } => {
                let standing = standing::standing(self.turn, self.turn.world)?;
                if *world != self.turn.room.world_id || standing < Standing::Admin {
                    return Ok(Checked::refused("only admins of a World change its settings"));
                }
                let declared = world_settings::declared(&self.turn.agent.character.settings);
                // A grapheme of people's languages takes a few bytes.
                let long =
                    value.as_ref().is_some_and(|value| value.len() > 8 * LONGEST_WORLD_SETTING);
                let known = world_settings::is_own(key)
                    || declared.iter().any(|setting| setting.key == *key);
                if long || !known {
                    return Ok(Checked::refused(
                        "the character declares no such setting of Worlds",
                    ));
                }
                (Scope::World, standing, here(self.turn))
            }
            RequestedChange::SetRole { world, .. } if *world == self.turn.room.world_id => {
                (Scope::World, standing::standing(self.turn, self.turn.world)?, here(self.turn))
            }
            RequestedChange::SetRole { world, .. } => {
                let there: Option<World> = self.store.world(*world).await?;
                // A private chat is a World of its own.
                let rooms = self.store.rooms(*world).await?;
                let private = rooms.iter().all(|room| room.kind.is_direct());
                (
                    Scope::World,
                    standing::standing(self.turn, there.as_ref())?,
                    if private { Site::OthersPrivate } else { Site::Foreign },
                )
            }
            RequestedChange::MergeEntityMetadata { entity, .. }
            | RequestedChange::ForgetPerson { entity } => {
                (person(*entity), standing::standing(self.turn, self.turn.world)?, here(self.turn))
            }
            // A link of people decides who sees what: the command alone asks for it, of both sides.
            RequestedChange::LinkPeople { .. } | RequestedChange::Unlink { .. } => {
                return Ok(Checked::refused("no action may link people"));
            }
            RequestedChange::SaveTask { task } => {
                let scope = task_scope(self.turn, task);
                (scope, standing::standing(self.turn, self.turn.world)?, here(self.turn))
            }
            RequestedChange::DeleteTask { .. } => {
                (Scope::Outside, standing::standing(self.turn, self.turn.world)?, here(self.turn))
            }
        };
        Ok(self.decide(scope, standing, site))
    }
}

/// Scope of a task that an action has stored: of a speaker in this Room, of this Room (a decision that
/// is open, or a task of no person), or of anything else.
fn task_scope(turn: &Turn<'_>, task: &Task) -> Scope {
    let is_here = task.room_id == Some(turn.room.id)
        && task.agent_id == turn.agent.identity.id()
        && task.world_id.is_none_or(|world| world == turn.room.world_id);
    let speaks = task.entity_id.is_some_and(|entity| standing::speakers(turn).any(|s| s == entity));
    match (is_here, task.run.is_some(), task.entity_id) {
        (true, true, Some(_)) if speaks => Scope::Speaker,
        (true, true, None) => Scope::Room,
        (true, false, _) if task.tags == [OPEN_CHOICE] => Scope::Room,
        _ => Scope::Outside,
    }
}

fn here(turn: &Turn<'_>) -> Site {
    if turn.room.kind.is_direct() { Site::Private } else { Site::Group }
}

/// A speaker's id on the platform.
async fn remote(turn: &Turn<'_>, speaker: EntityId) -> Option<RemoteId> {
    if speaker == turn.message.entity_id {
        return turn.envelope.entity_remote.clone();
    }
    let people = turn.store.entities(&[speaker]).await.ok()?;
    let id = people.first()?.metadata.get(turn.room.source.as_str())?.get("id")?.as_str()?;
    Some(RemoteId::new(id))
}
