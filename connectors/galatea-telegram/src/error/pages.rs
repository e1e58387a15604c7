//! The page of each code of this connector, for `galatea explain` and the reference.

use galatea_core::character::Explanation;

pub(crate) const PAGES: &[Explanation] = &[
    Explanation::new(
        "GAL-TG-TOKEN",
        "The bot's token",
        "A token is digits, a colon and about 35 characters. @BotFather gives one per bot.",
        "Set TELEGRAM_BOT_TOKEN to the token as it was given, without quotes or the word bot.",
    ),
    Explanation::new(
        "GAL-TG-401",
        "Telegram rejected the token",
        "It is mistyped, was revoked with @BotFather, or is something else: an app id, a user's session.",
        "Copy it again: @BotFather → /mybots → your bot → API Token, then set TELEGRAM_BOT_TOKEN and start galatea again: a running one does not read it again.",
    ),
    Explanation::new(
        "GAL-TG-403",
        "Telegram does not let the bot write there",
        "The person blocked the bot or never started it, the bot was removed from the group, or it lacks a right.",
        "Let the person press Start, add the bot again, or give it the right in the group's settings.",
    ),
    Explanation::new(
        "GAL-TG-404",
        "Telegram does not know this chat or message",
        "It was deleted, the group was closed, or the bot was never in it.",
        "Add the bot to the group again. A deleted message needs nothing.",
    ),
    Explanation::new(
        "GAL-TG-400",
        "Telegram found the request invalid",
        "A part of the message breaks a rule of the Bot API.",
        "The context holds Telegram's own words; please report it if you did not send anything unusual.",
    ),
    Explanation::new(
        "GAL-TG-409",
        "Another program is reading this bot's messages",
        "Telegram gives a bot's messages to one reader. A second copy runs: an old terminal, a container, a server, elizaOS with the same token.",
        "Stop the other copy, or make a second bot for testing. Galatea asks again every 30 seconds and then continues.",
    ),
    Explanation::new(
        "GAL-TG-429",
        "Telegram asked to wait",
        "Too many messages in a short time: about one per second in a chat, 20 per minute in a group.",
        "Nothing has to be done: the answer waits for the time Telegram names and is sent then.",
    ),
    Explanation::new(
        "GAL-TG-WEBHOOK",
        "A webhook stands between Telegram and the bot",
        "Telegram calls another address with this bot's messages, so they cannot be polled; or the webhook of this program was called and failed.",
        "Stop the program behind it and remove the webhook, or set TELEGRAM_MODE=webhook to take it over.",
    ),
    Explanation::new(
        "GAL-TG-PRIVACY",
        "Privacy mode: what the bot sees in groups",
        "With privacy mode on, Telegram shows a bot only commands, replies to it and mentions. That is fine for a helper.",
        "To see everything: @BotFather → /setprivacy → Disable, then remove the bot from each group and add it again.",
    ),
    Explanation::new(
        "GAL-TG-CONNECT",
        "Telegram cannot be reached",
        "No network, a firewall or a country's block, a wrong TELEGRAM_API_ROOT, or a fault at Telegram.",
        "Check the network; behind a proxy set HTTPS_PROXY. It is tried again by itself.",
    ),
    Explanation::new(
        "GAL-TG-TIMEOUT",
        "Telegram did not answer in time",
        "The network is slow or lost the answer. A send whose outcome is open is never repeated on a guess.",
        "Nothing has to be done; look at the network if it happens often.",
    ),
    Explanation::new(
        "GAL-TG-GARBAGE",
        "The answer is not Telegram's",
        "A proxy or a login page answered in its place, or TELEGRAM_API_ROOT names something else.",
        "Check TELEGRAM_API_ROOT and the network's proxy.",
    ),
];
