//! Programs of others on the machine of a proof.

use std::process::Command;

use narrows_lab::{Lab, LabProcess, pin_to_cpus};

/// A loop that does nothing on each of `cpus`, until it is dropped; a CPU that is there twice has two.
pub(crate) fn busy_loops(lab: &Lab, cpus: &[u32]) -> Vec<LabProcess> {
    let start = |(index, cpu): (usize, &u32)| {
        let mut command = Command::new("sh");
        command.args(["-c", "while :; do :; done"]);
        pin_to_cpus(&mut command, &[*cpu]);
        lab.start(&format!("loop-{index}"), command).unwrap()
    };
    cpus.iter().enumerate().map(start).collect()
}
