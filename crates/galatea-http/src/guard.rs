//! Decides which addresses a stranger may make this process connect to: a table and a pure
//! function.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// IPv4 blocks that are not the public internet: the IANA special-purpose registry (RFC 6890 and
/// successors), multicast, and addresses where clouds keep their metadata.
const V4: &[(Ipv4Addr, u32, &str)] = &[
    (Ipv4Addr::new(0, 0, 0, 0), 8, "this network (RFC 791)"),
    (Ipv4Addr::new(10, 0, 0, 0), 8, "private (RFC 1918)"),
    (Ipv4Addr::new(100, 64, 0, 0), 10, "carrier-grade NAT (RFC 6598)"),
    (Ipv4Addr::new(127, 0, 0, 0), 8, "loopback (RFC 1122)"),
    (Ipv4Addr::new(168, 63, 129, 16), 32, "cloud metadata (Azure)"),
    (Ipv4Addr::new(169, 254, 0, 0), 16, "link-local and cloud metadata (RFC 3927)"),
    (Ipv4Addr::new(172, 16, 0, 0), 12, "private (RFC 1918)"),
    (Ipv4Addr::new(192, 0, 0, 0), 24, "protocol assignments (RFC 6890)"),
    (Ipv4Addr::new(192, 0, 2, 0), 24, "documentation (RFC 5737)"),
    (Ipv4Addr::new(192, 88, 99, 0), 24, "6to4 relay (RFC 7526)"),
    (Ipv4Addr::new(192, 168, 0, 0), 16, "private (RFC 1918)"),
    (Ipv4Addr::new(198, 18, 0, 0), 15, "benchmarking (RFC 2544)"),
    (Ipv4Addr::new(198, 51, 100, 0), 24, "documentation (RFC 5737)"),
    (Ipv4Addr::new(203, 0, 113, 0), 24, "documentation (RFC 5737)"),
    (Ipv4Addr::new(224, 0, 0, 0), 4, "multicast (RFC 5771)"),
    (Ipv4Addr::new(240, 0, 0, 0), 4, "reserved or broadcast (RFC 1112)"),
];

/// Refused IPv6 blocks. Addresses outside 2000::/3 (global unicast, RFC 4291) are refused in any
/// case; the blocks there give the reason.
const V6: &[(Ipv6Addr, u32, &str)] = &[
    (Ipv6Addr::UNSPECIFIED, 128, "unspecified"),
    (Ipv6Addr::LOCALHOST, 128, "loopback"),
    (Ipv6Addr::new(0, 0, 0, 0, 0, 0xffff, 0, 0), 96, "IPv4-mapped (RFC 4291)"),
    (Ipv6Addr::UNSPECIFIED, 96, "IPv4-compatible (RFC 4291)"),
    (Ipv6Addr::new(0x64, 0xff9b, 0, 0, 0, 0, 0, 0), 96, "NAT64 (RFC 6052)"),
    (Ipv6Addr::new(0x64, 0xff9b, 1, 0, 0, 0, 0, 0), 48, "local NAT64 (RFC 8215)"),
    (Ipv6Addr::new(0x100, 0, 0, 0, 0, 0, 0, 0), 64, "discard (RFC 6666)"),
    (
        Ipv6Addr::new(0x2001, 0, 0, 0, 0, 0, 0, 0),
        23,
        "Teredo, ORCHID and other protocol assignments (RFC 2928)",
    ),
    (Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0), 32, "documentation (RFC 3849)"),
    (Ipv6Addr::new(0x2002, 0, 0, 0, 0, 0, 0, 0), 16, "6to4 (RFC 3056)"),
    (Ipv6Addr::new(0x3fff, 0, 0, 0, 0, 0, 0, 0), 20, "documentation (RFC 9637)"),
    (Ipv6Addr::new(0xfc00, 0, 0, 0, 0, 0, 0, 0), 7, "unique local and cloud metadata (RFC 4193)"),
    (Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 0), 10, "link-local (RFC 4291)"),
    (Ipv6Addr::new(0xfec0, 0, 0, 0, 0, 0, 0, 0), 10, "site-local (RFC 3879)"),
    (Ipv6Addr::new(0xff00, 0, 0, 0, 0, 0, 0, 0), 8, "multicast (RFC 4291)"),
];

/// Why this address is refused; `None` for an address of the public internet.
pub fn denied(ip: IpAddr) -> Option<&'static str> {
    match ip {
        IpAddr::V4(ip) => {
            V4.iter().find(|(net, bits, _)| in_v4(ip, *net, *bits)).map(|(_, _, why)| *why)
        }
        IpAddr::V6(ip) => {
            V6.iter().find(|(net, bits, _)| in_v6(ip, *net, *bits)).map(|(_, _, why)| *why).or_else(
                || {
                    (!in_v6(ip, Ipv6Addr::new(0x2000, 0, 0, 0, 0, 0, 0, 0), 3))
                        .then_some("not global unicast (RFC 4291)")
                },
            )
        }
    }
}

fn in_v4(ip: Ipv4Addr, net: Ipv4Addr, bits: u32) -> bool {
    (ip.to_bits() ^ net.to_bits()).leading_zeros() >= bits
}

fn in_v6(ip: Ipv6Addr, net: Ipv6Addr, bits: u32) -> bool {
    (ip.to_bits() ^ net.to_bits()).leading_zeros() >= bits
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn inside_addresses_are_refused() {
        for ip in [
            "0.0.0.0",
            "0.1.2.3",
            "10.0.0.1",
            "10.255.255.255",
            "100.64.0.1",
            "100.127.255.255",
            "100.100.100.200",
            "127.0.0.1",
            "127.1.2.3",
            "168.63.129.16",
            "169.254.0.1",
            "169.254.169.254",
            "169.254.170.2",
            "172.16.0.1",
            "172.31.255.255",
            "192.0.0.1",
            "192.0.0.192",
            "192.0.2.1",
            "192.88.99.1",
            "192.168.0.1",
            "192.168.255.255",
            "198.18.0.1",
            "198.19.255.255",
            "198.51.100.7",
            "203.0.113.9",
            "224.0.0.1",
            "239.255.255.255",
            "240.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::2",
            "::7f00:1",
            "::ffff:127.0.0.1",
            "::ffff:8.8.8.8",
            "::ffff:169.254.169.254",
            "64:ff9b::7f00:1",
            "64:ff9b::808:808",
            "64:ff9b:1::1",
            "100::1",
            "2001::1",
            "2001:10::1",
            "2001:20::1",
            "2001:2::1",
            "2001:db8::1",
            "2002:7f00:1::1",
            "3fff::1",
            "5f00::1",
            "fc00::1",
            "fd00:ec2::254",
            "fd12:3456::1",
            "fe80::1",
            "febf::1",
            "fec0::1",
            "ff02::1",
            "ff0e::1",
            "4000::1",
            "1::1",
        ] {
            assert!(denied(ip.parse().unwrap()).is_some(), "{ip}");
        }
    }

    #[test]
    fn public_addresses_are_allowed() {
        for ip in [
            "1.1.1.1",
            "8.8.8.8",
            "9.255.255.255",
            "11.0.0.0",
            "100.63.255.255",
            "100.128.0.0",
            "126.255.255.255",
            "128.0.0.1",
            "168.63.129.17",
            "169.253.255.255",
            "169.255.0.0",
            "172.15.255.255",
            "172.32.0.0",
            "192.0.1.0",
            "192.167.255.255",
            "192.169.0.0",
            "198.17.255.255",
            "198.20.0.0",
            "203.0.112.255",
            "203.0.114.0",
            "223.255.255.255",
            "2606:4700:4700::1111",
            "2001:4860:4860::8888",
            "2a00:1450::1",
            "2003::1",
            "3ffe::1",
        ] {
            assert_eq!(denied(ip.parse().unwrap()), None, "{ip}");
        }
    }

    proptest! {
        #[test]
        fn agrees_with_the_standard_library(bits in any::<u32>()) {
            let ip = Ipv4Addr::from_bits(bits);
            if ip.is_private() || ip.is_loopback() || ip.is_link_local() || ip.is_multicast() || ip.is_broadcast() || ip.is_documentation() || ip.is_unspecified() {
                prop_assert!(denied(ip.into()).is_some());
            }
            prop_assert!(denied(ip.to_ipv6_mapped().into()).is_some());
        }
    }
}
