//! A path of the web server that a plugin answers, as data.

use async_trait::async_trait;
use bytes::Bytes;
use http::{Method, Request, Response};
use std::sync::Arc;

use crate::{
    error::{Error, Result},
    plugin::context::PluginContext,
};

/// A path of the web server that a plugin answers. It is data: the server that finds it mounts it
/// under the plugin's name. A body is read whole before the call, within the server's limit.
#[derive(Clone)]
pub struct Route {
    /// The method.
    pub method: Method,
    /// Path below the plugin's own, such as `/polls/{id}`; it begins with `/`.
    pub path: String,
    /// True if a caller needs no login.
    pub public: bool,
    /// Answers.
    pub handler: Arc<dyn RouteHandler>,
}

impl Route {
    /// A route that asks for a login.
    pub fn new(method: Method, path: &str, handler: impl RouteHandler + 'static) -> Self {
        Self { method, path: path.to_owned(), public: false, handler: Arc::new(handler) }
    }

    /// Lets callers in who have no login.
    #[must_use]
    pub fn public(mut self) -> Self {
        self.public = true;
        self
    }

    /// Checks the path.
    ///
    /// # Errors
    /// `Invalid` (`GAL-PLUGIN-ROUTE`) for a path that could leave the plugin's own.
    pub fn check(&self, plugin: &str) -> Result<()> {
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_.~{}*".contains(c);
        let fits = |part: &str| part != "." && part != ".." && part.chars().all(plain);
        if self.path.strip_prefix('/').is_some_and(|path| path.split('/').all(fits)) {
            return Ok(());
        }
        Err(Error::invalid("a route of a plugin has an unusable path")
            .with_code("GAL-PLUGIN-ROUTE")
            .with("plugin", plugin)
            .with("path", &self.path)
            .with_fix("begin it with / and use letters, digits, - and _ between slashes"))
    }
}

/// Answers requests of a [`Route`].
#[async_trait]
pub trait RouteHandler: Send + Sync {
    /// Called for each request, after the server has checked who asks. Values in the path are in the
    /// request's URI. An error becomes a problem answer of its kind, without its context.
    async fn handle(
        &self,
        context: &PluginContext,
        request: Request<Bytes>,
    ) -> Result<Response<Bytes>>;
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Nothing;

    #[async_trait]
    impl RouteHandler for Nothing {
        async fn handle(&self, _: &PluginContext, _: Request<Bytes>) -> Result<Response<Bytes>> {
            Ok(Response::new(Bytes::new()))
        }
    }

    #[test]
    fn a_path_stays_below_the_plugins_own() {
        for path in ["/", "/polls", "/polls/{id}", "/files/{*rest}", "/a.json"] {
            assert!(Route::new(Method::GET, path, Nothing).check("poll").is_ok(), "{path}");
        }
        for path in ["", "polls", "/../api", "/a/./b", "/a b", "/a?x", "/%2e%2e"] {
            let error = Route::new(Method::GET, path, Nothing).check("poll").unwrap_err();
            assert_eq!(error.code(), Some("GAL-PLUGIN-ROUTE"), "{path}");
        }
    }
}
