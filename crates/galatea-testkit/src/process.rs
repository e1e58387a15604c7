//! Runs a program as a child process in end-to-end tests, with a home of its own, its output line
//! by line, signals, and none of the developer's environment.

mod running;

use std::{
    collections::BTreeMap,
    ffi::OsString,
    path::{Path, PathBuf},
    process::Stdio,
};

use tokio::process::Command;

pub use running::{Finished, Running, Stream};

/// Temporary folder that is a program's working folder and `HOME`. Removed when dropped.
#[derive(Debug)]
pub struct Home(tempfile::TempDir);

impl Home {
    /// A new, empty folder.
    ///
    /// # Panics
    /// When the temporary folder cannot be created.
    pub fn new() -> Self {
        Self(tempfile::tempdir().unwrap_or_else(|e| panic!("no temporary folder: {e}")))
    }

    /// Path of the folder.
    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// Writes a file, creates missing folders on its path, and returns its path.
    ///
    /// # Panics
    /// When it cannot be written.
    pub fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path().join(name);
        let made = path
            .parent()
            .map_or(Ok(()), std::fs::create_dir_all)
            .and_then(|()| std::fs::write(&path, text));
        made.unwrap_or_else(|e| panic!("cannot write {}: {e}", path.display()));
        path
    }

    /// Reads a file; `None` when it does not exist.
    pub fn read(&self, name: &str) -> Option<String> {
        std::fs::read_to_string(self.path().join(name)).ok()
    }
}

impl Default for Home {
    fn default() -> Self {
        Self::new()
    }
}

/// A program to run, with its arguments and environment.
#[derive(Debug, Clone)]
pub struct Program {
    path: PathBuf,
    args: Vec<OsString>,
    env: BTreeMap<OsString, OsString>,
    dir: PathBuf,
}

impl Program {
    /// The program at `path`, with `home` as working folder and `HOME`. Only `PATH` of the
    /// environment is passed on. Usage limits are off and answers are not shortened unless a test
    /// sets them, because a few test users write more than a person may. Models are not tried with
    /// tools, because that would take an answer from a model server's script.
    pub fn new(path: impl Into<PathBuf>, home: &Home) -> Self {
        let mut env = BTreeMap::from([
            ("HOME".into(), home.path().into()),
            ("LIMITS".into(), "off".into()),
            ("ANSWER_PARTS".into(), "none".into()),
            ("MODEL_TOOLS".into(), "true".into()),
        ]);
        if let Some(path) = std::env::var_os("PATH") {
            env.insert("PATH".into(), path);
        }
        Self { path: path.into(), args: Vec::new(), env, dir: home.path().to_owned() }
    }

    /// Adds an argument.
    #[must_use]
    pub fn arg(mut self, arg: impl Into<OsString>) -> Self {
        self.args.push(arg.into());
        self
    }

    /// Adds arguments.
    #[must_use]
    pub fn args<A: Into<OsString>>(mut self, args: impl IntoIterator<Item = A>) -> Self {
        self.args.extend(args.into_iter().map(Into::into));
        self
    }

    /// Sets another working folder.
    #[must_use]
    pub fn dir(mut self, dir: impl Into<PathBuf>) -> Self {
        self.dir = dir.into();
        self
    }

    /// Sets an environment variable.
    #[must_use]
    pub fn env(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.env.insert(name.into(), value.into());
        self
    }

    /// Removes an environment variable.
    #[must_use]
    pub fn without_env(mut self, name: impl Into<OsString>) -> Self {
        self.env.remove(&name.into());
        self
    }

    /// Limits the number of open files. The limit belongs to a process, so a shell sets it and then
    /// executes the program.
    #[must_use]
    pub fn open_files(mut self, most: usize) -> Self {
        let script = format!("ulimit -n {most} && exec \"$0\" \"$@\"");
        let path = std::mem::replace(&mut self.path, "/bin/sh".into());
        let args = std::mem::take(&mut self.args);
        self.args = ["-c".into(), script.into(), path.into()].into_iter().chain(args).collect();
        self
    }

    /// Starts the program. It is killed when the [`Running`] is dropped.
    ///
    /// # Panics
    /// When it cannot be started.
    pub fn spawn(&self) -> Running {
        let mut command = Command::new(&self.path);
        command
            .args(&self.args)
            .env_clear()
            .envs(&self.env)
            .current_dir(&self.dir)
            .kill_on_drop(true);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        Running::of(
            command.spawn().unwrap_or_else(|e| panic!("cannot start {}: {e}", self.path.display())),
        )
    }

    /// Runs the program until it ends.
    ///
    /// # Panics
    /// When it cannot be started or does not end.
    pub async fn run(&self) -> Finished {
        let mut running = self.spawn();
        running.close_stdin();
        running.finish().await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(home: &Home, script: &str) -> Program {
        Program::new("/bin/sh", home).arg("-c").arg(script)
    }

    #[tokio::test]
    async fn output_environment_and_code_come_back() {
        let home = Home::new();
        home.write("sub/hello.txt", "hi");
        let program =
            shell(&home, "cat sub/hello.txt; echo; echo $NAME >&2; echo ${CARGO:-none}; exit 3")
                .env("NAME", "Ann");
        let finished = program.run().await;
        assert_eq!(
            finished,
            Finished { code: Some(3), stdout: "hi\nnone\n".into(), stderr: "Ann\n".into() }
        );
    }

    #[tokio::test]
    async fn lines_are_awaited_and_input_is_heard() {
        let home = Home::new();
        let mut running = shell(&home, "echo ready; read x; echo got $x").spawn();
        running.wait_for_line("ready").await;
        running.write_line("42").await;
        assert_eq!(running.wait_for_line("got").await, "got 42");
        assert_eq!(running.finish().await.code, Some(0));
    }

    #[tokio::test]
    async fn signals_reach_it() {
        let home = Home::new();
        let mut polite =
            shell(&home, "trap 'echo bye; exit 0' TERM; echo ready; while :; do sleep 0.05; done")
                .spawn();
        polite.wait_for_line("ready").await;
        polite.terminate();
        let finished = polite.finish().await;
        assert_eq!((finished.code, finished.stdout.as_str()), (Some(0), "ready\nbye\n"));
        let mut killed =
            shell(&home, "trap '' TERM; echo ready; while :; do sleep 0.05; done").spawn();
        killed.wait_for_line("ready").await;
        killed.kill_9().await;
        assert!(!killed.is_running());
    }

    #[tokio::test]
    #[should_panic(expected = "ended without a line")]
    async fn waiting_for_what_never_comes_shows_the_output() {
        let home = Home::new();
        let running = shell(&home, "echo something else").spawn();
        running.wait_for_line("ready").await;
    }
}
