//! The models of one turn. Each call's cost is reserved before the call and settled after
//! it.

use async_trait::async_trait;
use galatea_core::{
    EmbeddingModel, Error, Models, Result, Sent, TextModel, TurnUsage,
    model::{
        Bill, MediaModels, ModelInfo, ObjectModel, ObjectModels, OnText, Price, ReasoningModels,
        TextAnswer, TextRequest, Usage,
    },
    store::{Amount, Day, StepKind, StepUse, UsageRow},
    tokens::Family,
};
use parking_lot::Mutex;
use serde_json::Value;
use std::{collections::BTreeMap, sync::Arc};

use super::{
    Budget, Visit,
    attempts::{Attempts, Counter},
    ledger::{Spend, Warning},
    price,
    refusal::Refusal,
    step_down::StepDown,
};
use crate::trace::{Recorder, StepClock};

/// Use of one turn, until it is committed.
pub(crate) struct Meter {
    budget: Arc<Budget>,
    pub(crate) visit: Visit,
    /// Records each call.
    trace: Arc<Recorder>,
    used: Mutex<BTreeMap<String, Amount>>,
    refused: Mutex<Option<Refusal>>,
}

impl Meter {
    pub(super) fn new(budget: Arc<Budget>, visit: Visit, trace: Arc<Recorder>) -> Arc<Self> {
        Arc::new(Self { budget, visit, trace, used: Mutex::default(), refused: Mutex::default() })
    }

    /// The text and embedding models, each call of them counted; [`Self::models`] adds the others.
    pub(super) fn text_models(self: &Arc<Self>, models: &Models) -> Models {
        let text = |inner: &Arc<dyn TextModel>| -> Arc<dyn TextModel> {
            if inner.info().scripted && self.trace.is_on() {
                Arc::new(Recorded { inner: Arc::clone(inner), meter: Arc::clone(self) })
            } else if inner.info().scripted {
                Arc::clone(inner)
            } else {
                Arc::new(Metered { inner: Arc::clone(inner), meter: Arc::clone(self) })
            }
        };
        let object = |inner: &Arc<dyn ObjectModel>| -> Arc<dyn ObjectModel> {
            Arc::new(MeteredObject { inner: Arc::clone(inner), meter: Arc::clone(self) })
        };
        let small = text(&models.small);
        Models {
            large: StepDown::wrap(text(&models.large), &small),
            small,
            reasoning: ReasoningModels {
                small: models.reasoning.small.as_ref().map(text),
                large: models.reasoning.large.as_ref().map(text),
            },
            vision: models.vision.as_ref().map(text),
            objects: ObjectModels {
                small: models.objects.small.iter().map(object).collect(),
                large: models.objects.large.iter().map(object).collect(),
                ..models.objects.clone()
            },
            embedding: models.embedding.as_ref().map(|inner| self.embedding(inner)),
            media: MediaModels::default(),
        }
    }

    /// An embedding model, each call of it counted.
    pub(crate) fn embedding(
        self: &Arc<Self>,
        inner: &Arc<dyn EmbeddingModel>,
    ) -> Arc<dyn EmbeddingModel> {
        Arc::new(MeteredEmbedding { inner: Arc::clone(inner), meter: Arc::clone(self) })
    }

    /// The limit that stopped a call of this turn, if one did.
    pub(crate) fn refusal(&self) -> Option<Refusal> {
        self.refused.lock().clone()
    }

    /// Adds to what no model stands for: answers, refusals, notices.
    pub(crate) fn count(&self, amount: Amount) {
        self.add(String::new(), amount);
    }

    /// Use since this was asked last, as rows of the ledger.
    pub(crate) fn take(&self) -> Vec<UsageRow> {
        let mut used = std::mem::take(&mut *self.used.lock());
        // Writes one row a turn where possible: what was answered stands with the model that wrote
        // it.
        if let Some(counted) = used.remove("") {
            let model = used
                .iter()
                .max_by_key(|(_, amount)| amount.output)
                .map(|(model, _)| model.clone())
                .unwrap_or_default();
            *used.entry(model).or_default() += counted;
        }
        let (visit, day) = (&self.visit, Day::of(self.budget.clock.now()));
        let row = |(model, amount)| UsageRow {
            agent: self.budget.agent,
            day,
            source: visit.source.clone(),
            world: visit.world,
            room: visit.room,
            person: visit.person,
            model,
            amount,
        };
        used.into_iter().filter(|(_, amount)| !amount.is_zero()).map(row).collect()
    }

    fn add(&self, model: String, amount: Amount) {
        *self.used.lock().entry(model).or_default() += amount;
    }

    fn reserve(
        self: &Arc<Self>,
        model: String,
        expected: Usage,
        price: Option<Price>,
    ) -> Result<Reservation> {
        self.set_aside(model, expected, price::cost(expected, price), price.is_none())
    }

    /// Makes a call that writes text, with its cost reserved before and settled after it. Nothing is
    /// called if a limit refuses it. `call` gets the request with the bill that its failed attempts
    /// stand on.
    async fn count_answer<F>(
        self: &Arc<Self>,
        info: &ModelInfo,
        request: &TextRequest,
        schema: Option<&Value>,
        call: impl FnOnce(TextRequest) -> F + Send,
    ) -> Result<TextAnswer>
    where
        F: Future<Output = Result<TextAnswer>> + Send,
    {
        let time = StepClock::start(&*self.budget.clock);
        let (mut expected, known) = (price::expected(request, info), info.known_price());
        if let Some(schema) = schema {
            expected.input += Family::of(&info.model).text(&schema.to_string());
        }
        let held = match self.reserve(info.full_name(), expected, known) {
            Ok(held) => held.agreed().await,
            Err(refusal) => Err(refusal),
        };
        let mut held =
            held.inspect_err(|error| self.trace.model(&time, info, request, Err(error)))?;
        let attempts = Attempts::new(Arc::clone(self) as _, expected, held.estimate);
        held.attempts = Some(Arc::clone(&attempts));
        let bill = Bill::to(Arc::clone(&attempts) as _);
        match call(TextRequest { bill, ..request.clone() }).await {
            Ok(answer) => {
                let used = price::taken(&answer, expected, info);
                let known = price::of_answer(&answer, info);
                let by = answer.by.as_ref().map(|by| format!("{} {}", by.provider, by.model));
                let cost = price::cost(used, known);
                held.settle(by, used, cost, known.is_none());
                let micros = known.map(|_| cost.micros);
                self.trace.model(&time, info, request, Ok((&answer, used, micros)));
                Ok(answer)
            }
            Err(error) => {
                attempts.end(info, &error);
                held.release();
                self.trace.model(&time, info, request, Err(&error));
                Err(error)
            }
        }
    }

    /// Notes the limit that stopped a call.
    fn refuse(&self, estimate: Spend, refusal: Refusal) -> Error {
        let error = self.budget.advise(&self.visit, estimate, refusal.error());
        *self.refused.lock() = Some(refusal);
        error
    }

    /// Reserves an estimate, or refuses the call. `expected` is counted if the call is given up.
    pub(super) fn set_aside(
        self: &Arc<Self>,
        model: String,
        expected: Usage,
        estimate: Spend,
        unpriced: bool,
    ) -> Result<Reservation> {
        match self.budget.reserve(&self.visit, estimate) {
            Ok(()) => Ok(Reservation {
                meter: Arc::clone(self),
                model,
                estimate,
                expected,
                unpriced,
                attempts: None,
                done: false,
            }),
            Err(refusal) => Err(self.refuse(estimate, refusal)),
        }
    }
}

impl Counter for Meter {
    fn reserve_next(&self, held: Spend, needed: Spend) -> Result<()> {
        self.budget
            .reserve_next(&self.visit, held, needed)
            .map_err(|refusal| self.refuse(needed, refusal))
    }

    fn charge(&self, model: String, used: Usage, cost: Spend, unpriced: bool) {
        self.budget.warn(self.budget.charge(&self.visit, cost));
        self.add(model, amount(used, cost, unpriced));
    }
}

impl TurnUsage for Meter {
    fn take(&self) -> Vec<UsageRow> {
        Self::take(self)
    }

    fn put_back(&self, rows: Vec<UsageRow>) {
        self.budget.keep(rows);
    }
}

impl Drop for Meter {
    fn drop(&mut self) {
        // The turn was given up; what it used is written down with the next one.
        let rows = self.take();
        self.budget.keep(rows);
    }
}

/// Reservation for a call. Dropped while it is under way (the turn took too long, or began
/// again), it counts as spent: the provider may well bill it.
pub(super) struct Reservation {
    meter: Arc<Meter>,
    model: String,
    estimate: Spend,
    expected: Usage,
    unpriced: bool,
    /// Of a call that may report its attempts one by one. They change what is set aside.
    attempts: Option<Arc<Attempts>>,
    done: bool,
}

impl Reservation {
    /// The reservation, once it fits beside what other processes use and reserve.
    ///
    /// # Errors
    /// The refusal, with the reservation given back, and errors of the store.
    pub(super) async fn agreed(self) -> Result<Self> {
        let meter = Arc::clone(&self.meter);
        match meter.budget.agree_call(&meter.visit).await {
            Ok(Ok(())) => Ok(self),
            Ok(Err(refusal)) => {
                let error = meter.refuse(self.estimate, refusal);
                self.release();
                Err(error)
            }
            Err(error) => {
                self.release();
                Err(error)
            }
        }
    }

    /// It came to this.
    pub(super) fn settle(
        mut self,
        model: Option<String>,
        used: Usage,
        cost: Spend,
        unpriced: bool,
    ) {
        if let Some(model) = model {
            self.model = model;
        }
        self.unpriced = unpriced;
        self.end(used, cost, 1);
    }

    /// Gives the whole reservation back: the call used nothing, or what it used is counted.
    pub(super) fn release(mut self) {
        self.end(Usage::default(), Spend::default(), 0);
    }

    /// A call without an answer: what the provider may charge for counts as spent.
    pub(super) fn fail(self, error: &Error) {
        if error.sent() == Sent::No {
            self.release();
        }
    }

    fn end(&mut self, used: Usage, cost: Spend, calls: u64) {
        self.done = true;
        let held = self.attempts.as_ref().map_or(self.estimate, |attempts| attempts.held());
        let warnings: Vec<Warning> = self.meter.budget.settle(&self.meter.visit, held, cost);
        self.meter.budget.warn(warnings);
        let amount = Amount { calls, ..amount(used, cost, self.unpriced) };
        self.meter.add(std::mem::take(&mut self.model), amount);
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        if self.done {
            return;
        }
        if self.attempts.as_ref().is_some_and(|attempts| attempts.are_reported()) {
            self.end(Usage::default(), Spend::default(), 0);
        } else {
            let (expected, estimate) = (self.expected, self.estimate);
            self.end(expected, estimate, 1);
        }
    }
}

/// A call.
fn amount(used: Usage, cost: Spend, unpriced: bool) -> Amount {
    Amount {
        calls: 1,
        input: used.input,
        cached: used.cached,
        output: used.output,
        unpriced: if unpriced { used.input.saturating_add(used.output) } else { 0 },
        micros: cost.micros,
        ..Amount::default()
    }
}

/// A script, whose calls cost nothing.
struct Recorded {
    inner: Arc<dyn TextModel>,
    meter: Arc<Meter>,
}

#[async_trait]
impl TextModel for Recorded {
    fn info(&self) -> &ModelInfo {
        self.inner.info()
    }

    async fn generate(&self, request: &TextRequest, on_text: &OnText<'_>) -> Result<TextAnswer> {
        let time = StepClock::start(&*self.meter.budget.clock);
        let outcome = self.inner.generate(request, on_text).await;
        let seen = outcome.as_ref().map(|answer| (answer, answer.usage, None));
        self.meter.trace.model(&time, self.inner.info(), request, seen);
        outcome
    }
}

struct Metered {
    inner: Arc<dyn TextModel>,
    meter: Arc<Meter>,
}

#[async_trait]
impl TextModel for Metered {
    fn info(&self) -> &ModelInfo {
        self.inner.info()
    }

    async fn generate(&self, request: &TextRequest, on_text: &OnText<'_>) -> Result<TextAnswer> {
        let call = async |request: TextRequest| self.inner.generate(&request, on_text).await;
        self.meter.count_answer(self.inner.info(), request, None, call).await
    }
}

struct MeteredObject {
    inner: Arc<dyn ObjectModel>,
    meter: Arc<Meter>,
}

#[async_trait]
impl ObjectModel for MeteredObject {
    fn info(&self) -> &ModelInfo {
        self.inner.info()
    }

    async fn generate_object(&self, request: &TextRequest, schema: &Value) -> Result<TextAnswer> {
        let call = async |request: TextRequest| self.inner.generate_object(&request, schema).await;
        self.meter.count_answer(self.inner.info(), request, Some(schema), call).await
    }
}

struct MeteredEmbedding {
    inner: Arc<dyn EmbeddingModel>,
    meter: Arc<Meter>,
}

#[async_trait]
impl EmbeddingModel for MeteredEmbedding {
    fn info(&self) -> &ModelInfo {
        self.inner.info()
    }

    fn sibling(&self, full_name: &str) -> Option<Arc<dyn EmbeddingModel>> {
        self.inner.sibling(full_name).map(|inner| self.meter.embedding(&inner))
    }

    async fn embed(&self, texts: &[String]) -> Result<Vec<Vec<f32>>> {
        let info = self.inner.info();
        let family = Family::of(&info.model);
        let input = texts.iter().map(|text| family.text(text)).sum();
        let (known, used) = (info.known_price(), Usage { input, ..Usage::default() });
        self.meter.budget.read_background(&self.meter.visit).await?;
        let held = self.meter.reserve(info.full_name(), used, known)?.agreed().await?;
        let time = StepClock::start(&*self.meter.budget.clock);
        let outcome = self.inner.embed(texts).await;
        let mut step = time.step(StepKind::Model, info.full_name());
        step.note = Some(format!("{} texts were embedded", texts.len()));
        step.failed = outcome.is_err();
        step.used = Some(StepUse { input, ..StepUse::default() });
        self.meter.trace.add(step);
        match outcome {
            Ok(vectors) => {
                held.settle(None, used, price::cost(used, known), known.is_none());
                Ok(vectors)
            }
            Err(error) => {
                held.fail(&error);
                Err(error)
            }
        }
    }
}
