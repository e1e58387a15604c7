//! What is found, kept and left out.

use super::*;
use std::path::PathBuf;

#[test]
fn folders_are_searched_without_links_and_hidden_files() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::create_dir_all(at("in/node_modules")).unwrap();
    for name in ["b.md", "in/a.txt", ".hidden.md", "in/node_modules/x.md", "picture.png"] {
        fs::write(at(name), "x").unwrap();
    }
    std::os::unix::fs::symlink("/etc", at("link")).unwrap();
    std::os::unix::fs::symlink("/etc/hostname", at("host.txt")).unwrap();
    let source = |path: PathBuf| Source {
        place: Place::Path(path),
        shared: false,
        origin: Origin::Character,
    };
    let sources = [source(folder.path().into()), source(at("b.md")), source(at("gone"))];
    let found = scan(&sources, &HashSet::new(), Timestamp(0));
    let names: Vec<_> = found
        .items
        .iter()
        .map(|item| item.key.strip_prefix(&folder.path().display().to_string()).unwrap())
        .collect();
    assert_eq!(names, ["/b.md", "/in/a.txt"]);
    assert_eq!(found.missing.len(), 1);
    assert!(found.missing[0].removed && found.problems(Timestamp(0))[0].0.ends_with("/gone"));
}

fn folder_of(names: impl IntoIterator<Item = std::ffi::OsString>) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for name in names {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "").unwrap();
    }
    folder
}

fn added(path: &Path) -> Vec<Source> {
    let place = Place::Path(path.to_owned());
    vec![Source { place, shared: false, origin: Origin::Added }]
}

#[test]
fn of_more_files_than_the_limit_those_that_are_stored_stay_and_the_others_are_counted() {
    let names = (0..MOST_FILES + 10).map(|n| format!("f{n:05}.md").into());
    let folder = folder_of(names);
    let sources = added(folder.path());
    let first = scan(&sources, &HashSet::new(), Timestamp(i64::MAX));
    assert_eq!(first.items.len(), MOST_FILES);
    let (source, error) = &first.problems(Timestamp(0))[0];
    assert_eq!(*source, folder.path().display().to_string());
    assert!(error.to_string().contains("10 files are left out"), "{error}");

    let stored: HashSet<String> = first.items.iter().map(|item| item.key.clone()).collect();
    fs::write(folder.path().join("a-new.md"), "").unwrap();
    let second = scan(&sources, &stored, Timestamp(i64::MAX));
    assert!(second.items.iter().all(|item| stored.contains(&item.key)));
    assert!(second.problems(Timestamp(0))[0].1.to_string().contains("11 files"), "{second:?}");
    // A place that becomes free is taken.
    fs::remove_file(folder.path().join("f00007.md")).unwrap();
    let third = scan(&sources, &stored, Timestamp(i64::MAX));
    assert_eq!(third.items.len(), MOST_FILES);
    assert!(third.items[0].key.ends_with("a-new.md"));
    assert_ne!(format!("{:?}", second.omitted), format!("{:?}", third.omitted));
}

#[test]
fn what_is_too_deep_or_has_no_name_in_utf_8_is_a_problem() {
    use std::os::unix::ffi::OsStringExt;
    let deep = format!("{}deep.md", "d/".repeat(17));
    let deepest = format!("{}deepest.md", "e/".repeat(16));
    let odd = |name: &[u8]| std::ffi::OsString::from_vec(name.to_vec());
    let folder = folder_of([
        deep.into(),
        deepest.into(),
        odd(b"odd-\xff.md"),
        odd(b"odd-\xff.png"),
        "a.md".into(),
    ]);
    let found = scan(&added(folder.path()), &HashSet::new(), Timestamp(0));
    let names = found.items.iter().filter_map(|item| item.key.rsplit('/').next());
    assert_eq!(names.collect::<Vec<_>>(), ["a.md", "deepest.md"]);
    let problems: Vec<String> =
        found.problems(Timestamp(0)).iter().map(|(_, error)| error.to_string()).collect();
    assert_eq!(problems.len(), 2, "{problems:?}");
    assert!(problems[0].contains("deeper than 16 folders"), "{problems:?}");
    assert!(problems[1].contains("UTF-8") && problems[1].contains("odd-"), "{problems:?}");
}

#[test]
fn a_folder_whose_files_cannot_be_looked_at_is_missing_and_not_empty() {
    let folder = tempfile::tempdir().unwrap();
    // A path of more than 4,096 bytes is an error for every user, unlike a missing right.
    let long = "d".repeat(240);
    let mut deep = folder.path().to_owned();
    while deep.as_os_str().len() < 3_850 {
        deep.push(&long[..(3_850 - deep.as_os_str().len()).min(240)]);
    }
    fs::create_dir_all(&deep).unwrap();
    fs::write(deep.join("a.md"), "x").unwrap();
    let name = format!("{}.md", "b".repeat(250));
    let made = std::process::Command::new("touch").arg(&name).current_dir(&deep).status();
    assert!(made.unwrap().success());
    let found = scan(&added(&deep), &HashSet::new(), Timestamp(0));
    assert_eq!(found.items.len(), 1);
    let [missing] = &found.missing[..] else { panic!("{:?}", found.missing) };
    assert!(missing.path == deep && !missing.removed, "{missing:?}");
}

#[test]
fn an_empty_folder_is_missing_if_it_has_documents() {
    let folder = tempfile::tempdir().unwrap();
    let scan = |stored: &[String]| {
        let stored = stored.iter().cloned().collect();
        scan(&added(folder.path()), &stored, Timestamp(0))
    };
    let stored = [folder.path().join("in/a.md").display().to_string()];
    assert!(scan(&[]).missing.is_empty());
    let found = scan(&stored);
    assert!(!found.missing[0].removed);
    let fix = found.problems(Timestamp(0))[0].1.fix.clone().unwrap();
    assert!(fix.contains("mount its drive") && fix.contains("galatea knowledge rm"), "{fix}");
    fs::write(folder.path().join(".keep"), "").unwrap();
    assert!(scan(&stored).missing.is_empty());
}

#[test]
fn a_pipe_or_a_device_is_a_problem() {
    for path in ["/dev/null", "/dev/zero"] {
        let found = scan(&added(Path::new(path)), &HashSet::new(), Timestamp(0));
        assert!(found.items.is_empty());
        let error = &found.problems(Timestamp(0))[0].1;
        assert!(error.to_string().contains("found=a device"), "{error}");
        assert!(error.fix.as_ref().unwrap().contains(&format!("galatea knowledge rm {path}")));
    }
}
