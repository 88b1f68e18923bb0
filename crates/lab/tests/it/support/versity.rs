//! A real S3 server on this machine: versitygw over a folder, so that what it stores can be looked at as files.

use std::fs;
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use super::waits::pause;
use super::{SOON, installed};
use narrows_lab::{Host, Lab, LabProcess};

/// Keys of the server.
pub(crate) const KEY_ID: &str = "lab";
pub(crate) const SECRET: &str = "labsecret";
/// The bucket.
pub(crate) const BUCKET: &str = "bucket";

/// Where `./test` installs it, or where it is on the path.
pub(crate) fn program() -> Result<PathBuf, String> {
    installed("versitygw", "bin/versitygw").ok_or_else(|| {
        "it needs the command versitygw (an S3 server), which ./test installs where there is Go".to_owned()
    })
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
        let at = VersityPlace { host: None, store: &store, port };
        let server = launch(lab, &program, &at, options, 0, |_| ());
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
        let at = VersityPlace { host: None, store, port: *port };
        self.server = launch(lab, program, &at, options, *start_count, |_| ());
        self.start_count += 1;
    }
}

/// Where a server runs and what it serves.
struct VersityPlace<'p> {
    /// A host of the lab, or this machine.
    host: Option<&'p Host>,
    store: &'p Path,
    port: u16,
}

impl VersityPlace<'_> {
    fn address(&self) -> String {
        let ip = self.host.map_or_else(|| "127.0.0.1".to_owned(), |host| host.address().to_string());
        format!("{ip}:{}", self.port)
    }

    fn command(&self, program: &Path) -> Command {
        self.host.map_or_else(|| Command::new(program), |host| host.command(program))
    }

    fn is_listening(&self) -> bool {
        let (ip, port) = (self.address(), self.port);
        let Some(host) = self.host else { return TcpStream::connect(ip).is_ok() };
        let mut command = host.command("bash");
        command.args(["-c", &format!("exec 3<>/dev/tcp/{}/{port}", host.address())]);
        command.output().is_ok_and(|output| output.status.success())
    }
}

fn launch(
    lab: &Lab,
    program: &Path,
    at: &VersityPlace<'_>,
    options: &[String],
    count: u32,
    place: impl FnOnce(&mut Command),
) -> LabProcess {
    let mut command = at.command(program);
    command.arg("--port").arg(at.address()).arg("--keep-alive").args(options).arg("posix").arg(at.store);
    command.env("ROOT_ACCESS_KEY", KEY_ID).env("ROOT_SECRET_KEY", SECRET);
    place(&mut command);
    let mut server = lab.start(&format!("versitygw-{count}"), command).unwrap();
    // It announces what it listens on before it does.
    server.wait_for_line("service listening on", SOON).unwrap();
    for _ in 0..500 {
        if at.is_listening() {
            return server;
        }
        pause(Duration::from_millis(10));
    }
    panic!("nothing listens on {}: {}", at.address(), server.stdout().unwrap());
}

/// A server in host 2 over `store`, which is the folder of its buckets, where `place` puts its command where it shall run;
/// and what `s3:` needs to reach `prefix` of its bucket.
pub(crate) fn serve_in_host(
    lab: &Lab,
    store: &Path,
    prefix: &str,
    place: impl FnOnce(&mut Command),
) -> (LabProcess, String) {
    let host = lab.host(2).unwrap();
    fs::create_dir_all(store.join(BUCKET)).unwrap();
    let at = VersityPlace { host: Some(&host), store, port: 7070 };
    let server = launch(lab, &program().unwrap(), &at, &[], 0, place);
    (server, format!("s3://{BUCKET}/{prefix}?endpoint=http://{}", at.address()))
}
