//! Servers of the figures over loopback: an endpoint of narrows, and the serving half of a bare pair.

use super::bench::Bench;
use super::parse;
use super::process::Running;

/// An endpoint on the CPU of servers, and where it listens; it ends when it is dropped.
///
/// # Errors
/// It does not start, or does not say where it listens.
pub(crate) fn endpoint(bench: &Bench) -> anyhow::Result<(Running, String)> {
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
