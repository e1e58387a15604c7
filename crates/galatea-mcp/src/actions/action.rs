//! A tool of a server as an action.

use async_trait::async_trait;
use galatea_core::{
    ActionDocs, ActionResult, AnyAction, Result, Turn,
    model::schema,
    rights::{Scope, ToolIdentity},
};
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};
use std::{sync::Arc, time::Duration};

use super::{ask::Asks, menu::Menu};
use crate::{
    client::server::{Called, Server},
    config::LONGEST_CALL,
    outcome::{Outcome, result},
    tools::Tool,
};

/// Longest arguments of a call, in bytes of JSON.
const LONGEST: usize = 64 << 10;

/// A tool as an action. It is bound to the tool as it was approved.
pub(crate) struct ToolAction {
    pub(crate) server: Arc<Server>,
    pub(crate) tool: Arc<Tool>,
    pub(crate) menu: Arc<Menu>,
    pub(crate) asks: Arc<Asks>,
}

#[async_trait]
impl AnyAction for ToolAction {
    fn docs(&self) -> ActionDocs {
        ActionDocs {
            name: self.tool.action.clone(),
            similes: Vec::new(),
            description: self.tool.description.clone(),
            parameters: Arc::clone(&self.tool.parameters),
        }
    }

    fn has_side_effect(&self) -> bool {
        // Whether it has none is only known from its server, which may say anything.
        true
    }

    fn scope(&self) -> Scope {
        Scope::Outside
    }

    fn time(&self) -> Duration {
        LONGEST_CALL
    }

    fn tool(&self) -> Option<ToolIdentity> {
        Some(identity(&self.server, &self.tool))
    }

    async fn validate(&self, turn: &Turn<'_>) -> Result<bool> {
        Ok(self.server.is_ready() && self.menu.fits(turn))
    }

    async fn run(
        &self,
        turn: &Turn<'_>,
        params: Value,
        _: &[ActionResult],
    ) -> Result<ActionResult> {
        Ok(run(&self.server, &self.tool, &self.asks, turn, params).await)
    }
}

/// The tool as grants name it. A grant and a consent are void after another command, address or
/// description.
pub(crate) fn identity(server: &Server, tool: &Tool) -> ToolIdentity {
    let config = server.config();
    let whole = format!("{}{}", config.identity(), tool.pin);
    let pin = crate::config::hex(&Sha256::digest(whole.as_bytes()));
    ToolIdentity::new(&config.name, &tool.name).pinned(pin)
}

/// Calls a tool for a turn.
pub(crate) async fn run(
    server: &Arc<Server>,
    tool: &Arc<Tool>,
    asks: &Asks,
    turn: &Turn<'_>,
    params: Value,
) -> ActionResult {
    let arguments = match checked(tool, params) {
        Ok(arguments) => arguments,
        Err(why) => return result(Outcome::failed(why)),
    };
    let offer = server.offer();
    if !offer.approved().any(|now| now.name == tool.name && now.pin == tool.pin) {
        return result(Outcome::failed(
            "The tool is described in another way now, and stays off until its owner approves it.",
        ));
    }
    match server.call(tool, arguments).await {
        Called::Done(outcome) => result(outcome),
        Called::Asks(question, paused) => asks.park(turn, server, question, paused),
    }
}

/// The arguments, if they fit the tool's schema.
fn checked(tool: &Tool, params: Value) -> Result<Map<String, Value>, String> {
    let params = if params.is_null() { Value::Object(Map::new()) } else { params };
    let misfits = schema::misfits(&params, &tool.parameters);
    let Value::Object(arguments) = params else {
        return Err("The arguments are not a JSON object.".to_owned());
    };
    if !misfits.is_empty() {
        return Err(format!("The arguments do not fit: {}. Correct them.", misfits.join("; ")));
    }
    if Value::Object(arguments.clone()).to_string().len() > LONGEST {
        return Err("The arguments are too long.".to_owned());
    }
    Ok(arguments)
}
