//! XML as a stream of elements and text, with a limit on depth. Entities of the document's own are
//! not expanded, so they cannot multiply.

use galatea_core::Result;
use quick_xml::{
    Reader, XmlVersion,
    events::{BytesStart, Event},
};

use crate::refusal::{too_large, unreadable};

/// A piece of XML. Names are without prefix.
pub(super) enum XmlNode<'a> {
    Open(&'a str, &'a Attributes<'a>),
    Close(&'a str),
    Text(&'a str),
}

/// Attributes of an element.
pub(super) struct Attributes<'a>(&'a BytesStart<'a>);

impl Attributes<'_> {
    /// The value of an attribute by its name without prefix.
    pub(super) fn get(&self, name: &str) -> Option<String> {
        self.0
            .attributes()
            .flatten()
            .find(|attribute| local(attribute.key.as_ref()) == name)
            .and_then(|attribute| attribute.normalized_value(XmlVersion::Implicit1_0).ok())
            .map(std::borrow::Cow::into_owned)
    }
}

/// Calls `each` for every piece.
///
/// # Errors
/// `Invalid` for damaged XML, `TooLong` for elements nested deeper than `depth`, and what `each`
/// returns.
pub(super) fn walk(
    text: &str,
    depth: usize,
    mut each: impl FnMut(XmlNode<'_>) -> Result<()>,
) -> Result<()> {
    let mut reader = Reader::from_str(text);
    reader.config_mut().expand_empty_elements = true;
    let mut level = 0_usize;
    loop {
        let event = reader.read_event().map_err(|error| {
            unreadable("the document is damaged: its XML cannot be read")
                .with("cause", error)
                .with_fix("download or export it again")
        })?;
        match event {
            Event::Start(start) => {
                level += 1;
                if level > depth {
                    return Err(too_large("the document is nested too deeply").with("limit", depth));
                }
                each(XmlNode::Open(local(start.name().as_ref()), &Attributes(&start)))?;
            }
            Event::End(end) => {
                level = level.saturating_sub(1);
                each(XmlNode::Close(local(end.name().as_ref())))?;
            }
            Event::Text(text) => each(XmlNode::Text(&text.xml10_content()))?,
            Event::CData(text) => each(XmlNode::Text(&text.xml10_content()))?,
            Event::GeneralRef(reference) => {
                let resolved = match reference.resolve_char_ref() {
                    Ok(Some(c)) => Some(c.to_string()),
                    _ => {
                        quick_xml::escape::resolve_predefined_entity(&reference).map(str::to_owned)
                    }
                };
                each(XmlNode::Text(resolved.as_deref().unwrap_or(" ")))?;
            }
            Event::Eof => return Ok(()),
            Event::Empty(_)
            | Event::Comment(_)
            | Event::Decl(_)
            | Event::PI(_)
            | Event::DocType(_) => {}
        }
    }
}

fn local(name: &str) -> &str {
    name.rsplit_once(':').map_or(name, |(_, name)| name)
}
