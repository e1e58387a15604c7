//! Tests with small crates that have and do not have cycles.

use super::*;

fn found(files: &[(&str, &str)]) -> Vec<Circle> {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let file = folder.path().join(name);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
    }
    circles(&Modules::read(&folder.path().join("lib.rs")).unwrap())
}

fn members(circle: &Circle) -> Vec<&str> {
    circle.members.iter().map(String::as_str).collect()
}

#[test]
fn imports_in_one_direction_are_no_circle() {
    let all = found(&[
        ("lib.rs", "mod a; mod b; pub use a::A;"),
        ("a.rs", "use crate::b::B; pub struct A(B);"),
        ("b.rs", "pub struct B;"),
    ]);
    assert_eq!(all, []);
}

#[test]
fn a_circle_by_way_of_a_third_module_is_found() {
    let all = found(&[
        ("lib.rs", "mod a; mod b; mod c;"),
        ("a.rs", "pub fn a() { crate::b::b() }"),
        ("b.rs", "use crate::c; pub fn b() { c::c() }"),
        ("c.rs", "pub fn c() { assert_eq!(1, crate::a::one()) }"),
    ]);
    assert_eq!(all.iter().map(members).collect::<Vec<_>>(), [["a", "b", "c"]]);
    assert_eq!(all[0].level, "crate");
    assert!(
        all[0].imports.contains(&"c → a (crate::c uses crate::a)".to_owned()),
        "{:?}",
        all[0].imports
    );
}

#[test]
fn a_facade_hides_no_circle() {
    let all = found(&[
        ("lib.rs", "mod room;"),
        ("room/mod.rs", "mod a; mod b; pub(crate) use a::A;"),
        ("room/a.rs", "use super::b::B; pub struct A(B);"),
        ("room/b.rs", "use super::A; pub struct B; pub fn b(_: A) {}"),
    ]);
    assert_eq!(all.iter().map(members).collect::<Vec<_>>(), [["a", "b"]]);
    assert_eq!(all[0].level, "crate::room");
}

#[test]
fn a_parent_that_uses_its_child_and_is_used_by_it_is_a_circle() {
    let all = found(&[
        ("lib.rs", "mod room;"),
        ("room.rs", "mod a; pub struct Own; pub fn own() { a::work() }"),
        ("room/a.rs", "use super::Own; pub fn work() { let _ = Own; }"),
    ]);
    assert_eq!(all.iter().map(members).collect::<Vec<_>>(), [[OWN, "a"]]);
}

#[test]
fn tests_may_import_what_they_like() {
    let all = found(&[
        ("lib.rs", "mod a; mod b;"),
        ("a.rs", "pub struct A; #[cfg(test)] mod tests { use crate::b::B; }"),
        ("b.rs", "use crate::a::A; pub struct B(A);"),
    ]);
    assert_eq!(all, []);
}

#[test]
fn circles_beyond_the_allowance_are_a_breach() {
    let all = found(&[
        ("lib.rs", "mod a; mod b;"),
        ("a.rs", "use crate::b::B; pub struct A;"),
        ("b.rs", "use crate::a::A; pub struct B;"),
    ]);
    assert_eq!(compare("x", &all, &[("x", "crate", 2)]), Vec::<String>::new());
    assert_eq!(compare("x", &all, &[("x", "crate", 1)]).len(), 1, "one more than allowed");
    assert_eq!(compare("x", &all, &[("y", "crate", 2)]).len(), 1, "another crate's allowance");
    assert_eq!(compare("x", &all, &[("x", "crate::a", 2)]).len(), 1, "another level's");
}
