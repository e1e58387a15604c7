//! EPUB 2 and 3: the chapters of the spine, each read as HTML.

use galatea_core::Result;
use percent_encoding::percent_decode_str;
use std::collections::HashMap;

use super::{
    archive::Archive,
    docx::element,
    html,
    xml::{self, XmlNode},
};
use crate::{document::Writer, refusal::unreadable};

pub(super) fn read(bytes: &[u8], writer: &mut Writer) -> Result<()> {
    let depth = writer.limits().depth;
    let mut archive = Archive::open(bytes, writer.limits())?;
    let container = archive.required("META-INF/container.xml")?;
    let mut package = None;
    xml::walk(&container, depth, |node| {
        if let XmlNode::Open("rootfile", attributes) = node {
            package = package.take().or_else(|| attributes.get("full-path"));
        }
        Ok(())
    })?;
    let package = package.ok_or_else(|| {
        unreadable("the book is damaged: it does not say where its text is")
            .with_fix("download or export it again")
    })?;
    let text = archive.required(&package)?;
    writer.title(&element(&text, "title", depth)?);
    let folder = package.rsplit_once('/').map_or("", |(folder, _)| folder).to_owned();
    for chapter in spine(&text, depth)? {
        let Some(path) = within(&folder, &chapter) else {
            return Err(unreadable("the book names files outside itself, as an attack would")
                .with_fix("leave it out, or export it again with another program"));
        };
        if let Some(chapter) = archive.text(&path)? {
            html::read(&chapter, writer)?;
        }
    }
    Ok(())
}

/// The chapters' places, in reading order.
fn spine(text: &str, depth: usize) -> Result<Vec<String>> {
    let (mut items, mut order) = (HashMap::new(), Vec::new());
    xml::walk(text, depth, |node| {
        match node {
            XmlNode::Open("item", attributes) => {
                if let (Some(id), Some(href)) = (attributes.get("id"), attributes.get("href")) {
                    items.insert(id, href);
                }
            }
            XmlNode::Open("itemref", attributes) => order.extend(attributes.get("idref")),
            _ => {}
        }
        Ok(())
    })?;
    Ok(order.into_iter().filter_map(|id| items.remove(&id)).collect())
}

/// A reference as a path within the archive. `None` if it leads outside.
fn within(folder: &str, href: &str) -> Option<String> {
    let href = percent_decode_str(href.split(['#', '?']).next().unwrap_or_default());
    let href = href.decode_utf8_lossy();
    if href.starts_with('/') || href.contains("://") || href.contains('\\') {
        return None;
    }
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in href.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::within;

    #[test]
    fn references_stay_inside() {
        assert_eq!(within("OEBPS", "text/a%20b.xhtml#x").as_deref(), Some("OEBPS/text/a b.xhtml"));
        assert_eq!(within("OEBPS", "100%.xhtml").as_deref(), Some("OEBPS/100%.xhtml"));
        assert_eq!(within("OEBPS/x", "../a.xhtml").as_deref(), Some("OEBPS/a.xhtml"));
        for outside in ["../../etc/passwd", "/etc/passwd", "file:///etc/passwd", "%2e%2e/%2e%2e/x"]
        {
            assert_eq!(within("OEBPS", outside), None, "{outside}");
        }
    }
}
