//! Cuts texts to a number of tokens, with a visible mark. Pure.

use galatea_core::model::{ChatMessage, ChatPart};

use super::budget::PromptBudget;

/// Cuts the longest text of a message so that the message takes about so many tokens.
pub(super) fn shorten(message: &mut ChatMessage, most: u64, budget: PromptBudget) {
    let size = budget.message(message);
    let longest = message
        .parts
        .iter_mut()
        .filter_map(|part| if let ChatPart::Text { text } = part { Some(text) } else { None })
        .max_by_key(|text| text.len());
    if let Some(text) = longest {
        let own = budget.of(text);
        *text = cut(text, most.saturating_sub(size.saturating_sub(own)), budget);
    }
}

/// The beginning and the end of a text that together take so many tokens at most, with a mark
/// between them.
pub(super) fn cut(text: &str, most: u64, budget: PromptBudget) -> String {
    let size = budget.of(text);
    if size <= most {
        return text.to_owned();
    }
    // Texts are denser in some places than in others, so what is left is looked at again.
    let mut keep = usize::try_from(
        (text.len() as u128 * u128::from(most.saturating_sub(16))) / u128::from(size.max(1)),
    )
    .unwrap_or(0);
    loop {
        // Two thirds of it from the beginning.
        let head = text.floor_char_boundary(keep * 2 / 3);
        let tail =
            text.ceil_char_boundary(text.len() - (keep - keep * 2 / 3).min(text.len() - head));
        let out = text[head..tail].chars().count();
        let cut = format!(
            "{} [… {out} characters left out …] {}",
            text[..head].trim_end(),
            text[tail..].trim_start()
        );
        if keep == 0 || budget.of(&cut) <= most {
            return cut.trim().to_owned();
        }
        keep = keep * 4 / 5;
    }
}
