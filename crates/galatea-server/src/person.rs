//! Who a caller is as a person of the web.

use galatea_host::ops::Operator;

/// Id of the user, or of the token of no user, as a person of the web.
pub(crate) fn person_of(by: &Operator) -> String {
    match (by.user, by.credential) {
        (Some(user), _) => format!("user:{user}"),
        (None, Some(credential)) => format!("token:{credential}"),
        (None, None) => "machine".to_owned(),
    }
}
