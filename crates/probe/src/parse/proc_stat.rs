//! `/proc/stat`: CPU time of the whole machine by kind.
//!
//! The file is the host's, also inside a control group or a container: only a separate kernel has its own.

use super::{Malformed, fields, lines, number};

/// The line `cpu`, in clock ticks since boot.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct CpuTicks {
    /// Lines `cpuN`: the CPUs online.
    pub(crate) online_cpus: u32,
    /// Guests included.
    pub(crate) user: u64,
    /// Niced guests included.
    pub(crate) nice: u64,
    pub(crate) system: u64,
    pub(crate) idle: u64,
    pub(crate) iowait: u64,
    pub(crate) irq: u64,
    pub(crate) softirq: u64,
    /// `None` on kernels before 2.6.11, which do not count it.
    pub(crate) steal: Option<u64>,
}

impl CpuTicks {
    /// All kinds; guests are part of user and nice and count once.
    pub(crate) fn total(&self) -> u64 {
        [self.user, self.nice, self.system, self.idle, self.iowait, self.irq, self.softirq]
            .into_iter()
            .fold(self.steal.unwrap_or(0), u64::saturating_add)
    }
}

/// The `cpu` lines.
///
/// # Source
/// proc(5), `/proc/stat`.
pub(crate) fn parse(bytes: &[u8]) -> Result<CpuTicks, Malformed> {
    let mut ticks = None;
    let mut online_cpus = 0_u32;
    for (line_number, line) in lines(bytes) {
        let Some(rest) = line.strip_prefix(b"cpu") else { break };
        if rest.first().is_some_and(u8::is_ascii_whitespace) {
            ticks = Some(total_line(line_number, rest)?);
        } else {
            online_cpus = online_cpus.saturating_add(1);
        }
    }
    let ticks = ticks.ok_or_else(|| Malformed::new(1, "a line that starts with `cpu `", bytes))?;
    Ok(CpuTicks { online_cpus, ..ticks })
}

fn total_line(line_number: usize, rest: &[u8]) -> Result<CpuTicks, Malformed> {
    let mut values = [None; 8];
    for (slot, field) in values.iter_mut().zip(fields(rest)) {
        let value = number(field);
        *slot = Some(value.ok_or_else(|| Malformed::new(line_number, "a count of clock ticks", field))?);
    }
    let [Some(user), Some(nice), Some(system), Some(idle), iowait, irq, softirq, steal] = values else {
        return Err(Malformed::new(line_number, "at least 4 counts after `cpu`", rest));
    };
    let (iowait, irq, softirq) = (iowait.unwrap_or(0), irq.unwrap_or(0), softirq.unwrap_or(0));
    Ok(CpuTicks { online_cpus: 0, user, nice, system, idle, iowait, irq, softirq, steal })
}
