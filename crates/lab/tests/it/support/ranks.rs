//! Ranks of an MPI job on hosts of the lab, started by Open MPI's launcher: each host has a name of its own, and ranks of two
//! hosts have only the lab's network between them.

use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use narrows_lab::{Host, Lab, narrows_mpi_bin};

/// The host of the launcher.
const LAUNCHER_HOST: u8 = 90;

/// In which order ranks are placed on hosts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RankOrder {
    /// All of a host after each other.
    HostByHost,
    /// One on each host in turn.
    ByTurns,
}

/// The ranks of a job on hosts of a lab.
#[derive(Debug)]
pub(crate) struct RankHosts {
    hosts: Vec<Host>,
    launcher: Host,
    agent: PathBuf,
    /// For the files of the job's start, on all hosts: jobs that start at once in one folder fail now and then.
    start_folder: PathBuf,
}

impl RankHosts {
    /// The hosts from number `first` on, each with the name that [`host_name`] says.
    pub(crate) fn new(lab: &Lab, first: u8, count: u8) -> Self {
        let hosts: Vec<Host> = (first..first + count).map(|index| lab.host(index).unwrap()).collect();
        let agent = lab.scratch().join("agent");
        fs::write(&agent, agent_script(&hosts)).unwrap();
        fs::set_permissions(&agent, fs::Permissions::from_mode(0o755)).unwrap();
        let start_folder = lab.scratch().join("start");
        fs::create_dir(&start_folder).unwrap();
        Self { hosts, launcher: lab.host(LAUNCHER_HOST).unwrap(), agent, start_folder }
    }

    /// The hosts.
    pub(crate) fn hosts(&self) -> &[Host] {
        &self.hosts
    }

    /// Their names, in their order.
    pub(crate) fn names(&self) -> Vec<String> {
        self.hosts.iter().map(host_name).collect()
    }

    /// The launcher with `narrows-mpi` as program: its words are to follow.
    pub(crate) fn narrows_mpi(&self, ranks_a_host: usize, order: RankOrder) -> Command {
        let mut command = self.launcher(ranks_a_host, order);
        command.arg(narrows_mpi_bin().unwrap());
        command
    }

    /// The same with each rank under strace, whose output on these calls is in `TRACES/RANK.THREAD`.
    pub(crate) fn traced_narrows_mpi(
        &self,
        ranks_a_host: usize,
        order: RankOrder,
        (calls, traces): (&str, &Path),
    ) -> Command {
        let mut command = self.launcher(ranks_a_host, order);
        let words = format!("strace -ff -ttt -s 0 --seccomp-bpf -e signal=none -e trace={calls}");
        command.args(["sh", "-c", &format!("exec {words} -o \"$0/$OMPI_COMM_WORLD_RANK\" \"$@\"")]);
        command.arg(traces).arg(narrows_mpi_bin().unwrap());
        command
    }

    /// The launcher without a program.
    fn launcher(&self, ranks_a_host: usize, order: RankOrder) -> Command {
        let address = self.launcher.address().octets();
        let subnet = format!("{}.{}.{}.0/24", address[0], address[1], address[2]);
        let slots = self.hosts.iter().map(|host| format!("{}:{ranks_a_host}", host.address()));
        let slots = slots.collect::<Vec<_>>().join(",");
        let ranks = (self.hosts.len() * ranks_a_host).to_string();
        let by = match order {
            RankOrder::HostByHost => "slot",
            RankOrder::ByTurns => "node",
        };
        let mut command = self.launcher.command("mpirun");
        command.args([
            "--allow-run-as-root",
            "--host",
            &slots,
            "-np",
            &ranks,
            "--map-by",
            by,
            "--bind-to",
            "none",
        ]);
        command.args(["--mca", "plm_rsh_agent"]).arg(&self.agent);
        command.args(["--mca", "orte_tmpdir_base"]).arg(&self.start_folder);
        for setting in [
            "plm_rsh_no_tree_spawn 1",
            "mpi_yield_when_idle 1",
            "pml ob1",
            "btl tcp,self",
            &format!("oob_tcp_if_include {subnet}"),
            &format!("btl_tcp_if_include {subnet}"),
        ] {
            command.arg("--mca").args(setting.split(' '));
        }
        command
    }
}

/// Nothing, or why there is no launcher here whose words these are.
pub(crate) fn open_mpi() -> Result<(), String> {
    let version = Command::new("mpirun").arg("--version").output();
    let is_known = version.is_ok_and(|output| String::from_utf8_lossy(&output.stdout).contains("Open MPI"));
    if is_known { Ok(()) } else { Err("it needs mpirun of Open MPI".to_owned()) }
}

/// The name of a host: what its ranks say where they are.
pub(crate) fn host_name(host: &Host) -> String {
    format!("n{}", host.index())
}

/// What the launcher starts in the place of ssh: it gets the address of a host and words for a shell there.
fn agent_script(hosts: &[Host]) -> String {
    let mut text =
        "#!/bin/sh\nwhile case $1 in -*) true ;; *) false ;; esac; do shift; done\ncase $1 in\n".to_owned();
    for host in hosts {
        // Writing to a string cannot fail.
        let _infallible =
            writeln!(text, "{}) netns={} name={} ;;", host.address(), host.netns(), host_name(host));
    }
    text + "*) echo \"no host of this lab: $1\" >&2; exit 1 ;;\nesac\nshift\n\
            exec nsenter --net=/run/netns/$netns -- unshare --uts sh -c \"hostname $name && $*\"\n"
}
