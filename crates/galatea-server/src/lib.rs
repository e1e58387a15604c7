//! The control plane: one port with the API (`/api/v1`), its description (`/openapi.json`, `/docs`),
//! live events, sign-in and health. It decides who asks and how an answer looks; everything else is
//! [`galatea_host::ops`].

mod app;
mod attachment;
mod attempts;
mod auth;
mod body_limit;
mod chat_pages;
#[cfg(test)]
mod docs;
mod eliza;
mod embed;
mod error;
mod extract;
mod guard;
mod idempotency;
mod jwt;
mod metrics;
mod oidc;
mod person;
mod presented;
mod routes;
mod session_cookie;
mod socket;
mod sse;
mod told;
mod v1;
mod view;

pub use app::{App, Version};
pub use routes::{openapi, router};
