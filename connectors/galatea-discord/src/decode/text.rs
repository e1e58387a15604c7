//! Converts Discord's Markdown to CommonMark. Only the marks for people, roles, channels and emoji
//! differ.

use serenity::all::Message;

use super::{Me, directory::Directory};

/// Replaces `<@1>` by `@Name`, `<#2>` by `#channel`, `<@&3>` by `@role`, `<:wave:4>` by `:wave:`.
/// Marks with unknown ids stay as they are.
pub(super) fn to_markdown(content: &str, names: &dyn Fn(&str, u64) -> Option<String>) -> String {
    let mut out = String::with_capacity(content.len());
    let mut rest = content;
    while let Some(start) = rest.find('<') {
        out.push_str(&rest[..start]);
        rest = &rest[start..];
        // The longest mark is an animated emoji, `<a:name:id>`, with a name of 32 characters and an
        // id of 20.
        let end = rest.char_indices().take(64).find(|(_, c)| *c == '>').map(|(at, _)| at);
        match end.and_then(|end| Some((end, mark(&rest[1..end], names)?))) {
            Some((end, text)) => {
                out.push_str(&text);
                rest = &rest[end + 1..];
            }
            None => {
                out.push('<');
                rest = &rest[1..];
            }
        }
    }
    out.push_str(rest);
    out
}

fn mark(inner: &str, names: &dyn Fn(&str, u64) -> Option<String>) -> Option<String> {
    for sign in ["@!", "@&", "@", "#"] {
        if let Some(id) = inner.strip_prefix(sign).and_then(|id| id.parse().ok()) {
            return names(sign, id);
        }
    }
    let (name, id) =
        inner.strip_prefix("a:").or_else(|| inner.strip_prefix(':'))?.split_once(':')?;
    (id.parse::<u64>().is_ok() && !name.is_empty()).then(|| format!(":{name}:"))
}

/// The text of a message, with names in place of ids.
pub(super) fn readable_text(
    content: &str,
    message: &Message,
    guild: Option<u64>,
    me: &Me,
    directory: &Directory,
) -> String {
    to_markdown(content, &|sign, id| match sign {
        "@" | "@!" if id == me.id => Some(format!("@{}", me.name)),
        "@" | "@!" => {
            let user = message.mentions.iter().find(|u| u.id.get() == id)?;
            Some(format!("@{}", user.global_name.as_deref().unwrap_or(&user.name)))
        }
        "@&" => Some(format!("@{}", directory.guild(guild?)?.roles.get(&id)?)),
        _ => Some(format!("#{}", directory.channel(id)?.name?)),
    })
}

/// Whether the message mentions the bot, by name or by one of its roles. A reply to the bot alone
/// is not a mention, though Discord lists the bot among the mentioned.
pub(super) fn mentions(message: &Message, is_reply: bool, mine: &[u64], me: &Me) -> bool {
    let named = message.content.contains(&format!("<@{}>", me.id))
        || message.content.contains(&format!("<@!{}>", me.id));
    let listed = message.mentions.iter().any(|u| u.id.get() == me.id);
    named || (listed && !is_reply) || message.mention_roles.iter().any(|r| mine.contains(&r.get()))
}
