//! A real S3 server on this machine: versitygw over a folder, so that what it stores can be looked at as files.

use std::fs;
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use super::SOON;
use narrows_lab::{Lab, LabProcess};

/// Keys of the server.
pub(crate) const KEY_ID: &str = "lab";
pub(crate) const SECRET: &str = "labsecret";
/// The bucket.
pub(crate) const BUCKET: &str = "bucket";

/// Where `./test` installs it, or where it is on the path.
pub(crate) fn program() -> Result<PathBuf, String> {
    let found = Command::new("sh").args(["-c", "command -v versitygw"]).output();
    if let Ok(output) = found
        && output.status.success()
    {
        return Ok(PathBuf::from(String::from_utf8_lossy(&output.stdout).trim()));
    }
    let tools = target_folder().join("tools/bin/versitygw");
    if tools.is_file() {
        return Ok(tools);
    }
    Err("it needs the command versitygw (an S3 server), which ./test installs where there is Go".to_owned())
}

#[allow(clippy::disallowed_methods, reason = "where programs are built is the environment's to say")]
fn target_folder() -> PathBuf {
    let usual = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target");
    std::env::var("CARGO_TARGET_DIR").map_or_else(|_| usual(), PathBuf::from)
}

/// A running server.
pub(crate) struct Versity<'a> {
    lab: &'a Lab,
    program: PathBuf,
    store: PathBuf,
    port: u16,
    options: Vec<String>,
    server: LabProcess,
    start_count: u32,
}

impl<'a> Versity<'a> {
    /// A server over a folder of the lab, with one bucket, on a port that was free.
    pub(crate) fn start(lab: &'a Lab) -> Self {
        Self::start_with(lab, &[])
    }

    /// The same with further options.
    pub(crate) fn start_with(lab: &'a Lab, options: &[String]) -> Self {
        let store = lab.scratch().join("store");
        fs::create_dir_all(store.join(BUCKET)).unwrap();
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let program = program().unwrap();
        let server = launch(lab, &program, &store, port, options, 0);
        let (options, start_count) = (options.to_vec(), 1);
        Self { lab, program, store, port, options, server, start_count }
    }

    /// The folder of the bucket.
    pub(crate) fn bucket(&self) -> PathBuf {
        self.store.join(BUCKET)
    }

    pub(crate) fn endpoint(&self, scheme: &str) -> String {
        format!("{scheme}://127.0.0.1:{}", self.port)
    }

    /// What `s3:` needs to reach `prefix` of the bucket.
    pub(crate) fn target(&self, prefix: &str) -> String {
        format!("s3://{BUCKET}/{prefix}?endpoint={}", self.endpoint("http"))
    }

    pub(crate) fn kill(&mut self) {
        self.server.kill9().unwrap();
    }

    pub(crate) fn start_again(&mut self) {
        let Self { lab, program, store, port, options, start_count, .. } = self;
        self.server = launch(lab, program, store, *port, options, *start_count);
        self.start_count += 1;
    }
}

fn launch(lab: &Lab, program: &Path, store: &Path, port: u16, options: &[String], count: u32) -> LabProcess {
    let mut command = Command::new(program);
    command
        .arg("--port")
        .arg(format!("127.0.0.1:{port}"))
        .arg("--keep-alive")
        .args(options)
        .arg("posix")
        .arg(store);
    command.env("ROOT_ACCESS_KEY", KEY_ID).env("ROOT_SECRET_KEY", SECRET);
    let mut server = lab.start(&format!("versitygw-{count}"), command).unwrap();
    // It announces what it listens on before it does.
    server.wait_for_line("service listening on", SOON).unwrap();
    for _ in 0..500 {
        if TcpStream::connect(("127.0.0.1", port)).is_ok() {
            return server;
        }
        pause(Duration::from_millis(10));
    }
    panic!("nothing listens on {port}: {}", server.stdout().unwrap());
}

/// Lets time pass.
pub(crate) fn pause(time: Duration) {
    let (_open, waits) = std::sync::mpsc::channel::<()>();
    let _ = waits.recv_timeout(time);
}
