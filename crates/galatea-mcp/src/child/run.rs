//! The step below the keeper: gives up rights, and becomes the server's program.

use std::{
    ffi::{OsStr, OsString},
    os::unix::process::CommandExt,
    process::{Command, ExitCode},
};

use super::{ENFORCED, Plan, confine, keep};

pub(super) fn run(plan: &Plan, program: &OsStr, arguments: &[OsString]) -> ExitCode {
    #[cfg(target_os = "linux")]
    {
        use nix::sys::{prctl, signal::Signal};
        let keeper = nix::unistd::getppid();
        // Even a killed keeper leaves no server behind.
        if prctl::set_pdeathsig(Signal::SIGKILL).is_err() || nix::unistd::getppid() != keeper {
            return ExitCode::FAILURE;
        }
    }
    let _ = keep::blocked().thread_unblock();
    let enforced = confine::confine(plan, program);
    eprintln!("{ENFORCED}{enforced}");
    let error = Command::new(program).args(arguments).exec();
    eprintln!("the program could not be started: {error}");
    ExitCode::from(127)
}
