//! `/proc/cpuinfo`: the CPU's model, and whether it says that a hypervisor is below.
//!
//! The file differs by architecture; what a CPU does not report stays `None`. CPUs are counted elsewhere.

use super::{fields, lines, text};

/// What is used of the file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct CpuDescription {
    pub(crate) model: Option<String>,
    /// `None` where the architecture has no such flag.
    pub(crate) hypervisor: Option<bool>,
}

/// The first CPU's lines; those that are no `key : value` are passed over.
pub(crate) fn parse(bytes: &[u8]) -> CpuDescription {
    let mut cpu = CpuDescription::default();
    for (_, line) in lines(bytes) {
        let mut parts = line.splitn(2, |&byte| byte == b':');
        let (Some(key), Some(value)) = (parts.next(), parts.next()) else { continue };
        let value = value.trim_ascii();
        match key.trim_ascii() {
            // x86 and LoongArch; MIPS; PowerPC.
            b"model name" | b"Model Name" | b"cpu model" | b"cpu" if cpu.model.is_none() => {
                cpu.model = Some(text(value));
            }
            b"flags" if cpu.hypervisor.is_none() => {
                cpu.hypervisor = Some(fields(value).any(|flag| flag == b"hypervisor"));
            }
            _ => {}
        }
    }
    cpu
}
