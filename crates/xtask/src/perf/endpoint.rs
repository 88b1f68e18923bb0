//! Servers of the figures over loopback: an endpoint of narrows, the serving half of a bare pair, iperf3's.

use super::bench::Bench;
use super::parse;
use crate::process::RunningProgram;
use anyhow::Context;
use std::net::TcpListener;

/// An endpoint on the CPU of servers, and where it listens; it ends when it is dropped.
///
/// # Errors
/// It does not start, or does not say where it listens.
pub(crate) fn endpoint(bench: &Bench) -> anyhow::Result<(RunningProgram, String)> {
    let mut command = bench.tools.narrows();
    let mut server = bench.serve("serve", command.args(["serve", "--listen", "127.0.0.1:0"]))?;
    let address = server.until(|text| parse::address(text).map(str::to_owned))?;
    Ok((server, address))
}

/// One turn of a bare pair: `serves` starts the server, `asks` the client with the server's address and `words`.
///
/// # Errors
/// One of them fails.
pub(crate) fn bare_pair(
    bench: &Bench,
    name: &str,
    serves: &[&str],
    asks: &str,
    words: &[&str],
    key: &str,
) -> anyhow::Result<f64> {
    let mut server = bench.serve("bare-server", bench.tools.bare(name).args(serves))?;
    let address = server.until(|text| parse::address(text).map(str::to_owned))?;
    let arguments: Vec<&str> = [asks, address.as_str()].into_iter().chain(words.iter().copied()).collect();
    bench.bare(name, &arguments, key)
}

/// Bytes a second of one turn of iperf3 with writes of `length`, and its server beside it.
///
/// # Errors
/// It is not installed, or one of the two fails.
pub(crate) fn iperf3(bench: &Bench, length: &str, seconds: u64, words: &[&str]) -> anyhow::Result<f64> {
    let command = || bench.tools.iperf3.command().map_err(anyhow::Error::msg);
    // iperf3 takes no port that the kernel chooses, so one that is free now is asked for.
    let free = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
    let port = free.context("no free port")?.port().to_string();
    let serves = ["--server", "--one-off", "--forceflush", "--bind", "127.0.0.1", "--port", &port];
    let mut server = bench.serve("iperf3-server", command()?.args(serves))?;
    server.until(|text| text.contains("listening").then_some(()))?;
    let seconds = seconds.to_string();
    let asks = ["--client", "127.0.0.1", "--port", &port, "--json", "--length", length, "--time", &seconds];
    let ended = bench.turn("iperf3", command()?.args(asks).args(words))?;
    // It fails with code 1 and says why in its JSON.
    parse::iperf3_bytes_per_s(ended.printed(&[0, 1])?)
}
