//! The figures as text for a terminal and as JSON for a file. It measures nothing.

use super::estimate::MedianEstimate;
use super::finding::{PerfFinding, PerfFindings, PerfTarget, PerfVerdict};
use super::machine::{Disturbance, MachineDescription};
use super::tools::PeerProgram;
use serde_json::{Value, json};

/// A figure with what it came to, or why it came to nothing.
#[derive(Debug)]
pub(crate) struct MeasuredFigure {
    pub(crate) name: &'static str,
    pub(crate) outcome: Result<PerfFindings, String>,
    pub(crate) during: Disturbance,
}

impl MeasuredFigure {
    /// Whether anything is short of its target or was not measured.
    pub(crate) fn is_short(&self) -> bool {
        match &self.outcome {
            Ok(findings) => findings.findings.iter().any(|finding| finding.verdict() == PerfVerdict::Short),
            Err(_) => true,
        }
    }
}

/// The lines above all figures.
pub(crate) fn head(
    machine: &MachineDescription,
    peers: &[&PeerProgram],
    before: Disturbance,
    load_averages: &str,
) -> String {
    let governor = machine.governor.as_deref().unwrap_or("none that can be set");
    let peers: Vec<&str> = peers.iter().map(|peer| peer.version.as_deref().unwrap_or(peer.name)).collect();
    format!(
        "machine: {} x {}, Linux {}, governor: {governor}\n\
         clock:   steps of {} ns, {} ns a read\n\
         peers:   {}\n\
         before:  load averages {load_averages}; {}",
        machine.cpus.len(),
        machine.cpu,
        machine.kernel,
        machine.clock_resolution_ns,
        machine.clock_cost_ns,
        peers.join(", "),
        disturbance(before),
    )
}

fn disturbance(seen: Disturbance) -> String {
    let state = if seen.is_idle() { "idle" } else { "NOT IDLE: do not trust these figures" };
    let percent = |ratio: f64| ratio * 100.0;
    format!(
        "others used {:.1} % of all CPUs, steal {:.1} %: {state}",
        percent(seen.others_ratio),
        percent(seen.steal_ratio)
    )
}

/// The lines of one figure.
pub(crate) fn figure(measured: &MeasuredFigure) -> String {
    let mut lines = vec![format!("{}  ({})", measured.name, disturbance(measured.during))];
    match &measured.outcome {
        Ok(findings) => {
            lines.extend(findings.findings.iter().map(line));
            lines.extend(findings.missing.iter().map(|why| format!("  not compared: {why}")));
        }
        Err(why) => lines.push(format!("  NOT MEASURED: {why}")),
    }
    lines.join("\n")
}

fn line(finding: &PerfFinding) -> String {
    let MedianEstimate { median, interval } = finding.estimate;
    let interval = interval.map_or_else(
        || format!("of {}", finding.values.len()),
        |found| format!("[{}, {}] at {:.1} %", short(found.low), short(found.high), found.level * 100.0),
    );
    let target = match finding.target {
        PerfTarget::AtLeast(least) => format!(">= {least}"),
        PerfTarget::AtMost(most) => format!("<= {most}"),
        PerfTarget::NearOne(most) => format!("1 +- {most}"),
        PerfTarget::None => String::new(),
    };
    let close = if finding.is_close() { " (the target lies in the interval)" } else { "" };
    let text = format!(
        "  {:<48} {:>9} {:<5} {interval:<28} {target:<8} {}{close}",
        finding.what,
        short(median),
        finding.unit,
        finding.verdict().word()
    );
    text.trim_end().to_owned()
}

/// Four digits, without a fraction from 1000 on.
fn short(value: f64) -> String {
    let digits = match value.abs() {
        size if size >= 1000.0 => 0,
        size if size >= 100.0 => 1,
        size if size >= 10.0 => 2,
        _ => 3,
    };
    format!("{value:.digits$}")
}

/// All that was found, as a document.
pub(crate) fn document(
    machine: &MachineDescription,
    peers: &[&PeerProgram],
    before: Disturbance,
    figures: &[MeasuredFigure],
) -> Value {
    json!({
        "schema": "narrows.perf/1",
        "machine": {
            "cpu": machine.cpu,
            "cpu_count": machine.cpus.len(),
            "kernel": machine.kernel,
            "governor": machine.governor,
            "clock_resolution_ns": machine.clock_resolution_ns,
            "clock_cost_ns": machine.clock_cost_ns,
        },
        "peers": peers.iter().map(|peer| json!({"name": peer.name, "version": peer.version})).collect::<Vec<_>>(),
        "before": disturbance_json(before),
        "figures": figures.iter().map(figure_json).collect::<Vec<_>>(),
    })
}

fn disturbance_json(seen: Disturbance) -> Value {
    json!({"others_ratio": seen.others_ratio, "steal_ratio": seen.steal_ratio, "idle": seen.is_idle()})
}

fn figure_json(measured: &MeasuredFigure) -> Value {
    let (findings, missing, error) = match &measured.outcome {
        Ok(found) => (found.findings.iter().map(finding_json).collect(), found.missing.clone(), None),
        Err(why) => (Vec::new(), Vec::new(), Some(why)),
    };
    json!({
        "name": measured.name,
        "during": disturbance_json(measured.during),
        "findings": findings,
        "missing": missing,
        "error": error,
    })
}

fn finding_json(finding: &PerfFinding) -> Value {
    let interval = finding.estimate.interval;
    let target = match finding.target {
        PerfTarget::AtLeast(least) => json!({"at_least": least}),
        PerfTarget::AtMost(most) => json!({"at_most": most}),
        PerfTarget::NearOne(most) => json!({"from_one_at_most": most}),
        PerfTarget::None => Value::Null,
    };
    json!({
        "what": finding.what,
        "unit": finding.unit,
        "median": finding.estimate.median,
        "interval": interval.map(|found| json!({"low": found.low, "high": found.high, "level": found.level})),
        "values": finding.values,
        "target": target,
        "verdict": finding.verdict().word(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const QUIET: Disturbance = Disturbance { others_ratio: 0.004, steal_ratio: 0.0 };

    fn measured(outcome: Result<PerfFindings, String>) -> MeasuredFigure {
        MeasuredFigure { name: "null", outcome, during: QUIET }
    }

    fn found(values: &[f64], target: PerfTarget) -> PerfFindings {
        let finding =
            PerfFinding::from_values("narrows", "ns/op", values.to_vec(), target).expect("finite values");
        PerfFindings { findings: vec![finding], missing: vec!["fio is not installed".to_owned()] }
    }

    #[test]
    fn a_figure_reports_median_interval_target_verdict_and_what_is_missing() {
        let text = figure(&measured(Ok(found(&[38.0, 39.0, 41.5, 38.5, 39.5], PerfTarget::AtMost(40.0)))));
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "null  (others used 0.4 % of all CPUs, steal 0.0 %: idle)");
        for part in
            ["narrows", "39.00 ns/op", "[38.00, 41.50] at 93.8 %", "<= 40", "PASS (the target lies in"]
        {
            assert!(lines[1].contains(part), "{part}: {}", lines[1]);
        }
        assert_eq!(lines[2], "  not compared: fio is not installed");
    }

    #[test]
    fn what_is_short_or_not_measured_is_reported_and_counts() {
        let short = measured(Ok(found(&[41.0], PerfTarget::AtMost(40.0))));
        assert!(short.is_short() && figure(&short).contains("SHORT"));
        let failed = measured(Err("narrows: ended with code 2".to_owned()));
        assert!(failed.is_short() && figure(&failed).contains("NOT MEASURED: narrows: ended with code 2"));
        assert!(!measured(Ok(found(&[41.0], PerfTarget::None))).is_short());
    }

    #[test]
    fn the_document_contains_every_value_and_null_where_there_is_none() {
        let machine = MachineDescription {
            cpu: "EPYC".to_owned(),
            kernel: "6.1".to_owned(),
            governor: None,
            clock_resolution_ns: 20,
            clock_cost_ns: 24,
            cpus: vec![0, 1],
        };
        let peer = PeerProgram { name: "fio", version: None };
        let figures = [measured(Ok(found(&[1.0, 2.0], PerfTarget::None)))];
        let document = document(&machine, &[&peer], QUIET, &figures);
        assert_eq!(document.pointer("/figures/0/findings/0/values"), Some(&json!([1.0, 2.0])));
        assert_eq!(document.pointer("/figures/0/findings/0/interval"), Some(&Value::Null));
        assert_eq!(document.pointer("/peers/0/version"), Some(&Value::Null));
        assert_eq!(document.pointer("/machine/cpu_count"), Some(&json!(2)));
    }

    #[test]
    fn numbers_keep_about_four_digits() {
        assert_eq!([0.98765, 12.345, 123.45, 1234.5].map(short), ["0.988", "12.35", "123.5", "1234"]);
    }
}
