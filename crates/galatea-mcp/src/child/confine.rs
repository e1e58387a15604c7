//! Limits of a server's process, and what the kernel enforces of them.

use nix::sys::resource::{Resource, setrlimit};
use std::{
    ffi::OsStr,
    path::{Path, PathBuf},
};

use super::Plan;

/// Memory that a server may write to, in bytes. A server in Node.js takes 60 to 150 MiB.
const MEMORY: u64 = 4 << 30;
/// Longest file that it may write, in bytes.
const FILE: u64 = 1 << 30;
/// Most files that it may have open.
const FILES: u64 = 4_096;

/// Limits the process that calls it, and says in a word each what is not enforced: `files` (the
/// kernel has no Landlock), `files-in-part` (an older Landlock), `memory`, `privileges`; `all` when
/// nothing is missing.
pub(super) fn confine(plan: &Plan, program: &OsStr) -> String {
    let mut missing = Vec::new();
    let limits = [
        setrlimit(Resource::RLIMIT_CORE, 0, 0),
        setrlimit(Resource::RLIMIT_FSIZE, FILE, FILE),
        setrlimit(Resource::RLIMIT_NOFILE, FILES, FILES),
    ];
    if limits.iter().any(Result::is_err) {
        missing.push("limits");
    }
    #[cfg(target_os = "linux")]
    {
        if setrlimit(Resource::RLIMIT_DATA, MEMORY, MEMORY).is_err() {
            missing.push("memory");
        }
        if nix::sys::prctl::set_no_new_privs().is_err() {
            missing.push("privileges");
        }
        if plan.confined {
            match files(plan, program) {
                Files::All => {}
                Files::Part => missing.push("files-in-part"),
                Files::None => missing.push("files"),
            }
        } else {
            missing.push("files-by-choice");
        }
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = (MEMORY, plan, program);
        missing.extend(["memory", "privileges", "files"]);
    }
    if missing.is_empty() { "all".to_owned() } else { missing.join(" ") }
}

/// For people: what the words of [`confine`] mean; none if everything is enforced.
pub(crate) fn in_words(words: &str) -> Option<String> {
    let mut said = Vec::new();
    for word in words.split_whitespace() {
        said.push(match word {
            "files" => "its files are not confined, because this kernel has no Landlock",
            "files-in-part" => {
                "its files are confined in part, because this kernel's Landlock is old"
            }
            "files-by-choice" => "its files are not confined, as its settings say",
            "memory" => "its memory is not limited",
            "privileges" => "it may gain privileges",
            "limits" => "its open files are not limited",
            _ => continue,
        });
    }
    (!said.is_empty()).then(|| said.join("; "))
}

#[cfg(target_os = "linux")]
enum Files {
    All,
    Part,
    None,
}

/// Folders of the system that every program reads.
#[cfg(target_os = "linux")]
const SYSTEM: &[&str] = &[
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/etc",
    "/opt",
    "/nix",
    "/proc",
    "/sys",
    "/run/systemd/resolve",
    "/run/resolvconf",
    "/run/NetworkManager",
    // Prefix of Homebrew on Linux.
    concat!("/home", "/linuxbrew"),
];
/// Devices that every program uses.
#[cfg(target_os = "linux")]
const DEVICES: &[&str] =
    &["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty", "/dev/shm"];

#[cfg(target_os = "linux")]
fn files(plan: &Plan, program: &OsStr) -> Files {
    use landlock::{
        ABI, Access, AccessFs, Ruleset, RulesetAttr, RulesetCreatedAttr, RulesetStatus, Scope,
        path_beneath_rules,
    };
    const KNOWN: ABI = ABI::V6;
    let read: Vec<PathBuf> = SYSTEM
        .iter()
        .map(PathBuf::from)
        .chain(plan.readable.iter().cloned())
        .chain(programs(program))
        .collect();
    let write: Vec<PathBuf> =
        DEVICES.iter().map(PathBuf::from).chain(plan.writable.iter().cloned()).collect();
    let restricted = Ruleset::default()
        .handle_access(AccessFs::from_all(KNOWN))
        .and_then(|rules| rules.scope(Scope::from_all(KNOWN)))
        .and_then(landlock::Ruleset::create)
        .and_then(|rules| rules.add_rules(path_beneath_rules(&read, AccessFs::from_read(KNOWN))))
        .and_then(|rules| rules.add_rules(path_beneath_rules(&write, AccessFs::from_all(KNOWN))))
        .and_then(landlock::RulesetCreated::restrict_self);
    match restricted.map(|status| status.ruleset) {
        Ok(RulesetStatus::FullyEnforced) => Files::All,
        Ok(RulesetStatus::PartiallyEnforced) => Files::Part,
        Ok(_) | Err(_) => Files::None,
    }
}

/// Folders of `PATH` and of the program itself that lie outside the system's, such as those of a version
/// manager: their interpreters read files beside them.
#[cfg(target_os = "linux")]
fn programs(program: &OsStr) -> Vec<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    folders.extend(Path::new(program).parent().map(Path::to_path_buf));
    let mut found = Vec::new();
    for folder in folders.into_iter().filter(|folder| folder.is_absolute()) {
        let folder = folder.canonicalize().unwrap_or(folder);
        if SYSTEM.iter().any(|system| folder.starts_with(system)) {
            continue;
        }
        let is_bin = folder.file_name().is_some_and(|name| name == "bin" || name == "shims");
        match folder.parent().filter(|_| is_bin) {
            // A home's own `bin`, and `~/.local/bin`, stand beside private files.
            Some(parent) if parent.ends_with(".local") => {
                found.extend(["lib", "share/uv", "share/pipx"].map(|part| parent.join(part)));
            }
            // A version manager's folder, such as ~/.pyenv, or one deep enough to be no home.
            Some(parent)
                if parent.components().count() > 3
                    || parent
                        .file_name()
                        .is_some_and(|name| name.to_string_lossy().starts_with('.')) =>
            {
                found.push(parent.to_path_buf());
            }
            _ => {}
        }
        found.push(folder);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_said_in_words() {
        assert_eq!(in_words("all"), None);
        assert_eq!(in_words("files memory").unwrap().matches("; ").count(), 1);
        assert!(in_words("files").unwrap().contains("Landlock"));
    }
}
