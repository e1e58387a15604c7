//! The benchmark starts. The tests' build makes the program, which `cargo xtask long` soaks with.

use std::process::Command;

#[test]
fn each_chore_lists_its_options() {
    for (chore, option) in [("bench", "--only-postgres"), ("soak", "--pace")] {
        let output = Command::new(env!("CARGO_BIN_EXE_galatea-bench"))
            .args([chore, "--help"])
            .output()
            .unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success() && text.contains(option), "{chore}: {text}");
    }
}
