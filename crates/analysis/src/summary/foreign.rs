//! CPU that programs used which are no part of the path, and how long the path's own threads waited for a CPU.

use super::Machines;
use super::ticks::{TICK_NS, TICKS_MIN};
use crate::collect::{CellData, RoleDelta};
use narrows_model::Site;
use narrows_model::counters::{ForeignCpu, Role};
use narrows_model::summary::{CpuWaiting, ForeignLoad, ForeignProgramLoad};
use narrows_model::units::ratio;

/// A program is named from this share of one CPU on.
const NAMED_MIN_CPUS: f64 = 0.05;
/// File systems whose daemon is a program of this machine and a part of the path.
const DAEMON_FILE_SYSTEMS: &str = "fuse";

/// What other programs used, for each machine of the path.
pub(super) fn loads(data: &CellData, machines: &Machines<'_>) -> Vec<ForeignLoad> {
    data.deltas.iter().filter_map(|delta| load(data, delta, machines)).collect()
}

/// What other programs used on the machine of one role; `None` where a role elsewhere counts them, or the window is too
/// short for clock ticks.
fn load(data: &CellData, delta: &RoleDelta, machines: &Machines<'_>) -> Option<ForeignLoad> {
    let foreign_s = foreign_s(delta, machines)?;
    let host = delta.host.filter(|_| delta.elapsed.0 >= TICKS_MIN * TICK_NS)?;
    let elapsed_s = delta.elapsed.as_secs_f64();
    let busy_s = host.user_ns.saturating_add(host.kernel_ns()).as_secs_f64();
    let roles = machines.roles_beside(delta.role);
    let on_machine = data.deltas.iter().filter(|other| roles.contains(&other.role));
    let own_s: f64 =
        on_machine.filter_map(|other| other.process).map(|own| own.total_ns().as_secs_f64()).sum();
    let machine_cpus = f64::from(host.online_cpus);
    let named = delta.foreign.iter().flat_map(|foreign: &ForeignCpu| &foreign.programs);
    let programs = named.filter_map(|program| {
        let used_cpus = ratio(program.used_ns.as_secs_f64(), elapsed_s)?;
        let named = ForeignProgramLoad { name: program.name.clone(), pid: program.pid, used_cpus };
        (used_cpus >= NAMED_MIN_CPUS).then_some(named)
    });
    Some(ForeignLoad {
        roles,
        machine_cpus,
        busy_cpus: ratio(busy_s, elapsed_s)?.min(machine_cpus),
        stolen_cpus: ratio(host.steal_ns.as_secs_f64(), elapsed_s)?.min(machine_cpus),
        used_cpus: ratio(foreign_s.min((busy_s - own_s).max(0.0)), elapsed_s)?,
        programs: programs.take(PROGRAMS_MAX).collect(),
    })
}

/// Programs that are named.
const PROGRAMS_MAX: usize = 3;

/// CPU seconds of the other programs on a role's machine; `None` where they are not known, or another role counts them.
///
/// The client knows the processes of all roles on its machine. An endpoint or a proxy knows only its own, and takes other
/// roles on its machine for others.
pub(super) fn foreign_s(delta: &RoleDelta, machines: &Machines<'_>) -> Option<f64> {
    let knows_all = match delta.role {
        // A daemon that is counted is no program of others.
        Role::Client => delta.daemon.is_some() || !has_daemon(machines),
        role => machines.roles_beside(role).len() == 1,
    };
    delta.foreign.as_ref().filter(|_| knows_all).map(|foreign| foreign.used_ns.as_secs_f64())
}

fn has_daemon(machines: &Machines<'_>) -> bool {
    let paths = machines.client.path.iter().chain(&machines.client.more_paths);
    paths.map(|path| &path.mount.fs_type).any(|fs_type| fs_type.starts_with(DAEMON_FILE_SYSTEMS))
}

/// How the threads of a role waited for a CPU, without the time for which its quota throttled them.
pub(super) fn waiting(data: &CellData, delta: &RoleDelta, throttled_s: Option<f64>) -> Option<CpuWaiting> {
    let (running_s, waited_s, time_s) = match delta.role {
        Role::Client if data.cell.site == Site::Client => of_workers(data)?,
        _ => {
            let times = delta.threads?;
            let (running_ns, waiting_ns) = (times.busiest_running_ns, times.busiest_waiting_ns);
            (running_ns.as_secs_f64(), waiting_ns.as_secs_f64(), delta.elapsed.as_secs_f64())
        }
    };
    let waited_s = (waited_s - throttled_s.unwrap_or(0.0)).max(0.0);
    let waiting_ratio = ratio(waited_s, time_s)?.min(1.0);
    // Readings are a little before and after the window: no thread was runnable for longer than all of it.
    Some(CpuWaiting { waiting_ratio, runnable_ratio: ratio(running_s + waited_s, time_s)?.min(1.0) })
}

/// Seconds in which the load's threads ran, in which they waited for a CPU, and that they had.
fn of_workers(data: &CellData) -> Option<(f64, f64, f64)> {
    let (load, clients) = (&data.cell.workload, &data.clients);
    let waited = clients.iter().try_fold(0.0, |sum, client| Some(sum + client.waiting_ns?.as_secs_f64()))?;
    let running =
        clients.iter().map(|client| client.user_ns.saturating_add(client.system_ns).as_secs_f64()).sum();
    let window_s: f64 = data.trials.values().map(|trial| trial.last_done.as_secs_f64()).sum();
    Some((running, waited, window_s * f64::from(load.workers) * f64::from(load.clients)))
}
