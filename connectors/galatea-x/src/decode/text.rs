//! Extracts the text of a post as people read it.

use twitter_v2::data::{FullTextEntities, UrlEntity};

use super::raw::Post;

/// The text with short links expanded. Links to the post's own pictures are removed.
pub(crate) fn full_text(post: &Post) -> String {
    let mut text = post.note.as_deref().unwrap_or(&post.tweet.text).to_owned();
    for url in urls(post.tweet.entities.as_ref()).iter().chain(urls(post.note_entities.as_ref())) {
        if url.url.is_empty() {
            continue;
        }
        let replacement = if is_picture(url) { "" } else { url.expanded_url.as_str() };
        // A short link cannot occur as other text, so replacing by value is safe.
        text = text.replace(&url.url, replacement);
    }
    unescape(&text).trim().to_owned()
}

/// [`words`] without the mentions that X puts in front of a reply.
pub(crate) fn own_words(post: &Post) -> String {
    let words = full_text(post);
    let mut rest = words.as_str();
    while let Some((first, after)) =
        rest.split_once(char::is_whitespace).or_else(|| (!rest.is_empty()).then_some((rest, "")))
        && first.len() > 1
        && first
            .strip_prefix('@')
            .is_some_and(|name| name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_'))
    {
        rest = after.trim_start();
    }
    rest.to_owned()
}

fn urls(entities: Option<&FullTextEntities>) -> &[UrlEntity] {
    entities.and_then(|e| e.urls.as_deref()).unwrap_or(&[])
}

fn is_picture(url: &UrlEntity) -> bool {
    url.display_url.starts_with("pic.x.com/") || url.display_url.starts_with("pic.twitter.com/")
}

/// X escapes three characters in texts (X API, "Counting characters").
fn unescape(text: &str) -> String {
    text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
}

/// True if two texts are the same. Ignores white space, Unicode composition, and the scheme that X
/// adds to a bare name (`example.com`, `README.md`).
pub(crate) fn same(one: &str, other: &str) -> bool {
    use unicode_normalization::UnicodeNormalization;
    let bare = |text: &str| {
        text.nfc()
            .filter(|c| !c.is_whitespace())
            .collect::<String>()
            .replace("https://", "")
            .replace("http://", "")
    };
    bare(one) == bare(other)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn post(text: &str, urls: serde_json::Value) -> Post {
        let body = json!({"data": {"id": "1", "text": text, "entities": {"urls": urls}}});
        super::super::raw::page(body).posts.remove(0)
    }

    #[test]
    fn links_are_written_out_and_pictures_left_out() {
        let urls = json!([
            {"start": 0, "end": 1, "url": "https://t.co/a", "expanded_url": "https://example.org/long?x=1&y=2", "display_url": "example.org/long"},
            {"start": 0, "end": 1, "url": "https://t.co/b", "expanded_url": "https://x.com/a/status/1/photo/1", "display_url": "pic.x.com/b"}
        ]);
        assert_eq!(
            full_text(&post("@g 1 &lt; 2 &amp;amp; https://t.co/a https://t.co/b", urls)),
            "@g 1 < 2 &amp; https://example.org/long?x=1&y=2"
        );
    }

    #[test]
    fn mentions_in_front_are_not_own_words() {
        for (text, own) in [
            ("@a @b_1 hello @c", "hello @c"),
            ("hello", "hello"),
            ("@a", ""),
            ("@ a", "@ a"),
            ("@a, b", "@a, b"),
        ] {
            assert_eq!(own_words(&post(text, json!([]))), own);
        }
        assert!(same("a\u{301} b", "á\nb") && !same("a", "b"));
        assert!(
            same("see http://example.com and http://README.md", "see example.com and README.md")
                && !same("see http://example.com", "see")
        );
    }
}
