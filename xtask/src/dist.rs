//! `cargo xtask dist`: the archive of a release, with a checksum beside it. It holds the stripped
//! program, what a reader of the README needs, and the licences of everything that is compiled in.

mod third_party;

use anyhow::{Context, Result, bail};
use clap::Args;
use sha2::{Digest, Sha256};
use std::{
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
    process::Command,
};
use xtask::{
    cargo, output,
    step::{step, succeed},
};

/// Files and folders of the checkout that the archive holds: those that the README names.
const SHIPPED: &[&str] = &[
    "README.md",
    "CHANGELOG.md",
    "ARCHITECTURE.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "LICENSE",
    "LICENSE-MIT",
    "LICENSE-APACHE",
    ".env.example",
    "characters",
    "docs",
    "deploy/galatea.service",
    "connectors/galatea-discord/README.md",
    "connectors/galatea-telegram/README.md",
    "connectors/galatea-x/README.md",
];
/// The file with the licences of dependencies.
const THIRD_PARTY: &str = "THIRD-PARTY.txt";

/// The archive of a release.
#[derive(Debug, Args)]
pub(super) struct Dist {
    /// A program that is built already, in place of a new release build
    #[arg(long, value_name = "FILE")]
    binary: Option<PathBuf>,
    /// Folder of the archive and its checksum
    #[arg(long, value_name = "FOLDER", default_value = "dist")]
    output: PathBuf,
}

/// Builds, collects and packs, and prints the path of the archive.
pub(super) fn run(root: &Path, dist: &Dist) -> Result<()> {
    let host = host(root)?;
    let binary = match &dist.binary {
        Some(binary) => binary.clone(),
        None => built(root)?,
    };
    let name = format!("galatea-{}-{host}", version(root)?);
    let out = root.join(&dist.output);
    fs::create_dir_all(&out).with_context(|| format!("cannot make {}", out.display()))?;
    let work = tempfile::tempdir_in(&out).context("cannot make a temporary folder")?;
    let folder = work.path().join(&name);
    step("collect", || collect(root, &host, &binary, &folder))?;
    let archive = out.join(format!("{name}.tar.gz"));
    step("pack", || pack(work.path(), &name, &archive))?;
    let checksum = checksum(&archive)?;
    let beside = out.join(format!("{name}.tar.gz.sha256"));
    fs::write(&beside, format!("{checksum}  {name}.tar.gz\n"))
        .with_context(|| format!("cannot write {}", beside.display()))?;
    eprintln!("{}", archive.display());
    Ok(())
}

/// A release build of the program. The profile strips it.
fn built(root: &Path) -> Result<PathBuf> {
    step("build", || {
        succeed(cargo(root, &["build", "--release", "--locked", "--package", "galatea"]))
    })?;
    let file = format!("galatea{}", std::env::consts::EXE_SUFFIX);
    Ok(xtask::target(root)?.join("release").join(file))
}

/// The platform that builds run on, which is the archive's, too.
fn host(root: &Path) -> Result<String> {
    let mut rustc = Command::new("rustc");
    rustc.current_dir(root).arg("-vV");
    let text = output(rustc)?;
    let line = text.lines().find_map(|line| line.strip_prefix("host: "));
    Ok(line.context("rustc names no host")?.to_owned())
}

fn version(root: &Path) -> Result<String> {
    let text = fs::read_to_string(root.join("Cargo.toml")).context("cannot read Cargo.toml")?;
    let manifest: toml::Table = text.parse().context("Cargo.toml is not TOML")?;
    let version =
        manifest.get("workspace").and_then(|w| w.get("package")?.get("version")?.as_str());
    Ok(version.context("Cargo.toml has no version")?.to_owned())
}

fn collect(root: &Path, host: &str, binary: &Path, folder: &Path) -> Result<()> {
    let name = binary.file_name().context("--binary names no file")?;
    copy(binary, &folder.join(name))?;
    for path in SHIPPED {
        copy(&root.join(path), &folder.join(path))?;
    }
    let text = third_party::text(root, host)?;
    fs::write(folder.join(THIRD_PARTY), text).context("cannot write the licences")?;
    Ok(())
}

/// Copies a file or a folder with its rights.
fn copy(from: &Path, to: &Path) -> Result<()> {
    let context = || format!("cannot copy {} to {}", from.display(), to.display());
    if let Some(parent) = to.parent() {
        fs::create_dir_all(parent).with_context(context)?;
    }
    if !from.is_dir() {
        return fs::copy(from, to).map(drop).with_context(context);
    }
    fs::create_dir_all(to).with_context(context)?;
    for entry in fs::read_dir(from).with_context(context)? {
        let entry = entry.with_context(context)?;
        copy(&entry.path(), &to.join(entry.file_name()))?;
    }
    Ok(())
}

/// Packs the folder. The files belong to nobody in particular.
fn pack(work: &Path, name: &str, archive: &Path) -> Result<()> {
    let mut tar = Command::new("tar");
    // Two builds of one commit give the same archive, but for the program; GNU tar only.
    if cfg!(target_os = "linux") {
        tar.args(["--sort=name", "--owner=0", "--group=0", "--numeric-owner", "--mtime=@0"]);
    }
    tar.arg("-czf").arg(archive).arg("-C").arg(work).arg(name);
    succeed(tar)?;
    if fs::metadata(archive).map_or(0, |archive| archive.len()) == 0 {
        bail!("tar wrote nothing to {}", archive.display());
    }
    Ok(())
}

/// The SHA-256 of a file, in hexadecimal.
fn checksum(file: &Path) -> Result<String> {
    let bytes = fs::read(file).with_context(|| format!("cannot read {}", file.display()))?;
    let mut text = String::with_capacity(64);
    for byte in Sha256::digest(bytes) {
        let _ = write!(text, "{byte:02x}");
    }
    Ok(text)
}

#[cfg(test)]
mod tests;
