//! Programs of others: named where they take the CPUs that the load needs, and said beside a link that is full.

use crate::support::apart::check_apart;
use crate::support::check::{Checked, assert_within};
use crate::support::others::busy_loops;
use crate::support::{lab, on_a_calm_machine};
use narrows_model::{Cut, Op, Segment};

const CODE: &str = "foreign-load";

/// Every CPU of the machine.
fn every_cpu() -> Vec<u32> {
    (0..u32::try_from(std::thread::available_parallelism().unwrap().get()).unwrap()).collect()
}

/// No role is said to use more than it has, whatever others do.
#[track_caller]
fn assert_no_role_is_charged_with_others(checked: &Checked) {
    for cell in &checked.summary.cells {
        for (role, cpu) in &cell.cpu {
            assert!(cpu.busy_ratio <= 1.02, "{}: {role:?} {cpu:?}", cell.id);
        }
    }
}

#[test]
fn a_loop_on_every_cpu_beside_a_path_that_needs_cpu_is_named_first_with_its_process() {
    on_a_calm_machine(|| {
        let Some(lab) = lab() else { return };
        let loops = busy_loops(&lab, &every_cpu());
        let words = "--seconds 12 --cell-seconds 0.8 --block 64KiB --depth 16";
        let checked = check_apart(&lab, "beside-loops", None, |_| (), words);
        checked.assert_limiting_first("bulk", Segment::HostCpu);
        let first = &checked.summary.diagnosis.limiting[0];
        assert!(first.codes.iter().any(|code| code == CODE), "{first:#?}");
        let text = &first.evidence[0].text;
        assert!(text.contains("other programs used"), "{text}");
        assert!(loops.iter().any(|one| text.contains(&format!("(pid {}", one.pid()))), "{text}");
        assert_no_role_is_charged_with_others(&checked);
    });
}

#[test]
#[ignore = "campaign: a variant of a proof that ./test makes"]
fn loops_beside_a_link_of_100_mbit_are_a_finding_and_the_link_stays_named() {
    on_a_calm_machine(|| {
        let Some(lab) = lab() else { return };
        let server = lab.host(2).unwrap();
        server.limit_rate("100mbit").unwrap();
        let loops = busy_loops(&lab, &every_cpu());
        let words = "--seconds 20 --cell-seconds 0.6 --block 1MiB --depth 16";
        let checked = check_apart(&lab, "link-beside-loops", None, |_| (), words);
        checked.assert_limiting("bulk", Segment::NetworkBandwidth);
        checked.assert_none_limit(&[Segment::ClientCpu, Segment::ServerCpu, Segment::HostCpu]);
        let payload = server.payload_bytes_per_s(100_000_000);
        assert_within(checked.path_cell(Op::Read, 1 << 20, 16).rate_bytes_per_s.unwrap().0, payload, 0.15);
        assert_no_role_is_charged_with_others(&checked);
        let finding = checked.summary.diagnosis.findings.iter().find(|finding| finding.code == CODE);
        assert!(!finding.expect("the loops are said").evidence.is_empty());
        for cell in checked.cells(Cut::Path) {
            let used: f64 = cell.foreign_cpu.iter().map(|load| load.used_cpus).sum();
            assert!(used > 0.5 * loops.len() as f64, "{}: {:?}", cell.id, cell.foreign_cpu);
        }
    });
}

#[test]
#[ignore = "campaign: a variant of a proof that ./test makes"]
fn a_path_that_nobody_disturbs_is_not_limited_by_other_programs() {
    on_a_calm_machine(|| {
        let Some(lab) = lab() else { return };
        let words = "--seconds 8 --cell-seconds 0.6 --block 64KiB --depth 16";
        let checked = check_apart(&lab, "undisturbed", None, |_| (), words);
        let mut codes = checked.summary.diagnosis.limiting.iter().flat_map(|entry| &entry.codes);
        assert!(codes.all(|code| code != CODE));
        assert!(checked.cells(Cut::Path).all(|cell| !cell.foreign_cpu.is_empty()), "it was counted");
    });
}
