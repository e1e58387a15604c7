//! Renders a Markdown table as a list. X has neither tables nor a monospaced font, and 280
//! characters hold few columns.

/// A table under construction.
#[derive(Debug, Default)]
pub(super) struct TableList {
    head: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl TableList {
    /// Begins a row below the head.
    pub(super) fn row(&mut self) {
        self.rows.push(Vec::new());
    }

    /// Takes the next cell of the row that began last, or of the head before any row.
    pub(super) fn cell(&mut self, words: &str) {
        self.rows.last_mut().unwrap_or(&mut self.head).push(words.trim().to_owned());
    }

    /// The rows, each as lines of `head: cell`. Every line names its column, so that a row that a
    /// split cuts stays readable. A table with only a head is one line.
    pub(super) fn rows(&self) -> Vec<Vec<String>> {
        if self.rows.is_empty() {
            return vec![vec![self.head.join(" · ")]];
        }
        self.rows
            .iter()
            .map(|row| {
                row.iter()
                    .enumerate()
                    .map(|(at, cell)| self.line(at, cell))
                    .filter(|line| !line.is_empty())
                    .collect()
            })
            .collect()
    }

    fn line(&self, at: usize, cell: &str) -> String {
        match (self.head.get(at).map_or("", String::as_str), cell) {
            ("", cell) => cell.to_owned(),
            (head, "") => format!("{head}: –"),
            (head, cell) => format!("{head}: {cell}"),
        }
    }
}
