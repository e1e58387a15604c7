//! Pages about outgoing HTTP.

use galatea_core::character::Explanation;

pub(super) const PAGES: &[Explanation] = &[
    Explanation::new(
        "GAL-HTTP-REFUSED",
        "Nothing listens at the address",
        "The program behind it is not running, or the port is wrong.",
        "Start it, or correct the address.",
    ),
    Explanation::new(
        "GAL-HTTP-DNS",
        "The host's name has no address",
        "It is misspelt, or this machine has no working name service.",
        "Check the spelling and the network.",
    ),
    Explanation::new(
        "GAL-LOCAL-LIMIT",
        "This machine has no more open files, ports or memory for a connection",
        "The process or the machine is at its limit of open files (or ports, buffers, memory). Neither models nor platforms are at fault; messages wait \
         and are answered once there is room again.",
        "Raise the limit: `ulimit -n 65536` before the start, or LimitNOFILE= in the systemd unit. `ls /proc/PID/fd | wc -l` shows how many are open.",
    ),
    Explanation::new(
        "GAL-HTTP-CONNECT",
        "No connection",
        "A firewall, a proxy, or a certificate that is not trusted is in the way.",
        "Check HTTPS_PROXY; for a company's own certificate set SSL_CERT_FILE.",
    ),
    Explanation::new(
        "GAL-HTTP-TIMEOUT",
        "No answer in time",
        "The other side is slow or the network loses packets.",
        "It is tried again where that is safe; check the network if it stays.",
    ),
    Explanation::new(
        "GAL-HTTP-BROKEN",
        "The connection broke after the request had left",
        "The other side may or may not have done what was asked.",
        "Nothing has to be done; what is unknown is shown as ambiguous and not repeated on a guess.",
    ),
    Explanation::new(
        "GAL-HTTP-TOO-BIG",
        "The answer is longer than allowed",
        "Answers are bounded so that a server cannot fill the memory.",
        "Use a smaller file, or another address.",
    ),
    Explanation::new(
        "GAL-HTTP-JSON",
        "The answer is not the JSON expected",
        "Another kind of server answered, often a login page.",
        "Check the address.",
    ),
    Explanation::new(
        "GAL-HTTP-URL",
        "The address cannot be used",
        "It is not a complete http or https address.",
        "Write it in full, such as https://example.org/path.",
    ),
    Explanation::new(
        "GAL-HTTP-SSRF",
        "The address lies inside this network",
        "A stranger's message named an address of this machine or its network. Such addresses are never opened.",
        "Nothing has to be done.",
    ),
    Explanation::new(
        "GAL-HTTP-STATUS",
        "The other side answered with an error",
        "The status and its words are in the context.",
        "Do what the other side's words say.",
    ),
    Explanation::new(
        "GAL-HTTP-SETUP",
        "The HTTP client cannot be set up",
        "The system's TLS library or its certificates cannot be loaded, or a proxy variable is malformed.",
        "Install ca-certificates and OpenSSL, and check HTTPS_PROXY.",
    ),
];
