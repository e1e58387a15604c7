//! The program `galatea`. It only calls the library.

fn main() -> std::process::ExitCode {
    galatea::run()
}
