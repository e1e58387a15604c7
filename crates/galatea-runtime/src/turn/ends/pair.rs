//! Gives a stranger a code for the owner to approve, or admits one who was invited.

use galatea_core::{Content, Event, Result, StepOutcome, Verdict};

use crate::{
    budget::Budget,
    pairing,
    turn::{
        commit::{commit, outcome::Outcome},
        context::{TurnContext, TurnPlace},
        engine::Engine,
        message::Waiting,
    },
};

/// Finishes a stranger's message with a pairing code, or says in the verdict why there is none.
pub(crate) async fn welcome(
    engine: &Engine,
    place: &TurnPlace,
    waiting: Waiting,
    mut verdict: Verdict,
) -> Result<()> {
    let info = &place.info;
    let entity = waiting.entry.memory.entity_id;
    let name = waiting
        .entry
        .memory
        .metadata
        .get("entityName")
        .and_then(serde_json::Value::as_str)
        .unwrap_or("someone")
        .to_owned();
    let entry = &waiting.entry;
    let args = entry.envelope.command.as_ref().map_or("", |command| command.args.as_str());
    let text = format!("{} {args}", entry.memory.content.text);
    let welcome = {
        let _one_at_a_time = engine.state.pairing.lock().await;
        let source = &info.room.source;
        let stranger = pairing::Stranger { entity, source, name: &name, text: &text };
        pairing::welcome(&engine.store, &engine.clock, engine.view.identity.id(), &stranger).await?
    };
    let mut outcome = Outcome::default();
    match welcome {
        pairing::Welcome::Code(code) => {
            outcome.replies.push(Content::text(format!(
                "I only talk to people my owner knows. Ask the owner to run:\n\n`galatea pairing approve {code}`\n\nThe code is good for one hour."
            )));
            verdict.step("pairing", StepOutcome::Note, "a code was sent");
        }
        pairing::Welcome::Invited => {
            outcome.replies.push(Content::text("Welcome! My owner invited you: write to me whenever you like."));
            verdict.step("pairing", StepOutcome::Note, "they wrote the code of an invitation and are admitted");
        }
        pairing::Welcome::TooMany => verdict.step(
            "pairing",
            StepOutcome::Note,
            "too many strangers wrote within this minute: a later message gets a code, and an invitation (`galatea pairing invite`) always works",
        ),
        pairing::Welcome::NoReply => verdict.step(
            "pairing",
            StepOutcome::Note,
            "they had a notice a while ago; no further one is sent for now",
        ),
    }
    let decision = verdict.decision;
    let (room, memory) = (info.room.id, waiting.entry.memory.id);
    let visit = Budget::bystander(&place.policy, info, entity);
    let context = TurnContext::new(engine, place, waiting.clone(), verdict.clone(), visit);
    commit(engine, &context, outcome, vec![(waiting, verdict)]).await?;
    engine.events.publish(Event::TurnDecided {
        agent: engine.view.identity.id(),
        room,
        turn: context.turn,
        memory,
        decision,
    });
    Ok(())
}
