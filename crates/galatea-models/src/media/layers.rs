//! The breaker and the retries of text models, for media models.

use std::sync::atomic::AtomicBool;

use async_trait::async_trait;
use galatea_core::{
    ModelInfo, Result, Timestamp,
    model::{Made, MediaModel, MediaTask},
};

use crate::{guarded::Guarded, retry::Retrying};

#[async_trait]
impl<T: MediaTask, M: MediaModel<T> + ?Sized> MediaModel<T> for Guarded<M> {
    fn info(&self) -> &ModelInfo {
        self.inner().info()
    }

    async fn run(
        &self,
        request: &T::Request,
        deadline: Option<Timestamp>,
    ) -> Result<Made<T::Output>> {
        self.call(deadline, self.inner().run(request, deadline)).await
    }
}

#[async_trait]
impl<T: MediaTask, M: MediaModel<T> + ?Sized> MediaModel<T> for Retrying<M> {
    fn info(&self) -> &ModelInfo {
        self.inner().info()
    }

    async fn run(
        &self,
        request: &T::Request,
        deadline: Option<Timestamp>,
    ) -> Result<Made<T::Output>> {
        let nothing_shown = AtomicBool::new(false);
        self.call(&nothing_shown, deadline, || self.inner().run(request, deadline)).await
    }
}
