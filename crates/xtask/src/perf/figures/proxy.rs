//! Bulk through one connection of a proxy: narrows' ways of moving bytes beside socat and `HAProxy`.
//!
//! The two ends cost as little as a kernel lets them (`bare_bulk`) and nothing is bound to a CPU: ends that share one
//! transfer less than the fastest proxy, so that they would be what is measured. What they transfer without a proxy is
//! reported beside the rates. CPU time is that of the proxy's process over the connection.

use super::PerfFigure;
use crate::perf::bench::{Bench, MEASURE_S};
use crate::perf::contest::{Contender, run_rounds};
use crate::perf::estimate::ratios;
use crate::perf::finding::{PerfFinding, PerfFindings, PerfTarget};
use crate::perf::parse;
use crate::perf::tools::PeerProgram;
use crate::process::RunningProgram;
use anyhow::Context;
use std::cell::RefCell;
use std::fs;
use std::net::TcpListener;
use std::process::Command;

pub(super) const FIGURE: PerfFigure = PerfFigure {
    name: "proxy",
    what: "bulk through one connection of a proxy: beside socat with buffers of 8 KiB (its own choice) and 128 KiB, and \
           HAProxy (tcp)",
    measure,
};

/// The buffers at which narrows and socat are compared; `HAProxy` has one of its own, and is compared with the largest.
const BUFFERS: [&str; 2] = ["8192", "131072"];

/// Longest time of a connection.
const TURN_S: u64 = 60;

/// Ticks of a process's CPU times in a second, as the kernel reports them to programs, whatever its own tick rate.
const TICKS_PER_S: f64 = 100.0;

/// A proxy from `front` to `back`, both ports of loopback.
type ProxyStarter<'a> = Box<dyn Fn(&str, &str) -> anyhow::Result<Command> + 'a>;

/// A proxy, and the CPU seconds for a GB of each turn.
struct Entrant<'a> {
    name: &'static str,
    /// Bytes of the buffer, as the program takes it.
    buffer: &'static str,
    start: ProxyStarter<'a>,
    cpu: RefCell<Vec<f64>>,
}

fn measure(bench: &Bench) -> anyhow::Result<PerfFindings> {
    let mut all = PerfFindings::default();
    for buffer in BUFFERS {
        let (own, peers) =
            (["splice", "copy", "uring"].map(|mode| narrows(bench, mode, buffer)), peers(bench, buffer));
        let own_count = own.len();
        let mut entrants = Vec::from(own);
        for peer in peers {
            match peer {
                Ok(entrant) => entrants.push(entrant),
                Err(why) => all.missing.push(why),
            }
        }
        let mut contenders: Vec<Contender<'_>> =
            entrants.iter().map(|entrant| Contender::new(entrant.name, || turn(bench, entrant))).collect();
        let rates = run_rounds(bench.rounds, &mut contenders)?;
        drop(contenders);
        all.findings.extend(findings(&entrants, own_count, &rates)?);
    }
    let alone =
        run_rounds(bench.rounds, &mut [Contender::new("the ends alone", || ends_alone(bench))])?.concat();
    all.findings.push(PerfFinding::from_values(
        "the two ends without a proxy".to_owned(),
        "GB/s",
        alone,
        PerfTarget::None,
    )?);
    all.missing.dedup();
    Ok(all)
}

/// The others at `buffer`, or why one is not there.
fn peers<'a>(bench: &'a Bench, buffer: &'static str) -> Vec<Result<Entrant<'a>, String>> {
    let there = |peer: &PeerProgram, name, start: ProxyStarter<'a>| {
        peer.command().map(|_| Entrant { name, buffer, start, cpu: RefCell::default() })
    };
    let (of_socat, of_haproxy) = (&bench.tools.socat, &bench.tools.haproxy);
    let mut peers =
        vec![there(of_socat, "socat", Box::new(move |front, back| socat(bench, buffer, front, back)))];
    if BUFFERS.last() == Some(&buffer) {
        for (name, option) in [("haproxy", ""), ("haproxy with splice-auto", "option splice-auto")] {
            let start = move |front: &str, back: &str| haproxy(bench, front, back, option);
            peers.push(there(of_haproxy, name, Box::new(start)));
        }
    }
    peers
}

fn findings(
    entrants: &[Entrant<'_>],
    own_count: usize,
    rates: &[Vec<f64>],
) -> anyhow::Result<Vec<PerfFinding>> {
    let mut findings = Vec::new();
    for (entrant, rates) in entrants.iter().zip(rates) {
        let cpu = entrant.cpu.borrow().clone();
        let name = format!("{}, buffers of {}", entrant.name, entrant.buffer);
        findings.push(PerfFinding::from_values(name.clone(), "GB/s", rates.clone(), PerfTarget::None)?);
        findings.push(PerfFinding::from_values(format!("{name}, CPU"), "s/GB", cpu, PerfTarget::None)?);
    }
    let medians = findings.iter().step_by(2).take(own_count).map(|finding| finding.estimate.median);
    let fastest = medians.enumerate().max_by(|a, b| a.1.total_cmp(&b.1)).map_or(0, |(index, _)| index);
    for (entrant, peer) in entrants.iter().zip(rates).skip(own_count) {
        let target =
            if entrant.name == "socat" { PerfTarget::AtLeast(2.0) } else { PerfTarget::AtLeast(1.0) };
        let what = format!("rate over {}'s, {}, {}", entrant.name, entrants[fastest].name, entrant.buffer);
        findings.push(PerfFinding::from_values(what, "x", ratios(&rates[fastest], peer), target)?);
    }
    Ok(findings)
}

/// One connection through a proxy that is started for it: GB a second.
fn turn(bench: &Bench, entrant: &Entrant<'_>) -> anyhow::Result<f64> {
    let (_drain, back) = drain(bench)?;
    // Not every proxy takes a port that the kernel chooses, so one that is free now is asked for.
    let free = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
    let front = free.context("no free port")?.port();
    let mut command = (entrant.start)(&front.to_string(), back.rsplit(':').next().unwrap_or_default())?;
    let mut proxy = bench.start_unbound("proxy", &mut command)?;
    proxy.wait_for(|| listens(front))?;
    let before_s = cpu_s(&proxy)?;
    let feed = feed(bench, &format!("127.0.0.1:{front}"))?;
    // socat ends with its connection, so that its time is read again and again while the stream runs.
    let mut last_s = before_s;
    let ended = feed.finish(TURN_S, |_, _| last_s = cpu_s(&proxy).unwrap_or(last_s))?;
    let (printed, used_s) = (ended.printed(&[0])?, last_s - before_s);
    let gb = parse::bare(printed, "bytes")? / 1e9;
    entrant.cpu.borrow_mut().push(used_s / gb);
    Ok(parse::bare(printed, "bytes_per_s")? / 1e9)
}

/// One connection from end to end: GB a second.
fn ends_alone(bench: &Bench) -> anyhow::Result<f64> {
    let (_drain, back) = drain(bench)?;
    let ended = feed(bench, &back)?.finish(TURN_S, |_, _| {})?;
    Ok(parse::bare(ended.printed(&[0])?, "bytes_per_s")? / 1e9)
}

/// The end that takes one connection, and its address.
fn drain(bench: &Bench) -> anyhow::Result<(RunningProgram, String)> {
    let mut drain = bench.start_unbound("drain", bench.tools.bare("bare_bulk").arg("drain"))?;
    let address = drain.until(|text| parse::address(text).map(str::to_owned))?;
    Ok((drain, address))
}

/// The end that sends for the time of a turn.
fn feed(bench: &Bench, address: &str) -> anyhow::Result<RunningProgram> {
    bench.start_unbound("feed", bench.tools.bare("bare_bulk").args(["feed", address, &MEASURE_S.to_string()]))
}

fn narrows<'a>(bench: &'a Bench, mode: &'static str, buffer: &'static str) -> Entrant<'a> {
    let start = move |front: &str, back: &str| {
        let (listen, to) = (format!("127.0.0.1:{front}"), format!("127.0.0.1:{back}"));
        let mut command = bench.tools.narrows();
        command.args(["proxy", "--listen", &listen, "--to", &to, "--mode", mode, "--buffer", buffer]);
        Ok(command)
    };
    Entrant { name: mode, buffer, start: Box::new(start), cpu: RefCell::default() }
}

fn socat(bench: &Bench, buffer: &str, front: &str, back: &str) -> anyhow::Result<Command> {
    let mut command = bench.tools.socat.command().map_err(anyhow::Error::msg)?;
    command.args(["-b", buffer]);
    command.arg(format!("TCP-LISTEN:{front},bind=127.0.0.1,reuseaddr")).arg(format!("TCP:127.0.0.1:{back}"));
    Ok(command)
}

fn haproxy(bench: &Bench, front: &str, back: &str, option: &str) -> anyhow::Result<Command> {
    let file = bench.place("haproxy.cfg");
    fs::write(
        &file,
        format!(
            "defaults\n mode tcp\n timeout connect 5s\n timeout client 60s\n timeout server 60s\n {option}\n\
             listen bulk\n bind 127.0.0.1:{front}\n server drain 127.0.0.1:{back}\n"
        ),
    )?;
    let mut command = bench.tools.haproxy.command().map_err(anyhow::Error::msg)?;
    command.args(["-q", "-db", "-f"]).arg(file);
    Ok(command)
}

/// Whether somebody listens at a port of IPv4.
fn listens(port: u16) -> bool {
    fs::read_to_string("/proc/net/tcp").is_ok_and(|table| has_listener(&table, port))
}

/// Whether a table of sockets as in `/proc/net/tcp` has one that listens at `port`.
fn has_listener(table: &str, port: u16) -> bool {
    const LISTENING: &str = "0A";
    let ends = format!(":{port:04X}");
    table.lines().any(|line| {
        let mut words = line.split_whitespace().skip(1);
        words.next().is_some_and(|local| local.ends_with(&ends)) && words.nth(1) == Some(LISTENING)
    })
}

/// CPU seconds that a program has used.
fn cpu_s(running: &RunningProgram) -> anyhow::Result<f64> {
    let text = fs::read_to_string(format!("/proc/{}/stat", running.pid()))?;
    cpu_of(&text).with_context(|| format!("no CPU times in {text:?}"))
}

/// User and system time in seconds, from the text of `/proc/PID/stat`.
fn cpu_of(text: &str) -> Option<f64> {
    // The name in parentheses may contain anything; times are the 14th and 15th field.
    let rest = text.rsplit_once(')')?.1;
    let mut times = rest.split_whitespace().skip(11);
    let user: f64 = times.next()?.parse().ok()?;
    let system: f64 = times.next()?.parse().ok()?;
    Some((user + system) / TICKS_PER_S)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpu_times_are_found_behind_any_name() {
        let text = "7 (a) b) S 1 7 7 0 -1 4194304 100 0 0 0 250 50 0 0 20 0 1 0 1 1 1";
        assert_eq!(cpu_of(text), Some(3.0));
        assert_eq!(cpu_of("7 (a"), None);
    }

    #[test]
    fn a_listener_is_known_by_port_and_state() {
        let table = "  sl  local_address rem_address   st\n\
                     0: 0100007F:1C85 00000000:0000 0A 0\n\
                     1: 0100007F:1C86 0100007F:1C85 01 0\n";
        assert!(has_listener(table, 7301));
        assert!(!has_listener(table, 7302), "connected");
        assert!(!has_listener(table, 0x1c00));
    }
}
