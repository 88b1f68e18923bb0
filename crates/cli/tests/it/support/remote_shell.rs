//! Remote shells for tests of clients on hosts: each runs the command on this machine.

use serde_json::Value;
use std::fs;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// A remote shell as ssh is one: the host, then words that a shell interprets. Every call is listed; the process keeps the
/// name of its host.
pub(crate) const SHELL: &str =
    "#!/bin/sh\nexport HOST_OF_TEST=$1\nshift\necho \"$HOST_OF_TEST: $*\" >>calls\nexec sh -c \"exec $*\"\n";

/// The same, but no host named `b` can be reached.
pub(crate) const WITHOUT_B: &str = "#!/bin/sh\n[ \"$1\" = b ] && { echo 'ssh: cannot resolve b' >&2; exit 255; }\nshift\nexec sh -c \"exec $*\"\n";

/// Makes the remote shell `./shell` of `folder`.
pub(crate) fn write_shell(folder: &Path, text: &str) {
    let path = folder.join("shell");
    fs::write(&path, text).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// Makes another build of the program at `path`, which works as this one does.
pub(crate) fn write_another_build(path: &Path) {
    fs::copy(env!("CARGO_BIN_EXE_narrows"), path).unwrap();
    let mut file = fs::OpenOptions::new().append(true).open(path).unwrap();
    file.write_all(b"another build").unwrap();
}

/// Words that put the clients on hosts a and b.
pub(crate) const ON_TWO: [&str; 4] = ["--hosts", "a,b", "--remote-shell", "./shell"];

/// A document of the record `record` of `folder`.
pub(crate) fn of_record(folder: &Path, name: &str) -> Value {
    let text = fs::read_to_string(folder.join("record").join(name)).unwrap();
    serde_json::from_str(&text).unwrap()
}

/// The hosts of the clients of a cell in the summary, in the order of the clients.
pub(crate) fn hosts_of(cell: &Value) -> Vec<String> {
    let clients = cell["per_client"].as_array().unwrap();
    clients.iter().map(|client| client["host"].as_str().unwrap().to_owned()).collect()
}
