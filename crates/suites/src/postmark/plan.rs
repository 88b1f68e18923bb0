//! From a request and the plan of a check of the same folder to the plan of the suite: the check's cuts, then the phases.

use super::request::Request;
use crate::folder::PreparedFolder;
use crate::suite::Suite;
use crate::suite_load::{SuiteLoad, TestPhase, behind_cuts, object_engine, suite_cell};
use narrows_model::target::Stripe;
use narrows_model::workload::{MemberWeights, ObjectSet, Order, Prefill};
use narrows_model::{Bytes, Cell, Op, Plan, Target, Workload};
use narrows_study::Problem;

/// A phase of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PostmarkPhase {
    Create,
    Transactions,
    Delete,
}

impl PostmarkPhase {
    /// The phases in their order.
    pub(super) const ALL: [Self; 3] = [Self::Create, Self::Transactions, Self::Delete];

    /// The name in records.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Transactions => "transactions",
            Self::Delete => "delete",
        }
    }

    fn op(self) -> Op {
        match self {
            Self::Create => Op::Put,
            // What transactions do is theirs to say.
            Self::Transactions => Op::Get,
            Self::Delete => Op::Delete,
        }
    }
}

/// The plan of `request` in `folder`.
///
/// # Shape
/// The check's cuts, then creation, transactions and deletion, which go on with the same files.
///
/// # Errors
/// All that is wrong with the request.
pub(super) fn plan(request: &Request, folder: PreparedFolder) -> Result<Plan, Vec<Problem>> {
    let problems = request.problems();
    if !problems.is_empty() {
        return Err(problems);
    }
    let places = FilePlaces::new(request, &folder).map_err(|problem| vec![problem])?;
    let own = SuiteLoad {
        cells: PostmarkPhase::ALL.map(|phase| cell(request, phase, &places)).to_vec(),
        file_bytes_max: request.file_bytes_max(),
        write_bytes_max: request.write_bytes_max(),
        touches: places.target.members().iter().skip(1).map(ToString::to_string).collect(),
        source: request.source(),
    };
    Ok(behind_cuts(folder.check, own))
}

/// Where files are: one folder, or a stripe of several with the weight of each.
struct FilePlaces {
    target: Target,
    weights: MemberWeights,
}

impl FilePlaces {
    /// Those of `request` in `folder`. Locations that are the same folder are one of both weights: what is drawn is the
    /// same, and the original has their files in one folder too.
    fn new(request: &Request, folder: &PreparedFolder) -> Result<Self, Problem> {
        let drawn = request.settings.drawn_weights();
        if drawn.is_empty() {
            return Ok(Self { target: folder.target(), weights: MemberWeights::default() });
        }
        let mut merged: Vec<(Target, u32)> = Vec::new();
        for (target, weight) in folder.targets.iter().zip(drawn) {
            match merged.iter_mut().find(|(known, _)| known == target) {
                Some((_, sum)) => *sum = sum.saturating_add(weight),
                None => merged.push((target.clone(), weight)),
            }
        }
        let (members, weights): (Vec<Target>, Vec<u32>) = merged.into_iter().unzip();
        let refused =
            |why: String| Problem::new("location", why, "folders of this machine", "change the locations");
        // Whole files are on one member each, so that the unit is never used.
        let stripe = Stripe::new(members, Stripe::UNIT_BYTES, None).map_err(refused)?;
        Ok(Self { target: Target::Stripe(stripe), weights: MemberWeights::new(&weights).map_err(refused)? })
    }
}

fn cell(request: &Request, phase: PostmarkPhase, places: &FilePlaces) -> Cell {
    let settings = &request.settings;
    let set = settings.objects(phase == PostmarkPhase::Transactions);
    let set = ObjectSet { member_weights: places.weights, ..set };
    let workload = Workload {
        engine: Some(object_engine(&places.target)),
        op: phase.op(),
        block_bytes: Bytes(settings.write_bytes),
        file_bytes: Bytes(set.expected_bytes().0.max(1)),
        order: Order::Sequential,
        prefill: Prefill::Nothing,
        // As the original, a process of one thread.
        own_process: true,
        objects: Some(set),
        ..Workload::default()
    };
    let of = TestPhase { test: super::NAME, phase: phase.name() };
    suite_cell(phase.name().to_owned(), &of, &places.target, workload)
}

#[cfg(test)]
mod tests {
    use super::super::settings::{Location, PostmarkSettings, ReportForm};
    use super::super::testing::{planned, request};
    use super::*;
    use crate::suite::request_of;
    use narrows_model::{Cut, EngineId, Nanos};

    #[test]
    fn the_phases_go_on_with_the_same_files() {
        let plan = planned(&request());
        let phases: Vec<&Cell> = plan.cells.iter().filter(|cell| cell.cut == Cut::Path).collect();
        let ops: Vec<_> = phases.iter().map(|cell| (cell.id.0.as_str(), cell.workload.op)).collect();
        assert_eq!(ops, [("create", Op::Put), ("transactions", Op::Get), ("delete", Op::Delete)]);
        let sets: Vec<_> = phases.iter().filter_map(|cell| cell.workload.objects).collect();
        assert!(sets.iter().all(|set| set.identity() == sets[0].identity()));
        assert_eq!(
            sets.iter().map(|set| set.transactions.is_some()).collect::<Vec<_>>(),
            [false, true, false]
        );
        assert!(phases.iter().all(|cell| cell.ends_by_count() && cell.workload.own_process));
    }

    #[test]
    fn the_cuts_of_a_check_stand_before_the_phases_or_are_left_out() {
        let plan = planned(&request());
        let first = plan.cells.iter().position(|cell| cell.cut == Cut::Path).unwrap();
        assert!(first > 0 && plan.cells[first..].len() == 3);
        let bare = planned(&Request { has_cuts: false, ..request() });
        assert_eq!((bare.cells.len(), bare.load.planned_ns), (3, Nanos(0)));
        assert_eq!(bare.load.write_bytes_max, Some(Bytes(15_000_000)));
        assert_eq!(bare.load.file_bytes_max, Bytes(10_000_000));
    }

    #[test]
    fn files_of_several_locations_are_on_a_stripe_of_them_by_their_weights() {
        let location = |(path, weight): &(&str, u64)| Location { path: (*path).to_owned(), weight: *weight };
        let of = |locations: &[(&str, u64)]| {
            let settings = PostmarkSettings {
                locations: locations.iter().map(location).collect(),
                ..PostmarkSettings::default()
            };
            let targets = locations.iter().map(|(path, _)| path.parse().unwrap()).collect();
            let folder = PreparedFolder { targets, ..crate::testing::folder(Bytes(4096)) };
            let plan = plan(&Request { settings, has_cuts: false, ..request() }, folder).unwrap();
            let set = plan.cells[0].workload.objects.unwrap();
            assert!(plan.cells.iter().all(|cell| cell.target == plan.cells[0].target));
            let others = plan.load.touches.into_iter().filter(|place| !place.contains("/data"));
            let weights = set.member_weights.as_slice().to_vec();
            (plan.cells[0].target.to_string(), weights, others.collect::<Vec<_>>())
        };
        assert_eq!(of(&[("/a", 3)]), ("/a".to_owned(), vec![], vec![]));
        let (target, weights, touches) = of(&[("/a", 3), ("/b", 2)]);
        assert!(target.starts_with("stripe:/a,/b"), "{target}");
        assert_eq!((weights, touches), (vec![3, 2], vec!["/b".to_owned()]));
        // The same folder twice is one, and its number is drawn all the same.
        let (target, weights, _) = of(&[("/a", 3), ("/b", 2), ("/a", 4)]);
        assert!(target.starts_with("stripe:/a,/b"), "{target}");
        assert_eq!((weights, of(&[("/a", 1), ("/a", 1)]).1), (vec![7, 2], vec![2]));
    }

    #[test]
    fn files_on_a_server_are_those_of_its_engine() {
        let target: Target = "nfs://fs/export/own".parse().unwrap();
        let folder = PreparedFolder { targets: vec![target.clone()], ..crate::testing::folder(Bytes(4096)) };
        let plan = plan(&Request { has_cuts: false, ..request() }, folder).unwrap();
        let engines = |cell: &Cell| (cell.target == target).then_some(cell.workload.engine).flatten();
        assert!(plan.cells.iter().all(|cell| engines(cell) == Some(EngineId::Nfs)));
    }

    #[test]
    fn a_record_says_what_was_asked_for() {
        for bias_read in [None, Some(3)] {
            let settings =
                PostmarkSettings { bias_read, report: ReportForm::Terse, ..PostmarkSettings::default() };
            let asked = Request { settings, memory: Some(Bytes(7)), ..request() };
            assert_eq!(request_of(planned(&asked).suite.as_ref().unwrap()), Some(asked));
        }
    }
}
