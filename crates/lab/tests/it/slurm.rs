//! `narrows-mpi` as a job of Slurm: several nodes, `srun` and `sbatch` as the guide has them, and how jobs end.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::time::Duration;

use serde_json::Value;

use crate::support::lab_with_slurm;
use crate::support::slurm::{JOB_ENDED, NODE_CPUS, Slurm, SlurmEnded};
use crate::support::waits::wait_until;
use narrows_lab::{narrows_bin, narrows_mpi_bin, slurm_mpi};

/// Writes `study.toml`, a study of writes of the folder `data`, which it makes: two cells of so many trials, each of this length.
///
/// The nodes share one kernel. Linux 6.18 left the ranks of one node without a CPU for 0.3 s, a whole trial, in 4 of 12 runs,
/// while those of another kept all CPUs busy: the rate is capped at a hundredth of what these can do, with which none of 8 did.
fn write_study(folder: &Path, trials: u32, measure: &str) {
    let data = folder.join("data");
    fs::create_dir_all(&data).unwrap();
    let text = format!(
        "target = \"{}\"\nseconds = 300\ncuts = []\n\n[workload]\nop = \"write\"\nfile = \"4MiB\"\nmax_ops = \"1000/s\"\n\n\
         [sweep]\nblock = [\"64KiB\", \"128KiB\"]\n\n[stop]\nmeasure = \"{measure}\"\ntrials = {trials}\n",
        data.display()
    );
    fs::write(folder.join("study.toml"), text).unwrap();
}

/// The events of a record of one kind, in their order.
fn events_of(record: &Path, kind: &str) -> Vec<Value> {
    let text = fs::read_to_string(record.join("events.jsonl")).unwrap();
    let data = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()["data"].clone());
    data.filter(|event| event["event"] == kind).collect()
}

/// Whether a trial has ended in the record that is being written.
fn has_trial(record: &Path) -> bool {
    fs::read_to_string(record.join("events.jsonl")).is_ok_and(|text| text.contains("trial_finished"))
}

/// How many operations each rank of a record completed in each trial: `[trial][rank]`.
///
/// Fails unless the ranks ran on these nodes, in their order, and every trial has all of them.
#[track_caller]
fn rank_op_counts(record: &Path, nodes: &[&str]) -> Vec<Vec<u64>> {
    let inventory = fs::read_to_string(record.join("inventory.json")).unwrap();
    let inventory: Value = serde_json::from_str(&inventory).unwrap();
    let ranks = inventory["ranks"].as_array().unwrap();
    let hosts: Vec<&str> = ranks.iter().map(|rank| rank["host"].as_str().unwrap()).collect();
    assert_eq!(hosts, nodes);
    let pids: BTreeSet<u64> = ranks.iter().map(|rank| rank["pid"].as_u64().unwrap()).collect();
    assert_eq!(pids.len(), nodes.len(), "{ranks:?}");
    let trials = events_of(record, "trial_finished");
    assert!(!trials.is_empty());
    let op_counts = trials.iter().map(|trial| {
        let clients = trial["clients"].as_array().unwrap();
        let ran: Vec<&str> = clients.iter().map(|client| client["host"].as_str().unwrap()).collect();
        assert_eq!(ran, nodes, "{} {clients:?}", trial["cell"]);
        clients.iter().map(|client| client["op_count"].as_u64().unwrap()).collect()
    });
    op_counts.collect()
}

/// Fails unless the ranks of a record ran on these nodes, in their order, and each has done its part of every trial.
#[track_caller]
fn assert_placed(record: &Path, nodes: &[&str]) {
    let op_counts = rank_op_counts(record, nodes);
    assert!(op_counts.iter().flatten().all(|op_count| *op_count > 0), "[trial][rank]: {op_counts:?}");
}

/// Fails unless nothing is left of the load in the folder of its target.
#[track_caller]
fn assert_nothing_left(folder: &Path) {
    let left: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(left.is_empty(), "{left:?}");
}

/// Fails unless `words` were said once.
#[track_caller]
fn assert_said_once(ended: &SlurmEnded, words: &str) {
    assert_eq!(ended.stderr.matches(words).count() + ended.stdout.matches(words).count(), 1, "{ended:?}");
}

fn narrows_mpi() -> String {
    narrows_mpi_bin().unwrap().display().to_string()
}

#[test]
#[ignore = "campaign: needs Slurm, which ./test --all installs"]
fn the_ranks_of_a_step_are_on_the_nodes_that_srun_has_put_them_on() {
    let Some(lab) = lab_with_slurm() else { return };
    let slurm = Slurm::start(&lab, 2);
    let folder = slurm.folder();
    write_study(folder, 1, "300ms");
    let interface = format!("--mpi={}", slurm_mpi());
    for (distribution, record, nodes, said) in [
        ("block", "by-node", ["n1", "n1", "n2", "n2"], "ranks 0-1 on n1, each on CPUs "),
        ("cyclic", "by-turns", ["n1", "n2", "n1", "n2"], "ranks 1,3 on n2, each on CPUs "),
    ] {
        let spread = format!("--distribution={distribution}");
        let step = ["srun", &interface, "--nodes=2", "--ntasks-per-node=2", &spread, "narrows-mpi"];
        let ended = slurm.run(&[&step[..], &["run", "study.toml", "--yes", "--out", record]].concat());
        assert_eq!(ended.code, Some(0), "{ended:?}");
        assert_said_once(&ended, said);
        assert_said_once(&ended, &format!("record: {record}"));
        assert_placed(&folder.join(record), &nodes);
    }
    assert_nothing_left(&folder.join("data"));
}

#[test]
#[ignore = "campaign: needs Slurm, which ./test --all installs"]
fn a_check_and_mdtest_are_those_of_all_ranks_of_a_step() {
    let Some(lab) = lab_with_slurm() else { return };
    let slurm = Slurm::start(&lab, 2);
    let folder = slurm.folder();
    fs::create_dir(folder.join("data")).unwrap();
    let step = "srun --mpi=pmix --nodes=2 --ntasks-per-node=2 narrows-mpi";
    let words = format!(
        "{step} check data --seconds 12 --cell-seconds 0.5 --block 64KiB --depth 1 --op read --out checked"
    );
    let ended = slurm.run(&words.split(' ').collect::<Vec<_>>());
    assert!(matches!(ended.code, Some(0 | 4)), "{ended:?}");
    // A check has no cap of its rate: while four ranks keep two CPUs busy, a short trial can pass without one of them
    // (see `write_study`). Over all trials each has its part.
    let op_counts = rank_op_counts(&folder.join("checked"), &["n1", "n1", "n2", "n2"]);
    let has_part = |rank: usize| op_counts.iter().any(|trial| trial[rank] > 0);
    assert!((0..4).all(has_part), "[trial][rank]: {op_counts:?}");

    let words = format!("{step} suite mdtest -d data -F -n 20 -N 1 --no-verdict --out objects");
    let ended = slurm.run(&words.split(' ').collect::<Vec<_>>());
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_said_once(&ended, "launched with 4 total task(s) on 2 node(s)");
    // Two ranks after each other on each node.
    assert_said_once(&ended, "Shifting ranks by 2 for each phase.\n");
    assert_placed(&folder.join("objects"), &["n1", "n1", "n2", "n2"]);
    assert_nothing_left(&folder.join("data"));
}

#[test]
#[ignore = "campaign: needs Slurm, which ./test --all installs"]
fn what_cannot_be_one_job_is_refused_once_and_measures_nothing() {
    let Some(lab) = lab_with_slurm() else { return };
    let slurm = Slurm::start(&lab, 2);
    let folder = slurm.folder();
    write_study(folder, 1, "300ms");
    let plain = narrows_bin().unwrap().display().to_string();
    for mpi in ["none", "pmix"] {
        let launcher = format!("--mpi={mpi}");
        let step =
            ["srun", &launcher, "--nodes=2", "--ntasks=3", &plain, "run", "study.toml", "--out", "record"];
        let ended = slurm.run(&step);
        assert_eq!(ended.code, Some(2), "{ended:?}");
        assert_said_once(&ended, "this command was started as 3 processes at once");
    }
    let step = ["srun", "--mpi=none", "--ntasks=2", "narrows-mpi", "run", "study.toml", "--out", "record"];
    let ended = slurm.run(&step);
    assert_eq!(ended.code, Some(1), "Open MPI's own end: {ended:?}");
    assert!(ended.stderr.contains("PMI support"), "{ended:?}");
    assert!(!folder.join("record").exists());
    assert_nothing_left(&folder.join("data"));
}

/// The script of the guide, word for word.
fn guide_script() -> String {
    let guide = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guide/slurm.md");
    let text = fs::read_to_string(guide).unwrap();
    let (_, script) = text.split_once("```sh\n").unwrap();
    script.split_once("```").unwrap().0.to_owned()
}

/// Submits `script` as `narrows.sbatch`, as the guide says; the number of the job.
fn submit(slurm: &Slurm<'_>, script: &str) -> String {
    fs::write(slurm.folder().join("narrows.sbatch"), script).unwrap();
    let said = slurm.ask(&["sbatch", "narrows.sbatch"]);
    said.trim().strip_prefix("Submitted batch job ").unwrap_or_else(|| panic!("{said}")).to_owned()
}

#[test]
#[ignore = "campaign: needs Slurm, which ./test --all installs"]
fn the_script_of_the_guide_runs_as_it_is_and_its_record_is_diagnosed_as_the_guide_says() {
    let Some(lab) = lab_with_slurm() else { return };
    let slurm = Slurm::start(&lab, 4);
    let folder = slurm.folder();
    let script = guide_script();
    assert!(script.contains(&format!("--cpus-per-task={NODE_CPUS}\n")), "{script}");
    write_study(folder, 1, "300ms");
    let job = submit(&slurm, &script);
    let said = slurm.ended_job(&job);
    let output = fs::read_to_string(folder.join(format!("slurm-{job}.out"))).unwrap();
    assert!(said.contains("JobState=COMPLETED ") && said.contains("ExitCode=0:0"), "{said}\n{output}");
    let record = format!("record-{job}");
    assert_placed(&folder.join(&record), &["n1", "n2", "n3", "n4"]);
    assert_nothing_left(&folder.join("data"));
    let diagnosed = slurm.run(&["narrows-mpi", "diagnose", &record]);
    assert_eq!(diagnosed.code, Some(0), "{diagnosed:?}");
    assert!(output.contains(diagnosed.stdout.lines().next().unwrap()), "{output}\n{diagnosed:?}");
}

#[test]
#[ignore = "campaign: needs Slurm, which ./test --all installs"]
fn several_ranks_on_one_node_with_fewer_processors_run_with_overcommit() {
    let Some(lab) = lab_with_slurm() else { return };
    let slurm = Slurm::start(&lab, 1);
    write_study(slurm.folder(), 1, "300ms");
    let words = format!(
        "srun --mpi=pmix --nodes=1 --ntasks={} --overcommit narrows-mpi run study.toml --yes --out record",
        NODE_CPUS + 2
    );
    let ended = slurm.run(&words.split(' ').collect::<Vec<_>>());
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_placed(&slurm.folder().join("record"), &["n1"; 6]);
}

/// A step of a script whose last rank gets `SIGKILL` once a trial has ended.
const KILLED_RANK: &str = "me=$$; [ $SLURM_PROCID != 2 ] || (until grep -q trial_finished record/events.jsonl 2>/dev/null; \
                           do sleep 0.1; done; kill -KILL $me) & exec \"$@\"";

#[test]
#[ignore = "campaign: needs Slurm, which ./test --all installs"]
fn a_rank_that_is_killed_is_named_with_its_node_in_a_record_that_is_whole() {
    let Some(lab) = lab_with_slurm() else { return };
    let slurm = Slurm::start(&lab, 3);
    let folder = slurm.folder();
    write_study(folder, 8, "2s");
    let program = narrows_mpi();
    let step = ["srun", "--mpi=pmix", "--nodes=3", "--ntasks=3", "sh", "-c", KILLED_RANK, "sh", &program];
    let ended = slurm.run(&[&step[..], &["run", "study.toml", "--out", "record"]].concat());
    assert_eq!(ended.code, Some(3), "{ended:?}");
    let record = folder.join("record");
    assert!(!events_of(&record, "trial_finished").is_empty(), "{ended:?}");
    assert_eq!(events_of(&record, "run_finished")[0]["reason"], "failed", "{ended:?}");
    let failed = events_of(&record, "cell_failed");
    assert!(failed[0]["message"].as_str().unwrap().contains("rank 2 on n3"), "{failed:?}");
    assert!(record.join("summary.json").exists(), "{ended:?}");
    assert_nothing_left(&folder.join("data"));
}

/// Fails unless a run that was ended has left what it had measured, and nothing else.
#[track_caller]
fn assert_cut_short(folder: &Path, output: &str) {
    let record = folder.join("record");
    let end = events_of(&record, "run_finished");
    assert_eq!((end.len(), &end[0]["reason"]), (1, &Value::from("interrupted")), "{output}");
    assert!(record.join("summary.json").exists(), "{output}");
    assert!(events_of(&record, "cell_failed").is_empty(), "{output}");
    assert_nothing_left(&folder.join("data"));
}

/// The same of a job in the folder of Slurm's commands, of which the controller says `said` and that must be in this state.
#[track_caller]
fn assert_job_cut_short(slurm: &Slurm<'_>, job: &str, said: &str, state: &str) {
    let output = fs::read_to_string(slurm.folder().join(format!("slurm-{job}.out"))).unwrap();
    assert!(said.contains(&format!("JobState={state} ")), "{said}\n{output}");
    assert_cut_short(slurm.folder(), &output);
}

#[test]
#[ignore = "campaign: needs Slurm, which ./test --all installs"]
fn a_step_that_is_cancelled_or_interrupted_writes_its_record_and_removes_its_files() {
    let Some(lab) = lab_with_slurm() else { return };
    let slurm = Slurm::start(&lab, 2);
    let folder = slurm.folder();
    for (cancel, trials) in [(&["scancel"][..], 1), (&["scancel", "--signal=INT"], 2)] {
        write_study(folder, 2, "2s");
        let step = "srun --mpi=pmix --nodes=2 --ntasks=2 narrows-mpi run study.toml --out record";
        let mut running = slurm.launch("running", &step.split(' ').collect::<Vec<_>>());
        wait_until(|| has_trial(&folder.join("record")));
        let step = slurm.ask(&["squeue", "--noheader", "--steps", "--format=%i"]);
        // The whole job at once, or its step after the present cell.
        let (job, _) = step.trim().split_once('.').unwrap();
        let of = if cancel.len() == 1 { job } else { step.trim() };
        slurm.ask(&[cancel, &[of]].concat());
        let status = running.wait(JOB_ENDED).unwrap();
        let output = format!("{status}: {}{}", running.stdout().unwrap(), running.stderr().unwrap());
        assert_eq!(status.code(), Some(4), "{cancel:?}: {output}");
        assert_cut_short(folder, &output);
        let measured = events_of(&folder.join("record"), "trial_finished");
        let complete = measured.iter().filter(|trial| trial["complete"] == true).count();
        assert_eq!(complete, trials, "{cancel:?}: {output}");
        fs::remove_dir_all(folder.join("record")).unwrap();
    }
}

#[test]
#[ignore = "campaign: needs Slurm, which ./test --all installs"]
fn a_batch_job_that_is_cancelled_writes_its_record_and_removes_its_files() {
    let Some(lab) = lab_with_slurm() else { return };
    let slurm = Slurm::start(&lab, 4);
    let folder = slurm.folder();
    write_study(folder, 8, "2s");
    let script = guide_script().replace("record-$SLURM_JOB_ID", "record");
    let job = submit(&slurm, &script);
    wait_until(|| has_trial(&folder.join("record")));
    slurm.ask(&["scancel", &job]);
    assert_job_cut_short(&slurm, &job, &slurm.ended_job(&job), "CANCELLED");
}

/// The least time that Slurm limits a job to is a minute; it looks at it twice a minute, and waits 30 s between the two
/// signals (`KillWait`).
const TIME_IS_UP_WITHIN: Duration = Duration::from_mins(3);

#[test]
#[ignore = "campaign: needs Slurm, which ./test --all installs"]
fn a_batch_job_whose_time_is_up_writes_its_record_and_removes_its_files() {
    let Some(lab) = lab_with_slurm() else { return };
    let slurm = Slurm::start(&lab, 4);
    let folder = slurm.folder();
    write_study(folder, 80, "2s");
    let script = guide_script().replace("record-$SLURM_JOB_ID", "record");
    assert!(script.contains("--time=00:30:00\n"), "{script}");
    let script = script.replace("--time=00:30:00", "--time=00:01:00");
    let job = submit(&slurm, &script);
    let said = slurm.job_ended_within(TIME_IS_UP_WITHIN, &job);
    assert_job_cut_short(&slurm, &job, &said, "TIMEOUT");
}
