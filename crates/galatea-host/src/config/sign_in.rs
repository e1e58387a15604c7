//! Settings of the ways to sign in, and of the server's public address.

use galatea_core::{Error, Result, SecretString, Settings, Variable, store::OperatorRole};
use url::Url;

/// The address by which others reach the server.
pub const PUBLIC_URL: Variable = Variable::new(
    "PUBLIC_URL",
    "The address by which browsers of other machines reach the server, such as https://bot.example.org: its name is answered besides the loopback names, pages of it are the server's own, links name it, and cookies are Secure if it is https. SERVER_HOST may be another address than the loopback one only with it.",
);
/// elizaOS's token of the server.
pub(crate) const ELIZA_SERVER_AUTH_TOKEN: Variable = Variable::new(
    "ELIZA_SERVER_AUTH_TOKEN",
    "A token that may do everything, as elizaOS has it: sent as X-API-KEY or as Authorization: Bearer.",
)
.alias(&["SERVER_API_KEY"])
.secret();
/// Issuer of foreign tokens.
pub(crate) const AUTH_JWT_ISSUER: Variable = Variable::new(
    "AUTH_JWT_ISSUER",
    "Issuer (iss) of JWTs of another program that sign in here; needs AUTH_JWT_AUDIENCE, and AUTH_JWT_SECRET or AUTH_JWT_JWKS_URL.",
);
/// Audience of foreign tokens.
pub(crate) const AUTH_JWT_AUDIENCE: Variable =
    Variable::new("AUTH_JWT_AUDIENCE", "Audience (aud) that such JWTs have to name.");
/// Secret of foreign tokens.
pub(crate) const AUTH_JWT_SECRET: Variable = Variable::new(
    "AUTH_JWT_SECRET",
    "Secret of such JWTs signed with HS256, of at least 32 bytes.",
)
.alias(&["JWT_SECRET"])
.secret();
/// Keys of foreign tokens.
pub(crate) const AUTH_JWT_JWKS_URL: Variable = Variable::new(
    "AUTH_JWT_JWKS_URL",
    "Address of the key set (JWKS) of such JWTs signed with RS256 or EdDSA.",
);
/// Role of foreign tokens.
pub(crate) const AUTH_JWT_ROLE: Variable = Variable::new(
    "AUTH_JWT_ROLE",
    "The most that such a JWT may do: viewer, operator or owner. Its claim galatea_role may say less.",
)
.or("viewer");
/// Issuer of OpenID Connect.
pub(crate) const OIDC_ISSUER: Variable = Variable::new(
    "OIDC_ISSUER",
    "Address of an OpenID Connect provider that signs users in; its users are those invited under their e-mail address. Needs OIDC_CLIENT_ID and PUBLIC_URL.",
);
/// Id of this program at the provider.
pub(crate) const OIDC_CLIENT_ID: Variable =
    Variable::new("OIDC_CLIENT_ID", "The id of this program at the OpenID Connect provider.");
/// Secret of this program at the provider.
pub(crate) const OIDC_CLIENT_SECRET: Variable = Variable::new(
    "OIDC_CLIENT_SECRET",
    "The secret of this program at the OpenID Connect provider, if it has one.",
)
.secret();

/// Every setting of this module.
pub(super) const VARIABLES: &[Variable] = &[
    PUBLIC_URL,
    ELIZA_SERVER_AUTH_TOKEN,
    AUTH_JWT_ISSUER,
    AUTH_JWT_AUDIENCE,
    AUTH_JWT_SECRET,
    AUTH_JWT_JWKS_URL,
    AUTH_JWT_ROLE,
    OIDC_ISSUER,
    OIDC_CLIENT_ID,
    OIDC_CLIENT_SECRET,
];

/// Shortest secret of HS256 in bytes: that of its hash (RFC 7518 §3.2).
const SHORTEST: usize = 32;

/// The address by which others reach the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublicUrl {
    /// Scheme, name and port, as a browser sends them in `Origin`.
    pub origin: String,
    /// Name and port, as a browser sends them in `Host`.
    pub host: String,
    /// Cookies are Secure.
    pub https: bool,
}

/// JWTs of another program.
#[derive(Debug, Clone)]
pub struct ForeignTokens {
    /// Their issuer.
    pub issuer: String,
    /// Their audience.
    pub audience: String,
    /// Secret of HS256.
    pub secret: Option<SecretString>,
    /// Address of the key set for RS256 and EdDSA.
    pub keys: Option<Url>,
    /// The most that they may do.
    pub role: OperatorRole,
}

/// An OpenID Connect provider.
#[derive(Debug, Clone)]
pub struct OidcProvider {
    /// Its address.
    pub issuer: Url,
    /// The id of this program there.
    pub client: String,
    /// The secret of this program there.
    pub secret: Option<SecretString>,
}

/// The ways to sign in besides links, sessions and tokens of the database.
#[derive(Debug, Clone, Default)]
pub struct SignInOptions {
    /// The address by which others reach the server; none for the loopback interface alone.
    pub public: Option<PublicUrl>,
    /// elizaOS's token of the server.
    pub static_token: Option<SecretString>,
    /// JWTs of another program.
    pub foreign: Option<ForeignTokens>,
    /// An OpenID Connect provider.
    pub oidc: Option<OidcProvider>,
}

impl SignInOptions {
    /// Reads them.
    ///
    /// # Errors
    /// `Invalid` with the place of a setting that cannot be read, or that needs another one.
    pub fn read(settings: &Settings) -> Result<Self> {
        let public = public(settings)?;
        let oidc = oidc(settings)?;
        if oidc.is_some() && public.is_none() {
            return Err(settings.invalid_setting(&OIDC_ISSUER, "needs PUBLIC_URL"));
        }
        let static_token = settings.secret(&ELIZA_SERVER_AUTH_TOKEN);
        Ok(Self { public, static_token, foreign: foreign(settings)?, oidc })
    }
}

fn url(settings: &Settings, variable: &Variable) -> Result<Option<Url>> {
    let Some(text) = settings.text(variable).filter(|text| !text.trim().is_empty()) else {
        return Ok(None);
    };
    let url = Url::parse(text.trim()).ok().filter(|url| {
        matches!(url.scheme(), "http" | "https")
            && url.host_str().is_some()
            && url.username().is_empty()
            && url.password().is_none()
    });
    url.map(Some)
        .ok_or_else(|| settings.invalid_setting(variable, "is not an http or https address"))
}

fn public(settings: &Settings) -> Result<Option<PublicUrl>> {
    let Some(url) = url(settings, &PUBLIC_URL)? else { return Ok(None) };
    if url.path() != "/" || url.query().is_some() || url.fragment().is_some() {
        return Err(
            settings.invalid_setting(&PUBLIC_URL, "has a path; the server needs a name of its own")
        );
    }
    let origin = url.origin().ascii_serialization();
    let host = origin.split_once("://").map(|(_, host)| host.to_owned()).unwrap_or_default();
    Ok(Some(PublicUrl { https: url.scheme() == "https", origin, host }))
}

fn foreign(settings: &Settings) -> Result<Option<ForeignTokens>> {
    let Some(issuer) = settings.text(&AUTH_JWT_ISSUER) else { return Ok(None) };
    let needs = |variable: &Variable| {
        Error::invalid(format!("{} needs {}", AUTH_JWT_ISSUER.name, variable.name))
            .with_code("GAL-CFG-VALUE")
            .with("where", settings.origin(&AUTH_JWT_ISSUER))
            .with_fix(format!("{}: {}", variable.name, variable.help))
    };
    let audience = settings.text(&AUTH_JWT_AUDIENCE).ok_or_else(|| needs(&AUTH_JWT_AUDIENCE))?;
    let secret = settings.secret(&AUTH_JWT_SECRET);
    let keys = url(settings, &AUTH_JWT_JWKS_URL)?;
    if secret.is_none() && keys.is_none() {
        return Err(needs(&AUTH_JWT_JWKS_URL));
    }
    use galatea_core::ExposeSecret as _;
    if secret.as_ref().is_some_and(|secret| secret.expose_secret().len() < SHORTEST) {
        return Err(settings.invalid_setting(&AUTH_JWT_SECRET, "is shorter than 32 bytes"));
    }
    let role = settings.parse(&AUTH_JWT_ROLE, "one of viewer, operator, owner")?;
    let role = role.unwrap_or(OperatorRole::Viewer);
    Ok(Some(ForeignTokens { issuer, audience, secret, keys, role }))
}

fn oidc(settings: &Settings) -> Result<Option<OidcProvider>> {
    let Some(issuer) = url(settings, &OIDC_ISSUER)? else { return Ok(None) };
    let client = settings
        .text(&OIDC_CLIENT_ID)
        .ok_or_else(|| settings.invalid_setting(&OIDC_ISSUER, "needs OIDC_CLIENT_ID"))?;
    Ok(Some(OidcProvider { issuer, client, secret: settings.secret(&OIDC_CLIENT_SECRET) }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(pairs: &[(&'static str, &'static str)]) -> Result<SignInOptions> {
        SignInOptions::read(&Settings::from_pairs(pairs.iter().copied()))
    }

    #[test]
    fn the_public_address_is_read_as_browsers_write_it() {
        let of = |text: &'static str| read(&[("PUBLIC_URL", text)]).map(|read| read.public);
        let public = of(" https://Bot.Example.org:443/ ").unwrap().unwrap();
        let expected = ("https://bot.example.org", "bot.example.org", true);
        assert_eq!((public.origin.as_str(), public.host.as_str(), public.https), expected);
        let public = of("http://10.0.0.7:3000").unwrap().unwrap();
        assert_eq!((public.host.as_str(), public.https), ("10.0.0.7:3000", false));
        assert!(of("").unwrap().is_none());
        for bad in
            ["bot.example.org", "ftp://x", "https://x/path", "https://u:p@x", "https://x?a=1"]
        {
            assert_eq!(of(bad).unwrap_err().code(), Some("GAL-CFG-VALUE"), "{bad}");
        }
    }

    #[test]
    fn half_a_way_to_sign_in_is_refused() {
        let long = "0123456789012345678901234567890123456789";
        let whole = [
            ("AUTH_JWT_ISSUER", "https://id"),
            ("AUTH_JWT_AUDIENCE", "galatea"),
            ("JWT_SECRET", long),
        ];
        assert_eq!(read(&whole).unwrap().foreign.unwrap().role, OperatorRole::Viewer);
        for bad in [
            &whole[..1],
            &whole[..2],
            &[whole[0], whole[1], ("AUTH_JWT_SECRET", "short")],
            &[whole[0], whole[1], whole[2], ("AUTH_JWT_ROLE", "king")],
            &[("OIDC_ISSUER", "https://id")],
            &[("OIDC_ISSUER", "https://id"), ("OIDC_CLIENT_ID", "g")],
        ] {
            assert!(read(bad).is_err(), "{bad:?}");
        }
    }
}
