//! JSON that fits a schema (elizaOS `OBJECT_SMALL`, `OBJECT_LARGE`), from a model that a plugin
//! brings for it, or from a text model. Broken JSON is mended; what does not fit is asked for again,
//! with what is wrong.

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::{sync::Arc, time::Duration};

use super::{
    ChatMessage, Finish, LIMIT_CODE, ModelInfo, Models, TextAnswer, TextModel, TextRequest, Tier,
    Usage, schema::misfits,
};
use crate::{
    clock::{Clock, SystemClock},
    error::{Error, ErrorKind, Result},
    mended_json,
};

/// elizaOS model types for objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum ObjectTier {
    /// Short objects, such as a decision.
    ObjectSmall,
    /// Long ones, such as a plan.
    ObjectLarge,
}

impl ObjectTier {
    /// The text type that answers where no object model does.
    pub fn text(self) -> Tier {
        match self {
            Self::ObjectSmall => Tier::TextSmall,
            Self::ObjectLarge => Tier::TextLarge,
        }
    }
}

/// A model that takes the schema as a parameter of its request, such as a service with constrained
/// decoding.
#[async_trait]
pub trait ObjectModel: Send + Sync {
    /// Name and provider. No I/O.
    fn info(&self) -> &ModelInfo;
    /// Makes one call: no retry in here. The text of the answer is the JSON. [`generate`] reads it,
    /// mends it, checks it against the schema, and asks again with what is wrong. The runtime ends
    /// the call at the request's deadline.
    async fn generate_object(&self, request: &TextRequest, schema: &Value) -> Result<TextAnswer>;
}

/// Longest time for an object where nothing says otherwise: the default of `MODEL_TOTAL_TIMEOUT`.
const TOTAL: Duration = Duration::from_secs(120);

/// The object models of one agent, those of the highest priority first.
#[derive(Clone)]
pub struct ObjectModels {
    /// For short objects.
    pub small: Vec<Arc<dyn ObjectModel>>,
    /// For long ones.
    pub large: Vec<Arc<dyn ObjectModel>>,
    /// The clock of [`TextRequest::deadline`].
    pub clock: Arc<dyn Clock>,
    /// Longest time for one object, all models together.
    pub total: Duration,
}

impl Default for ObjectModels {
    fn default() -> Self {
        Self { small: Vec::new(), large: Vec::new(), clock: Arc::new(SystemClock), total: TOTAL }
    }
}

impl ObjectModels {
    /// Models of a type.
    pub fn of(&self, tier: ObjectTier) -> &[Arc<dyn ObjectModel>] {
        match tier {
            ObjectTier::ObjectSmall => &self.small,
            ObjectTier::ObjectLarge => &self.large,
        }
    }
}

/// Times a model is asked for an object: once, and twice more with what was wrong.
const ASKS: usize = 3;
/// Longest object, in tokens, if the caller does not say otherwise: the longest list of facts that a
/// reflection may bring takes about half of it.
const LENGTH: u32 = 2_048;
/// Characters of an unfit answer that the model is shown again.
const SHOWN: usize = 4_000;

/// Result of asking for an object.
#[derive(Debug, Clone, PartialEq)]
pub struct Object {
    /// It fits the schema.
    pub value: Value,
    /// Use of all calls of the model that answered.
    pub usage: Usage,
    /// Number of questions to that model.
    pub asks: usize,
}

/// elizaOS `useModel` for object types: asks for an object that fits a JSON Schema. The request says
/// what the object is about. The object models of the type are asked first, by their priority. If one
/// fails, or gives nothing that fits, the next one is asked, and at last the text model, whose
/// instructions then contain the schema. One deadline bounds all of them: that of the request, or
/// [`ObjectModels::total`]. Each object model gets half of what is left of it for all its answers,
/// so that one that hangs or never fits leaves time to those behind it.
///
/// # Errors
/// Those of the text model ([`generate_by`]). A limit of money or tokens ([`LIMIT_CODE`]) ends it at
/// once.
pub async fn generate(
    models: &Models,
    tier: ObjectTier,
    request: &TextRequest,
    schema: &Value,
) -> Result<Object> {
    let (objects, text) = (models.objects.of(tier), models.text(tier.text()).as_ref());
    if objects.is_empty() {
        return generate_by(text, request, schema).await;
    }
    let clock = &models.objects.clock;
    let own = clock.now().plus(models.objects.total);
    let deadline = request.deadline.map_or(own, |asked| asked.min(own));
    for model in objects {
        let now = clock.now();
        let share = now.plus(deadline.since(now) / 2);
        let asked = TextRequest { deadline: Some(share), ..request.clone() };
        match fitting(Asking::Object(model.as_ref(), schema), &asked, schema).await {
            Ok(object) => return Ok(object),
            Err(error) if error.code() == Some(LIMIT_CODE) => return Err(error),
            Err(error) => {
                tracing::debug!(model = model.info().full_name(), error = %error.report(), "an object model gave no object; asking the next model");
            }
        }
    }
    let asked = TextRequest { deadline: Some(deadline), ..request.clone() };
    generate_by(text, &asked, schema).await
}

/// Asks a text model for an object that fits a JSON Schema, which is added to its instructions.
///
/// # Errors
/// Those of the model; `Unexpected` with the code `GAL-MODEL-UNUSABLE` and the last misfits when
/// its third answer does not fit either.
pub async fn generate_by(
    model: &dyn TextModel,
    request: &TextRequest,
    schema: &Value,
) -> Result<Object> {
    let form = form_of(schema);
    let system = request.system.as_deref().map(|own| format!("{own}\n\n{form}"));
    let request = TextRequest { system: Some(system.unwrap_or(form)), ..request.clone() };
    fitting(Asking::Text(model), &request, schema).await
}

/// Asks until an answer fits the schema.
async fn fitting(asking: Asking<'_>, request: &TextRequest, schema: &Value) -> Result<Object> {
    let request = TextRequest { tools: Arc::default(), ..request.clone() };
    let read = |answer: &TextAnswer| match read(&answer.text) {
        Some(_) if matches!(answer.finish, Finish::Length | Finish::Deadline) => Err(cut_off()),
        Some(value) => {
            let wrong = misfits(&value, schema);
            if wrong.is_empty() { Ok(value) } else { Err(wrong) }
        }
        None => Err(no_json()),
    };
    let ObjectAnswer { value, usage, asks, .. } = ask_by(asking, &request, ASKS, read).await?;
    Ok(Object { value, usage, asks })
}

/// Whom to ask, and how.
#[derive(Clone, Copy)]
enum Asking<'a> {
    Text(&'a dyn TextModel),
    Object(&'a dyn ObjectModel, &'a Value),
}

impl Asking<'_> {
    async fn call(self, request: &TextRequest) -> Result<TextAnswer> {
        match self {
            Self::Text(model) => model.generate(request, &|_| {}).await,
            Self::Object(model, schema) => model.generate_object(request, schema).await,
        }
    }
}

/// Result of asking for an answer of a form that the instructions describe.
#[derive(Debug, Clone, PartialEq)]
pub struct ObjectAnswer<T> {
    /// The value, which fits the schema.
    pub value: T,
    /// The model's last answer, for its usage.
    pub answer: TextAnswer,
    /// Use of all calls.
    pub usage: Usage,
    /// Number of questions to the model.
    pub asks: usize,
}

/// Asks a model for an answer that `read` takes, at most `asks` times. The request's instructions
/// describe the form; nothing is added to them. What `read` finds wrong is put to the model together
/// with its answer, and it is asked again.
///
/// # Errors
/// Those of the model; `Unexpected` with the code `GAL-MODEL-UNUSABLE` and what was wrong with the
/// last answer.
pub async fn ask<T>(
    model: &dyn TextModel,
    request: &TextRequest,
    asks: usize,
    read: impl Fn(&TextAnswer) -> std::result::Result<T, Vec<String>>,
) -> Result<ObjectAnswer<T>> {
    ask_by(Asking::Text(model), request, asks, read).await
}

async fn ask_by<T>(
    asking: Asking<'_>,
    request: &TextRequest,
    asks: usize,
    read: impl Fn(&TextAnswer) -> std::result::Result<T, Vec<String>>,
) -> Result<ObjectAnswer<T>> {
    let mut request = request.clone();
    request.length.get_or_insert(LENGTH);
    let mut usage = Usage::default();
    let mut wrong = Vec::new();
    for nth in 1..=asks {
        let answer = asking.call(&request).await?;
        usage.input = usage.input.saturating_add(answer.usage.input);
        usage.cached = usage.cached.saturating_add(answer.usage.cached);
        usage.stored = usage.stored.saturating_add(answer.usage.stored);
        usage.stored_long = usage.stored_long.saturating_add(answer.usage.stored_long);
        usage.output = usage.output.saturating_add(answer.usage.output);
        wrong = match read(&answer) {
            Ok(value) => return Ok(ObjectAnswer { value, answer, usage, asks: nth }),
            Err(wrong) => wrong,
        };
        let said: String = answer.text.chars().take(SHOWN).collect();
        let messages = Arc::make_mut(&mut request.messages);
        if !said.trim().is_empty() {
            messages.push(ChatMessage::assistant(said));
        }
        messages.push(ChatMessage::user(format!(
            "That does not fit the schema:\n- {}\nWrite the whole JSON value again, and nothing else.",
            wrong.join("\n- ")
        )));
    }
    Err(Error::new(ErrorKind::Unexpected, "the model gave no object that fits its schema")
        .with_code("GAL-MODEL-UNUSABLE")
        .with("asks", asks)
        .with("misfits", wrong.join("; ")))
}

/// Complaint about an answer that was cut off.
pub fn cut_off() -> Vec<String> {
    vec!["the answer: was cut off, make it shorter".to_owned()]
}

/// Complaint about an answer without JSON.
pub fn no_json() -> Vec<String> {
    vec!["the answer: holds no JSON".to_owned()]
}

fn form_of(schema: &Value) -> String {
    format!("Answer with one JSON value only, which fits this JSON Schema:\n{schema}")
}

/// The first object or list in an answer, which may have words and a fence around it.
fn read(text: &str) -> Option<Value> {
    let at = text.find(['{', '['])?;
    let value = mended_json::value_at(&text[at..]).value;
    (value.is_object() || value.is_array()).then_some(value)
}
