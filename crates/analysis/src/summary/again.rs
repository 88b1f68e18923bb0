//! Which of two measurements of a cell counts.

use crate::facts::flags::{FOREIGN_LOAD, MEASURED_AGAIN, has};
use narrows_model::summary::{CellSummary, MemoryStall};
use narrows_model::units::ratio;

/// The one that others disturbed less; of equals the second, which was not chosen
/// for its rate.
pub(super) fn better(first: CellSummary, second: CellSummary) -> CellSummary {
    let is_first = disturbance(&first) < disturbance(&second);
    let mut kept = if is_first { first } else { second };
    kept.flags.push(MEASURED_AGAIN.to_owned());
    kept
}

/// How much others disturbed a cell: nothing where it is not marked, else the shares that they took of all resources.
fn disturbance(cell: &CellSummary) -> f64 {
    if !has(cell, FOREIGN_LOAD) {
        return 0.0;
    }
    let cpu = cell
        .foreign_cpu
        .iter()
        .filter_map(|load| ratio(load.used_cpus + load.stolen_cpus, load.machine_cpus));
    let transfers = cell
        .foreign_transfers
        .iter()
        .filter_map(|transfer| ratio(transfer.foreign_bytes_per_s.0, transfer.total_bytes_per_s.0));
    let memory = cell.memory_stalls.iter().map(|stall: &MemoryStall| stall.some_ratio);
    cpu.chain(transfers).chain(memory).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::builtin;
    use narrows_model::Role;
    use narrows_model::summary::ForeignLoad;

    /// A cell with this rate, beside programs that use so many of two CPUs.
    fn beside(rate: f64, used_cpus: f64) -> CellSummary {
        let mut cell = builtin("local-ssd").cells.swap_remove(0);
        cell.rate_bytes_per_s.as_mut().unwrap().0 = rate;
        cell.flags.clear();
        if used_cpus > 0.0 {
            cell.flags.push(FOREIGN_LOAD.to_owned());
        }
        cell.foreign_cpu = vec![ForeignLoad {
            roles: vec![Role::Client],
            machine_cpus: 2.0,
            busy_cpus: 2.0,
            used_cpus,
            stolen_cpus: 0.0,
            programs: Vec::new(),
        }];
        cell
    }

    #[test]
    fn the_measurement_that_others_disturbed_less_counts_and_is_marked() {
        for (first, second, rate) in [(1.5, 0.0, 2.0), (1.0, 1.5, 1.0), (1.5, 1.0, 2.0), (0.0, 0.0, 2.0)] {
            let kept = better(beside(1.0, first), beside(2.0, second));
            assert!((kept.rate_bytes_per_s.unwrap().0 - rate).abs() < 1e-9, "{first} {second}");
            assert!(has(&kept, MEASURED_AGAIN));
        }
    }
}
