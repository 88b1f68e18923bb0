//! The studies that `narrows scale` makes, planned. Not here: their runs.

use super::ScaleRequest;
use crate::expand::{EngineAnswer, StudyFacts, TargetFacts, plan_study};
use narrows_model::capabilities::{Capabilities, Completion, Support};
use narrows_model::workload::{Access, Acknowledgement, CacheState, SyncPolicy};
use narrows_model::{Bytes, Cut, Op, Plan, Target};

fn request(target: &str) -> ScaleRequest {
    ScaleRequest {
        target: target.parse().unwrap(),
        clients: vec![4, 1, 2, 2],
        ops: vec![Op::Read],
        block: Bytes(1 << 20),
        depth: 1,
        file: None,
        max_bytes_per_s: None,
        direct: None,
        seconds: 120.0,
        cell_seconds: 1.0,
        trials: 3,
    }
}

fn facts(target: &str, direct: Support, queue_depth_max: u32) -> StudyFacts {
    let target: Target = target.parse().unwrap();
    let capabilities = Capabilities {
        engine: "psync".to_owned(),
        ops: vec![Op::Read, Op::Write],
        queue_depth_max,
        direct,
        completion_polling: Support::default(),
        durable_writes: Support::Yes,
        stores_data: true,
        alignment_bytes: Bytes(512),
        write_completion: Completion::InPageCache,
        lockstep: false,
    };
    let engines = vec![EngineAnswer { engine: None, capabilities: Ok(capabilities) }];
    let known = TargetFacts { engines, ..TargetFacts::unknown(target) };
    StudyFacts { targets: vec![known], ..StudyFacts::default() }
}

fn planned(request: &ScaleRequest, facts: &StudyFacts) -> Plan {
    plan_study(&request.study(facts).unwrap(), facts, 1).unwrap()
}

fn path(plan: &Plan) -> Vec<(u32, Op)> {
    let cells = plan.cells.iter().filter(|cell| cell.cut == Cut::Path);
    let mut found: Vec<(u32, Op)> = cells.map(|cell| (cell.workload.clients, cell.workload.op)).collect();
    found.sort_unstable();
    found
}

#[test]
fn every_number_of_clients_is_one_cell_of_the_path_with_the_generator_beside_it() {
    let facts = facts("/srv", Support::Yes, 1);
    let plan = planned(&request("/srv"), &facts);
    assert_eq!(path(&plan), [(1, Op::Read), (2, Op::Read), (4, Op::Read)]);
    let generators = plan.cells.iter().filter(|cell| cell.cut == Cut::Generator);
    let mut clients: Vec<u32> = generators.map(|cell| cell.workload.clients).collect();
    clients.sort_unstable();
    assert_eq!(clients, [1, 2, 4]);
    let direct = plan.cells.iter().filter(|cell| cell.cut == Cut::Path);
    assert!(direct.clone().all(|cell| cell.workload.access == Access::Direct && cell.trials == 3));
    assert!(direct.clone().all(|cell| cell.stop.measure_ns.0 == 1_000_000_000));
}

#[test]
fn a_path_without_direct_access_is_read_cold_and_compared_with_its_device() {
    let no = Support::No { reason: "it is a file system in memory".to_owned() };
    let facts = facts("/srv", no, 1);
    let both = ScaleRequest { ops: vec![Op::Write, Op::Read], ..request("/srv") };
    let plan = planned(&both, &facts);
    assert_eq!(path(&plan).len(), 6);
    for cell in plan.cells.iter().filter(|cell| cell.cut == Cut::Path) {
        let load = &cell.workload;
        match load.op {
            Op::Read => assert_eq!((load.access, load.cache), (Access::Buffered, CacheState::Cold)),
            _ => assert_eq!(load.sync, SyncPolicy::AtEnd),
        }
    }
    let refused = ScaleRequest { direct: Some(true), ..request("/srv") }.study(&facts).unwrap_err();
    assert!(refused[0].to_string().contains("file system in memory"), "{refused:?}");
}

#[test]
fn an_endpoint_is_cut_at_every_layer_and_its_writes_are_durable() {
    let target = "tcp://127.0.0.1:7300/disk";
    let facts = facts(target, Support::Yes, 64);
    let writes = ScaleRequest { ops: vec![Op::Write], depth: 8, ..request(target) };
    let plan = planned(&writes, &facts);
    for cut in [Cut::NetworkStream, Cut::ServerMemory, Cut::ServerStorage, Cut::Path] {
        assert_eq!(plan.cells.iter().filter(|cell| cell.cut == cut).count(), 3, "{cut:?}");
    }
    // A server runs one client, which has the workers of all.
    let at_server = plan.cells.iter().filter(|cell| cell.cut == Cut::ServerStorage);
    let mut loads: Vec<(u32, u32)> =
        at_server.map(|cell| (cell.workload.clients, cell.workload.workers)).collect();
    loads.sort_unstable();
    assert_eq!(loads, [(1, 8), (1, 16), (1, 32)]);
    let one = plan.cells.iter().find(|cell| cell.cut == Cut::Path).unwrap();
    assert_eq!((one.workload.queue_depth, one.workload.workers), (8, 1));
    assert_eq!(one.workload.acknowledgement, Acknowledgement::Late);
}

#[test]
fn requests_that_one_worker_cannot_have_in_flight_have_a_worker_each() {
    let facts = facts("/srv", Support::Yes, 1);
    let plan = planned(&ScaleRequest { depth: 4, ..request("/srv") }, &facts);
    let one = plan.cells.iter().find(|cell| cell.cut == Cut::Path).unwrap();
    assert_eq!((one.workload.queue_depth, one.workload.workers), (1, 4));
}

#[test]
fn a_target_with_letters_that_toml_escapes_is_read_again_as_it_is() {
    let target = "/srv/a \"b\" \\c";
    let plan = planned(&request(target), &facts(target, Support::Yes, 1));
    assert_eq!(plan.target, target.parse().unwrap());
    assert!(plan.study.unwrap().text.contains("\\\"b\\\" \\\\c"));
}

#[test]
fn requests_that_show_no_scaling_are_refused_with_all_that_is_wrong() {
    let wrong = ScaleRequest { clients: vec![0], ops: Vec::new(), ..request("/srv") };
    assert_eq!(wrong.problems().len(), 3);
    assert!(
        request("sim:local-ssd").first_study().unwrap_err()[0].to_string().contains("machine of its own")
    );
    let many = ScaleRequest { clients: vec![1, 300], ..request("/srv") };
    assert!(many.first_study().unwrap_err()[0].to_string().contains("found 300"));
}
