//! Lets owners say in a chat who may use which tool, and lets people take back what they allowed.

use galatea_core::{
    Result, Role, Store, Turn,
    rights::{Grant, GrantAsk, GrantKind, Standing, ToolIdentity, ToolPattern, parse_least, role},
    standing,
};

use crate::{grants::KnownGrants, plugins::registry::Registry};

const HOW: &str = "Send /grant TOOL LEAST, such as /grant weather/* member. LEAST is member, admin, owner, agent-owner or nobody. \
                   Add here or world for this room or this World only, and never, others-words or always for when I ask first. \
                   /revoke TOOL takes it back; /grant alone lists what holds.";
/// Most grants in one answer.
const SHOWN: usize = 30;

/// The parts that these commands use.
pub(super) struct GrantParts<'a> {
    pub(super) store: &'a dyn Store,
    pub(super) registry: &'a Registry,
    pub(super) known: &'a KnownGrants,
}

/// Power of the person over grants here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Power {
    /// Rules, for all Worlds.
    Agent,
    /// Limits, for this World.
    World,
    /// Only what the person allowed.
    Own,
}

fn power(turn: &Turn<'_>) -> Result<Power> {
    if standing::owns_agent(turn)? {
        return Ok(Power::Agent);
    }
    let leads = role(turn.world, turn.message.entity_id) == Role::Owner;
    Ok(if leads && !turn.room.kind.is_direct() { Power::World } else { Power::Own })
}

/// `/grant`: lists, or adds; gives what to say.
pub(super) async fn add(parts: &GrantParts<'_>, turn: &Turn<'_>, args: &str) -> Result<String> {
    let power = power(turn)?;
    if args.trim().is_empty() {
        return list(parts, turn, power).await;
    }
    if power == Power::Own {
        return Ok("Only my owners, and the owner of this World, can do that.".to_owned());
    }
    let grant = match read(turn, power, args) {
        Ok(Some(grant)) => grant,
        Ok(None) => return Ok(HOW.to_owned()),
        Err(error) => return Ok(sentence(&error)),
    };
    let tools: Vec<ToolIdentity> = parts.registry.tools().map(|(tool, _)| tool).collect();
    if let Err(error) = grant.tools.check(tools.iter()) {
        return Ok(sentence(&error));
    }
    // A rule for one tool is for the tool as it describes itself now.
    let pin = (grant.kind == GrantKind::Rule && grant.tools.is_exact())
        .then(|| tools.iter().find(|tool| grant.tools.matches(tool))?.pin.clone())
        .flatten();
    let grant = Grant { pin, ..grant };
    parts.store.save_grant(&grant).await?;
    parts.known.forget();
    Ok(format!("Done: {grant}."))
}

/// `/revoke`: takes back; gives what to say.
pub(super) async fn remove(parts: &GrantParts<'_>, turn: &Turn<'_>, args: &str) -> Result<String> {
    let Some(pattern) = args.split_whitespace().next() else { return Ok(HOW.to_owned()) };
    let pattern: ToolPattern = match pattern.parse() {
        Ok(pattern) => pattern,
        Err(error) => return Ok(sentence(&error)),
    };
    let (power, agent) = (power(turn)?, turn.agent.identity.id());
    let mut gone = Vec::new();
    for grant in parts.store.grants(agent).await? {
        let same = grant.tools.to_string().eq_ignore_ascii_case(&pattern.to_string());
        if same && may_see(&grant, turn, power) && parts.store.remove_grant(&grant).await? {
            gone.push(grant.to_string());
        }
    }
    parts.known.forget();
    Ok(if gone.is_empty() {
        format!("There is no grant of {pattern} that you can take back. /grant lists them.")
    } else {
        format!("Taken back: {}.", gone.join("; "))
    })
}

async fn list(parts: &GrantParts<'_>, turn: &Turn<'_>, power: Power) -> Result<String> {
    let grants = parts.store.grants(turn.agent.identity.id()).await?;
    let tools: Vec<ToolIdentity> = parts.registry.tools().map(|(tool, _)| tool).collect();
    let shown: Vec<String> = grants
        .iter()
        .filter(|grant| may_see(grant, turn, power))
        .take(SHOWN)
        .map(|grant| {
            let means = tools.iter().any(|tool| grant.tools.matches(tool));
            format!("- {grant}{}", if means { "" } else { " (I have no such tool now)" })
        })
        .collect();
    let more = if power == Power::Own { "" } else { HOW };
    Ok(match (shown.is_empty(), power) {
        (true, Power::Own) => "You have allowed no tool to go without a question.".to_owned(),
        (true, _) => format!("There are no grants: the table of rights decides.\n\n{more}"),
        (false, _) => format!("{}\n\n{more}", shown.join("\n")).trim().to_owned(),
    })
}

/// True if the person may see a grant here and take it back.
fn may_see(grant: &Grant, turn: &Turn<'_>, power: Power) -> bool {
    match grant.kind {
        // Of others nobody but the operator needs to know.
        GrantKind::Consent => grant.person == Some(turn.message.entity_id),
        GrantKind::Rule => power == Power::Agent,
        GrantKind::Limit => {
            power == Power::Agent
                || power == Power::World && grant.world == Some(turn.room.world_id)
        }
    }
}

/// The grant that the words ask for; none if they are not understood.
fn read(turn: &Turn<'_>, power: Power, args: &str) -> Result<Option<Grant>> {
    let mut words = args.split_whitespace();
    let (Some(tools), Some(least)) = (words.next(), words.next()) else { return Ok(None) };
    let Some(from) = parse_least(least) else { return Ok(None) };
    let (agent, world) = (turn.agent.identity.id(), Some(turn.room.world_id));
    let mut grant = Grant::rule(agent, tools.parse()?, from, turn.now());
    if power == Power::World {
        grant = Grant { kind: GrantKind::Limit, world, ..grant };
    }
    for word in words {
        match (word, GrantAsk::parse(word)) {
            (_, Some(ask)) => grant.ask = ask,
            ("here", None) => grant.room = Some(turn.room.id),
            ("world", None) => grant.world = world,
            _ => return Ok(None),
        }
    }
    // An owner of a World has no standing above it there.
    let beyond = power == Power::World && grant.from == Some(Standing::AgentOwner);
    Ok((!beyond).then_some(grant))
}

/// An error as an answer in a chat.
fn sentence(error: &galatea_core::Error) -> String {
    let asked = error.context().iter().find(|(key, _)| *key == "asked for");
    let asked = asked.map_or_else(String::new, |(_, asked)| format!(" ({asked})"));
    let fix = error.fix().map_or_else(String::new, |fix| format!(" Please {fix}."));
    format!("That does not work: {}{asked}.{fix}", error.message())
}
