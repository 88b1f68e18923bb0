//! CPU time of a suite's processes over the time of their tests.

use narrows_model::summary::ClientSummary;
use narrows_model::units::ratio;

/// Shortest time of a process of which its CPU time is a share: the kernel accounts for it in ticks of up to 10 ms, and what a
/// process does before and after the test counts too.
const SHORTEST_S: f64 = 0.1;
/// From this share on it is not one of a process with one thread.
pub(crate) const SHARE_MAX: f64 = 1.1;

/// The share of their time in which the processes of a test were on a CPU, 0 to 1; `None` where it is too short to tell.
pub(crate) fn cpu_share(processes: &[ClientSummary]) -> Option<f64> {
    let cpu_s: f64 = processes.iter().map(|process| process.user_s + process.system_s).sum();
    let elapsed_s: f64 = processes.iter().map(|process| process.elapsed_s).sum();
    let is_long = elapsed_s >= SHORTEST_S * processes.len() as f64;
    ratio(cpu_s, elapsed_s).filter(|share| is_long && *share <= SHARE_MAX).map(|share| share.min(1.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_model::Bytes;

    #[test]
    fn a_share_is_that_of_all_processes_and_a_short_or_impossible_one_is_none() {
        let share = |each: &[(f64, f64)]| {
            let process = |(cpu_s, elapsed_s): &(f64, f64)| ClientSummary {
                client_index: 0,
                host: String::new(),
                bytes: Bytes(0),
                ops: 0,
                elapsed_s: *elapsed_s,
                user_s: cpu_s / 2.0,
                system_s: cpu_s / 2.0,
            };
            cpu_share(&each.iter().map(process).collect::<Vec<_>>())
        };
        assert_eq!(share(&[(0.1, 0.2), (0.3, 0.6)]), Some(0.5));
        assert_eq!(share(&[(1.05, 1.0)]), Some(1.0));
        assert_eq!(share(&[(0.003, 0.003)]), None);
        assert_eq!(share(&[(1.3, 1.0)]), None);
        assert_eq!(share(&[]), None);
    }
}
