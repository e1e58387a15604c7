//! The chat script of other pages: what a page of the allow list may ask in the name of an anonymous visitor.

mod routes;
mod visitor;

pub(crate) use routes::routes;
