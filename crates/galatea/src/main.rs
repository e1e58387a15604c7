//! The program `galatea`; everything it does is in the library beside it.

fn main() -> std::process::ExitCode {
    galatea::run()
}
