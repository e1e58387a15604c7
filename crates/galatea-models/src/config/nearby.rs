//! Recognition of model servers in one's own network. Such a server computes on the owner's hardware, so it may need
//! minutes for a long prompt or load its model first.

use galatea_http::denied;
use url::{Host, Url};

/// Endings of names that only a private network resolves (RFC 6761, RFC 6762, RFC 9476 and ICANN's
/// `internal`).
const PRIVATE_NAMES: &[&str] = &["localhost", "local", "internal", "lan", "home.arpa"];

/// True if the address is on this machine or in a private network: a private IP address, a name
/// without a dot, as Docker's networks use, or a name that public DNS does not resolve.
pub(super) fn is_nearby(address: &str) -> bool {
    let Ok(url) = Url::parse(address) else { return false };
    match url.host() {
        Some(Host::Ipv4(ip)) => denied(ip.into()).is_some(),
        Some(Host::Ipv6(ip)) => denied(ip.to_canonical()).is_some(),
        Some(Host::Domain(name)) => {
            let name = name.trim_end_matches('.');
            let ends = |ending: &&str| {
                name.strip_suffix(*ending)
                    .is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
            };
            !name.contains('.') || PRIVATE_NAMES.iter().any(ends)
        }
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_of_the_own_network_are_told_from_services() {
        for near in [
            "http://127.0.0.1:8080/v1",
            "http://localhost:1234/v1",
            "http://llama:8080",
            "http://192.168.1.20:8000/v1",
            "http://10.1.2.3/v1",
            "http://100.100.1.2/v1",
            "http://[::1]:8080/v1",
            "http://[fd00::1]/v1",
            "http://[::ffff:10.0.0.1]/v1",
            "http://gpu.local/v1",
            "http://host.docker.internal:8080/v1",
        ] {
            assert!(is_nearby(near), "{near}");
        }
        for far in [
            "https://api.openai.com/v1",
            "https://openrouter.ai/api/v1",
            "https://8.8.8.8/v1",
            "https://notlocal.example/v1",
            "https://mylocal/v1".replace("mylocal", "my.thelocal").as_str(),
            "",
        ] {
            assert!(!is_nearby(far), "{far}");
        }
    }
}
