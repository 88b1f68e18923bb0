//! Reports the counters of a control group as those of a machine of its own, in the text format of `node_exporter`.
//!
//! `labexporter ADDRESS CPUS[@N] FOLDER [DEVICE..]` serves every connection one answer, until it is ended. FOLDER is the
//! group's folder with `cpuacct.usage` or `cpu.stat`; its machine has one CPU, which is as fast as CPUS of this machine's: a
//! group that uses all of its quota of 0.4 CPUs fills it. With N it is CPU N of this machine, and what a hypervisor takes of
//! that is its steal, as a real exporter reports it: the group cannot use more. DEVICE is a block device of the group's machine.
//!
//! All hosts of a lab share one kernel, whose `/proc/stat` has the client's time too: a real exporter would report that.
//! Prints `listening ADDRESS` first.
#![forbid(unsafe_code)]

use std::cell::Cell;
use std::error::Error;
use std::fmt::Write as _;
use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::ExitCode;
use std::time::Duration;

use narrows_lab::clock::monotonic_ns;

type ExportResult<T> = Result<T, Box<dyn Error>>;

/// A client that sends nothing is not waited for longer.
const REQUEST_WITHIN: Duration = Duration::from_secs(2);
/// Bytes of a sector of `/proc/diskstats`, whatever the device's are.
const SECTOR_BYTES: u64 = 512;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Err(failure) = serve(&arguments) else { return ExitCode::SUCCESS };
    // Where it cannot be said it can only be returned.
    let _unheard = writeln!(std::io::stderr(), "labexporter: {failure}");
    ExitCode::FAILURE
}

fn serve(arguments: &[String]) -> ExportResult<()> {
    let [address, cpus, folder, devices @ ..] = arguments else {
        return Err("usage: labexporter ADDRESS CPUS[@N] FOLDER [DEVICE..]".into());
    };
    let (cpus, number) = cpus.split_once('@').map_or((cpus.as_str(), None), |(cpus, n)| (cpus, Some(n)));
    let group = Group {
        cpus: cpus.parse()?,
        cpu_number: number.map(str::parse).transpose()?,
        folder: folder.clone(),
        started_ns: monotonic_ns(),
        idle_s: Cell::default(),
    };
    let listener = TcpListener::bind(address)?;
    let mut stdout = std::io::stdout();
    writeln!(stdout, "listening {}", listener.local_addr()?)?;
    stdout.flush()?;
    for stream in listener.incoming() {
        // A client that went away is none of the next one's.
        let _sent = answer(&stream?, &group, devices);
    }
    Ok(())
}

/// A control group as a machine.
struct Group {
    cpus: f64,
    /// The CPU of this machine that its own is.
    cpu_number: Option<u32>,
    folder: String,
    started_ns: u64,
    /// Its idle time as reported last.
    idle_s: Cell<f64>,
}

impl Group {
    /// Seconds that its one CPU was busy since the group was made.
    fn busy_s(&self) -> ExportResult<f64> {
        let used_ns: u64 = if let Ok(text) = fs::read_to_string(format!("{}/cpuacct.usage", self.folder)) {
            text.trim().parse()?
        } else {
            let stat = fs::read_to_string(format!("{}/cpu.stat", self.folder))?;
            let line = stat.lines().find_map(|line| line.strip_prefix("usage_usec "));
            line.ok_or("cpu.stat has no usage_usec")?.trim().parse::<u64>()? * 1000
        };
        Ok(used_ns as f64 / 1e9 / self.cpus)
    }
}

/// Ticks of a second in `/proc/stat`, `USER_HZ` of all architectures that Linux still has.
const TICKS_PER_S: f64 = 100.0;

/// Seconds since the start of this machine that a hypervisor took of its CPU `number`.
fn steal_s(number: u32) -> ExportResult<f64> {
    let stat = fs::read_to_string("/proc/stat")?;
    let name = format!("cpu{number}");
    let fields = stat.lines().map(|line| line.split_ascii_whitespace().collect::<Vec<_>>());
    let ticks = fields
        .filter(|fields| fields.first() == Some(&name.as_str()))
        .find_map(|fields| fields.get(8).copied());
    Ok(ticks.ok_or_else(|| format!("/proc/stat has no steal of {name}"))?.parse::<f64>()? / TICKS_PER_S)
}

fn answer(mut stream: &TcpStream, group: &Group, devices: &[String]) -> ExportResult<()> {
    stream.set_read_timeout(Some(REQUEST_WITHIN))?;
    let _request = stream.read(&mut [0; 4096])?;
    let body = metrics(group, devices)?;
    let head =
        "HTTP/1.1 200 OK\r\ncontent-type: text/plain; version=0.0.4; charset=utf-8\r\nconnection: close\r\n";
    stream.write_all(format!("{head}content-length: {}\r\n\r\n{body}", body.len()).as_bytes())?;
    Ok(())
}

fn metrics(group: &Group, devices: &[String]) -> ExportResult<String> {
    let busy_s = group.busy_s()?;
    let elapsed_s = monotonic_ns().saturating_sub(group.started_ns) as f64 / 1e9;
    let mut text = String::from("# TYPE node_cpu_seconds_total counter\n");
    let steal_s = group.cpu_number.map_or(Ok(0.0), steal_s)?;
    // It has run for longer than this program. Idle time never goes back, though ticks of steal are coarse.
    let idle_s = (elapsed_s - busy_s - steal_s + 1e6).max(group.idle_s.get());
    group.idle_s.set(idle_s);
    for (mode, seconds) in [("idle", idle_s), ("user", busy_s), ("steal", steal_s)] {
        writeln!(text, "node_cpu_seconds_total{{cpu=\"0\",mode=\"{mode}\"}} {seconds:.2}")?;
    }
    for line in fs::read_to_string("/proc/diskstats")?.lines() {
        let fields: Vec<&str> = line.split_ascii_whitespace().collect();
        if let [_, _, name, counts @ ..] = fields.as_slice()
            && devices.iter().any(|device| device == name)
        {
            disk(&mut text, name, counts)?;
        }
    }
    Ok(text)
}

/// The counts of a line of `/proc/diskstats` (kernel document `admin-guide/iostats`): of sectors and milliseconds.
fn disk(text: &mut String, name: &str, counts: &[&str]) -> ExportResult<()> {
    let count = |index: usize| counts.get(index).map_or(Ok(0), |word| word.parse::<u64>());
    for (metric, value) in [
        ("reads_completed_total", count(0)?),
        ("read_bytes_total", count(2)? * SECTOR_BYTES),
        ("writes_completed_total", count(4)?),
        ("written_bytes_total", count(6)? * SECTOR_BYTES),
    ] {
        writeln!(text, "node_disk_{metric}{{device=\"{name}\"}} {value}")?;
    }
    for (metric, millis) in [
        ("read_time", count(3)?),
        ("write_time", count(7)?),
        ("io_time", count(9)?),
        ("io_time_weighted", count(10)?),
    ] {
        let seconds = millis as f64 / 1000.0;
        writeln!(text, "node_disk_{metric}_seconds_total{{device=\"{name}\"}} {seconds}")?;
    }
    Ok(())
}
