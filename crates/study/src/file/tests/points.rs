//! What a study comes to: its points, in their order, with what is left out.

use super::*;

#[test]
fn a_value_that_never_works_is_a_problem_and_one_that_sometimes_works_is_left_out() {
    let never = "target = \"/d\"\n[sweep]\nengine = [\"psync\", \"uring\"]\nblock = [\"4KiB\", \"128KiB\"]\n[workload]\nfile = \"64KiB\"\n";
    let problem = problem(never);
    assert_eq!((problem.key.as_str(), problem.line), ("sweep.block", 4));
    let sometimes = "target = \"/d\"\n[sweep]\nengine = [\"psync\", \"uring\"]\ndepth = [1, 16]\n";
    let study = parse(sometimes, "s").unwrap();
    let left_out: Vec<&str> = study.points.iter().filter_map(|point| point.left_out.as_deref()).collect();
    assert_eq!(left_out, ["a depth of 16 with the synchronous engine psync"]);
    assert_eq!((study.points.len(), study.point_count()), (4, 3));
}

#[test]
fn several_clients_of_a_simulated_machine_are_a_problem_or_left_out_for_each_would_have_its_own() {
    let never = problem("target = \"sim:local-ssd\"\n[workload]\nclients = 2\n");
    assert_eq!((never.key.as_str(), never.line), ("workload.clients", 3));
    assert!(never.found.contains("its own simulated machine"), "{}", never.found);
    let sometimes = "target = [\"null:\", \"sim:local-ssd\"]\n[sweep]\nclients = [1, 2]\n";
    let study = parse(sometimes, "s").unwrap();
    let left_out: Vec<bool> = study.points.iter().map(|point| point.left_out.is_some()).collect();
    assert_eq!(left_out, [false, false, false, true]);
}

#[test]
fn records_larger_than_files_leave_a_surface_with_a_corner_missing() {
    let text = "target = \"/d\"\n[sweep]\nblock = \"4KiB..64KiB x2\"\nfile = \"8KiB..32KiB x2\"\n";
    // 64KiB fits no file at all.
    assert!(problem(text).found.contains("64KiB"), "{:?}", problem(text));
    let study = parse(&text.replace("4KiB..64KiB", "4KiB..32KiB"), "s").unwrap();
    assert_eq!((study.points.len(), study.point_count()), (12, 9));
}

#[test]
fn a_factor_without_meaning_at_a_point_is_measured_there_once() {
    let text = "target = \"null:\"\n[sweep]\norder = [\"random\", \"zipf\"]\nzipf_theta = [0.8, 0.99]\n";
    let study = parse(text, "s").unwrap();
    let left_out: Vec<_> = study.points.iter().map(|point| point.left_out.is_some()).collect();
    assert_eq!(left_out, [false, true, false, false]);
}

#[test]
fn the_last_factor_of_the_sweep_changes_fastest_and_targets_slowest() {
    let text = "target = [\"null:\", \"null:copy\"]\n[sweep]\ndepth = [1, 2]\nblock = [512, 1024]\n";
    let study = parse(text, "s").unwrap();
    let names: Vec<&str> = study.factors().iter().map(|factor| factor.name.as_str()).collect();
    assert_eq!(names, ["target", "depth", "block"]);
    let blocks: Vec<u64> = study.points.iter().map(|point| point.workload.block_bytes.0).collect();
    assert_eq!(blocks, [512, 1024, 512, 1024, 512, 1024, 512, 1024]);
}

#[test]
fn targets_together_have_the_clients_of_each_alone() {
    let text = "target = [\"null:\", \"null:copy\"]\ntogether = true\n[workload]\nclients = 2\n";
    let study = parse(text, "s").unwrap();
    let clients: Vec<u32> = study.points.iter().map(|point| point.workload.clients).collect();
    assert_eq!(clients, [2, 2, 4]);
    assert_eq!(study.points[2].more_targets.len(), 1);
    assert_eq!(study.factors()[0].values.len(), 3);
}

#[test]
fn what_is_asked_of_the_machine_is_each_target_with_each_engine_and_its_cuts() {
    let text =
        "target = \"tcp://h:7300/disk\"\ncuts = [\"generator\", \"network_stream\", \"server_memory\"]\n";
    let targets: Vec<String> = parse(text, "s").unwrap().targets().iter().map(ToString::to_string).collect();
    let layers = ["disk", "sink", "source", "memory"].map(|layer| format!("tcp://h:7300/{layer}"));
    assert_eq!(targets, layers);
    let text = "target = \"/d\"\n[sweep]\nengine = [\"psync\", \"uring\"]\n";
    assert_eq!(parse(text, "s").unwrap().wanted().len(), 2);
}

#[test]
fn a_trial_with_a_bound_on_what_it_moves_has_no_warm_up_that_uses_it_up() {
    let warm_up = |stop: &str| {
        let text = format!("target = \"null:\"\n[stop]\n{stop}\n");
        parse(&text, "study.toml").unwrap().points[0].stop.warm_up_ns
    };
    assert_eq!(warm_up("bytes = \"64MiB\""), Nanos(0));
    assert_eq!(warm_up("ops = 1000"), Nanos(0));
    assert_eq!(warm_up("ops = 1000\nwarm_up = \"1s\""), Nanos(1_000_000_000));
    assert_eq!(warm_up("measure = \"1s\""), Nanos(300_000_000));
}
