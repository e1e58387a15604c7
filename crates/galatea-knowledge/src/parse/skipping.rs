//! Elements of a page that are not its text.

use html5gum::Token;

/// Elements whose content is not the page's text.
const SKIPPED: &[&str] = &[
    MENU, "script", "style", "template", "svg", "iframe", "object", "select", "textarea", "button",
    "noscript", "dialog",
];
const MENU: &str = "nav";
/// Elements that have text only: if one is not closed, the rest of the page belongs to it.
const RAW: &[&str] = &["script", "style", "iframe", "textarea", "noscript"];

/// Follows the elements that are skipped.
pub(super) struct Skipping {
    elements: Vec<&'static str>,
    /// The skipped element, and how many of its kind are open.
    open: Option<(&'static str, usize)>,
}

impl Skipping {
    /// Skipped parts of a page. An element that is not closed would take the rest of the page with
    /// it, so it is read.
    pub(super) fn of<I: Iterator<Item = Token>>(tokens: impl Fn() -> I) -> Self {
        let mut skipping = Self { elements: SKIPPED.to_vec(), open: None };
        loop {
            for token in tokens() {
                skipping.takes(&token);
            }
            match skipping.open.take() {
                Some((unclosed, _)) if !RAW.contains(&unclosed) => {
                    skipping.elements.retain(|element| *element != unclosed);
                }
                _ => return skipping,
            }
        }
    }

    /// The same, with menus as text.
    pub(super) fn without_menus(mut self) -> Self {
        self.elements.retain(|element| *element != MENU);
        self
    }

    /// True if a token is skipped.
    pub(super) fn takes(&mut self, token: &Token) -> bool {
        match (token, &mut self.open) {
            (Token::StartTag(tag), Some((open, depth))) => {
                if *tag.name == *open.as_bytes() && !tag.self_closing {
                    *depth += 1;
                }
                true
            }
            (Token::EndTag(tag), Some((open, depth))) => {
                if *tag.name == *open.as_bytes() {
                    *depth -= 1;
                    if *depth == 0 {
                        self.open = None;
                    }
                }
                true
            }
            (_, Some(_)) => true,
            (Token::StartTag(tag), None) => {
                let element = self.elements.iter().find(|element| *tag.name == *element.as_bytes());
                if let Some(element) = element.filter(|_| !tag.self_closing) {
                    self.open = Some((element, 1));
                }
                element.is_some()
            }
            (_, None) => false,
        }
    }
}
