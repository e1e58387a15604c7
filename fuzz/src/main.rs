//! The fuzzer. One program contains all targets, so that one build serves them all;
//! `GALATEA_FUZZ_TARGET` selects one. Built without `--cfg fuzzing`, it runs the files given as
//! arguments once, to repeat a finding in a debugger.
#![cfg_attr(fuzzing, no_main)]

#[cfg(fuzzing)]
mod fuzzing {
    use std::{
        panic::{self, AssertUnwindSafe},
        process,
        sync::LazyLock,
    };

    static TARGET: LazyLock<galatea_fuzz::Target> = LazyLock::new(|| {
        // libFuzzer's hook ends the process at every panic, also at one that the parser catches.
        // Types of a platform's crate may panic on strange input, and our parser then continues
        // without them.
        panic::set_hook(Box::new(|panic| eprintln!("{panic}")));
        galatea_fuzz::chosen().unwrap_or_else(|error| {
            eprintln!("error: {error:#}");
            process::exit(2);
        })
    });

    libfuzzer_sys::fuzz_target!(|data: &[u8]| {
        let target = *TARGET;
        if panic::catch_unwind(AssertUnwindSafe(|| (target.run)(data))).is_err() {
            process::abort();
        }
    });
}

#[cfg(not(fuzzing))]
fn main() -> anyhow::Result<()> {
    use std::io::Write as _;

    let target = galatea_fuzz::chosen()?;
    for file in std::env::args().skip(1) {
        (target.run)(&std::fs::read(&file)?);
        writeln!(std::io::stdout(), "{file}: no finding")?;
    }
    Ok(())
}
