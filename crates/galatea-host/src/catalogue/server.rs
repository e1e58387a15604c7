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
    Explanation::new(
        "GAL-CONNECTOR-UNKNOWN",
        "There is no such connector",
        "This process connects no account of this name, or its settings do not have it any more.",
        "Read the list of connectors. After a change of the settings restart the agent.",
    ),
    Explanation::new(
        "GAL-APPROVAL-UNKNOWN",
        "Nothing waits for an answer there",
        "The question was answered, dropped, replaced by a later one, or its time is over.",
        "Read the list again.",
    ),
    Explanation::new(
        "GAL-APPROVAL-ELSEWHERE",
        "Another process has the account of the room",
        "An answer in place of a person goes through the account that received their message.",
        "Ask the process that connects it (`galatea cluster status` names it), or answer in the room itself.",
    ),
    Explanation::new(
        "GAL-UPLOAD-OFFSET",
        "The bytes do not follow those that are here",
        "An upload goes on where it ended, and this request begins elsewhere.",
        "Read the upload: `received` is the offset of the next bytes.",
    ),
    Explanation::new(
        "GAL-KNOW-SOURCE",
        "The document cannot be removed here",
        "The character file or KNOWLEDGE_PATH names it, so it would be read again.",
        "Take it out there.",
    ),
    Explanation::new(
        "GAL-SEAL-KEY",
        "The key of the stored secrets cannot be used",
        "GALATEA_SECRET_KEY or the file secret.key of the data folder has another form, or the file cannot be read.",
        "Write 64 hexadecimal digits (`openssl rand -hex 32`), or bring the file back.",
    ),
    Explanation::new(
        "GAL-SEAL-OPEN",
        "A stored secret cannot be opened",
        "It was sealed with another key, or its row was changed. It is not used.",
        "Bring back the former GALATEA_SECRET_KEY or secret.key, or set the secret again.",
    ),
    Explanation::new(
        "GAL-CFG-FIXED",
        "The setting cannot be set here",
        "It is read before the database is open, or the environment sets it, which counts more.",
        "Set it in the environment, in .env or in galatea.toml, and restart.",
    ),
    Explanation::new(
        "GAL-CHAR-CHANGED",
        "The character was changed meanwhile",
        "Another version was saved after the one that was edited.",
        "Look at the changes (`galatea character diff`), and save again.",
    ),
    Explanation::new(
        "GAL-AGENT-FILE",
        "The agent is one of a character file",
        "It would be there again at the next start.",
        "Stop it, or take its file out of CHARACTER_FILES.",
    ),
    Explanation::new(
        "GAL-AUTH-PASSWORD",
        "The name or the password is wrong",
        "No user of this name has this password. The answer is the same for an unknown name.",
        "Try again. An owner makes a new link for a user who forgot theirs; `galatea login` prints one on the machine itself.",
    ),
    Explanation::new(
        "GAL-AUTH-WEAK",
        "The password cannot be taken",
        "It is too short to resist guessing, or too long to be hashed.",
        "Take several words.",
    ),
    Explanation::new(
        "GAL-AUTH-REUSE",
        "A refresh token was used twice",
        "Each is good for one use, so somebody has a copy. All access that followed from its sign-in has ended.",
        "Sign in again. If no program of yours sent it twice, change the password.",
    ),
    Explanation::new(
        "GAL-AUTH-JWT",
        "The JWT does not sign in",
        "It has ended, is for another audience, of another issuer, or its signature does not fit its key.",
        "Compare its claims with AUTH_JWT_ISSUER and AUTH_JWT_AUDIENCE, and the clocks of both machines.",
    ),
    Explanation::new(
        "GAL-AUTH-OIDC",
        "The OpenID Connect provider did not sign the user in",
        "It could not be reached, refused, or answered with a token that does not fit the request.",
        "Try again; compare OIDC_ISSUER, OIDC_CLIENT_ID and the redirect address of the provider (PUBLIC_URL/api/v1/session/oidc/callback).",
    ),
    Explanation::new(
        "GAL-AUTH-UNKNOWN",
        "The provider's user was not invited",
        "Only users that an owner invited under the name of their e-mail address may sign in.",
        "Ask an owner for an invitation.",
    ),
];
