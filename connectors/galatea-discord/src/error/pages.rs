//! The page of each code of this connector, for `galatea explain` and the reference.

use galatea_core::character::Explanation;

pub(crate) const PAGES: &[Explanation] = &[
    Explanation::new(
        "GAL-DC-TOKEN",
        "The bot's token",
        "A token has three parts with dots between them. What is often pasted instead: the application's id, its public key, the client secret.",
        "discord.com/developers → your application → Bot → Reset Token; set DISCORD_API_TOKEN to it, without quotes or the word Bot.",
    ),
    Explanation::new(
        "GAL-DC-4004",
        "Discord rejected the token",
        "It was reset, or is another application's. Only this connector stops; everything else goes on.",
        "discord.com/developers → your application → Bot → Reset Token, then set DISCORD_API_TOKEN and start galatea again: a running one does not read it again.",
    ),
    Explanation::new(
        "GAL-DC-4014",
        "Message Content intent",
        "Without it Discord shows a bot the words of direct messages and of messages that mention it, and no others.",
        "`galatea connector check discord --fix` switches it on; or discord.com/developers → your application → Bot → Privileged Gateway Intents.",
    ),
    Explanation::new(
        "GAL-DC-4010",
        "Discord's gateway refuses the way we connect",
        "The number of shards, the gateway's version or an intent is not what Discord expects any more.",
        "Restart, which asks for the number of shards again; if it comes back, install a newer Galatea.",
    ),
    Explanation::new(
        "GAL-DC-50001",
        "The bot cannot see this channel",
        "Its role lacks View Channel there.",
        "Open the channel's settings → Permissions, add the bot's role and allow View Channel.",
    ),
    Explanation::new(
        "GAL-DC-50013",
        "The bot lacks a permission in this channel",
        "Usually Send Messages, in threads Send Messages in Threads; for files Attach Files, for replies Read Message History.",
        "Open the channel's settings → Permissions and allow it for the bot's role, or invite the bot again with the link of `galatea connector check discord`.",
    ),
    Explanation::new(
        "GAL-DC-50007",
        "This person takes no direct messages from the bot",
        "They blocked it, or allow no direct messages from members of the server they share with it.",
        "They have to allow it: server's menu → Privacy Settings → Direct Messages.",
    ),
    Explanation::new(
        "GAL-DC-403",
        "Discord does not let the bot do this here",
        "A rule of the server or of the thread forbids it.",
        "Look at the bot's role in the server's settings → Roles; the context holds Discord's own words.",
    ),
    Explanation::new(
        "GAL-DC-404",
        "Discord does not know this place any more",
        "The channel, thread, message or server was removed, or the bot was.",
        "Nothing has to be done for a removed message. Invite the bot again if it was removed by mistake.",
    ),
    Explanation::new(
        "GAL-DC-400",
        "Discord found the request invalid",
        "A part of the message breaks one of Discord's rules.",
        "The context holds Discord's own words; please report it if you did not send anything unusual.",
    ),
    Explanation::new(
        "GAL-DC-429",
        "Discord asked to wait",
        "Too many calls in a short time, often about five messages in five seconds in one channel.",
        "Nothing has to be done: the answer waits for the time Discord names and is sent then.",
    ),
    Explanation::new(
        "GAL-DC-GUARD",
        "All calls to Discord rest",
        "Discord bans an address after 10,000 refused calls in ten minutes. After twenty in a row Galatea makes one call at a time, a minute apart at most; at 5,000 in ten minutes it stops calling.",
        "Look in the log for what is refused again and again: a missing permission, a channel that is gone. It continues with the first call that works.",
    ),
    Explanation::new(
        "GAL-DC-IDENTIFY",
        "Many sessions were begun lately",
        "Discord allows 1,000 a day and then resets the bot's token; a program that crashes and restarts in a loop gets there. So a session waits twice as long each after five an hour, an hour after twenty a day, and none is begun after 900.",
        "Find out what restarts it: the log of the last hour shows it. The connector then continues.",
    ),
    Explanation::new(
        "GAL-DC-INVITE",
        "Servers the bot is in",
        "A bot has to be invited by a person who may manage the server.",
        "Open the link that `galatea connector check discord` shows, and choose the server.",
    ),
    Explanation::new(
        "GAL-DC-CONNECT",
        "Discord cannot be reached",
        "No network, a firewall, a wrong DISCORD_API_ROOT, or a fault at Discord.",
        "Check the network, the proxy variables and DISCORD_API_ROOT; discordstatus.com lists faults. It is tried again by itself.",
    ),
    Explanation::new(
        "GAL-DC-TIMEOUT",
        "Discord did not answer in time",
        "The network is slow or lost the answer. A send is repeated under the same nonce, which Discord shows once.",
        "Nothing has to be done; look at the network if it happens often.",
    ),
    Explanation::new(
        "GAL-DC-GARBAGE",
        "The answer is not Discord's",
        "A proxy or a login page answered in its place, or DISCORD_API_ROOT names something else.",
        "Check DISCORD_API_ROOT and the network's proxy.",
    ),
];
