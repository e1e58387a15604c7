//! Content of a message beside its text, in words: embeds, components, polls, stickers and
//! Discord's own notices. Reads the JSON, because a form that the library does not know must not
//! lose words. Pure.

use serde_json::Value;

use crate::decode::raw::id;

/// Longest words of one embed or component, in characters: Discord's own limit for all embeds of a
/// message ("Embed Limits").
const MOST: usize = 6_000;
/// Longest preview of a link, in characters.
const MOST_PREVIEW: usize = 400;
/// Deepest nesting of components that is read; Discord's own forms have at most four.
const DEEPEST: usize = 8;

fn text<'a>(value: &'a Value, name: &str) -> Option<&'a str> {
    value[name].as_str().map(str::trim).filter(|text| !text.is_empty())
}

fn list<'a>(value: &'a Value, name: &str) -> impl Iterator<Item = &'a Value> + use<'a> {
    value[name].as_array().into_iter().flatten()
}

fn bounded(mut words: String, most: usize) -> String {
    if let Some((end, _)) = words.char_indices().nth(most) {
        words.truncate(end);
        words.push_str(" […]");
    }
    words
}

/// The words of a message, or of a forwarded one, beside its content: one part a line or paragraph.
pub(super) fn beside(message: &Value) -> String {
    let mut parts: Vec<String> = Vec::new();
    parts.extend(poll(&message["poll"]));
    // Lottie is a vector animation, which no model reads as an image; other stickers are pictures.
    let lottie = list(message, "sticker_items").filter(|sticker| sticker["format_type"] == 3);
    parts.extend(lottie.filter_map(|one| Some(format!("[sticker: {}]", text(one, "name")?))));
    let content = message["content"].as_str().unwrap_or_default();
    parts.extend(list(message, "embeds").filter_map(|one| embed(one, content)));
    let shown = components(&mut list(message, "components"), 0);
    parts.extend((!shown.is_empty()).then(|| bounded(shown.join("\n"), MOST)));
    parts.extend(activity(message));
    parts.join("\n")
}

fn poll(poll: &Value) -> Option<String> {
    let question = text(&poll["question"], "text")?;
    let answers: Vec<&str> =
        list(poll, "answers").filter_map(|answer| text(&answer["poll_media"], "text")).collect();
    Some(format!("[poll: {question} ({})]", answers.join(" / ")))
}

/// An embed of an application in all its words; a preview of a link in one line.
fn embed(embed: &Value, content: &str) -> Option<String> {
    let kind = embed["type"].as_str().unwrap_or("rich");
    if kind == "poll_result" {
        return poll_result(embed);
    }
    let (author, title) = (text(&embed["author"], "name"), text(embed, "title"));
    let (described, footer) = (text(embed, "description"), text(&embed["footer"], "text"));
    if kind != "rich" && kind != "auto_moderation_message" {
        let said: Vec<&str> = [text(&embed["provider"], "name"), author, title, described]
            .into_iter()
            .flatten()
            .collect();
        let address = text(embed, "url").filter(|url| !content.contains(*url));
        let said = match (said.is_empty(), address) {
            (true, None) => return None,
            (true, Some(url)) => url.to_owned(),
            (false, _) => said.join(" – "),
        };
        return Some(format!("[{}: {}]", preview(kind), bounded(said, MOST_PREVIEW)));
    }
    let mut lines: Vec<String> = author.map(str::to_owned).into_iter().collect();
    let address = text(embed, "url").filter(|url| !content.contains(*url));
    lines.extend(match (title, address) {
        (Some(title), Some(url)) => Some(format!("{title} ({url})")),
        (title, url) => title.or(url).map(str::to_owned),
    });
    lines.extend(described.map(str::to_owned));
    for field in list(embed, "fields") {
        lines.extend(match (text(field, "name"), text(field, "value")) {
            // An empty name is a zero-width space: only the value is shown.
            (Some(name), Some(value)) if name != "\u{200b}" => Some(format!("{name}: {value}")),
            (_, Some(value)) if value != "\u{200b}" => Some(value.to_owned()),
            (name, _) => name.filter(|name| *name != "\u{200b}").map(str::to_owned),
        });
    }
    lines.extend(footer.map(str::to_owned));
    (!lines.is_empty()).then(|| bounded(lines.join("\n"), MOST))
}

fn preview(kind: &str) -> &'static str {
    match kind {
        "image" => "picture",
        "gifv" => "animation",
        "video" => "video",
        _ => "link",
    }
}

/// A poll has ended (Discord, "Poll Result Embed Fields").
fn poll_result(embed: &Value) -> Option<String> {
    let field = |name: &str| {
        list(embed, "fields").find(|field| field["name"] == name).and_then(|one| text(one, "value"))
    };
    let question = field("poll_question_text").unwrap_or_default();
    let winner = field("victor_answer_text").map_or_else(
        || "no answer has most votes".to_owned(),
        |answer| {
            let votes = field("victor_answer_votes").unwrap_or("?");
            let total = field("total_votes").unwrap_or("?");
            format!("{answer} ({votes} of {total} votes)")
        },
    );
    Some(format!("[poll ended: {question} – {winner}]"))
}

/// The words of components: text displays, sections, containers, galleries, and what buttons and menus
/// say (Discord, "Component Reference").
fn components(all: &mut dyn Iterator<Item = &Value>, depth: usize) -> Vec<String> {
    let mut lines = Vec::new();
    if depth >= DEEPEST {
        return lines;
    }
    let (mut buttons, mut seen) = (Vec::new(), 0);
    for one in all {
        seen += 1;
        match one["type"].as_u64().unwrap_or(0) {
            2 => buttons.extend(text(one, "label").or_else(|| text(one, "url"))),
            3 | 5..=8 => {
                lines.extend(text(one, "placeholder").map(|what| format!("[menu: {what}]")))
            }
            10 => lines.extend(text(one, "content").map(str::to_owned)),
            12 => lines.extend(
                list(one, "items")
                    .map(|item| text(item, "description").unwrap_or("without a description"))
                    .map(|what| format!("[picture: {what}]")),
            ),
            13 => lines.push(format!("[file: {}]", text(one, "name").unwrap_or("without a name"))),
            _ => {
                lines.extend(components(&mut list(one, "components"), depth + 1));
                lines
                    .extend(text(one, "content").or_else(|| text(one, "label")).map(str::to_owned));
            }
        }
        let mut beside =
            [&one["accessory"], &one["component"]].into_iter().filter(|one| one.is_object());
        lines.extend(components(&mut beside, depth + 1));
    }
    if !buttons.is_empty() && seen > 0 {
        lines.push(format!("[buttons: {}]", buttons.join(" / ")));
    }
    lines
}

/// An invitation to play or listen together.
fn activity(message: &Value) -> Option<String> {
    if !message["activity"].is_object() {
        return None;
    }
    let name = text(&message["application"], "name").unwrap_or("an activity");
    Some(format!("[invitation: {name}]"))
}

/// Addresses of pictures in embeds and galleries, each with what it shows: at most ten.
pub(super) fn pictures(message: &Value) -> Vec<(String, String)> {
    let of_embeds = list(message, "embeds").filter_map(|embed| {
        let image =
            [&embed["image"], &embed["thumbnail"]].into_iter().find(|one| one.is_object())?;
        // Thumbnails of previews and of words in an embed are ornaments.
        let alone = text(embed, "title").is_none() && text(embed, "description").is_none();
        let url = text(image, "proxy_url").or_else(|| text(image, "url"))?;
        (embed["image"].is_object() && embed["type"] == "rich"
            || alone && embed["type"] != "poll_result")
            .then(|| (url.to_owned(), text(image, "description").unwrap_or_default().to_owned()))
    });
    let mut found: Vec<(String, String)> = of_embeds.collect();
    galleries(list(message, "components"), 0, &mut found);
    found.retain(|(url, _)| url.starts_with("https://"));
    found.truncate(10);
    found
}

fn galleries<'a>(
    all: impl Iterator<Item = &'a Value>,
    depth: usize,
    found: &mut Vec<(String, String)>,
) {
    if depth >= DEEPEST {
        return;
    }
    for one in all {
        let media = list(one, "items").chain(std::iter::once(&one["accessory"]));
        found.extend(media.filter_map(|item| {
            let url = text(&item["media"], "proxy_url").or_else(|| text(&item["media"], "url"))?;
            Some((url.to_owned(), text(item, "description").unwrap_or_default().to_owned()))
        }));
        galleries(list(one, "components"), depth + 1, found);
    }
}

/// Treatment of a message by its type (Discord, "Message Types").
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Kind {
    /// Its author wrote it.
    Speech,
    /// A notice of Discord with words of its own, which are stored and not answered.
    Notice(String),
    /// Left out, for this reason.
    LeftOut(&'static str),
}

/// The kind of a message. `who` is its author's name.
pub(super) fn kind(message: &Value, who: &str) -> Kind {
    let content = text(message, "content").unwrap_or_default();
    let notice = |words: String| Kind::Notice(format!("[{words}]"));
    match message["type"].as_u64().unwrap_or(0) {
        0 | 19 | 20 | 23 => Kind::Speech,
        1 => notice(format!("{who} added {} to the conversation", mentioned(message))),
        2 => notice(format!("{who} removed {} from the conversation", mentioned(message))),
        3 => notice(format!("{who} called")),
        4 => notice(format!("{who} named this conversation {content}")),
        5 => Kind::LeftOut("a new picture of the conversation has no words"),
        6 => notice(format!("{who} pinned a message")),
        7 => Kind::LeftOut("a join; members are told by their own events"),
        8..=11 if content.is_empty() => notice(format!("{who} boosted the server")),
        8..=11 => notice(format!("{who} boosted the server {content} times")),
        12 => notice(format!("{who} added the news of {content} to this channel")),
        14 | 15 | 16 | 17 | 22 => Kind::LeftOut("advice of Discord's to the server's owner"),
        18 => notice(format!("{who} started a thread: {content}")),
        21 => Kind::LeftOut("the beginning of a thread; its message is read in its own channel"),
        24 => notice(format!("Discord's AutoMod stopped a message of {who}")),
        25 => notice(format!("{who} subscribed to a role of the server")),
        26 => Kind::LeftOut("an offer of Discord's"),
        27 => notice(format!("{who} started a stage: {content}")),
        28 => notice(format!("{who} ended the stage: {content}")),
        29 => notice(format!("{who} is a speaker now")),
        30 => notice(format!("{who} asked to speak")),
        31 => notice(format!("{who} changed the stage's topic: {content}")),
        32 => notice(format!("{who} bought a subscription of an application")),
        36 => notice(format!("{who} paused invitations or messages of this server")),
        37 => notice(format!("{who} ended the pause of this server")),
        38 => notice(format!("{who} reported a raid")),
        39 => notice(format!("{who} took back the report of a raid")),
        44 => notice(format!("{who} bought something")),
        46 => notice(format!("a poll of {who} ended")),
        // A type that Discord adds later: its words, if it has any, are said by its author.
        _ if content.is_empty() && beside(message).is_empty() => {
            Kind::LeftOut("a notice of an unknown type without words")
        }
        _ => Kind::Speech,
    }
}

fn mentioned(message: &Value) -> String {
    let names: Vec<&str> = list(message, "mentions")
        .filter(|user| id(&user["id"]).is_some())
        .filter_map(|user| text(user, "global_name").or_else(|| text(user, "username")))
        .collect();
    if names.is_empty() { "a person".to_owned() } else { names.join(", ") }
}
