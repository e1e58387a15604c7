//! Determines which process listens on a port, from /proc. On systems other than Linux it finds
//! none.

use std::{fs, net::SocketAddr};

/// Name and process id of the process that listens on this address, such as `node (4711)`. `None`
/// if it cannot be determined.
pub(crate) fn of(address: SocketAddr) -> Option<String> {
    let inode = ["/proc/net/tcp", "/proc/net/tcp6"].iter().find_map(|table| {
        inode_in(&fs::read_to_string(table).ok()?, address.port()).map(str::to_owned)
    })?;
    let pid = pid_of(&format!("socket:[{inode}]"))?;
    let name = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    Some(format!("{} ({pid})", name.trim()))
}

/// The inode of the listening socket (state 0A) on a port, from a table in the format of
/// proc_net_tcp(5).
fn inode_in(table: &str, port: u16) -> Option<&str> {
    table.lines().skip(1).find_map(|line| {
        let fields: Vec<&str> = line.split_ascii_whitespace().collect();
        let (_, local_port) = fields.get(1)?.rsplit_once(':')?;
        let listens = *fields.get(3)? == "0A" && u16::from_str_radix(local_port, 16) == Ok(port);
        listens.then(|| fields.get(9).copied()).flatten()
    })
}

fn pid_of(link: &str) -> Option<u32> {
    fs::read_dir("/proc").ok()?.flatten().find_map(|process| {
        let pid: u32 = process.file_name().to_str()?.parse().ok()?;
        let owns = fs::read_dir(process.path().join("fd"))
            .ok()?
            .flatten()
            .any(|fd| fs::read_link(fd.path()).is_ok_and(|to| to.as_os_str() == link));
        owns.then_some(pid)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn listening_sockets_are_distinguished_from_connections() {
        let table = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n\
             0: 0100007F:0BB8 0100007F:1234 01 00000000:00000000 00:00000000 00000000     0        0 11 1 0\n\
             1: 0100007F:0BB8 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 22 1 0\n garbage\n";
        assert_eq!(inode_in(table, 3000), Some("22"));
        assert_eq!(inode_in(table, 3001), None);
        assert_eq!(inode_in("", 1), None);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn our_own_listener_is_found() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let owner = of(listener.local_addr().unwrap()).unwrap();
        assert!(owner.ends_with(&format!("({})", std::process::id())), "{owner}");
    }
}
