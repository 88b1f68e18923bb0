//! The CPU of a role is full.

use super::super::fit::CPU_FULL;
use super::super::table::{self, Table};
use super::{ObservationRule, offered_load};
use crate::rules::{Basis, Stance, Verdict};
use crate::text;
use narrows_model::Segment;
use narrows_model::counters::Role;

/// Below this a CPU is cleared; between the two it is neither full nor idle.
const FREE_RATIO: f64 = 0.9;

const FORMULA: &str = "busy / usable CPUs >= 0.95, or busiest core >= 0.95, or (user + system) / elapsed >= 0.95 of one core \
                       where the number of CPUs is not given; cleared below 0.9";
const SOURCE: &str = "Utilisation law, Denning and Buzen, ACM Computing Surveys 10 (1978)";
const DEFINITION: &str = "The role uses what CPU it may use, or its busiest core does: one full thread limits however many \
                          cores are idle. A share a tenth above 1 is rounding and counts as full.";
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
    let judged = table.observations().iter().filter_map(|one| {
        let cpu = table::cpu(one, role)?;
        let full = cpu.ratio >= CPU_FULL;
        if !full && (cpu.ratio >= FREE_RATIO || offered_load::is_held(one)) {
            return None;
        }
        let stance = if full { Stance::Limits } else { Stance::Clears };
        let text = format!("{}: {} {} used", one.id, text::percent(cpu.ratio), cpu.of);
        let verdict = Verdict::on(segment, &one.id, stance, Basis::Utilisation, cpu.ratio.min(1.0));
        Some(verdict.because(text, "CPU time of the role", ""))
    });
    judged.collect()
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
            ("user_s = { proxy = 30.3 }\nsystem_s = { proxy = 67 }", Segment::ProxyCpu),
        ] {
            assert_eq!(first(&of(cpu)), segment, "{cpu}");
        }
    }

    #[test]
    fn a_cpu_with_room_is_cleared_and_one_near_full_is_neither() {
        assert!(cleared(&of("cpu_ratio = { server = 0.77 }"), Segment::ServerCpu));
        let near = of("cpu_ratio = { server = 0.92 }");
        assert!(!cleared(&near, Segment::ServerCpu) && first(&near) == Segment::Unknown);
    }
}
