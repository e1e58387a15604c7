//! Bounds the values of labels that the program does not choose: a series is kept in memory for ever,
//! here and at whoever reads it.

use parking_lot::Mutex;
use std::collections::HashSet;

/// Most values of a label. Further ones are counted together as [`OTHER`].
const MOST: usize = 100;
/// Longest value, in characters.
const LONGEST: usize = 64;
/// Stands for all values beyond the bound.
const OTHER: &str = "other";

/// Values that were seen, by label.
#[derive(Default)]
pub(super) struct Known {
    agents: Values,
    providers: Values,
    models: Values,
    actions: Values,
}

#[derive(Default)]
struct Values(Mutex<HashSet<String>>);

impl Values {
    fn get(&self, value: &str) -> String {
        let value: String = value.chars().filter(|c| !c.is_control()).take(LONGEST).collect();
        let mut seen = self.0.lock();
        if seen.contains(&value) {
            return value;
        }
        if seen.len() >= MOST {
            return OTHER.to_owned();
        }
        seen.insert(value.clone());
        value
    }
}

impl Known {
    pub(super) fn agent(&self, id: &str) -> String {
        self.agents.get(id)
    }

    pub(super) fn provider(&self, name: &str) -> String {
        self.providers.get(name)
    }

    pub(super) fn model(&self, name: &str) -> String {
        self.models.get(name)
    }

    /// A model may call tools by any name.
    pub(super) fn action(&self, name: &str) -> String {
        self.actions.get(name)
    }

    /// A client may send any method.
    pub(super) fn method(&self, method: &str) -> String {
        match method {
            "GET" | "HEAD" | "POST" | "PUT" | "PATCH" | "DELETE" | "OPTIONS" => method.to_owned(),
            _ => OTHER.to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_that_invents_names_makes_no_endless_series() {
        let known = Known::default();
        let names: HashSet<String> =
            (0..10_000).map(|n| known.action(&format!("TOOL_{n}"))).collect();
        assert_eq!(names.len(), MOST + 1);
        assert_eq!(known.action("TOOL_0"), "TOOL_0", "those that were known stay");
        assert_eq!(known.method("BREW"), OTHER);
        assert!(known.model(&"x\n".repeat(500)).len() <= LONGEST);
    }
}
