//! What the lab's own tests share: when they are skipped, and transfers between hosts.

pub(crate) mod apart;
pub(crate) mod check;
pub(crate) mod fuse;
pub(crate) mod ganesha;
pub(crate) mod gluster;
pub(crate) mod guest;
pub(crate) mod ledger;
pub(crate) mod loop_device;
pub(crate) mod original;
pub(crate) mod others;
pub(crate) mod ranks;
pub(crate) mod s3rver;
pub(crate) mod slurm;
pub(crate) mod spoken;
pub(crate) mod sshfs;
pub(crate) mod strace;
pub(crate) mod study;
pub(crate) mod tgt;
pub(crate) mod versity;
pub(crate) mod waits;

use std::any::Any;
use std::ffi::OsString;
use std::fs;
use std::io::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::RwLock;
use std::time::Duration;

use narrows_engines::{EngineRegistry, OpenSpec, conformance};
use narrows_lab::{Host, Lab, LabProcess, MachineTicks, labcat_bin};
use narrows_model::workload::SyncPolicy;
use narrows_model::{Op, Target};

/// Longer than any step here takes on a machine that works.
pub(crate) const SOON: Duration = Duration::from_secs(30);

/// Fails where anything is left in `folder` but what mkfs.ext4 makes there.
#[track_caller]
pub(crate) fn assert_nothing_left(folder: &Path) {
    let names = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name());
    let left: Vec<OsString> = names.filter(|name| name != "lost+found").collect();
    assert!(left.is_empty(), "left in {}: {left:?}", folder.display());
}

/// A lab; or nothing, with the reason printed, where there can be none and nobody insists (`CI=true` does).
pub(crate) fn lab() -> Option<Lab> {
    lab_where(narrows_lab::available())
}

/// A lab that can have disks with a delay; or nothing, as [`lab`].
pub(crate) fn lab_with_disks() -> Option<Lab> {
    lab_where(narrows_lab::disks_available())
}

/// A lab that can have disks, as [`lab_with_disks`]; or nothing, with the reason printed, on a kernel without trace events.
#[allow(clippy::print_stdout, reason = "the reason is part of the test's output")]
pub(crate) fn lab_with_trace_events() -> Option<Lab> {
    let known = fs::read_to_string("/proc/filesystems").unwrap();
    if !known.lines().any(|line| line.split_whitespace().last() == Some("tracefs")) {
        println!("lab: not run: this kernel has no tracefs");
        return None;
    }
    lab_with_disks()
}

/// A lab that can have an NFS server; or nothing, as [`lab`].
pub(crate) fn lab_with_nfs() -> Option<Lab> {
    lab_with(&["ganesha.nfsd", "rpcbind"])
}

/// A lab that can have an NFS server, on a machine with the tools that report CPU; or nothing, as [`lab`].
pub(crate) fn lab_with_cpu_tools() -> Option<Lab> {
    lab_with(&["ganesha.nfsd", "rpcbind", "vmstat", "pidstat", "stdbuf"])
}

/// A lab that can have an NFS server and a guest that mounts its export; or nothing, as [`lab`].
pub(crate) fn lab_with_guests() -> Option<Lab> {
    lab_with(&["ganesha.nfsd", "rpcbind", "linux.uml", "modprobe", "cc"])
}

/// A lab that can have a guest whose kernel serves NFS; or nothing, as [`lab`].
pub(crate) fn lab_with_kernel_servers() -> Option<Lab> {
    lab_with(&["rpc.nfsd", "exportfs", "rpc.mountd", "rpcbind", "linux.uml", "modprobe", "cc"])
}

/// A lab that can have a GlusterFS volume and mount it; or nothing, as [`lab_with_disks`].
pub(crate) fn lab_with_gluster() -> Option<Lab> {
    lab_with(&["glusterd", "gluster", "glusterfs"]).filter(|_| narrows_lab::disks_available().is_ok())
}

/// A lab whose hosts can have ranks of an MPI job, on a machine on which `./test` builds `narrows-mpi`; or nothing, as [`lab`].
pub(crate) fn lab_with_ranks() -> Option<Lab> {
    ranks::open_mpi().map_or_else(|reason| lab_where(Err(reason)), |()| lab_with(&["mpicc", "strace"]))
}

/// A lab that can have a Slurm whose jobs are ranks, as [`lab_with_ranks`]; or nothing, as [`lab`].
pub(crate) fn lab_with_slurm() -> Option<Lab> {
    let commands = ["slurmctld", "slurmd", "srun", "munged", "mpicc"];
    // Ranks of another MPI that srun starts need no launcher of Open MPI.
    let launcher =
        if narrows_lab::slurm_mpi() == narrows_lab::OPEN_MPI_INTERFACE { ranks::open_mpi() } else { Ok(()) };
    launcher.map_or_else(|reason| lab_where(Err(reason)), |()| lab_with(&commands))
}

/// A lab that can have an iSCSI target; or nothing, as [`lab`].
pub(crate) fn lab_with_iscsi() -> Option<Lab> {
    lab_with(&["tgtd", "tgtadm", "mkfs.ext4"])
}

/// A lab that can have a folder behind sshfs; or nothing, as [`lab`].
pub(crate) fn lab_with_sshfs() -> Option<Lab> {
    sshfs::sftp_server().map_or_else(|reason| lab_where(Err(reason)), |_| lab_with(&["sshfs", "socat"]))
}

/// A lab that can have block devices of its own; or nothing, as [`lab`].
pub(crate) fn lab_with_blocks() -> Option<Lab> {
    lab_with(&["losetup", "blockdev", "blkid", "mkfs.ext4", "mkswap"])
}

/// A lab with these commands; or nothing, as [`lab`].
fn lab_with(commands: &[&str]) -> Option<Lab> {
    let has = |name: &&str| {
        let found = Command::new("sh").args(["-c", &format!("command -v {name}")]).output();
        let is_there = found.is_ok_and(|output| output.status.success());
        if is_there { Ok(()) } else { Err(format!("it needs the command {name}")) }
    };
    lab_where(narrows_lab::available().and_then(|()| commands.iter().try_for_each(has)))
}

/// A lab that can have an S3 server; or nothing, as [`lab`].
pub(crate) fn lab_with_s3() -> Option<Lab> {
    lab_where(narrows_lab::available().and_then(|()| versity::program().map(drop)))
}

/// A lab that can have another S3 server; or nothing, as [`lab`].
pub(crate) fn lab_with_s3rver() -> Option<Lab> {
    lab_where(narrows_lab::available().and_then(|()| s3rver::program().map(drop)))
}

/// Where `./test` builds, and installs commands of its own.
#[allow(clippy::disallowed_methods, reason = "where programs are built is the environment's to say")]
fn target_folder() -> PathBuf {
    let usual = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target");
    std::env::var("CARGO_TARGET_DIR").map_or_else(|_| usual(), PathBuf::from)
}

#[allow(clippy::print_stdout, reason = "the reason of a skipped test must be seen")]
#[allow(clippy::disallowed_methods, reason = "whether a skip is a failure is the environment's to say")]
fn lab_where(available: Result<(), String>) -> Option<Lab> {
    match available {
        Ok(()) => Some(Lab::new().unwrap()),
        Err(reason) => {
            assert!(std::env::var("CI").as_deref() != Ok("true"), "lab: not run: {reason}");
            println!("lab: not run: {reason}");
            None
        }
    }
}

/// How often a proof is tried at most where others use the machine.
const ATTEMPTS: u32 = 5;
/// How often where the kernel knows of no others: what a hypervisor's other guests do to the disk and to memory it does
/// not see, and a third failure on end is the proof's own.
const ATTEMPTS_IN_CALM: u32 = 3;
/// From this share of all CPUs on the machine was not the proof's own: its cells last a second, and what is taken comes
/// in pieces of a tenth of one.
const DISTURBED_RATIO: f64 = 0.02;

/// How long the machine is looked at before a proof: the kernel counts ticks of 10 ms.
const FIRST_LOOK: Duration = Duration::from_millis(100);
/// From this share on a proof waits before it begins: two ticks of such a look on two CPUs.
const BUSY_RATIO: f64 = 0.1;

/// Held to read by the first attempt of each proof, of which two may run at a time, and to write by a further one: it has the
/// machine to itself.
static NEIGHBOURS: RwLock<()> = RwLock::new(());

/// Runs a proof, and again without another beside it where it failed: more often where others used its CPUs, which the
/// kernel says and not narrows. Waits a while for others to leave the CPUs before. The last failure is the proof's.
pub(crate) fn on_a_calm_machine(proof: impl Fn()) {
    let mut calm_failures = 0;
    if taken_ratio_during(FIRST_LOOK) >= BUSY_RATIO {
        wait_for_calm(BUSY_RATIO, 30);
    }
    for attempt in 1..=ATTEMPTS {
        // Neither is poisoned: a proof's panic is caught, and both are dropped, before it goes on.
        let neighbours = (attempt == 1).then(|| NEIGHBOURS.read().unwrap());
        let alone = (attempt > 1).then(|| NEIGHBOURS.write().unwrap());
        let before = MachineTicks::now();
        let Err(failure) = catch_unwind(AssertUnwindSafe(&proof)) else { return };
        drop((neighbours, alone));
        let taken = before.taken_ratio(&MachineTicks::now());
        print_failed_attempt(attempt, taken, &*failure);
        calm_failures += u32::from(taken < DISTURBED_RATIO);
        if calm_failures == ATTEMPTS_IN_CALM || attempt == ATTEMPTS {
            resume_unwind(failure);
        }
        wait_for_calm(DISTURBED_RATIO, 90);
    }
}

/// Prints an attempt that failed, also where the proof passes in the end: past the capture of what passing tests print.
/// `./test` collects these lines, fails with more than one such proof, and prints each with its reason.
fn print_failed_attempt(attempt: u32, taken_ratio: f64, failure: &(dyn Any + Send)) {
    let thread = std::thread::current();
    let proof = thread.name().unwrap_or("a proof");
    let share = taken_ratio * 100.0;
    let reason = failure.downcast_ref::<String>().map(String::as_str);
    let reason = reason.or_else(|| failure.downcast_ref::<&str>().copied()).unwrap_or_default();
    let reason = reason.split_whitespace().collect::<Vec<_>>().join(" ");
    let line = format!(
        "lab: failed attempt: {proof}: attempt {attempt}, while others took {share:.1} % of the CPUs: {reason}\n"
    );
    // Best effort: where it cannot be printed, the proof's own end still is.
    let _ = std::io::stderr().write_all(line.as_bytes());
}

/// Waits until others use less than this share of the machine's CPUs for a second, `seconds_max` at most.
fn wait_for_calm(ratio: f64, seconds_max: u32) {
    let is_calm = (0..seconds_max).any(|_| taken_ratio_during(Duration::from_secs(1)) < ratio);
    if !is_calm {
        let line = format!("lab: goes on after {seconds_max} s, though others still use the CPUs\n");
        // Best effort, past the capture of what passing tests print.
        let _ = std::io::stderr().write_all(line.as_bytes());
    }
}

/// Share of all CPU time that others use from now for `period`.
#[allow(clippy::disallowed_methods, reason = "the machine is looked at for this long")]
fn taken_ratio_during(period: Duration) -> f64 {
    let before = MachineTicks::now();
    std::thread::sleep(period);
    before.taken_ratio(&MachineTicks::now())
}

/// Starts `labcat ROLE` listening on a host; it and the address it listens on.
pub(crate) fn listen(lab: &Lab, host: &Host, role: &str) -> (LabProcess, String) {
    let mut command = host.command(labcat_bin().unwrap());
    command.args([role, &format!("{}:0", host.address())]);
    let mut process = lab.start(role, command).unwrap();
    let line = process.wait_for_line("listening", SOON).unwrap();
    let address = line.strip_prefix("listening ").unwrap().to_owned();
    (process, address)
}

/// Sends bytes from one host to another; the rate that the receiver saw, in bytes per second.
pub(crate) fn transfer_bytes_per_s(lab: &Lab, from: &Host, to: &Host, bytes: u64) -> f64 {
    let (mut receiver, address) = listen(lab, to, "receive");
    let mut command = from.command(labcat_bin().unwrap());
    command.args(["send", &address, &bytes.to_string()]);
    let mut sender = lab.start("send", command).unwrap();
    assert!(sender.wait(SOON).unwrap().success(), "{}", sender.stderr().unwrap());
    let line = receiver.wait_for_line("received", SOON).unwrap();
    let words: Vec<&str> = line.split(' ').collect();
    assert_eq!(words[1], bytes.to_string(), "all bytes arrive");
    bytes as f64 / (words[3].parse::<f64>().unwrap() / 1e9)
}

/// Round trips of a 64-byte message between two hosts, shortest first, in nanoseconds.
pub(crate) fn round_trips_ns(lab: &Lab, from: &Host, to: &Host, count: u32) -> Vec<u64> {
    let (_echo, address) = listen(lab, to, "echo");
    let mut command = from.command(labcat_bin().unwrap());
    command.args(["rtt", &address, &count.to_string()]);
    let mut client = lab.start("rtt", command).unwrap();
    assert!(client.wait(SOON).unwrap().success(), "{}", client.stderr().unwrap());
    let mut trips: Vec<u64> = client.stdout().unwrap().lines().map(|line| line.parse().unwrap()).collect();
    assert_eq!(trips.len(), count as usize);
    trips.sort_unstable();
    trips
}

/// Runs the conformance suite of reads and of durable writes on `target` with these options of its engine; `change` changes what is
/// opened besides.
#[track_caller]
pub(crate) fn conform(target: &str, depth: u32, options: &[(&str, u64)], change: impl Fn(&mut OpenSpec)) {
    for (op, sync) in [(Op::Read, SyncPolicy::None), (Op::Write, SyncPolicy::Dsync)] {
        let mut spec = conformance::spec(target, op, depth);
        spec.workload.sync = sync;
        change(&mut spec);
        for (name, value) in options {
            spec.workload.engine_options.set(name, *value);
        }
        let factory = EngineRegistry::for_user().factory(&target.parse::<Target>().unwrap(), None).unwrap();
        conformance::run(factory.as_ref(), &spec);
    }
}

/// The program `name` on the path, else `below_tools` among what `./test` installs; `None` where there is neither.
fn installed(name: &str, below_tools: &str) -> Option<PathBuf> {
    let found = Command::new("sh").args(["-c", &format!("command -v {name}")]).output();
    if let Ok(output) = found
        && output.status.success()
    {
        return Some(PathBuf::from(String::from_utf8_lossy(&output.stdout).trim()));
    }
    Some(target_folder().join("tools").join(below_tools)).filter(|program| program.is_file())
}
