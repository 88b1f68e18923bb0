//! A Slurm of the distribution: a controller and nodes, each on a host of the lab with a name of its own.
//!
//! All its files are in the lab's scratch folder, and its ports are those of the hosts' own networks: a Slurm that this machine
//! runs has nothing of it, and it nothing of that one. What it has started ends with the lab.

use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use narrows_lab::{Host, Lab, LabProcess, narrows_mpi_bin};

use super::ranks::host_name;
use super::waits::{wait_until, wait_within};

/// The host of the controller, from which jobs are started.
const CONTROLLER_HOST: u8 = 90;
const CONTROLLER: &str = "controller";
/// CPUs that the nodes are said to have, whatever this machine has.
pub(crate) const NODE_CPUS: u32 = 4;
/// Longer than any job here takes.
pub(crate) const JOB_ENDED: Duration = Duration::from_mins(2);

/// Daemons of Slurm; they end with this value.
pub(crate) struct Slurm<'a> {
    lab: &'a Lab,
    controller: Host,
    configuration: PathBuf,
    folder: PathBuf,
    _daemons: Vec<LabProcess>,
}

/// What a command of Slurm left.
#[derive(Debug)]
pub(crate) struct SlurmEnded {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl<'a> Slurm<'a> {
    /// Starts it, with `count` nodes called n1, n2 and so on.
    pub(crate) fn start(lab: &'a Lab, count: u8) -> Self {
        let own = lab.scratch().join("slurm");
        fs::create_dir(&own).unwrap();
        let nodes: Vec<Host> = (1..=count).map(|index| lab.host(index).unwrap()).collect();
        let controller = lab.host(CONTROLLER_HOST).unwrap();
        let configuration = own.join("slurm.conf");
        fs::write(&configuration, configuration_text(&own, &controller, &nodes)).unwrap();
        let folder = lab.scratch().join("jobs");
        fs::create_dir(&folder).unwrap();
        let mut daemons = vec![start_munge(lab, &own, &controller)];
        let daemon = |name: &str, host: &Host, words: &str| {
            let words = format!("hostname {name} && exec {words} -f {}", configuration.display());
            let mut command = host.command("unshare");
            command.args(["--uts", "sh", "-c", &words]);
            lab.start(&format!("slurm-{name}"), command).unwrap()
        };
        daemons.push(daemon(CONTROLLER, &controller, "slurmctld -D"));
        for node in &nodes {
            let name = host_name(node);
            for kind in ["spool", "tmp"] {
                fs::create_dir(own.join(format!("{kind}-{name}"))).unwrap();
            }
            daemons.push(daemon(&name, node, &format!("slurmd -D -N {name}")));
        }
        let slurm = Self { lab, controller, configuration, folder, _daemons: daemons };
        wait_until(|| slurm.idle_nodes() == usize::from(count));
        slurm
    }

    /// The folder in which its commands are started.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// A command of Slurm, in [`Slurm::folder`], with `narrows-mpi` on the path.
    pub(crate) fn command(&self, words: &[&str]) -> Command {
        let mut command = self.controller.command("unshare");
        command
            .args(["--uts", "sh", "-c", &format!("hostname {CONTROLLER} && exec \"$@\""), "sh"])
            .args(words);
        clean_environment(&mut command);
        command.env("SLURM_CONF", &self.configuration).current_dir(&self.folder);
        command
    }

    /// Starts a command of Slurm, its output under `name`.
    pub(crate) fn launch(&self, name: &str, words: &[&str]) -> LabProcess {
        self.lab.start(name, self.command(words)).unwrap()
    }

    /// Runs a command of Slurm to its end.
    #[track_caller]
    pub(crate) fn run(&self, words: &[&str]) -> SlurmEnded {
        let mut process = self.launch("job", words);
        let code = process.wait(JOB_ENDED).unwrap().code();
        SlurmEnded { code, stdout: process.stdout().unwrap(), stderr: process.stderr().unwrap() }
    }

    /// Runs a short command of Slurm that must succeed, beside others; what it prints.
    #[track_caller]
    pub(crate) fn ask(&self, words: &[&str]) -> String {
        let output = self.command(words).output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        assert!(output.status.success(), "{words:?}: {}{}", text(&output.stdout), text(&output.stderr));
        text(&output.stdout)
    }

    /// What the controller says of the job of this number once it has ended.
    #[track_caller]
    pub(crate) fn ended_job(&self, job: &str) -> String {
        wait_until(|| self.has_ended(job));
        self.job(job)
    }

    /// The same of a job that runs for minutes.
    #[track_caller]
    pub(crate) fn job_ended_within(&self, longest: Duration, job: &str) -> String {
        wait_within(longest, || self.has_ended(job));
        self.job(job)
    }

    #[track_caller]
    fn has_ended(&self, job: &str) -> bool {
        let said = self.job(job);
        let is_in = |state: &str| said.contains(&format!("JobState={state} "));
        !["PENDING", "RUNNING", "COMPLETING"].into_iter().any(is_in)
    }

    #[track_caller]
    fn job(&self, job: &str) -> String {
        self.ask(&["scontrol", "show", "job", job])
    }

    fn idle_nodes(&self) -> usize {
        let output = self.command(&["sinfo", "--noheader", "--Node", "--format=%T"]).output().unwrap();
        String::from_utf8_lossy(&output.stdout).lines().filter(|state| *state == "idle").count()
    }
}

/// Has `narrows-mpi` found by its name, and nothing of a job of Slurm that these tests may be part of.
#[allow(clippy::disallowed_methods, reason = "what a job would inherit is the environment's to say")]
fn clean_environment(command: &mut Command) {
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        if ["SLURM", "SBATCH", "PMI", "OMPI"].iter().any(|start| text.starts_with(start)) {
            command.env_remove(&name);
        }
    }
    let own = narrows_mpi_bin().unwrap().parent().unwrap().to_path_buf();
    let usual = std::env::var_os("PATH").unwrap_or_default();
    command
        .env("PATH", std::env::join_paths([own].into_iter().chain(std::env::split_paths(&usual))).unwrap());
}

/// The service by which the daemons know who sends a request, with a key of its own.
fn start_munge(lab: &Lab, own: &Path, host: &Host) -> LabProcess {
    let key = own.join("key");
    // Any bytes do, from 32 on: nobody else may read it.
    fs::write(&key, [7; 128]).unwrap();
    fs::set_permissions(&key, fs::Permissions::from_mode(0o600)).unwrap();
    let mut command = host.command("munged");
    command.args(["--foreground", "--force"]);
    for (option, file) in
        [("key-file", "key"), ("socket", "munge"), ("pid-file", "munge.pid"), ("seed-file", "munge.seed")]
    {
        command.arg(format!("--{option}={}", own.join(file).display()));
    }
    let munge = lab.start("munge", command).unwrap();
    wait_until(|| own.join("munge").exists());
    munge
}

/// What Slurm is to know: nodes with as many CPUs as the tests want, no accounting, no control groups, and a folder of its own for
/// the files of each node, those of `PMIx` among them. The numbers of jobs start where no other lab's do: Open MPI names segments
/// of shared memory after host and job, and labs on this machine have hosts of the same names.
fn configuration_text(own: &Path, controller: &Host, nodes: &[Host]) -> String {
    let own = own.display();
    let address = controller.address();
    let [_, _, subnet, _] = address.octets();
    let first_job = u32::from(subnet) * 1000 + 1;
    let mut text = format!(
        "ClusterName=lab
SlurmctldHost={CONTROLLER}({address})
AuthType=auth/munge
AuthInfo=socket={own}/munge
FirstJobId={first_job}
SlurmUser=root
SlurmdUser=root
StateSaveLocation={own}
SlurmdSpoolDir={own}/spool-%n
TmpFS={own}/tmp-%n
SlurmctldPidFile={own}/controller.pid
SlurmdPidFile={own}/%n.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SlurmdParameters=config_overrides
SchedulerParameters=batch_sched_delay=0
MpiDefault=none
MailProg=/bin/true
ReturnToService=2
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"
    );
    for node in nodes {
        let (name, address) = (host_name(node), node.address());
        // Writing to a string cannot fail.
        let _infallible = writeln!(
            text,
            "NodeName={name} NodeAddr={address} CPUs={NODE_CPUS} RealMemory=1000 State=UNKNOWN"
        );
    }
    text
}
