//! The environment variables of the X connector.

use galatea_core::Variable;

pub(super) const API_KEY: Variable =
    Variable::new("TWITTER_API_KEY", "API key of the app in console.x.com (OAuth 1.0a)")
        .alias(&["X_API_KEY"])
        .secret()
        .required();
pub(super) const API_SECRET: Variable =
    Variable::new("TWITTER_API_SECRET_KEY", "API key secret of the app")
        .alias(&["X_API_SECRET_KEY", "X_API_SECRET"])
        .secret()
        .required();
pub(super) const TOKEN: Variable = Variable::new(
    "TWITTER_ACCESS_TOKEN",
    "access token of the account, with read and write permission",
)
.alias(&["X_ACCESS_TOKEN"])
.secret()
.required();
pub(super) const TOKEN_SECRET: Variable =
    Variable::new("TWITTER_ACCESS_TOKEN_SECRET", "access token secret of the account")
        .alias(&["X_ACCESS_TOKEN_SECRET"])
        .secret()
        .required();
pub(super) const CLIENT_ID: Variable = Variable::new(
    "TWITTER_CLIENT_ID",
    "OAuth 2 client id, instead of the four keys above; then run `galatea connector login x`",
)
.alias(&["X_CLIENT_ID"]);
pub(super) const CLIENT_SECRET: Variable = Variable::new(
    "TWITTER_CLIENT_SECRET",
    "OAuth 2 client secret, if the app is a confidential client",
)
.alias(&["X_CLIENT_SECRET"])
.secret();
pub(super) const REDIRECT: Variable = Variable::new(
    "TWITTER_REDIRECT_URI",
    "callback address of the app, as entered in console.x.com",
)
.alias(&["X_REDIRECT_URI"])
.or("http://127.0.0.1:8765/callback");
pub(super) const API_ROOT: Variable = Variable::new("TWITTER_API_ROOT", "address of the X API")
    .alias(&["X_API_ROOT"])
    .or("https://api.x.com");
pub(super) const AUTHORIZE: Variable =
    Variable::new("TWITTER_AUTHORIZE_URL", "address of the page on which a person allows the app")
        .or("https://x.com/i/oauth2/authorize");
pub(super) const DRY_RUN: Variable = Variable::new(
    "TWITTER_DRY_RUN",
    "post nothing, only log what would be posted; false posts for real",
)
.alias(&["X_DRY_RUN"])
.or("true");
pub(super) const TARGET_USERS: Variable =
    Variable::new("TWITTER_TARGET_USERS", "handles or ids that are answered, separated by commas; digits without @ are an id; everyone when unset or *")
        .alias(&["X_TARGET_USERS"]);
pub(super) const ENABLE_REPLIES: Variable =
    Variable::new("TWITTER_ENABLE_REPLIES", "read and answer mentions").or("true");
pub(super) const POLL_INTERVAL: Variable =
    Variable::new("TWITTER_POLL_INTERVAL", "longest pause between looks for mentions, in minutes (fractions allowed); shorter while people write").or("2");
pub(super) const ENABLE_POST: Variable =
    Variable::new("TWITTER_ENABLE_POST", "write original posts from time to time")
        .alias(&["TWITTER_POST_ENABLE"])
        .or("false");
pub(super) const POST_INTERVAL: Variable = Variable::new(
    "TWITTER_POST_INTERVAL",
    "minutes between original posts, where no MIN and MAX are set",
)
.or("120");
pub(super) const POST_MIN: Variable = Variable::new(
    "TWITTER_POST_INTERVAL_MIN",
    "shortest time between original posts, in minutes (elizaOS: 90)",
);
pub(super) const POST_MAX: Variable = Variable::new(
    "TWITTER_POST_INTERVAL_MAX",
    "longest time between original posts, in minutes (elizaOS: 150)",
);
pub(super) const POST_NOW: Variable =
    Variable::new("TWITTER_POST_IMMEDIATELY", "write the first original post right after a start")
        .or("false");
pub(super) const NOTICES: Variable =
    Variable::new("TWITTER_NOTICES", "tell those who mention it, in public and for money, that it cannot answer right now (see MODEL_NOTICE)").or("false");
pub(super) const MAY_MENTION: Variable = Variable::new(
    "TWITTER_MAY_MENTION",
    "handles that posts may mention besides the person who is answered, separated by commas; all other mentions are broken up",
);
pub(super) const QUIET: Variable =
    Variable::new("TWITTER_POST_QUIET_HOURS", "hours (UTC) without original posts, such as 22-7");
pub(super) const TIER: Variable =
    Variable::new("TWITTER_TIER", "self-serve, or enterprise, which may reply unsummoned and like")
        .or("self-serve");
pub(super) const LIMIT: Variable = Variable::new(
    "TWITTER_DAILY_SPEND_LIMIT",
    "most that may be spent on X in a day (UTC), in US dollars",
)
.or("1.00");
pub(super) const PRICES: Variable =
    Variable::new("TWITTER_PRICES", "US dollars per call kind, where they differ from X's list")
        .or("mention=0.001,read=0.005,user=0.010,post=0.015,link=0.200,reply=0.010");

pub(crate) const ALL: &[Variable] = &[
    API_KEY,
    API_SECRET,
    TOKEN,
    TOKEN_SECRET,
    CLIENT_ID,
    CLIENT_SECRET,
    REDIRECT,
    API_ROOT,
    AUTHORIZE,
    DRY_RUN,
    TARGET_USERS,
    ENABLE_REPLIES,
    POLL_INTERVAL,
    ENABLE_POST,
    POST_INTERVAL,
    POST_MIN,
    POST_MAX,
    POST_NOW,
    QUIET,
    NOTICES,
    MAY_MENTION,
    TIER,
    LIMIT,
    PRICES,
];
