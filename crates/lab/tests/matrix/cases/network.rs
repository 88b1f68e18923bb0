//! Faults of the network between client and server.

use super::{BULK, MatrixCase, RANDOM, SINGLE, Truth};
use crate::support::apart::check_apart;
use crate::support::check::{Checked, serve};
use narrows_lab::{Lab, LabProcess};
use narrows_model::Segment;

const WIRE: Truth = &[("bulk", &[Segment::NetworkBandwidth])];
const LATENCY_OF_ONE: Truth = &[("one-at-a-time", &[Segment::NetworkLatency])];
const LATENCY_OF_MANY: Truth = &[("random", &[Segment::NetworkLatency])];
const LOSS: Truth = &[("bulk", &[Segment::NetworkLoss])];
const WINDOW: Truth = &[("bulk", &[Segment::ClientConnection])];

fn memory_store(lab: &Lab, words: &str) -> Checked {
    check_apart(lab, "case", None, |_| (), words)
}

fn link(lab: &Lab, rate: &str, words: &str) -> Checked {
    lab.host(2).unwrap().limit_rate(rate).unwrap();
    memory_store(lab, words)
}

fn delay(lab: &Lab, one_way_us: u64, words: &str) -> Checked {
    lab.host(2).unwrap().delay(one_way_us).unwrap();
    memory_store(lab, words)
}

fn window(lab: &Lab, bytes: u64, one_way_us: u64) -> Checked {
    let server = lab.host(2).unwrap();
    server.delay(one_way_us).unwrap();
    server.limit_receive_buffers(bytes).unwrap();
    memory_store(lab, "--op write --block 256KiB --depth 8 --seconds 20 --cell-seconds 1.5")
}

/// A link that loses one of `loss_every` packets, with a congestion control that slows down at each loss.
fn loss(lab: &Lab, one_way_us: u64, loss_every: u64, words: &str) -> Checked {
    let (client, server) = (lab.host(1).unwrap(), lab.host(2).unwrap());
    server.delay_and_lose(one_way_us, loss_every).unwrap();
    for host in [&client, &server] {
        host.use_congestion_control("reno").unwrap();
    }
    memory_store(lab, words)
}

/// Bulk requests over a link of that rate, or a plain one, that loses packets.
fn bulk_with_loss(lab: &Lab, rate: Option<&str>, loss_every: u64) -> Checked {
    if let Some(rate) = rate {
        lab.host(2).unwrap().limit_rate(rate).unwrap();
    }
    loss(lab, 2000, loss_every, "--op write --block 256KiB --depth 8 --seconds 20 --cell-seconds 1.5")
}

/// A full link whose queue is so short that it drops packets all the time.
fn short_queue(lab: &Lab, rate: &str, queue_ms: u32, words: &str) -> Checked {
    let (client, server) = (lab.host(1).unwrap(), lab.host(2).unwrap());
    server.delay(2000).unwrap();
    server.limit_rate_with_queue(rate, queue_ms).unwrap();
    for host in [&client, &server] {
        host.use_congestion_control("reno").unwrap();
    }
    memory_store(lab, words)
}

/// The check of others: reads from a server of their own on the server's host, over its link, until it is dropped.
fn others_on_the_link(lab: &Lab) -> (crate::support::check::Served, LabProcess) {
    let (other, server) = (lab.host(3).unwrap(), lab.host(2).unwrap());
    let served = serve(lab, &server, None, |_| ());
    let mut command = served.check_command(&other, "memory");
    let words = "--op read --block 1MiB --depth 16 --seconds 60 --cell-seconds 25 --quiet --out";
    command.args(words.split_whitespace()).arg(lab.scratch().join("record-others"));
    let process = lab.start("others", command).unwrap();
    (served, process)
}

/// Every case.
pub(super) static CASES: &[MatrixCase] = &[
    MatrixCase { fault: "link of 20 Mbit/s", truth: WIRE, check: |lab| link(lab, "20mbit", BULK) },
    MatrixCase { fault: "link of 50 Mbit/s", truth: WIRE, check: |lab| link(lab, "50mbit", BULK) },
    MatrixCase { fault: "link of 100 Mbit/s", truth: WIRE, check: |lab| link(lab, "100mbit", BULK) },
    MatrixCase { fault: "link of 200 Mbit/s", truth: WIRE, check: |lab| link(lab, "200mbit", BULK) },
    MatrixCase {
        fault: "link of 300 Mbit/s, 64 KiB requests",
        truth: WIRE,
        check: |lab| link(lab, "300mbit", super::SMALL),
    },
    MatrixCase { fault: "link of 500 Mbit/s", truth: WIRE, check: |lab| link(lab, "500mbit", BULK) },
    MatrixCase {
        fault: "link of 10 Mbit/s, small requests",
        truth: &[("random", &[Segment::NetworkBandwidth])],
        check: |lab| link(lab, "10mbit", RANDOM),
    },
    MatrixCase {
        fault: "link of 50 Mbit/s and its delay of 4 ms",
        truth: WIRE,
        check: |lab| {
            lab.host(2).unwrap().limit_rate("50mbit").unwrap();
            delay(lab, 2000, BULK)
        },
    },
    MatrixCase {
        fault: "link of 100 Mbit/s that others use too",
        truth: WIRE,
        check: |lab| {
            lab.host(2).unwrap().limit_rate("100mbit").unwrap();
            let _others = others_on_the_link(lab);
            memory_store(lab, "--op read --block 1MiB --depth 16 --seconds 15 --cell-seconds 1")
        },
    },
    MatrixCase { fault: "delay of 2 ms", truth: LATENCY_OF_ONE, check: |lab| delay(lab, 1000, SINGLE) },
    MatrixCase { fault: "delay of 5 ms", truth: LATENCY_OF_ONE, check: |lab| delay(lab, 2500, SINGLE) },
    MatrixCase { fault: "delay of 10 ms", truth: LATENCY_OF_ONE, check: |lab| delay(lab, 5_000, SINGLE) },
    MatrixCase { fault: "delay of 20 ms", truth: LATENCY_OF_ONE, check: |lab| delay(lab, 10_000, SINGLE) },
    MatrixCase {
        fault: "delay of 10 ms, 16 at a time",
        truth: LATENCY_OF_MANY,
        check: |lab| delay(lab, 5_000, RANDOM),
    },
    MatrixCase {
        fault: "delay of 20 ms, 16 at a time",
        truth: LATENCY_OF_MANY,
        check: |lab| delay(lab, 10_000, RANDOM),
    },
    MatrixCase {
        fault: "loss of one packet of 20 at 4 ms",
        truth: LOSS,
        check: |lab| bulk_with_loss(lab, None, 20),
    },
    MatrixCase {
        fault: "loss of one packet of 100 at 4 ms",
        truth: LOSS,
        check: |lab| bulk_with_loss(lab, None, 100),
    },
    MatrixCase {
        fault: "loss of one packet of 20 on a link of 100 Mbit/s",
        truth: LOSS,
        check: |lab| bulk_with_loss(lab, Some("100mbit"), 20),
    },
    MatrixCase {
        fault: "drops of a full link of 100 Mbit/s with a queue of 5 ms",
        truth: WIRE,
        check: |lab| short_queue(lab, "100mbit", 5, BULK),
    },
    MatrixCase {
        fault: "drops of a full link of 20 Mbit/s with a queue of 10 ms",
        truth: WIRE,
        check: |lab| {
            short_queue(
                lab,
                "20mbit",
                10,
                "--op write --block 256KiB --depth 8 --seconds 20 --cell-seconds 1.5",
            )
        },
    },
    MatrixCase {
        fault: "loss of one packet of 8, small requests",
        truth: &[("one-at-a-time", &[Segment::NetworkLoss])],
        check: |lab| loss(lab, 500, 8, "--block 4KiB --depth 1 --seconds 20 --cell-seconds 2"),
    },
    MatrixCase { fault: "window of 64 KiB at 4 ms", truth: WINDOW, check: |lab| window(lab, 64 << 10, 2000) },
    MatrixCase {
        fault: "window of 128 KiB at 20 ms",
        truth: WINDOW,
        check: |lab| window(lab, 128 << 10, 10_000),
    },
    MatrixCase {
        fault: "window of 256 KiB at 40 ms",
        truth: WINDOW,
        check: |lab| window(lab, 256 << 10, 20_000),
    },
];
