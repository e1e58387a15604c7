//! A media model inside the test process: no network, no delay.

use parking_lot::Mutex;

use async_trait::async_trait;
use galatea_core::{
    ModelInfo, Result, Timestamp,
    model::{Made, MediaModel, MediaTask, UnitPrice},
};

type Script<T> = dyn FnMut(&<T as MediaTask>::Request) -> Result<<T as MediaTask>::Output> + Send;

/// A [`MediaModel`] that answers from a function and counts its calls.
pub struct ScriptedMedia<T: MediaTask> {
    info: ModelInfo,
    script: Mutex<Box<Script<T>>>,
    calls: Mutex<usize>,
}

impl<T: MediaTask> ScriptedMedia<T> {
    /// A model that calls this function. A minute of sound costs it 6,000 micro-dollars, a picture
    /// 40,000, and a million characters 15 dollars.
    pub fn answering(
        script: impl FnMut(&T::Request) -> Result<T::Output> + Send + 'static,
    ) -> Self {
        let unit_price = Some(UnitPrice {
            minute: Some(6_000),
            image: Some(40_000),
            characters: Some(15_000_000),
        });
        let info = ModelInfo {
            provider: "scripted".to_owned(),
            model: "media".to_owned(),
            unit_price,
            ..ModelInfo::default()
        };
        Self { info, script: Mutex::new(Box::new(script)), calls: Mutex::default() }
    }

    /// Without any price.
    #[must_use]
    pub fn without_price(mut self) -> Self {
        self.info.unit_price = None;
        self
    }

    /// Number of its calls.
    pub fn calls(&self) -> usize {
        *self.calls.lock()
    }
}

#[async_trait]
impl<T: MediaTask> MediaModel<T> for ScriptedMedia<T> {
    fn info(&self) -> &ModelInfo {
        &self.info
    }

    async fn run(&self, request: &T::Request, _: Option<Timestamp>) -> Result<Made<T::Output>> {
        *self.calls.lock() += 1;
        let mut script = self.script.lock();
        let output = script(request)?;
        Ok(Made { output, used: T::expected(request), micros: None, by: None })
    }
}
