//! Tests that run every file of the corpus once, so that a fixed finding stays fixed.

use std::{fs, path::Path};

#[test]
fn no_file_of_the_corpus_is_a_finding() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus");
    for target in crate::targets() {
        let folder = corpus.join(target.name);
        let entries =
            fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
        let mut count = 0;
        for entry in entries {
            let path = entry.unwrap().path();
            eprintln!("{}", path.display());
            (target.run)(&fs::read(&path).unwrap());
            count += 1;
        }
        assert!(count > 0, "{} has no corpus", target.name);
    }
}

#[test]
fn every_folder_of_the_corpus_has_a_target() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus");
    for entry in fs::read_dir(corpus).unwrap() {
        let name = entry.unwrap().file_name();
        assert!(
            crate::targets().iter().any(|target| name == target.name),
            "{name:?} has no target"
        );
    }
}
