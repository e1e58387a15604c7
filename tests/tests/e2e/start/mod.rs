//! Tests of start, status, chat, explain and connector with the real binary, on the loopback
//! interface and in temporary folders.

mod answers;
mod control;
mod home;
mod json;
mod looks;
mod manual;
mod plane;
mod refusals;
mod stops;
