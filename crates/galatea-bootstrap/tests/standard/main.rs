//! The standard plugin from outside: rights, composition, what is learnt, and that everything is bounded.

mod actions;
mod double;
mod people;
mod providers;
mod reflection;
mod scene;
