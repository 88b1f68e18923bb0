//! A server that gets no more threads or descriptors from the system reports that and continues.
//!
//! One test in its own process, whose limits apply to all of it: stacks are so large that an address space ample for
//! all else has room for only some of them.

use crate::support::{Running, TERMS, names_in, one, open, server_cell, workload};
use narrows_engines::ErrorKind;
use narrows_model::{Layer, Op, Target};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::fs::File;
use std::os::fd::AsRawFd;

/// Bytes of a thread's stack, as the standard library reads them: untouched, they cost nothing but addresses.
const STACK_BYTES: &str = "1073741824";
const STACK: &str = "RUST_MIN_STACK";
/// The test below, as the test program names it.
const ITSELF: &str = "exhausted::what_the_system_refuses_is_reported_and_nothing_hangs_or_stays";

/// Addresses for a dozen threads, and half a stack for all else.
const ROOM_BYTES: u64 = (12 << 30) + (1 << 29);

/// Runs `attempt` with the limit of `resource` lowered to `most`.
fn limited<T>(resource: Resource, most: u64, attempt: impl FnOnce() -> T) -> T {
    let usual = getrlimit(resource);
    setrlimit(resource, Rlimit { current: Some(most), maximum: usual.maximum }).unwrap();
    let outcome = attempt();
    setrlimit(resource, usual).unwrap();
    outcome
}

/// Runs `attempt` when the process may start some threads and not many.
fn with_few_threads<T>(attempt: impl FnOnce() -> T) -> T {
    let pages = std::fs::read_to_string("/proc/self/statm").unwrap();
    let pages: u64 = pages.split_whitespace().next().unwrap().parse().unwrap();
    limited(Resource::As, pages * rustix::param::page_size() as u64 + ROOM_BYTES, attempt)
}

#[test]
fn what_the_system_refuses_is_reported_and_nothing_hangs_or_stays() {
    if std::env::var_os(STACK).is_some_and(|bytes| bytes == STACK_BYTES) {
        return refusals();
    }
    let mut again = std::process::Command::new(std::env::current_exe().unwrap());
    let ended = again.env(STACK, STACK_BYTES).args(["--exact", ITSELF]).output().unwrap();
    assert!(ended.status.success(), "{}{}", text(&ended.stdout), text(&ended.stderr));
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn refusals() {
    let root = tempfile::tempdir().unwrap();
    let server = Running::with_root(root.path());
    let mut control = server.control();
    let mut deep = server.spec(Layer::Disk, workload(Op::Write, 4096, 64));
    deep.session = Some(control.session().to_owned());

    // Descriptors: one for the second handle on the connection, none for the folder.
    let cell = server_cell(Target::File { path: ".".into() });
    let next = u64::try_from(File::open("/dev/null").unwrap().as_raw_fd()).unwrap();
    let ran = limited(Resource::Nofile, next + 1, || control.run_cell(&cell, TERMS, &mut |_| {}, &|| false));
    let error = ran.unwrap_err();
    assert!(error.to_string().contains("cannot make"), "{error}");
    assert_eq!(names_in(root.path()), [""; 0], "the folder that could not be opened is gone again");

    let error = with_few_threads(|| open(&deep)).err().unwrap();
    assert_eq!(error.kind, ErrorKind::Refused, "{error}");
    assert!(error.to_string().contains("thread"), "{error}");

    let mut broad = server_cell(Target::Null { copy: false });
    broad.workload.workers = 48;
    let ran = with_few_threads(|| control.run_cell(&broad, TERMS, &mut |_| {}, &|| false));
    let error = ran.unwrap_err().to_string();
    assert!(error.contains("thread"), "{error}");

    deep.workload.queue_depth = 4;
    broad.workload.workers = 4;
    let mut engine = open(&deep).unwrap();
    assert_eq!(one(engine.as_mut(), Op::Write, 0, 4096), Ok(4096));
    control.run_cell(&cell, TERMS, &mut |_| {}, &|| false).unwrap();
    control.run_cell(&broad, TERMS, &mut |_| {}, &|| false).unwrap();
}
