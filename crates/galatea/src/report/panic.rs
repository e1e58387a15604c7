//! The message printed when the program panics: no backtrace, but a request to report it. The
//! process then exits with 101, Rust's code for panics.

use crate::report::output::Output;
use galatea_host::report::Report;

/// Installs the message for panics of every thread. A panic in a supervised task prints it, too,
/// but does not end the process.
pub(crate) fn install(output: &Output) {
    let output = output.clone();
    std::panic::set_hook(Box::new(move |panic| {
        let place = panic
            .location()
            .map(|l| format!("{}:{}", file(l.file()), l.line()))
            .unwrap_or_default();
        let said = panic.payload_as_str().unwrap_or("no message");
        output.report(&report(said, &place));
    }));
}

fn report(said: &str, place: &str) -> Report {
    // The first line identifies the panic. Further lines may contain users' messages.
    let said: String = said.lines().next().unwrap_or_default().chars().take(200).collect();
    Report::error("a fault in Galatea itself")
        .code("GAL-BUG")
        .cause(said)
        .line("where", format!("galatea {}, {place}", env!("CARGO_PKG_VERSION")))
        .fix("please report it with these lines and what you did before; what was committed is safe and is taken up at the next start")
}

/// Path of a source file, relative to the folder of its crate.
fn file(path: &str) -> &str {
    path.rsplit_once("/src/")
        .map_or(path, |(before, _)| &path[before.rfind('/').map_or(0, |at| at + 1)..])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::output::Style;

    #[test]
    fn it_names_the_place_and_asks_for_a_report() {
        assert_eq!(file("/somewhere/crates/galatea-core/src/ids.rs"), "galatea-core/src/ids.rs");
        let text = report("index out of bounds\nsecret second line", "galatea-core/src/ids.rs:7")
            .render(Style::plain());
        assert!(
            text.starts_with("error[GAL-BUG]")
                && text.contains("ids.rs:7")
                && !text.contains("second"),
            "{text}"
        );
    }
}
