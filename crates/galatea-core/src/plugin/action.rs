//! Something that the model can decide to do.

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::{Map, Value};
use std::{sync::Arc, time::Duration};

use crate::{
    content::{Content, Media},
    error::{Error, Result},
    message::Address,
    plugin::action_docs::lean,
    rights::{Authorship, Scope, ToolIdentity},
    store::RequestedChange,
    turn::Turn,
};

pub use crate::plugin::action_docs::ActionDocs;

/// Something the model can decide to do. Authors write typed code; JSON stays at the model's edge.
///
/// ```
/// use async_trait::async_trait;
/// use galatea_core::{Action, ActionDocs, ActionResult, Content, Result, Turn, rights::Scope};
///
/// #[derive(serde::Deserialize, schemars::JsonSchema)]
/// struct Params {
///     /// Name of the person to greet.
///     name: String,
/// }
/// struct Greet;
/// #[async_trait]
/// impl Action for Greet {
///     const NAME: &'static str = "GREET";
///     const SCOPE: Scope = Scope::Conversation;
///     type Params = Params;
///     fn docs(&self) -> ActionDocs {
///         ActionDocs::of::<Self>("Greets a person by name.", &["SAY_HELLO"])
///     }
///     async fn validate(&self, turn: &Turn<'_>) -> Result<bool> {
///         Ok(!turn.room.kind.is_direct())
///     }
///     async fn run(&self, _: &Turn<'_>, p: Params, _: &[ActionResult]) -> Result<ActionResult> {
///         Ok(ActionResult::ok("greeted").say(Content::text(format!("Hello, {}!", p.name))))
///     }
/// }
/// assert_eq!(Greet.docs().parameters["required"][0], "name");
/// ```
#[async_trait]
pub trait Action: Send + Sync + 'static {
    /// elizaOS style name, such as `SEND_MESSAGE`.
    const NAME: &'static str;
    /// It changes something outside of the turn's commit while it runs: at another service, or in
    /// the store. Its result is journaled, and a turn that is run again after a crash uses that
    /// instead of doing it twice. What is returned as drafts and effects needs no journal.
    const SIDE_EFFECT: bool = false;
    /// Scope: the table of [`crate::rights`] decides by it who may have it done where.
    /// Unless declared, only the agent's owners.
    const SCOPE: Scope = Scope::Outside;
    /// Longest time of one run; the turn's own deadline may come before it.
    const TIME: Duration = Duration::from_secs(30);
    /// Arguments, with doc comments for the model.
    type Params: DeserializeOwned + JsonSchema + Send;

    /// Name, description and schema for the model. Called once, when the plugin is loaded.
    fn docs(&self) -> ActionDocs;
    /// True if the model may call it in this turn. Called before the prompt is made, and again
    /// before [`Self::run`]. An error counts as no.
    async fn validate(&self, turn: &Turn<'_>) -> Result<bool>;
    /// Does it. Called after the model asked for it and the table of [`crate::rights`] allowed it.
    /// A failure becomes a result that the model reads. `earlier` are the results of this turn so
    /// far.
    async fn run(
        &self,
        turn: &Turn<'_>,
        params: Self::Params,
        earlier: &[ActionResult],
    ) -> Result<ActionResult>;
}

impl ActionDocs {
    /// Docs with the schema of `A::Params`.
    pub fn of<A: Action>(description: &str, similes: &[&str]) -> Self {
        Self {
            name: A::NAME.to_owned(),
            similes: similes.iter().map(|s| (*s).to_owned()).collect(),
            description: description.to_owned(),
            parameters: Arc::new(parameters::<A>()),
        }
    }
}

/// The schema of the arguments as a whole. What the type is for stands in the description.
fn parameters<A: Action>() -> Value {
    let mut schema = lean(schemars::schema_for!(A::Params).to_value());
    if let Some(fields) = schema.as_object_mut() {
        fields.remove("description");
    }
    schema
}

/// Result of an action. Drafts and effects are committed together with the turn.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct ActionResult {
    /// False makes the engine drop the result's messages and changes.
    pub success: bool,
    /// For the model and the log: what happened.
    pub text: String,
    /// Authors of `text`, `data` and `drafts`. Other people's unless the action says so
    /// ([`Self::own`]): the model then reads it as it reads what strangers write, and what it does
    /// afterwards in this turn is judged like that.
    #[serde(default)]
    pub authorship: Authorship,
    /// Values for later actions of the same plan, which get the results so far.
    pub data: Map<String, Value>,
    /// Messages for this room.
    pub drafts: Vec<Content>,
    /// Files that it made or fetched, sent with the answer. Never put into `text`.
    #[serde(default)]
    pub files: Vec<Media>,
    /// Messages for other rooms.
    pub elsewhere: Vec<(Address, Content)>,
    /// Changes that are stored in the turn's commit, after the rights were checked.
    pub effects: Vec<RequestedChange>,
    /// Name of the action; filled in by the line.
    pub action: String,
}

impl ActionResult {
    /// A success; `text` says what was done, to the model and in `galatea explain`. It counts as
    /// other people's words until [`Self::own`].
    pub fn ok(text: impl Into<String>) -> Self {
        Self { success: true, text: text.into(), ..Self::default() }
    }
    /// A failure; `text` says why, to the model and in `galatea explain`.
    pub fn failed(text: impl Into<String>) -> Self {
        Self { text: crate::redact::masked_string(text.into()), ..Self::default() }
    }
    /// Says that nothing of the result was written by others: it is the program's own sentence, with
    /// at most what the person who is answered wrote. Not for text of a service, a file or a memory.
    #[must_use]
    pub fn own(mut self) -> Self {
        self.authorship = Authorship::Own;
        self
    }
    /// With a file for the answer.
    #[must_use]
    pub fn file(mut self, file: Media) -> Self {
        self.files.push(file);
        self
    }
    /// With something to say here.
    #[must_use]
    pub fn say(mut self, content: Content) -> Self {
        self.drafts.push(content);
        self
    }
    /// With a change to apply.
    #[must_use]
    pub fn effect(mut self, effect: RequestedChange) -> Self {
        self.effects.push(effect);
        self
    }
}

/// An [`Action`] with its parameter type erased; made by [`erase`].
#[async_trait]
pub trait AnyAction: Send + Sync {
    /// Description for the model. Called once, when the plugin is loaded.
    fn docs(&self) -> ActionDocs;
    /// [`Action::SIDE_EFFECT`]; read before each run.
    fn has_side_effect(&self) -> bool {
        false
    }
    /// [`Action::SCOPE`]; read before the action is offered, and again before it runs.
    fn scope(&self) -> Scope {
        Scope::Outside
    }
    /// [`Action::TIME`]; read before each run.
    fn time(&self) -> Duration {
        Duration::from_secs(30)
    }
    /// Its name in grants ([`crate::rights::Grant`]), with the hash of its description where that may
    /// change without a new program; none: the plugin's name and that of [`Self::docs`]. Read when
    /// the plugin is loaded, and before each run: a grant or consent of another pin is void.
    fn tool(&self) -> Option<ToolIdentity> {
        None
    }
    /// The tool that a call with these arguments uses, where an action only passes calls on. Read before
    /// each run: grants of that tool are asked, and a consent is for it.
    fn tool_of(&self, params: &Value) -> Option<ToolIdentity> {
        let _ = params;
        self.tool()
    }
    /// The arguments of a call by a person who writes `/name words`; none if this is no command of the
    /// action. `name` is in lower case. Called before the model is asked, for messages whose command is
    /// none of [`crate::COMMANDS`].
    fn command(&self, name: &str, words: &str) -> Option<Value> {
        let _ = (name, words);
        None
    }
    /// True if it is offered. Called for each turn before its prompt is made.
    async fn validate(&self, turn: &Turn<'_>) -> Result<bool>;
    /// Does it, with arguments as the model wrote them. Called after the model asked for it and the
    /// table of rights allowed it.
    async fn run(
        &self,
        turn: &Turn<'_>,
        params: Value,
        earlier: &[ActionResult],
    ) -> Result<ActionResult>;
}

/// Erases the parameter type.
pub fn erase<A: Action>(action: A) -> Arc<dyn AnyAction> {
    Arc::new(Erased(action))
}

struct Erased<A>(A);

#[async_trait]
impl<A: Action> AnyAction for Erased<A> {
    fn docs(&self) -> ActionDocs {
        self.0.docs()
    }
    fn has_side_effect(&self) -> bool {
        A::SIDE_EFFECT
    }
    fn scope(&self) -> Scope {
        A::SCOPE
    }
    fn time(&self) -> Duration {
        A::TIME
    }
    async fn validate(&self, turn: &Turn<'_>) -> Result<bool> {
        self.0.validate(turn).await
    }
    async fn run(
        &self,
        turn: &Turn<'_>,
        params: Value,
        earlier: &[ActionResult],
    ) -> Result<ActionResult> {
        let params = if params.is_null() { Value::Object(Map::new()) } else { params };
        let params = serde_json::from_value(params).map_err(|e| {
            Error::invalid("the model gave unusable arguments")
                .with("action", A::NAME)
                .with("cause", e)
        })?;
        self.0.run(turn, params, earlier).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[derive(Deserialize, JsonSchema)]
    #[allow(dead_code, reason = "only its schema is looked at")]
    struct Params {
        /// Where to.
        target: String,
        /// How often.
        times: Option<u32>,
        /// A field of that name.
        title: Option<Inner>,
    }

    #[derive(Deserialize, JsonSchema)]
    #[allow(dead_code, reason = "only its schema is looked at")]
    struct Inner {
        default: Vec<f32>,
    }

    #[test]
    fn a_schema_holds_what_a_model_needs() {
        let schema = lean(schemars::schema_for!(Params).to_value());
        let text = schema.to_string();
        assert!(
            !text.contains("$schema")
                && !text.contains("null")
                && !text.contains("uint32")
                && !text.contains("\"Params\""),
            "{text}"
        );
        assert_eq!(
            schema["properties"]["times"],
            json!({ "description": "How often.", "type": "integer", "minimum": 0 })
        );
        assert_eq!(schema["properties"]["title"]["description"], "A field of that name.");
        assert_eq!(schema["required"], json!(["target"]));
        assert_eq!(schema["$defs"]["Inner"]["properties"]["default"]["type"], "array");
    }
}
