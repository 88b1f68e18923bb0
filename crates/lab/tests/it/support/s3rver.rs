//! Another S3 server than versitygw: s3rver, of other authors and in another language, over a folder.
//!
//! It reads signatures of version 4 and does not compare them, lists in another name space than Amazon, has no list of uploads, and
//! fails in a list of more than a thousand objects, and in a deletion of many where two of them find the same folder empty.

use std::fs;
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use super::installed;
use super::versity::BUCKET;
use super::waits::pause;
use narrows_lab::{Lab, LabProcess};

/// The key of the server and its secret, which are the same.
pub(crate) const S3RVER_KEY: &str = "S3RVER";

/// Where `./test --all` installs it, or where it is on the path.
pub(crate) fn program() -> Result<PathBuf, String> {
    installed("s3rver", "s3rver/node_modules/.bin/s3rver").ok_or_else(|| {
        "it needs the command s3rver (an S3 server), which ./test --all installs where there is npm"
            .to_owned()
    })
}

/// A running server.
pub(crate) struct S3rver {
    store: PathBuf,
    port: u16,
    _server: LabProcess,
}

impl S3rver {
    /// A server over a folder of the lab, with one bucket, on a port that was free.
    pub(crate) fn start(lab: &Lab) -> Self {
        let store = lab.scratch().join("store-s3rver");
        fs::create_dir_all(&store).unwrap();
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let mut command = Command::new(program().unwrap());
        command.arg("--directory").arg(&store).args(["--address", "127.0.0.1", "--port", &port.to_string()]);
        command.args(["--no-vhost-buckets", "--silent", "--configure-bucket", BUCKET]);
        let server = lab.start("s3rver", command).unwrap();
        for _ in 0..1000 {
            if TcpStream::connect(("127.0.0.1", port)).is_ok() {
                return Self { store, port, _server: server };
            }
            pause(Duration::from_millis(10));
        }
        panic!("nothing listens on port {port}: {}", server.stderr().unwrap());
    }

    /// The folder of the bucket.
    pub(crate) fn bucket(&self) -> PathBuf {
        self.store.join(BUCKET)
    }

    /// What `s3:` needs to reach `prefix` of the bucket.
    pub(crate) fn target(&self, prefix: &str) -> String {
        format!("s3://{BUCKET}/{prefix}?endpoint=http://127.0.0.1:{}", self.port)
    }
}
