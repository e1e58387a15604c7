//! A PostgreSQL server for tests: created, shared between processes, stopped, and removed when it
//! is no longer in use.

use serde::{Deserialize, Serialize};
use std::{
    collections::HashSet,
    env, fs,
    net::TcpStream,
    os::unix::{fs::chown, process::CommandExt},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::{LazyLock, Mutex},
    thread,
    time::Duration,
};

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};

use super::binaries;
use crate::port::free_port;

/// Interval at which a process marks a server as in use. The watcher stops a server that was not
/// marked for two minutes.
const SIGN_OF_LIFE: Duration = Duration::from_secs(20);

/// Shell script that stops the server in `$1` when its file `used` has not been touched for two
/// minutes. It moves the description away and checks once more before it stops the server, so that
/// a process that came in between keeps it.
const WATCHER: &str = r#"
cd / ; here=$1 ; stop=$2
fresh() { [ -n "$(find "$here/used" -mmin -2 2>/dev/null)" ]; }
while :; do
    while fresh; do sleep 5; done
    mv "$here/server.json" "$here/ending.json" 2>/dev/null
    sleep 2
    if fresh; then mv "$here/ending.json" "$here/server.json" 2>/dev/null; continue; fi
    [ -d "$here" ] || exit 0
    "$stop" -D "$here/data" -m immediate -w stop
    rm -rf "$here"
    exit 0
done
"#;

/// A PostgreSQL server for tests.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Server {
    folder: PathBuf,
    programs: PathBuf,
    port: u16,
    password: String,
    /// User and group of the server when the tests run as root: PostgreSQL refuses to run as root.
    runs_as: Option<(u32, u32)>,
    /// True if every commit is flushed to the disk.
    durable: bool,
}

impl Server {
    /// The server shared by all test processes; started when there is none.
    pub fn shared() -> Self {
        let root = root();
        let lock = fs::File::create(root.join("lock")).unwrap();
        lock.lock().unwrap();
        let current = root.join("current");
        if let Some(server) = fs::read_to_string(&current)
            .ok()
            .and_then(|folder| Self::described(Path::new(folder.trim())))
        {
            return server;
        }
        let server = Self::make(&root, binaries::find_or_install(&root), false);
        fs::write(&current, server.folder.display().to_string()).unwrap();
        server
    }

    /// A server for the caller alone, which may stop and start it.
    pub fn private() -> Self {
        let root = root();
        let lock = fs::File::create(root.join("lock")).unwrap();
        lock.lock().unwrap();
        Self::make(&root, binaries::find_or_install(&root), false)
    }

    /// As [`Server::private`], with every commit flushed to the disk. Slow; for measurements.
    pub fn durable() -> Self {
        let root = root();
        let lock = fs::File::create(root.join("lock")).unwrap();
        lock.lock().unwrap();
        Self::make(&root, binaries::find_or_install(&root), true)
    }

    fn described(folder: &Path) -> Option<Self> {
        // Marks the server as in use before looking at it; the watcher works in the reverse order.
        fs::metadata(folder).ok()?;
        in_use(folder);
        let server: Self =
            serde_json::from_str(&fs::read_to_string(folder.join("server.json")).ok()?).ok()?;
        server.is_running().then_some(server)
    }

    fn make(root: &Path, programs: PathBuf, durable: bool) -> Self {
        let folder = root.join(uuid::Uuid::new_v4().simple().to_string());
        fs::create_dir(&folder).unwrap();
        let runs_as = nix::unistd::geteuid().is_root().then(unprivileged);
        if let Some((user, group)) = runs_as {
            // `root` as well: the watcher runs without root privileges and removes the server's
            // folder from it.
            for folder in [root, &folder] {
                chown(folder, Some(user), Some(group)).unwrap();
            }
        }
        let server = Self {
            folder,
            programs,
            port: free_port(),
            password: uuid::Uuid::new_v4().simple().to_string(),
            runs_as,
            durable,
        };
        let secret = server.folder.join("password");
        fs::write(&secret, &server.password).unwrap();
        server.run(
            "initdb",
            &[
                "-D",
                &server.data(),
                "-U",
                "galatea",
                "--pwfile",
                secret.to_str().unwrap(),
                "-A",
                "scram-sha-256",
                "-E",
                "UTF8",
                "--no-sync",
            ],
        );
        in_use(&server.folder);
        server.watch();
        server.start();
        fs::write(server.folder.join("server.json"), serde_json::to_string(&server).unwrap())
            .unwrap();
        server
    }

    /// Starts the server, also again after a stop, on the same port.
    pub fn start(&self) {
        let safety = if self.durable {
            ""
        } else {
            "-c fsync=off -c full_page_writes=off -c autovacuum=off"
        };
        let options = format!(
            "-p {} -c listen_addresses=127.0.0.1 -c unix_socket_directories= -c max_connections=400 -c shared_buffers=64MB {safety}",
            self.port
        );
        let log = self.folder.join("log");
        let start = || {
            self.ends_well(
                "pg_ctl",
                &[
                    "-D",
                    &self.data(),
                    "-o",
                    &options,
                    "-l",
                    log.to_str().unwrap(),
                    "-w",
                    "-t",
                    "60",
                    "start",
                ],
            )
        };
        // After a kill, sessions of the old server may hold its shared memory for a moment.
        let started = (0..50).any(|_| {
            let started = start();
            if !started {
                thread::sleep(Duration::from_millis(200));
            }
            started
        });
        assert!(started, "PostgreSQL does not start:\n{}", self.log());
    }

    /// Stops the server for all its users, as a power cut would.
    pub fn stop(&self) {
        self.run("pg_ctl", &["-D", &self.data(), "-m", "immediate", "-w", "stop"]);
    }

    /// Stops the server as an administrator does for a restart: it ends the sessions, and no
    /// recovery is needed.
    pub fn stop_fast(&self) {
        self.run("pg_ctl", &["-D", &self.data(), "-m", "fast", "-w", "stop"]);
    }

    /// Kills all processes of the server (SIGKILL), as the kernel does when memory runs out. The
    /// next [`Server::start`] recovers the data.
    pub fn kill_9(&self) {
        kill(Pid::from_raw(self.pid().try_into().unwrap()), Signal::SIGKILL).unwrap();
        // Session processes end by themselves once they notice; a new server refuses to start
        // before that.
        while self.is_running() {
            thread::sleep(Duration::from_millis(10));
        }
    }

    /// Stops the server and removes its folder.
    pub fn end(&self) {
        self.stop();
        fs::remove_dir_all(&self.folder).unwrap();
    }

    /// True if a process listens on the server's port.
    pub fn is_running(&self) -> bool {
        TcpStream::connect(("127.0.0.1", self.port)).is_ok()
    }

    /// Connection URL of one of the server's databases.
    pub fn url(&self, database: &str) -> String {
        format!(
            "postgres://galatea:{}@127.0.0.1:{}/{database}?sslmode=disable",
            self.password, self.port
        )
    }

    /// Process id of the main process, the parent of all others.
    pub fn pid(&self) -> u32 {
        let text = fs::read_to_string(Path::new(&self.data()).join("postmaster.pid")).unwrap();
        text.lines().next().unwrap().trim().parse().unwrap()
    }

    /// The port the server listens on.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Password of the server's user.
    pub fn password(&self) -> &str {
        &self.password
    }

    fn data(&self) -> String {
        self.folder.join("data").display().to_string()
    }

    fn run(&self, program: &str, arguments: &[&str]) {
        let output = self.folder.join("output");
        assert!(
            self.ends_well(program, arguments),
            "{program} failed:\n{}\n{}",
            fs::read_to_string(&output).unwrap_or_default(),
            self.log()
        );
    }

    fn ends_well(&self, program: &str, arguments: &[&str]) -> bool {
        let output = self.folder.join("output");
        let file = || fs::File::options().create(true).append(true).open(&output).unwrap();
        let mut command = Command::new(self.programs.join(program));
        // The output goes to a file: the server inherits it, and reading from a pipe would last
        // until the server ends.
        command
            .args(arguments)
            .current_dir("/")
            .stdin(Stdio::null())
            .stdout(file())
            .stderr(file())
            .env("LC_ALL", "C");
        self.drop_rights(&mut command);
        command.status().unwrap_or_else(|e| panic!("{program}: {e}")).success()
    }

    fn log(&self) -> String {
        fs::read_to_string(self.folder.join("log")).unwrap_or_default()
    }

    fn drop_rights(&self, command: &mut Command) {
        if let Some((user, group)) = self.runs_as {
            command.uid(user).gid(group);
        }
        // The server leaves the test's process group, which is killed as a whole.
        command.process_group(0);
    }

    fn watch(&self) {
        let mut command = Command::new("sh");
        command
            .args(["-c", WATCHER, "watcher"])
            .arg(&self.folder)
            .arg(self.programs.join("pg_ctl"));
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        self.drop_rights(&mut command);
        drop(command.spawn().expect("sh starts"));
    }
}

/// Folder of all test servers of this user.
fn root() -> PathBuf {
    let root = env::temp_dir().join(format!("galatea-test-postgres-{}", nix::unistd::geteuid()));
    fs::create_dir_all(&root).unwrap();
    root
}

/// Marks the server in `folder` as in use, now and as long as this process lives.
fn in_use(folder: &Path) {
    static FOLDERS: LazyLock<Mutex<HashSet<PathBuf>>> = LazyLock::new(Mutex::default);
    let sign = |folder: &Path| fs::write(folder.join("used"), "");
    let _ = sign(folder);
    if FOLDERS.lock().unwrap().insert(folder.to_owned()) {
        let folder = folder.to_owned();
        thread::spawn(move || {
            while sign(&folder).is_ok() {
                thread::sleep(SIGN_OF_LIFE);
            }
        });
    }
}

/// User and group `postgres`, or `nobody` where it does not exist.
fn unprivileged() -> (u32, u32) {
    let account = ["postgres", "nobody"]
        .into_iter()
        .find_map(|name| nix::unistd::User::from_name(name).ok()?);
    let account = account.expect("root needs a user postgres or nobody to run the server as");
    (account.uid.as_raw(), account.gid.as_raw())
}
