//! The CPU of a role is full.

use super::super::fit::{CPU_FULL, sweeps};
use super::super::table::{self, CpuShare, Table};
use super::{ObservationRule, offered_load};
use crate::rules::{Basis, Stance, Verdict};
use crate::text;
use narrows_model::Segment;
use narrows_model::counters::Role;
use std::collections::BTreeMap;

/// Below this a CPU is cleared; between the two it is neither full nor idle.
const FREE_RATIO: f64 = 0.9;

const FORMULA: &str = "busy / usable CPUs >= 0.95, or busiest core >= 0.95, or (user + system) / elapsed >= 0.95 of one core \
                       where the number of CPUs is not given; cleared below 0.9";
const SOURCE: &str = "Utilisation law, Denning and Buzen, ACM Computing Surveys 10 (1978)";
const DEFINITION: &str = "The role uses what CPU it may use, or its busiest core does: one full thread limits however many \
                          cores are idle. A share up to a tenth above 1 is rounding and counts as full; one further above cannot be, \
                          and says nothing.";
const HOW_TO: &str =
    "give cpu_ratio, cpu_cores with cpus, or user_s and system_s of the role (vmstat, sar, getrusage)";

/// The rule on the client.
pub(super) static CLIENT: ObservationRule = ObservationRule {
    code: "client-cpu-full",
    slug: "client_cpu",
    segment: Segment::ClientCpu,
    title: "the client's CPU is full",
    definition: DEFINITION,
    formula: FORMULA,
    source: SOURCE,
    example: "putc at 83 to 94 % CPU, as fast as on the server itself",
    how_to_measure: HOW_TO,
    run: |table| of_role(table, Role::Client, Segment::ClientCpu),
};

/// The rule on the proxy.
pub(super) static PROXY: ObservationRule = ObservationRule {
    code: "proxy-cpu-full",
    slug: "proxy_cpu",
    segment: Segment::ProxyCpu,
    title: "the proxy's CPU is full",
    definition: DEFINITION,
    formula: FORMULA,
    source: SOURCE,
    example: "a proxy of one thread with 82.4 s system and 30.3 s user time in 106.5 s",
    how_to_measure: HOW_TO,
    run: |table| of_role(table, Role::Proxy, Segment::ProxyCpu),
};

/// The rule on the server.
pub(super) static SERVER: ObservationRule = ObservationRule {
    code: "server-cpu-full",
    slug: "server_cpu",
    segment: Segment::ServerCpu,
    title: "the server's CPU is full",
    definition: DEFINITION,
    formula: FORMULA,
    source: SOURCE,
    example: "a server at 77 % under metadata work is cleared for now, and has 1.3 times the room",
    how_to_measure: HOW_TO,
    run: |table| of_role(table, Role::Server, Segment::ServerCpu),
};

fn of_role(table: &Table<'_>, role: Role, segment: Segment) -> Vec<Verdict> {
    let fullest = fullest_of_sweeps(table, role);
    let judged = table.observations().iter().filter_map(|one| {
        let cpu = table::cpu(one, role)?;
        let full = cpu.ratio >= CPU_FULL;
        // A sweep is judged as one: a role that is all but full at one of its points is cleared at none.
        let (told, cpu) = match fullest.get(one.id.as_str()) {
            Some((id, most)) if !full => (*id, *most),
            _ => (one.id.as_str(), cpu),
        };
        if !full && (cpu.ratio >= FREE_RATIO || offered_load::is_held(one)) {
            return None;
        }
        let stance = if full { Stance::Limits } else { Stance::Clears };
        let text = format!("{told}: {} {} used", text::percent(cpu.ratio), cpu.of);
        let verdict = Verdict::on(segment, &one.id, stance, Basis::Utilisation, cpu.ratio.min(1.0));
        Some(verdict.because(text, "CPU time of the role", ""))
    });
    judged.collect()
}

/// For each observation of a sweep of buffers: the one of the same sweep at which the role's CPU is fullest.
fn fullest_of_sweeps<'a>(table: &Table<'a>, role: Role) -> BTreeMap<&'a str, (&'a str, CpuShare)> {
    let mut all = BTreeMap::new();
    for sweep in sweeps(table) {
        let shares = sweep
            .points
            .iter()
            .filter_map(|point| Some((point.one.id.as_str(), table::cpu(point.one, role)?)));
        let Some(fullest) = shares.max_by(|a, b| a.1.ratio.total_cmp(&b.1.ratio)) else { continue };
        all.extend(sweep.points.iter().map(|point| (point.one.id.as_str(), fullest)));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::super::super::testing::{cleared, first, read};
    use super::*;

    fn of(cpu: &str) -> narrows_model::Observations {
        read(&format!("[[observation]]\nid = \"a\"\nop = \"read\"\nelapsed_s = 100\n{cpu}\n"))
    }

    #[test]
    fn a_full_cpu_limits_however_it_is_told() {
        for (cpu, segment) in [
            ("cpu_ratio = { client = 1.0 }", Segment::ClientCpu),
            ("cpu_cores = { server = 3.9 }\ncpus = { server = 4 }", Segment::ServerCpu),
            ("cpu_ratio = { server = 0.2 }\ncpu_busiest_core_ratio = { server = 0.99 }", Segment::ServerCpu),
            ("cpu_ratio = { client = 1.06 }", Segment::ClientCpu),
            ("cpu_ratio = { client = 1.2 }", Segment::Unknown),
            ("user_s = { proxy = 30.3 }\nsystem_s = { proxy = 67 }", Segment::ProxyCpu),
        ] {
            assert_eq!(first(&of(cpu)), segment, "{cpu}");
        }
    }

    #[test]
    fn a_role_that_is_all_but_full_at_one_point_of_a_sweep_is_cleared_at_none() {
        let swept = |most: f64| {
            let rows = [(4096, 0.5), (1024, 0.81), (512, most), (256, 0.8), (64, 0.6)];
            let rows: Vec<String> = rows
                .iter()
                .map(|(buffer, share)| {
                    let calls = 50_331_648 / buffer;
                    format!(
                        "[[observation]]\nid = \"b{buffer}\"\nop = \"send\"\nelapsed_s = {}\ncalls = {{ client = {calls} }}\n\
                         factor = {{ client_buffer_bytes = {buffer} }}\ncpu_ratio = {{ proxy = {share} }}\n",
                        1.0 + f64::from(calls) * 1e-5,
                    )
                })
                .collect();
            read(&rows.concat())
        };
        assert!(cleared(&swept(0.85), Segment::ProxyCpu));
        assert!(!cleared(&swept(0.94), Segment::ProxyCpu));
    }

    #[test]
    fn a_cpu_with_room_is_cleared_and_one_near_full_is_neither() {
        assert!(cleared(&of("cpu_ratio = { server = 0.77 }"), Segment::ServerCpu));
        let near = of("cpu_ratio = { server = 0.92 }");
        assert!(!cleared(&near, Segment::ServerCpu) && first(&near) == Segment::Unknown);
    }
}
