//! CPU as narrows counts it, beside `vmstat 2` and `pidstat 2` in the same time: of the machine, and of narrows' own processes.
//!
//! narrows reads its counters at the start and the end of each trial, and the two others report each 2 s: those of their samples
//! that are wholly within a trial are compared with it. What narrows does between two trials, which takes more, is in the others.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use crate::nfs::{OPEN, export, start_trials, summary_of};
use crate::support::ganesha::Ganesha;
use crate::support::{lab_with_cpu_tools, waits::pause};
use narrows_lab::{Lab, LabProcess, narrows_bin};
use serde_json::Value;

/// Longer than the study takes.
const STUDY: Duration = Duration::from_secs(400);
/// Trials of each of the four loads.
const TRIALS: u32 = 3;
/// Name of the program here: other tests run narrows too, and pidstat finds processes by it.
const OWN_NAME: &str = "narrows-beside";
/// Seconds of a sample of the tools.
const SAMPLE_S: f64 = 2.0;
/// Largest difference of the means, and of the 95th percentiles, in points (hundredths of what there is).
const MEAN_POINTS: f64 = 1.0;
const P95_POINTS: f64 = 3.0;

/// What one source says of one span of time.
#[derive(Debug, Clone, Copy)]
struct CpuReading {
    from_s: f64,
    until_s: f64,
    /// Busy share of the machine's CPUs, or of one CPU, in points.
    points: f64,
}

/// A figure of narrows for a trial and that of a tool.
#[derive(Debug, Clone, Copy)]
struct ComparedTrial {
    ours: f64,
    theirs: f64,
}

/// Starts a tool, which ends with the shell that it returns; each of its lines has the seconds since the machine's start before it.
fn start_tool(lab: &Lab, name: &str, tool: &str) -> LabProcess {
    let stamped = format!(
        "setpriv --pdeathsig KILL stdbuf -oL {tool} | while read -r line; do read -r up rest </proc/uptime; echo \"$up $line\"; done"
    );
    let mut command = Command::new("bash");
    command.args(["-c", &stamped]).env("LC_ALL", "C");
    lab.start(name, command).unwrap()
}

/// Lines of a tool as their times and words.
fn lines_of(text: &str) -> impl Iterator<Item = (f64, Vec<&str>)> {
    text.lines().filter_map(|line| {
        let mut words = line.split_whitespace();
        let at_s = words.next()?.parse().ok()?;
        Some((at_s, words.collect()))
    })
}

/// Samples of vmstat: all that was neither idle nor waited for a device.
fn vmstat_readings(text: &str) -> Vec<CpuReading> {
    let mut columns = None;
    let mut readings = Vec::new();
    for (at_s, words) in lines_of(text) {
        let of = |name: &str| words.iter().position(|word| *word == name);
        if let (Some(idle), Some(waiting)) = (of("id"), of("wa")) {
            columns = Some((idle, waiting));
            continue;
        }
        let Some((idle, waiting)) = columns else { continue };
        let number = |at: usize| words.get(at).and_then(|word| word.parse::<f64>().ok());
        if let (Some(idle), Some(waiting)) = (number(idle), number(waiting)) {
            readings.push(CpuReading {
                from_s: at_s - SAMPLE_S,
                until_s: at_s,
                points: 100.0 - idle - waiting,
            });
        }
    }
    // The first is the mean since the machine's start.
    readings.drain(..1);
    readings
}

/// Samples of pidstat: the sum over the processes that it lists at one time.
fn pidstat_readings(text: &str) -> Vec<CpuReading> {
    let mut column = None;
    let mut sums: Vec<(String, CpuReading)> = Vec::new();
    for (at_s, words) in lines_of(text) {
        if words.first() == Some(&"#") {
            // The mark of the header is a word of its own.
            column = words.iter().position(|word| *word == "%CPU").map(|at| at - 1);
            continue;
        }
        let Some(points) = column.and_then(|at| words.get(at)?.parse::<f64>().ok()) else { continue };
        match sums.last_mut() {
            Some((time, reading)) if time == words[0] => reading.points += points,
            _ => sums
                .push((words[0].to_owned(), CpuReading { from_s: at_s - SAMPLE_S, until_s: at_s, points })),
        }
    }
    sums.into_iter().map(|(_, reading)| reading).collect()
}

/// What narrows has in its record of the client in each trial: of the machine, and of its processes.
fn recorded(record: &Path) -> Vec<[CpuReading; 2]> {
    let text = fs::read_to_string(record.join("samples.jsonl")).unwrap();
    let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let samples: Vec<Value> = lines
        .map(|line| line["data"].clone())
        .filter(|data| data["event"] == "counters" && data["role"] == "client")
        .collect();
    assert!(samples.len().is_multiple_of(2), "one before and one after each trial");
    samples.chunks(2).map(|pair| [machine(&pair[0], &pair[1]), processes(&pair[0], &pair[1])]).collect()
}

fn seconds(sample: &Value, group: &str, field: &str) -> f64 {
    sample[group][field].as_f64().unwrap_or_else(|| panic!("no {group}.{field}: {sample}")) / 1e9
}

fn span(before: &Value, after: &Value) -> (f64, f64) {
    (before["at_ns"].as_f64().unwrap() / 1e9, after["at_ns"].as_f64().unwrap() / 1e9)
}

fn machine(before: &Value, after: &Value) -> CpuReading {
    let grown = |fields: &[&str]| -> f64 {
        fields.iter().map(|name| seconds(after, "host_cpu", name) - seconds(before, "host_cpu", name)).sum()
    };
    let busy_s = grown(&["user_ns", "system_ns", "irq_ns", "softirq_ns", "steal_ns"]);
    let (from_s, until_s) = span(before, after);
    CpuReading { from_s, until_s, points: 100.0 * busy_s / (busy_s + grown(&["idle_ns", "iowait_ns"])) }
}

fn processes(before: &Value, after: &Value) -> CpuReading {
    let grown = |name: &str| seconds(after, "process_cpu", name) - seconds(before, "process_cpu", name);
    let (from_s, until_s) = span(before, after);
    CpuReading {
        from_s,
        until_s,
        points: 100.0 * (grown("user_ns") + grown("system_ns")) / (until_s - from_s),
    }
}

/// Each trial beside the mean of the samples that are wholly in it.
fn compared(trials: &[CpuReading], samples: &[CpuReading]) -> Vec<ComparedTrial> {
    let of_trial = |trial: &CpuReading| {
        let is_within =
            |sample: &&CpuReading| sample.from_s >= trial.from_s && sample.until_s <= trial.until_s;
        let within: Vec<f64> = samples.iter().filter(is_within).map(|sample| sample.points).collect();
        let span_s = trial.until_s - trial.from_s;
        let sampled_s = within.len() as f64 * SAMPLE_S;
        assert!(sampled_s > 0.6 * span_s, "{sampled_s} s of samples in {trial:?}");
        ComparedTrial { ours: trial.points, theirs: mean(&within) }
    };
    trials.iter().map(of_trial).collect()
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// The nearest rank of 95 in a hundred.
fn p95(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[(values.len() * 95).div_ceil(100) - 1]
}

#[allow(clippy::print_stdout, reason = "the figures are what the campaign is for")]
fn assert_agreement(name: &str, trials: &[ComparedTrial]) {
    for ComparedTrial { ours, theirs } in trials {
        println!(
            "{name}: narrows {ours:6.2}, the tool {theirs:6.2}, difference {:+.2} points",
            ours - theirs
        );
    }
    let all = |field: fn(&ComparedTrial) -> f64| trials.iter().map(field).collect::<Vec<_>>();
    let (ours, theirs) = (all(|trial| trial.ours), all(|trial| trial.theirs));
    let means = mean(&ours) - mean(&theirs);
    let percentiles = p95(ours) - p95(theirs);
    let single = p95(all(|trial| (trial.ours - trial.theirs).abs()));
    println!(
        "{name}: {} trials, means differ by {means:+.2} points, 95th percentiles by {percentiles:+.2}, single trials by \
         {single:.2} in 95 of 100",
        trials.len()
    );
    assert!(means.abs() <= MEAN_POINTS, "{name}: the means differ by {means} points");
    assert!(percentiles.abs() <= P95_POINTS, "{name}: the 95th percentiles differ by {percentiles} points");
}

#[test]
#[ignore = "campaign: two minutes of loads beside vmstat and pidstat"]
fn cpu_agrees_with_vmstat_and_pidstat() {
    let Some(lab) = lab_with_cpu_tools() else { return };
    let folder = export(&lab);
    let server = Ganesha::start(&lab, 1, &folder, OPEN);
    let text = format!(
        "title = \"CPU\"\ntarget = \"{}\"\ncuts = []\n[workload]\nop = \"read\"\nblock = \"64KiB\"\ndepth = 4\nfile = \
         \"32MiB\"\n[stop]\nwarm_up = \"500ms\"\nmeasure = \"9s\"\n[sweep]\nmax_rate = [\"10MiB/s\", \"60MiB/s\", \
         \"200MiB/s\", \"1TiB/s\"]\n",
        server.target("/data")
    );
    let mut vmstat = start_tool(&lab, "vmstat", "vmstat -n 2");
    let mut pidstat = start_tool(&lab, "pidstat", &format!("pidstat -u -h -C '^{OWN_NAME}$' 2"));
    let program = lab.scratch().join(OWN_NAME);
    fs::copy(narrows_bin().unwrap(), &program).unwrap();
    let mut run = start_trials(&lab, "cpu", &text, (&program, TRIALS));
    run.wait(STUDY).unwrap();
    // The sample that the last trial ends in.
    pause(Duration::from_secs(2));
    let (vmstat_text, pidstat_text) = (vmstat.stdout().unwrap(), pidstat.stdout().unwrap());
    vmstat.kill9().unwrap();
    pidstat.kill9().unwrap();
    let cells = summary_of(&run).cells.len();
    let trials = recorded(&lab.scratch().join("cpu"));
    assert!(
        cells == 4 && trials.len() == 4 * TRIALS as usize,
        "{cells} cells, {} trials: {}",
        trials.len(),
        run.stderr().unwrap()
    );
    let of_machine: Vec<CpuReading> = trials.iter().map(|trial| trial[0]).collect();
    let of_processes: Vec<CpuReading> = trials.iter().map(|trial| trial[1]).collect();
    assert_agreement("machine", &compared(&of_machine, &vmstat_readings(&vmstat_text)));
    assert_agreement("processes", &compared(&of_processes, &pidstat_readings(&pidstat_text)));
}

#[test]
fn samples_of_the_tools_are_read_by_their_headers() {
    let vmstat = "10.00 procs -----------memory---------- ---swap-- -----io---- -system-- ------cpu-----\n\
                  10.00 r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa st\n\
                  10.01 1  0 0 1 2 3 0 0 1 2 3 4 50 10 39 1 0\n12.01 1  0 0 1 2 3 0 0 1 2 3 4 5 5 70 19 1\n";
    let readings = vmstat_readings(vmstat);
    assert_eq!((readings.len(), readings[0].points, readings[0].from_s), (1, 11.0, 10.01));
    let pidstat = "1.00 Linux 6.18 (host) 11/27/26 _x86_64_ (2 CPU)\n1.00 \n3.00 # Time UID PID %usr %system %guest %wait \
                   %CPU CPU Command\n3.00 1764201601 0 7 1.00 2.00 0.00 0.00 3.00 0 narrows\n3.00 1764201601 0 8 1.00 2.00 \
                   0.00 0.00 4.50 1 narrows\n5.00 1764201603 0 7 0.00 0.00 0.00 0.00 0.50 0 narrows\n";
    let points: Vec<f64> = pidstat_readings(pidstat).iter().map(|reading| reading.points).collect();
    assert_eq!(points, [7.5, 0.5]);
}
