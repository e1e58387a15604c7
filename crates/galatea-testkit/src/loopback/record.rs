//! Scheduled faults and recorded violations of one platform server.

use super::fault::{self, Fault};

/// Faults and violations of one server.
#[derive(Debug)]
pub struct Record<E> {
    faults: Vec<Fault<E>>,
    violations: Vec<String>,
    allowed: Vec<String>,
}

impl<E> Default for Record<E> {
    fn default() -> Self {
        Self { faults: Vec::new(), violations: Vec::new(), allowed: Vec::new() }
    }
}

impl<E: Clone> Record<E> {
    /// Schedules a fault.
    pub(super) fn schedule(&mut self, fault: Fault<E>) {
        self.faults.push(fault);
    }

    /// Number of scheduled faults that have not occurred yet.
    pub(super) fn waiting_faults(&self) -> usize {
        self.faults.len()
    }

    /// Removes the faults that have not occurred yet.
    pub(super) fn end_faults(&mut self) {
        self.faults.clear();
    }

    /// The effect of the fault that applies to this call, if any; counts the call.
    pub(crate) fn effect(&mut self, call: &str, place: Option<impl Into<i128>>) -> Option<E> {
        fault::pick(&mut self.faults, call, place.map(Into::into))
    }

    /// Records a violation and the call that caused it.
    pub(crate) fn violate(&mut self, call: &str, what: &str) {
        self.violations.push(format!("{call}: {what}"));
    }

    /// Allows violations that contain this text.
    pub(super) fn allow(&mut self, text: &str) {
        self.allowed.push(text.to_owned());
    }

    /// Every violation so far.
    pub(super) fn violations(&self) -> &[String] {
        &self.violations
    }

    /// Violations that the test did not allow.
    pub(super) fn unexpected(&self) -> Vec<String> {
        self.violations
            .iter()
            .filter(|v| !self.allowed.iter().any(|a| v.contains(a.as_str())))
            .cloned()
            .collect()
    }
}
