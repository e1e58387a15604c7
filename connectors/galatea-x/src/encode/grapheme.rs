//! The weight of one character as people see it.

use std::ops::Range;

/// Weight of a link of any length (config v3, `transformedURLLength`).
pub(crate) const LINK: usize = 23;

/// Code points of weight one (config v3, `ranges`); all others weigh two.
pub(super) const LIGHT: [Range<u32>; 4] = [0..4352, 8192..8206, 8208..8224, 8242..8248];

/// The weight of one grapheme. An emoji weighs two, whatever its number of code points.
pub(crate) fn cluster(seen: &str) -> usize {
    if seen.is_ascii() {
        return seen.len();
    }
    let sum = seen.chars().map(point).sum();
    // X counts emoji outside the recommended sequences by code point.
    let keycap = !seen.starts_with(|c: char| c.is_ascii()) || seen.ends_with('\u{20E3}');
    if sum > 2 && keycap && emojis::get(seen).is_some() { 2 } else { sum }
}

pub(super) fn point(c: char) -> usize {
    if LIGHT.iter().any(|range| range.contains(&u32::from(c))) { 1 } else { 2 }
}
