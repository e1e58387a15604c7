//! Styled text: the result of rendering, the input of splitting and of entities.

use std::ops::Range;
use url::Url;

/// Plain text with styled ranges.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Styled {
    /// The visible text.
    pub(crate) text: String,
    /// Styles, in byte ranges of `text` at character boundaries, outer before inner.
    pub(crate) spans: Vec<Span>,
}

/// A range of text with its style.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Span {
    /// Byte range of the text.
    pub(crate) range: Range<usize>,
    /// Style of the range.
    pub(crate) style: Style,
}

/// Style of a range of text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Style {
    /// Quotation; may contain every other style.
    Quote,
    Bold,
    Italic,
    /// Struck through.
    Strike,
    /// Hidden until tapped.
    Spoiler,
    /// Link to this address (`http`, `https` or `tg`).
    Link(Url),
    /// Inline monospaced text.
    Code,
    /// Monospaced block, with the language if named.
    Pre(Option<String>),
}

impl Style {
    fn order(&self) -> u8 {
        match self {
            Self::Quote => 0,
            Self::Link(_) => 1,
            Self::Bold => 2,
            Self::Italic => 3,
            Self::Strike => 4,
            Self::Spoiler => 5,
            Self::Code | Self::Pre(_) => 6,
        }
    }
}

/// Makes ranges obey Telegram's nesting rules (Bot API, "Formatting options"). Code contains no
/// other style and may be inside a quotation only; a link replaces code inside it; a style inside
/// the same style is dropped.
pub(super) fn nest(spans: Vec<Span>) -> Vec<Span> {
    if spans.len() < 2 {
        return spans;
    }
    let links: Vec<Range<usize>> = spans
        .iter()
        .filter(|s| matches!(s.style, Style::Link(_)))
        .map(|s| s.range.clone())
        .collect();
    let within = |outer: &Range<usize>, inner: &Range<usize>| {
        outer.start <= inner.start && inner.end <= outer.end
    };
    let spans: Vec<Span> = spans
        .into_iter()
        .filter(|s| !matches!(s.style, Style::Code) || !links.iter().any(|l| within(l, &s.range)))
        .collect();
    let mono: Vec<Range<usize>> = spans
        .iter()
        .filter(|s| matches!(s.style, Style::Code | Style::Pre(_)))
        .map(|s| s.range.clone())
        .collect();
    let mut out: Vec<Span> = Vec::with_capacity(spans.len());
    for (i, span) in spans.iter().enumerate() {
        if matches!(span.style, Style::Bold | Style::Italic | Style::Strike | Style::Spoiler)
            && spans.iter().enumerate().any(|(j, other)| {
                j != i
                    && other.style == span.style
                    && within(&other.range, &span.range)
                    && (other.range != span.range || j < i)
            })
        {
            continue;
        }
        if matches!(span.style, Style::Quote | Style::Code | Style::Pre(_)) {
            out.push(span.clone());
            continue;
        }
        let mut start = span.range.start;
        for hole in mono.iter().filter(|m| m.start < span.range.end && span.range.start < m.end) {
            if start < hole.start {
                out.push(Span { range: start..hole.start, style: span.style.clone() });
            }
            start = start.max(hole.end);
        }
        if start < span.range.end {
            out.push(Span { range: start..span.range.end, style: span.style.clone() });
        }
    }
    out.sort_by_key(|s| (s.range.start, std::cmp::Reverse(s.range.end), s.style.order()));
    out
}
