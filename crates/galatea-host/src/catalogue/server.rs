//! Pages about the control plane.

use galatea_core::character::Explanation;

pub(super) const PAGES: &[Explanation] = &[
    Explanation::new(
        "GAL-AUTH-NONE",
        "Nobody is signed in",
        "The request has no session and no token, or one that has ended.",
        "Sign in with the link that `galatea login` prints, or send a token as `Authorization: Bearer …`.",
    ),
    Explanation::new(
        "GAL-AUTH-LINK",
        "The login link does not sign in",
        "A link signs in once, within 15 minutes; an invitation within a day.",
        "Run `galatea login` on the machine that galatea runs on for another link.",
    ),
    Explanation::new(
        "GAL-AUTH-ROLE",
        "The role is not enough",
        "Viewers read, operators work with agents, owners change users and tokens.",
        "Ask an owner of this installation.",
    ),
    Explanation::new(
        "GAL-AUTH-RATE",
        "Too many attempts to sign in",
        "Attempts are limited, so that nobody can guess.",
        "Wait a minute.",
    ),
    Explanation::new(
        "GAL-AUTH-OWNER",
        "No owner would remain",
        "The user does not exist, or is the last owner who may sign in.",
        "Make another user an owner first.",
    ),
    Explanation::new(
        "GAL-AUTH-UNKNOWN",
        "There is no such user or token",
        "The command names a user or a token that does not exist, or a name that several have.",
        "`galatea user ls` and `galatea token ls` list them with their ids.",
    ),
    Explanation::new(
        "GAL-AUTH-NAME",
        "The name is taken",
        "Another user has this name.",
        "Choose another name.",
    ),
    Explanation::new(
        "GAL-ORIGIN",
        "The request comes from a foreign page",
        "The Origin header names another page than this server's own.",
        "Programs send no Origin and use a token.",
    ),
    Explanation::new(
        "GAL-API-ROUTE",
        "There is no such address",
        "The path or the method is none of the API's.",
        "See /docs for all of them.",
    ),
    Explanation::new(
        "GAL-API-INPUT",
        "The request cannot be read",
        "A parameter or the body is not what the API takes.",
        "See the detail, and /docs.",
    ),
    Explanation::new(
        "GAL-API-KEY",
        "The idempotency key belongs to another request",
        "The key was used for a request that differs, or whose first copy is still carried out.",
        "Use a new key for each request, and the same one only to repeat it.",
    ),
];
