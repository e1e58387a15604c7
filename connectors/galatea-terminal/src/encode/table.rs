//! Aligns Markdown tables (GitHub Flavored Markdown, "Tables"). A terminal is monospaced, so the
//! columns stay aligned without a code block.

use galatea_core::markdown;

use crate::MAX_TEXT;

/// Replaces every table outside of code blocks by its aligned text. A table whose aligned text
/// would not fit into one part stays as written: a hostile one can pad a small text to gigabytes.
pub(super) fn aligned(text: &str) -> String {
    let mut lines = text.split('\n').peekable();
    let mut out: Vec<String> = Vec::new();
    let mut fence: Option<&str> = None;
    while let Some(line) = lines.next() {
        match fence {
            Some(open) if closes(open, line) => fence = None,
            Some(_) => {}
            None => fence = marks(line),
        }
        let head = (fence.is_none() && is_flush(line)).then(|| cells(line));
        let columns = lines.peek().and_then(|next| rule(next));
        let Some(head) = head.filter(|head| columns == Some(head.len())) else {
            out.push(line.to_owned());
            continue;
        };
        let mut written = vec![line];
        written.extend(lines.next());
        let mut rows = vec![head];
        while let Some(row) = lines.next_if(|line| continues(line)) {
            let mut row_cells = cells(row);
            let columns = rows[0].len();
            if row_cells.len() > columns {
                let rest = row_cells.split_off(columns - 1).join(" | ");
                row_cells.push(rest);
            }
            row_cells.resize(columns, String::new());
            rows.push(row_cells);
            written.push(row);
        }
        if size(&rows) > MAX_TEXT {
            out.extend(written.into_iter().map(str::to_owned));
        } else {
            out.push(markdown::table(&rows, 1));
        }
    }
    out.join("\n")
}

/// Upper bound of the aligned text of a table, in characters.
fn size(rows: &[Vec<String>]) -> usize {
    let columns = rows.first().map_or(0, Vec::len);
    let width = |column: usize| {
        rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max()
    };
    let line: usize = (0..columns).filter_map(width).map(|width| width + " | ".len()).sum();
    line.saturating_mul(rows.len() + 1)
}

/// Four spaces or a tab in front make a line code.
fn is_flush(line: &str) -> bool {
    let text = line.trim_start_matches(' ');
    line.len() - text.len() < 4 && !text.starts_with('\t')
}

/// The marks that open a code block.
fn marks(line: &str) -> Option<&str> {
    let text = line.trim_start();
    let mark = text.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let rest = text.trim_start_matches(mark);
    let length = text.len() - rest.len();
    (is_flush(line) && length >= 3 && !(mark == '`' && rest.contains('`'))).then(|| &text[..length])
}

fn closes(open: &str, line: &str) -> bool {
    let text = line.trim();
    is_flush(line)
        && text.len() >= open.len()
        && open.chars().next().is_some_and(|mark| text.chars().all(|c| c == mark))
}

/// True if a line goes on with a table: not an empty one, and not the beginning of another block.
fn continues(line: &str) -> bool {
    let text = line.trim_start();
    let bullet = ["- ", "* ", "+ ", "> ", "# ", "## ", "### "];
    !text.is_empty() && marks(line).is_none() && !bullet.iter().any(|mark| text.starts_with(mark))
}

/// The number of columns of a table, if this is the line under its head.
fn rule(line: &str) -> Option<usize> {
    let is_dashes = |cell: &String| {
        let dashes = cell.strip_prefix(':').unwrap_or(cell);
        let dashes = dashes.strip_suffix(':').unwrap_or(dashes);
        !dashes.is_empty() && dashes.bytes().all(|b| b == b'-')
    };
    if !line.contains('|') || !is_flush(line) {
        return None;
    }
    let all = cells(line);
    all.iter().all(is_dashes).then_some(all.len())
}

/// The cells of a row. A bar with a backslash in front is part of its cell, also in code.
fn cells(line: &str) -> Vec<String> {
    let row = line.trim();
    let row = row.strip_prefix('|').unwrap_or(row);
    let mut cells = vec![String::new()];
    let mut escaped = false;
    let mut ended = false;
    for c in row.chars() {
        ended = c == '|' && !escaped;
        if let Some(cell) = cells.last_mut().filter(|_| !ended) {
            if c == '|' {
                cell.pop();
            }
            cell.push(c);
        } else {
            cells.push(String::new());
        }
        escaped = c == '\\' && !escaped;
    }
    if ended {
        cells.pop();
    }
    cells.into_iter().map(|cell| cell.trim().to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_aligned_and_everything_else_stays() {
        for (written, shown) in [
            (
                "Look:\n\n| name | n |\n|:-----|--:|\n| **a** | 1 |\n| bb | 100 |\n\nDone.",
                "Look:\n\nname  | n\n------+----\n**a** | 1\nbb    | 100\n\nDone.",
            ),
            ("a|b\n-|-\nlong|d", "a    | b\n-----+--\nlong | d"),
            ("| a |\n|---|\n| b |", "a\n-\nb"),
            ("| a | b |\n|---|---|\n| c\\|d | `\\|` |\n|x", "a   | b\n----+----\nc|d | `|`\nx   |"),
            ("| a | b |\n|---|---|\n| 1 | 2 | 3 |\n- item", "a | b\n--+------\n1 | 2 | 3\n- item"),
            ("| ä | b |\n|---|---|\n| 👩‍🚀 | 2 |", "ä | b\n--+--\n👩‍🚀 | 2"),
        ] {
            assert_eq!(aligned(written), shown, "{written}");
        }
        for same in [
            "",
            "a | b",
            "a\n---\nb",
            "| a | b |\n|---|\n| 1 | 2 |",
            "```\n| a | b |\n|---|---|\n| 1 | 2 |\n```",
            "~~~ text\n```\na | b\n--|--\n~~~\n",
            "    | a | b |\n    |---|---|",
            "a || b && c | d\n\n\n",
        ] {
            assert_eq!(aligned(same), same);
        }
    }

    #[test]
    fn a_table_that_padding_would_blow_up_stays_as_written() {
        let wide = "x".repeat(10_000);
        let text = format!("a | b\n--|--\n{wide} | 1\n{}", "c | d\n".repeat(10_000));
        assert_eq!(aligned(&text), text);
    }
}
