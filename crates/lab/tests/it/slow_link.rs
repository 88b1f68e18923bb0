//! Streams that share a slow link: a request takes longer than a trial's window, and what is in flight at its end is no failure.

use narrows_model::Cut;

use crate::support::check::{assert_within, serve};
use crate::support::lab;
use crate::support::study::{bytes_per_s, run_study_from};

/// What the server's link is limited to: 32 blocks of 1 MiB take 5.4 s, longer than the server waits for a client that takes
/// nothing.
const LINK: &str = "50mbit";
const LINK_BITS_PER_S: u64 = 50_000_000;
const STREAMS: u32 = 32;
const BLOCK_BYTES: f64 = (1 << 20) as f64;
/// What the bucket of the limit lets pass at once, and the border of a window by the clock of the client.
const LINK_TOLERANCE: f64 = 0.1;

#[test]
fn many_streams_of_large_reads_over_a_slow_link_lose_no_request() {
    let Some(lab) = lab() else { return };
    let (client, server) = (lab.host(1).unwrap(), lab.host(2).unwrap());
    server.limit_rate(LINK).unwrap();
    let served = serve(&lab, &server, None, |_| {});
    let study = |name: &str, clients: u32, block: &str, measure: &str| {
        let text = format!(
            "target = \"tcp://{}/memory\"\n[workload]\nblock = \"{block}\"\nclients = {clients}\nfile = \"1MiB\"\n[stop]\n\
             trials = 1\nwarm_up = \"1s\"\nmeasure = \"{measure}\"\n",
            served.address
        );
        run_study_from(&lab, &client, &served, name, &text)
    };
    let checked = study("slow-link", STREAMS, "1MiB", "5s");
    let path = checked.only(Cut::Path);
    assert!(path.errors.is_empty() && checked.exit_code == 0, "{:?}: {}", path.errors, checked.stderr);
    // Blocks that share the link complete in bursts: a window may contain all that were in flight when it began beside what
    // the link transfers in it, and no more.
    let window_s = path.elapsed_s.last_done;
    let in_window = server.payload_bytes_per_s(LINK_BITS_PER_S) * window_s * (1.0 + LINK_TOLERANCE);
    let completed = bytes_per_s(path) * window_s;
    assert!(
        completed >= BLOCK_BYTES && completed <= in_window + f64::from(STREAMS) * BLOCK_BYTES,
        "{completed}"
    );
    // Six rounds of smaller blocks: what a burst adds or takes is a sixth.
    let checked = study("slow-link-rounds", 16, "128KiB", "2s");
    let path = checked.only(Cut::Path);
    assert_within(bytes_per_s(path), server.payload_bytes_per_s(LINK_BITS_PER_S), 0.25);
}
