//! The page of each code of this connector, for `galatea explain` and the reference.

use galatea_core::character::Explanation;

pub(crate) const PAGES: &[Explanation] = &[
    Explanation::new(
        "GAL-X-TOKEN",
        "The keys of X",
        "OAuth 1.0a has four values: API key, API key secret, access token, access token secret. An access token is the account's id, a dash, and about 40 letters and digits.",
        "console.x.com → your app → Keys and tokens. Set TWITTER_API_KEY, TWITTER_API_SECRET_KEY, TWITTER_ACCESS_TOKEN and TWITTER_ACCESS_TOKEN_SECRET.",
    ),
    Explanation::new(
        "GAL-X-LOGIN",
        "No account is logged in to X",
        "With TWITTER_CLIENT_ID a person has to allow the app once; that permission was never given, was taken back, or its tokens are lost.",
        "`galatea connector login x` prints the page to open and keeps the tokens.",
    ),
    Explanation::new(
        "GAL-X-401",
        "X does not accept the keys",
        "They are mistyped or were regenerated, or this machine's clock is minutes off: signatures carry the time.",
        "Generate all four again in console.x.com, set them and start galatea again; set the clock if the message says how far it is off.",
    ),
    Explanation::new(
        "GAL-X-402",
        "No credits at X",
        "X charges per call, and the account's credits or its monthly cap are used up. Reading and posting pause; nothing is lost.",
        "Add credits in console.x.com. Galatea asks again every quarter of an hour and then continues.",
    ),
    Explanation::new(
        "GAL-X-403",
        "X does not allow this",
        "The account is restricted, the other person blocked it, or the conversation is closed to it.",
        "The context holds X's own words. Look at the account in a browser: X shows there what it asks for.",
    ),
    Explanation::new(
        "GAL-X-403-PERM",
        "The access token is read-only",
        "Tokens keep the permission they were made with. The app may be read-write now; this token is not.",
        "console.x.com → your app → User authentication settings → Read and write; then regenerate access token and secret and set both.",
    ),
    Explanation::new(
        "GAL-X-403-ENROLL",
        "The app is not enrolled",
        "X answered client-not-enrolled: the app belongs to no project with access to API v2.",
        "console.x.com: move the app to a Pay-per-use project, environment Production.",
    ),
    Explanation::new(
        "GAL-X-404",
        "The post or account does not exist any more",
        "It was deleted, or its author hides it from this account.",
        "Nothing has to be done.",
    ),
    Explanation::new(
        "GAL-X-400",
        "X found the request invalid",
        "A part of the post breaks a rule of the API.",
        "The context holds X's own words; please report it if you did not send anything unusual.",
    ),
    Explanation::new(
        "GAL-X-429",
        "X asked to wait",
        "Too many calls in a window of 15 minutes; X names the time from which it answers again.",
        "Nothing has to be done: what waits is sent then.",
    ),
    Explanation::new(
        "GAL-X-DUPLICATE",
        "X refuses the same words twice",
        "The account posted exactly this a while ago, and no post of the account is this very answer.",
        "Nothing has to be repaired: another answer will differ. Look at the persona if it keeps repeating itself.",
    ),
    Explanation::new(
        "GAL-X-SIMILAR",
        "An original post was too much like a recent one",
        "X forbids near-duplicates, so a post that shares most of its words with one of the last fifty is not made.",
        "Nothing has to be repaired. More topics and post examples in the character file give it more to say.",
    ),
    Explanation::new(
        "GAL-X-NOT-SUMMONED",
        "X permits replies only when mentioned",
        "Since February 2026 self-serve apps may reply only to a person who mentioned or quoted the account in that very post.",
        "Nothing has to be repaired. With an Enterprise contract set TWITTER_TIER=enterprise.",
    ),
    Explanation::new(
        "GAL-X-TARGET",
        "The person is not among those to be answered",
        "TWITTER_TARGET_USERS lists handles, and the author's is not there.",
        "Add the handle to TWITTER_TARGET_USERS, or leave it unset to answer everyone.",
    ),
    Explanation::new(
        "GAL-X-TIER",
        "X does not offer this to the account",
        "Likes, follows and quote posts were taken from self-serve apps in April 2026; posts cannot be edited by apps.",
        "With an Enterprise contract set TWITTER_TIER=enterprise, which brings likes back.",
    ),
    Explanation::new(
        "GAL-X-MEDIA",
        "An attachment cannot be posted",
        "It is empty, too large (5 MB for a picture, 15 MB for an animation, 64 MB for a film), unreadable, or of a kind X does not take.",
        "Use JPEG, PNG, WebP, GIF or MP4 within these sizes.",
    ),
    Explanation::new(
        "GAL-X-BUDGET",
        "The day's money for X",
        "Every call has a price, and TWITTER_DAILY_SPEND_LIMIT caps their sum per day (UTC). When it is reached, reading and posting pause and one alert is given.",
        "It continues at midnight UTC; TWITTER_DAILY_SPEND_LIMIT raises the cap.",
    ),
    Explanation::new(
        "GAL-X-DRY-RUN",
        "Posting is a dry run",
        "Mentions are read and answers written, but nothing is posted: the log shows what would be, and the answers stand in the memory.",
        "Set TWITTER_DRY_RUN=false once you like what you read.",
    ),
    Explanation::new(
        "GAL-X-CONNECT",
        "X cannot be reached, or has a fault",
        "The network, a proxy, the name server, or X itself.",
        "Check the network, the proxy variables and TWITTER_API_ROOT. Galatea then continues; what was said meanwhile is read then.",
    ),
    Explanation::new(
        "GAL-X-TIMEOUT",
        "X did not answer in time",
        "The connection is slow or stands still. Before anything is sent again, the account's own posts are looked through.",
        "Check the network. Other platforms are not affected.",
    ),
    Explanation::new(
        "GAL-X-GARBAGE",
        "The answer is not the X API's",
        "TWITTER_API_ROOT points to something else, or a proxy answers in X's place.",
        "Check TWITTER_API_ROOT: leave it unset, or set it to the address of an X API server.",
    ),
];
