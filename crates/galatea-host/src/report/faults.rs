//! Why settings or characters cannot be used.

use galatea_core::Error;
use std::fmt::{self, Display, Formatter};

use super::Report;
use crate::catalogue;

/// Why settings or characters cannot be used. Becomes an [`Error`] for a caller that needs the first
/// fault only.
#[derive(Debug)]
pub enum Faults {
    /// Faults of configuration files, in the order of the files.
    Settings(Vec<Report>),
    /// A refused character, or another cause.
    Error(Error),
}

impl Faults {
    /// Every fault, for people.
    pub fn reports(&self) -> Vec<Report> {
        match self {
            Self::Settings(reports) => reports.clone(),
            Self::Error(error) => Report::all_of(error),
        }
    }
}

impl Display for Faults {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        self.reports().iter().try_for_each(|report| report.fmt(out))
    }
}

impl std::error::Error for Faults {}

impl From<Error> for Faults {
    fn from(error: Error) -> Self {
        Self::Error(error)
    }
}

impl From<Faults> for Error {
    fn from(faults: Faults) -> Self {
        let reports = match faults {
            Faults::Error(error) => return error,
            Faults::Settings(reports) => reports,
        };
        let Some(first) = reports.into_iter().next() else {
            return Self::invalid("the settings cannot be used");
        };
        let code = first.code.as_deref().and_then(catalogue::find).map(catalogue::Entry::code);
        let place = first.place.as_ref().map(|place| format!("{} line {}", place.file, place.line));
        let mut error = Self::invalid(first.message);
        if let Some(code) = code {
            error = error.with_code(code);
        }
        if let Some(place) = place {
            error = error.with("where", place);
        }
        first.lines.into_iter().fold(error, |error, (label, text)| match label.as_str() {
            "cause" => error.with("cause", text),
            "where" => error.with("where", text),
            "fix" => error.with_fix(text),
            _ => error,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::Place;

    #[test]
    fn the_first_fault_is_the_error() {
        let place = Place {
            file: ".env".into(),
            line: 4,
            column: 1,
            length: 1,
            text: "A=•".into(),
            caret: None,
        };
        let first = Report::error("A is wrong").code("GAL-CFG-VALUE").place(place).fix("set B");
        let faults = Faults::Settings(vec![first, Report::error("C is wrong")]);
        assert_eq!(faults.reports().len(), 2);
        assert!(faults.to_string().contains("C is wrong"));
        let error = Error::from(faults);
        assert_eq!(
            (error.message(), error.code(), error.fix()),
            ("A is wrong", Some("GAL-CFG-VALUE"), Some("set B"))
        );
        assert!(error.context().contains(&("where", ".env line 4".to_owned())));
    }
}
