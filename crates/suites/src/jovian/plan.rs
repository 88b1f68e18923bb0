//! From a request to a plan: each configuration is a study of its own, and all of their cells are one plan.
//!
//! What a configuration asks for is written as the text of a study (`studies`), so that cuts, capabilities and room are
//! planned by the same code as those of any study.

use super::label::Label;
use super::request::{CacheFlush, Request};
use super::studies::Studies;
use crate::suite::Suite;
use narrows_model::cell::FactorValue;
use narrows_model::plan::{LoadStatement, PLAN_SCHEMA, SUITE_PHASE, SUITE_TEST, SkippedCell, Topology};
use narrows_model::workload::{CacheState, Prefill};
use narrows_model::{Bytes, Cell, CellId, Cut, Nanos, Op, Plan, Segment, Stop, Target};
use narrows_study::{Prefilled, Problem, StudyFacts, plan_study};
use std::collections::{BTreeMap, BTreeSet};

/// Longest time of a trial: one that has not transferred its bytes by then is cut short, and reported with what it
/// transferred.
const TRIAL_NS_MAX: Nanos = Nanos(3_600_000_000_000);
/// Load before a cut's window.
const CUT_WARM_UP_NS: Nanos = Nanos(200_000_000);
/// Most workers of a cell that a server runs.
const SERVER_WORKERS_MAX: u32 = 256;
/// The whole run may take this long: it ends with its bytes, not with its time.
const BUDGET_NS: Nanos = Nanos(30 * 24 * 3_600_000_000_000);

/// What was prepared for a run: its studies, and what is known of the targets.
#[derive(Debug)]
pub struct PreparedNodes {
    /// The study of each configuration.
    pub studies: Studies,
    /// What is known of the targets.
    pub facts: StudyFacts,
    /// The seed of every random choice.
    pub seed: u64,
}

/// The plan of `request` on `nodes`.
///
/// # Shape
/// Configurations in their order; of each the cuts of its path, then all writes, then all reads.
///
/// # Errors
/// What is wrong with it on these machines.
pub(super) fn plan(request: &Request, nodes: &PreparedNodes) -> Result<Plan, Vec<Problem>> {
    let seed = nodes.seed;
    let mut merged = MergedPlan::default();
    for (label, study) in &nodes.studies.each {
        let plan = plan_study(study, &nodes.facts, seed).map_err(|problems| {
            let hint = "use --plan with fewer labels to see the study of this label";
            vec![Problem::new("labels", format!("{label}: {}", problems.render()), "what fits here", hint)]
        })?;
        merged.add(request, *label, plan);
    }
    Ok(merged.into_plan(request, seed))
}

/// The plans of several studies as one.
#[derive(Default)]
struct MergedPlan {
    cells: Vec<Cell>,
    skipped: Vec<SkippedCell>,
    segments: Vec<Segment>,
    touches: Vec<String>,
    in_flight_max: u64,
    target: Option<Target>,
    /// Cuts that are there already.
    cuts: BTreeSet<String>,
}

impl MergedPlan {
    fn add(&mut self, request: &Request, label: Label, plan: Plan) {
        let named = |id: CellId| CellId(format!("{label}/{id}"));
        // What a write leaves to be written back would load the devices beside a cut.
        let (cuts, paths): (Vec<Cell>, Vec<Cell>) =
            plan.cells.into_iter().partition(|cell| cell.cut != Cut::Path);
        for cell in cuts.into_iter().chain(paths) {
            let cell = suite_cell(request, label, cell);
            if cell.cut == Cut::Path || self.cuts.insert(key(&cell)) {
                self.cells.push(Cell { id: named(cell.id), ..cell });
            }
        }
        let skipped = plan.skipped.into_iter();
        self.skipped.extend(skipped.map(|skip| SkippedCell { cell: named(skip.cell), ..skip }));
        self.segments.extend(plan.segments);
        for place in plan.load.touches {
            if !self.touches.contains(&place) {
                self.touches.push(place);
            }
        }
        self.in_flight_max = self.in_flight_max.max(plan.load.in_flight_max);
        self.target = Some(plan.target);
    }

    fn into_plan(self, request: &Request, seed: u64) -> Plan {
        // Of the cuts alone: the paths' loads write what they visit themselves.
        let prefill = Prefilled::from_cells(&self.cells);
        Plan {
            schema: PLAN_SCHEMA.to_owned(),
            seed,
            target: self.target.unwrap_or(Target::Null { copy: false }),
            topology: topology(&request.labels),
            segments: Segment::ALL
                .iter()
                .copied()
                .filter(|segment| self.segments.contains(segment))
                .collect(),
            load: LoadStatement {
                planned_ns: self.cells.iter().fold(Nanos(0), |sum, cell| sum.saturating_add(cut_ns(cell))),
                prefill_bytes: prefill.bytes,
                prefill_ns_max: prefill.ns_max(),
                file_bytes_max: files(request),
                write_bytes_max: None,
                touches: self.touches,
                in_flight_max: self.in_flight_max,
                max_bytes_per_s: None,
            },
            cells: self.cells,
            skipped: self.skipped,
            budget_ns: BUDGET_NS,
            interval_ns: Nanos::from_millis(100),
            study: None,
            relay: None,
            suite: Some(request.source()),
            fail_if: Vec::new(),
        }
    }
}

/// What a cut is, whoever asks for it: streams do not visit files.
fn key(cell: &Cell) -> String {
    let mut workload = cell.workload.clone();
    if cell.cut == Cut::NetworkStream {
        workload.file_bytes = Bytes(0);
    }
    format!("{:?} {:?} {:?} {workload:?}", cell.cut, cell.site, cell.target)
}

/// Time of a cell that ends with its time.
fn cut_ns(cell: &Cell) -> Nanos {
    if cell.cut == Cut::Path { Nanos(0) } else { cell.planned_ns() }
}

/// A study's cell as a cell of the suite: a path ends with its bytes, a cut with its time.
fn suite_cell(request: &Request, label: Label, mut cell: Cell) -> Cell {
    if cell.cut != Cut::Path {
        let measure_ns = request.cut_ns.unwrap_or_default();
        cell.stop = Stop { warm_up_ns: CUT_WARM_UP_NS, measure_ns, bytes_max: None, ops_max: None };
        cell.trials = 1;
        if cell.cut == Cut::ServerStorage {
            // A server runs one client of its own: as many requests by its workers.
            let workers = cell.workload.workers.saturating_mul(cell.workload.clients);
            cell.workload.workers = workers.min(SERVER_WORKERS_MAX);
            cell.workload.clients = 1;
        }
        return cell;
    }
    let bytes = request.client_bytes().0.saturating_mul(u64::from(label.clients()));
    cell.stop =
        Stop { warm_up_ns: Nanos(0), measure_ns: TRIAL_NS_MAX, bytes_max: Some(Bytes(bytes)), ops_max: None };
    // As published, writes make new files; reads find what the last of them left.
    cell.workload.prefill = Prefill::Nothing;
    if cell.workload.op == Op::Read {
        cell.workload.cache = match request.flush {
            CacheFlush::Dummy(scan_bytes) => CacheState::Displaced { scan_bytes },
            CacheFlush::Drop => CacheState::Cold,
            CacheFlush::None => CacheState::AsFound,
        };
    }
    cell.factors = BTreeMap::from([
        (SUITE_TEST.to_owned(), FactorValue::Text(label.to_string())),
        (SUITE_PHASE.to_owned(), FactorValue::Text(cell.workload.op.name().to_owned())),
    ]);
    cell
}

fn topology(labels: &[Label]) -> Topology {
    let any = |is: fn(&Label) -> bool| labels.iter().any(is);
    if any(|label| matches!(label, Label::ManyToMany { .. })) {
        Topology::ManyToMany
    } else if any(|label| matches!(label, Label::OneToMany { .. })) {
        Topology::OneToMany
    } else {
        Topology::Local
    }
}

/// Files of all configurations stay until the end, one for each client.
fn files(request: &Request) -> Bytes {
    let clients = request.labels.iter().map(|label| u64::from(label.clients()));
    Bytes(
        clients.fold(0_u64, |sum, count| sum.saturating_add(count.saturating_mul(request.client_bytes().0))),
    )
}

#[cfg(test)]
mod tests {
    use super::super::request::tests::request;
    use super::*;
    use narrows_model::workload::Acknowledgement;
    use narrows_study::quoted;

    fn planned(request: &Request) -> Plan {
        let studies = Studies::new(request).unwrap();
        plan(request, &PreparedNodes { studies, facts: StudyFacts::default(), seed: 1 }).unwrap()
    }

    fn paths(plan: &Plan) -> Vec<&Cell> {
        plan.cells.iter().filter(|cell| cell.cut == Cut::Path).collect()
    }

    #[test]
    fn each_label_writes_and_then_reads_the_same_bytes_of_each_client() {
        let plan = planned(&request("local c1-s2 c3-s4 pp-2"));
        let described: Vec<String> = paths(&plan)
            .iter()
            .map(|cell| {
                let load = &cell.workload;
                let all = cell.stop.bytes_max.unwrap().0 >> 20;
                format!(
                    "{} {} {} x {} {all}",
                    cell.factors[SUITE_TEST], load.op, load.clients, load.block_bytes
                )
            })
            .collect();
        assert_eq!(
            described,
            [
                "local write 1 x 64KiB 70",
                "local read 1 x 64KiB 70",
                "c1-s2 write 1 x 128KiB 70",
                "c1-s2 read 1 x 128KiB 70",
                "c3-s4 write 3 x 256KiB 210",
                "c3-s4 read 3 x 256KiB 210",
                "pp-2 write 2 x 128KiB 140",
                "pp-2 read 2 x 128KiB 140",
            ]
        );
        assert_eq!(plan.topology, Topology::ManyToMany);
        assert!(
            paths(&plan).iter().all(|cell| cell.trials == 5 && cell.workload.prefill == Prefill::Nothing)
        );
        let ids: BTreeSet<&CellId> = plan.cells.iter().map(|cell| &cell.id).collect();
        assert_eq!(ids.len(), plan.cells.len());
    }

    #[test]
    fn what_is_written_first_is_for_the_cuts_alone_and_is_stated() {
        let with_cuts = planned(&request("local c1-s2"));
        assert!(with_cuts.load.prefill_bytes > Bytes(0) && with_cuts.load.prefill_ns_max > Nanos(0));
        let without = planned(&Request { cut_ns: None, ..request("local c1-s2") });
        assert_eq!((without.load.prefill_bytes, without.load.prefill_ns_max), (Bytes(0), Nanos(0)));
    }

    #[test]
    fn reads_follow_a_flush_and_late_acknowledgement_reaches_the_local_disk_too() {
        let mut asked = request("local c1-s2");
        asked.flush = CacheFlush::Dummy(Bytes(300 << 20));
        asked.acknowledgement = Acknowledgement::Late;
        let plan = planned(&asked);
        for cell in paths(&plan) {
            let scanned = cell.workload.cache == CacheState::Displaced { scan_bytes: Bytes(300 << 20) };
            assert_eq!(scanned, cell.workload.op == Op::Read, "{}", cell.id);
            let durable = cell.workload.sync == narrows_model::workload::SyncPolicy::Dsync
                || cell.workload.acknowledgement == Acknowledgement::Late;
            assert!(durable, "{}", cell.id);
        }
    }

    #[test]
    fn a_stripe_has_the_unit_and_the_depth_at_each_peer_and_one_server_is_no_stripe() {
        let mut asked = request("c1-s1 c1-s2");
        asked.peer_depth = Some(2);
        let plan = planned(&asked);
        let targets: Vec<String> = paths(&plan).iter().map(|cell| cell.target.to_string()).collect();
        assert_eq!(targets[0], "tcp://node1:7300/disk");
        assert_eq!(targets[2], "stripe:tcp://node1:7300/disk,tcp://node2:7300/disk?unit=64KiB&peer_depth=2");
    }

    #[test]
    fn a_server_is_asked_for_one_client_with_the_workers_of_all() {
        let plan = planned(&request("c3-s2"));
        let mut storage = plan.cells.iter().filter(|cell| cell.cut == Cut::ServerStorage);
        assert!(storage.all(|cell| (cell.workload.clients, cell.workload.workers) == (1, 24)));
        assert_eq!(plan.cells.iter().filter(|cell| cell.cut == Cut::ServerStorage).count(), 4);
    }

    #[test]
    fn cuts_that_labels_share_are_measured_once_and_without_them_there_is_none() {
        let streams = |words: &str| {
            let plan = planned(&request(words));
            plan.cells.iter().filter(|cell| cell.cut == Cut::NetworkStream).count()
        };
        // Both directions: one server alone; that one and the second alone, and both together.
        assert_eq!((streams("c1-s1"), streams("c1-s2"), streams("c1-s1 c1-s2")), (2, 6, 6));
        let plan = planned(&Request { cut_ns: None, ..request("local c1-s2") });
        assert_eq!(paths(&plan).len(), plan.cells.len());
    }

    #[test]
    fn a_server_named_twice_is_refused() {
        let endpoints = vec![("a".to_owned(), 1), ("a".to_owned(), 1)];
        let problems = Studies::new(&Request { endpoints, ..request("c1-s2") }).unwrap_err();
        assert!(problems[0].hint.contains("once"), "{problems:?}");
    }

    #[test]
    fn a_path_with_any_letter_is_a_string_of_toml() {
        assert_eq!(quoted("/a \"b\"\\\n"), "\"/a \\\"b\\\"\\\\\\U0000000A\"");
        let disks = vec![Target::File { path: "/a \"b\"\\\u{7f}".into() }];
        let plan = planned(&Request { disks: disks.clone(), ..request("local") });
        assert_eq!(plan.cells[0].target, disks[0]);
    }
}
