//! The process that serves the file system of the path has no CPU time to spare.

use super::{Basis, Rule, SegmentVerdict, Stance};
use crate::case::Cases;
use crate::facts::flags::{FOREIGN_LOAD, has};
use crate::method;
use crate::method::shares::daemon_text;
use crate::thresholds::{DOMINANT_RATIO, FULL_RATIO};
use narrows_model::Segment;
use narrows_model::summary::CellSummary;
use narrows_model::units::ratio;

/// The rule.
pub(super) static RULE: Rule = Rule {
    code: "daemon-cpu-full",
    slug: "daemon_cpu",
    segment: Segment::ClientDaemon,
    title: "the process that serves the file system is limited by its CPU time",
    definition: "Files of a FUSE mount are served by a process of the client's machine. Its busiest thread was on a CPU or \
                 waited for one for nine tenths of the time or more; with one request in flight, for half of it, since load and \
                 daemon take turns. A quota counts as waiting. A daemon whose threads are mostly blocked waits for something \
                 else, which the rule time-in-parts names with it. Where other programs disturbed the cell, the daemon waited for \
                 them too, and the rule says nothing.",
    formula: "(time on a CPU + time waiting for one) of the busiest thread / time >= 0.9; one request in flight: >= 0.5",
    source: "Linux, Documentation/scheduler/sched-stats.rst; fs/fuse/dev.c (fdinfo: fuse_connection)",
    example: "`bindfs` (pid 4711) used 0.97 CPUs, its busiest thread 97 % of the time",
    how_to_measure: Some("check a folder that a process of this machine serves, as root or as its user"),
    how_to_write: None,
    run,
};

fn run(cases: &Cases<'_>) -> Vec<SegmentVerdict> {
    cases.evaluate_cells(|_, cell| evaluate(cell))
}

fn evaluate(cell: &CellSummary) -> Option<SegmentVerdict> {
    let daemon = cell.daemon.as_ref().filter(|_| !has(cell, FOREIGN_LOAD))?;
    let busiest = daemon.busiest.runnable_ratio;
    let is_alternating = method::is_single(cell) && busiest < FULL_RATIO;
    let (least, basis) =
        if is_alternating { (DOMINANT_RATIO, Basis::TimeShare) } else { (FULL_RATIO, Basis::Utilisation) };
    if busiest < least {
        return None;
    }
    let verdict = SegmentVerdict::new(RULE.segment, &cell.id, Stance::Limits, basis, busiest);
    let gain = is_alternating.then(|| ratio(1.0, 1.0 - busiest)).flatten();
    let text = format!("{}: {}", cell.id, daemon_text(daemon));
    let verdict = verdict.with_relief_gain(gain).with_load_error(method::error_ratio(cell));
    Some(verdict.with_evidence(text, "time of the daemon's threads (schedstat)", "top -H -p PID"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::builtin;
    use narrows_model::Cut;
    use narrows_model::summary::{CpuWaiting, DaemonLoad};

    /// What is said of cells behind a daemon whose busiest thread was runnable for this share of the time: of bulk requests
    /// and of one small request at a time.
    fn named(runnable_ratio: f64, flag: Option<&str>) -> (bool, bool) {
        let mut summary = builtin("local-ssd");
        for cell in &mut summary.cells {
            cell.daemon = Some(DaemonLoad {
                name: "fsd\u{1b}[2J".to_owned(),
                pid: 4711,
                used_cpus: runnable_ratio,
                busiest: CpuWaiting { waiting_ratio: 0.1, runnable_ratio },
            });
            cell.flags.extend(flag.map(str::to_owned));
        }
        let path = || summary.cells.iter().filter(|cell| cell.cut == Cut::Path);
        let (single, several) = (
            path().find(|cell| method::is_single(cell)).unwrap(),
            path().find(|cell| !method::is_single(cell)).unwrap(),
        );
        (evaluate(several).is_some(), evaluate(single).is_some())
    }

    #[test]
    fn a_daemon_without_cpu_time_to_spare_limits_and_one_that_takes_turns_from_half_of_the_time_on() {
        assert_eq!(named(0.95, None), (true, true));
        assert_eq!(named(0.6, None), (false, true));
        assert_eq!(named(0.3, None), (false, false));
        assert_eq!(named(0.95, Some(FOREIGN_LOAD)), (false, false));
    }

    #[test]
    fn the_daemon_is_named_on_one_line_with_its_cpus() {
        let busiest = CpuWaiting { waiting_ratio: 0.25, runnable_ratio: 0.97 };
        let text = daemon_text(&DaemonLoad { name: "a\nb".to_owned(), pid: 12, used_cpus: 1.5, busiest });
        assert!(text.contains("(pid 12) used 1.50 CPUs") && text.contains("for 72 % of the time"), "{text}");
        assert!(!text.contains('\n') && text.ends_with("waited for one for 25 %"), "{text}");
    }
}
