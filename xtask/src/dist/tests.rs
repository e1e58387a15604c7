//! The archive, packed with a small file in place of the program, is read back as a reader of the
//! README would.

use super::*;
use std::collections::BTreeSet;

/// The archive's folder, unpacked below `into`.
fn unpacked(archive: &Path, into: &Path) -> PathBuf {
    let mut tar = Command::new("tar");
    tar.arg("-xzf").arg(archive).arg("-C").arg(into);
    succeed(tar).unwrap();
    let mut folders: Vec<_> = fs::read_dir(into).unwrap().map(|entry| entry.unwrap()).collect();
    assert_eq!(folders.len(), 1, "one folder, so that unpacking scatters nothing");
    folders.remove(0).path()
}

/// Relative links of a Markdown file.
fn links(text: &str) -> BTreeSet<String> {
    let targets = text.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    targets
        .map(|target| target.split('#').next().unwrap_or_default().to_owned())
        .filter(|target| !target.is_empty() && !target.contains("://"))
        .collect()
}

#[test]
fn the_archive_has_the_program_the_licences_and_every_page_that_the_readme_names() {
    let root = xtask::root().unwrap();
    let out = tempfile::tempdir().unwrap();
    let binary = out.path().join("galatea");
    fs::write(&binary, "the program").unwrap();
    let output = out.path().join("dist");
    run(&root, &Dist { binary: Some(binary), output: output.clone() }).unwrap();

    let mut files: Vec<_> =
        fs::read_dir(&output).unwrap().map(|file| file.unwrap().path()).collect();
    files.sort();
    let [archive, beside] = files.as_slice() else { panic!("{files:?}") };
    let expected = fs::read_to_string(beside).unwrap();
    let (digest, name) = expected.trim_end().split_once("  ").unwrap();
    assert_eq!(digest, checksum(archive).unwrap(), "as sha256sum -c compares");
    assert_eq!(name, archive.file_name().unwrap().to_str().unwrap());

    let here = tempfile::tempdir().unwrap();
    let folder = unpacked(archive, here.path());
    assert_eq!(fs::read_to_string(folder.join("galatea")).unwrap(), "the program");
    let readme = fs::read_to_string(folder.join("README.md")).unwrap();
    let named = links(&readme);
    assert!(named.len() > 10, "{named:?}");
    for link in named {
        assert!(folder.join(&link).exists(), "the README names {link}");
    }
    for file in
        ["LICENSE", "LICENSE-MIT", "LICENSE-APACHE", ".env.example", "characters/helper.json"]
    {
        assert!(folder.join(file).is_file(), "{file}");
    }

    let licences = fs::read_to_string(folder.join(THIRD_PARTY)).unwrap();
    for package in ["tokio ", "sqlx ", "libsqlite3-sys ", "reqwest ", "libmimalloc-sys "] {
        assert!(licences.contains(&format!("\n{package}")), "{package}");
    }
    for of_tests in ["proptest ", "insta ", "syn "] {
        assert!(!licences.contains(&format!("\n{of_tests}")), "{of_tests} is not compiled in");
    }
    for words in
        ["Permission is hereby granted, free of charge", "Apache License", "Mozilla Public"]
    {
        assert!(licences.contains(words), "{words}");
    }
}

#[test]
fn the_workflow_of_releases_makes_this_archive() {
    let root = xtask::root().unwrap();
    let workflow = fs::read_to_string(root.join(".github/workflows/release.yml")).unwrap();
    assert!(workflow.contains("cargo xtask dist"), "{workflow}");
    let rust = fs::read_to_string(root.join("Cargo.toml")).unwrap();
    let version = rust.lines().find_map(|line| line.strip_prefix("rust-version = ")).unwrap();
    assert!(workflow.contains(&format!("rustup toolchain install {}", version.trim_matches('"'))));
}
