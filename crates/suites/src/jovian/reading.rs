//! Remarks on the tables, in the words of the published evaluation. What limits a path is for the diagnosis to decide:
//! it has counters and cuts, and here are only rates.

use super::figures::JovianRow;
use super::label::Label;
use super::request::Request;
use crate::figure::mb_per_s;
use crate::host_rates::{HostLoad, LinkCeiling, data_rate};
use narrows_model::quantity::amount;
use narrows_model::summary::{CellSummary, ClientSummary};
use narrows_model::units::ratio;
use narrows_model::{Cut, Op, Summary};

/// KB of the rates of clients.
const KB: f64 = 1024.0;

/// From this ratio on, with more servers, a rate has risen; below it is flat. Trimmed means of a few trials differ by
/// some percent by themselves.
const RISEN_RATIO: f64 = 1.1;
/// Below this share of the rate with fewer servers, more of them transfer less.
const LOWER_RATIO: f64 = 0.9;
/// Below this share of what each of the fewest nodes sends, each of more sends less: those with links of their own differ
/// by an eighth, since several clients keep each link less even.
const FALLEN_RATIO: f64 = 0.8;
/// Below this share of writes reads are slower by more than the two directions of one network differ.
const HIDDEN_RATIO: f64 = 0.8;

/// The sentences on `rows`.
pub(super) fn sentences(rows: &[JovianRow], request: &Request) -> Vec<String> {
    let mut all: Vec<Option<String>> = vec![in_memory(request)];
    all.push(flushed_in_part(request));
    all.extend([Op::Write, Op::Read].map(|op| flat(rows, op, request)));
    all.push(reads_below_writes(rows, request));
    all.extend([Op::Write, Op::Read].map(|op| falling(rows, op, request)));
    // Local is a node of the command's machine, and is not measured beside hosts.
    all.push(unscaled(rows).filter(|_| request.hosts.is_empty()));
    all.push(scaled_by_another_load(rows));
    all.into_iter().flatten().collect()
}

/// The sentences on what clients on several hosts reached together; none for clients of this machine.
pub(super) fn of_hosts(summary: &Summary, request: &Request) -> Vec<String> {
    if request.hosts.is_empty() {
        return Vec::new();
    }
    let paths = || summary.cells.iter().filter(|cell| cell.cut == Cut::Path && cell.clients > 1);
    // One ceiling is known, and it is that of the most servers.
    let is_one_place = paths().all(|cell| cell.target == summary.target);
    let link = LinkCeiling::new(None, &summary.segments).filter(|_| is_one_place);
    let of_cell = |cell: &CellSummary| {
        let rate = |client: &ClientSummary| ratio(client.bytes.as_f64() / KB, client.elapsed_s);
        let rates: Vec<f64> = cell.per_client.iter().map(rate).collect::<Option<_>>()?;
        let slowest = cell.per_client.iter().map(|client| client.elapsed_s).fold(0.0, f64::max);
        let bytes: f64 = cell.per_client.iter().map(|client| client.bytes.as_f64()).sum();
        let is_alone = |one: &&CellSummary| {
            one.cut == Cut::Path && one.clients == 1 && one.op == cell.op && one.target == cell.target
        };
        let alone = summary.cells.iter().find(is_alone).and_then(|one| rate(one.per_client.first()?));
        let load = HostLoad {
            test: &format!("{} of {}", cell.op, cell.test.as_deref()?),
            names: &request.hosts.client_names(rates.len()),
            rates: &rates,
            over_longest: ratio(bytes / KB, slowest)?,
            alone,
            cpu_percent: None,
            link,
            shown: data_rate,
        };
        Some(load.sentences())
    };
    paths().filter_map(of_cell).flatten().collect()
}

fn in_memory(request: &Request) -> Option<String> {
    let memory = request.memory.filter(|memory| request.client_bytes() < *memory)?;
    Some(format!(
        "{} per client is less than the {} of memory of a node: writes may show memory, not disks",
        amount(request.client_bytes()),
        amount(memory)
    ))
}

/// That the dummy file which empties the caches fits into them.
fn flushed_in_part(request: &Request) -> Option<String> {
    let (dummy, memory) = request.dummy_bytes().zip(request.memory)?;
    (dummy < memory).then(|| {
        format!(
            "the dummy file of {} is less than the {} of memory of a node: reads may show memory, not disks; give \
             --flush-bytes of more than the memory, or --flush drop",
            amount(dummy),
            amount(memory)
        )
    })
}

/// The rows of one-to-many with as many clients as the first of them, from the fewest servers to the most.
fn by_servers(rows: &[JovianRow]) -> Vec<&JovianRow> {
    let clients_of = |row: &JovianRow| match row.label {
        Label::OneToMany { clients, .. } => Some(clients),
        _ => None,
    };
    let first = rows.iter().find_map(clients_of);
    let mut found: Vec<&JovianRow> =
        rows.iter().filter(|row| first.is_some() && clients_of(row) == first).collect();
    found.sort_by_key(|row| row.label.servers());
    found
}

/// Whether more servers add nothing any more.
fn flat(rows: &[JovianRow], op: Op, request: &Request) -> Option<String> {
    let rows = by_servers(rows);
    let [.., before, last] = rows.as_slice() else { return None };
    let gain = last.mean(op)? / before.mean(op)?;
    if gain >= RISEN_RATIO {
        return None;
    }
    let rise = rows.first().filter(|first| first.label != before.label).and_then(|first| {
        let rise = before.mean(op)? / first.mean(op)?;
        (rise >= RISEN_RATIO).then(|| format!(", where {} reached {rise:.2} x {}", before.label, first.label))
    });
    let after = if gain < LOWER_RATIO { "less" } else { "flat" };
    let shape = if rise.is_some() { format!("rising, then {after}") } else { after.to_owned() };
    let why = if request.is_one_machine() {
        "All servers are on one machine and share its CPUs and disks, so this says nothing about separate servers"
    } else {
        "Something that all of them share, such as the client's link, is full, not the servers"
    };
    Some(format!(
        "{op}: {} reaches {gain:.2} x {}{}: {shape} with more servers. {why}",
        last.label,
        before.label,
        rise.unwrap_or_default(),
    ))
}

fn reads_below_writes(rows: &[JovianRow], request: &Request) -> Option<String> {
    let lower = rows.iter().filter(|row| {
        let both = row.mean(Op::Read).zip(row.mean(Op::Write));
        both.is_some_and(|(read, write)| read < HIDDEN_RATIO * write)
    });
    let phrases: Vec<String> = lower
        .filter_map(|row| {
            let (read, write) = (row.mean(Op::Read)?, row.mean(Op::Write)?);
            Some(format!("{} {} below {} MB/s", row.label, mb_per_s(read), mb_per_s(write)))
        })
        .collect();
    if phrases.is_empty() {
        return None;
    }
    let why = if request.is_late() {
        "writes waited for the disk as well, so early acknowledgement does not explain the difference"
    } else {
        "an early acknowledgement hides the disk from writes, and reads wait for it; --ack late would show it"
    };
    Some(format!("reads are slower than writes ({}): {why}", phrases.join(", ")))
}

/// Whether the network takes less of each node where there are more. Of what each of N nodes moves 1/N stays on it, so
/// that behind links of their own fewer nodes move more each and send as much: (N - 1)/N of it is what is compared.
fn falling(rows: &[JovianRow], op: Op, request: &Request) -> Option<String> {
    let crossing = |row: &JovianRow| {
        let count = f64::from(row.label.servers());
        Some((row.label.servers(), row.mean(op)? / count * (count - 1.0) / count))
    };
    let nodes = rows.iter().filter(|row| matches!(row.label, Label::ManyToMany { .. }));
    let mut nodes: Vec<(u32, f64)> = nodes.filter_map(crossing).filter(|(_, rate)| *rate > 0.0).collect();
    nodes.sort_by_key(|(count, _)| *count);
    let (&(few, most), &(many, least)) = (nodes.first()?, nodes.last()?);
    let why = if request.is_one_machine() {
        "all nodes are on one machine and share its CPUs and disks, so this says nothing about a network"
    } else {
        "they share something, such as the interconnect, or requests queue at every server"
    };
    (least < FALLEN_RATIO * most).then(|| {
        format!(
            "{op}: each node sends {} MB/s to the others with {few} nodes and {} with {many}: {why}",
            mb_per_s(most),
            mb_per_s(least)
        )
    })
}

fn unscaled(rows: &[JovianRow]) -> Option<String> {
    let local = rows.iter().any(|row| row.label == Label::Local);
    (!local && !rows.is_empty())
        .then(|| "scaling needs the rate of a single node: name local as well as the other labels".to_owned())
}

/// That local, by which scaling divides, had fewer requests in flight than the others.
fn scaled_by_another_load(rows: &[JovianRow]) -> Option<String> {
    let local = rows.iter().find(|row| row.label == Label::Local)?.queue_depth;
    let most = rows.iter().map(|row| row.queue_depth).max().filter(|most| *most > local)?;
    Some(format!(
        "local had {local} in flight and the others up to {most} per client: scaling compares these two loads; \
         --engine uring gives local as many"
    ))
}

#[cfg(test)]
mod tests {
    use super::super::request::CacheFlush;
    use super::super::testing::{on_one_machine, published, rows_of};
    use super::*;
    use narrows_model::Bytes;
    use narrows_model::workload::Acknowledgement;

    fn said(measured: &[(&str, f64, f64)]) -> String {
        let rows = rows_of(measured);
        sentences(&rows, &published()).join("\n")
    }

    #[test]
    fn seventy_mebibytes_are_less_than_the_memory_of_a_published_node() {
        assert!(said(&[("local", 1.0, 1.0)]).contains("70.0 MiB per client is less than the 256 MiB"));
    }

    #[test]
    fn a_dummy_file_that_memory_contains_is_reported() {
        let phrases = |dummy: u64| {
            let small = Request { flush: CacheFlush::Dummy(Bytes(dummy << 20)), ..published() };
            sentences(&rows_of(&[("local", 1.0, 1.0)]), &small).join("\n")
        };
        assert!(phrases(100).contains("the dummy file of 100 MiB is less than the 256 MiB of memory"));
        assert!(!phrases(300).contains("dummy"));
    }

    #[test]
    fn a_rate_that_rises_and_then_does_not_points_at_what_servers_share() {
        let said = said(&[("c1-s4", 2.05, 2.05), ("c1-s1", 1.0, 1.0), ("c1-s2", 2.0, 2.0)]);
        assert!(said.contains(
            "write: c1-s4 reaches 1.02 x c1-s2, where c1-s2 reached 2.00 x c1-s1: rising, then flat"
        ));
        assert!(said.contains("read: c1-s4"), "{said}");
    }

    #[test]
    fn servers_of_one_machine_are_not_cleared_and_a_fall_is_called_less() {
        let rows = rows_of(&[("c1-s1", 2.0, 1.0), ("c1-s2", 1.0, 1.0)]);
        let one_machine = on_one_machine();
        let said = sentences(&rows, &one_machine).join("\n");
        assert!(said.contains("c1-s2 reaches 0.50 x c1-s1: less with more servers. All servers are on one"));
        assert!(!said.contains("is full"), "{said}");
    }

    #[test]
    fn a_rate_that_keeps_rising_is_not_called_flat() {
        assert!(!said(&[("c1-s1", 1.0, 1.0), ("c1-s2", 2.0, 2.0), ("c1-s4", 3.0, 3.0)]).contains("flat"));
        assert!(!said(&[("c1-s1", 1.0, 1.0)]).contains("flat"));
        // Configurations of other clients are not compared with it.
        assert!(!said(&[("c1-s1", 1.0, 1.0), ("c2-s2", 1.0, 1.0)]).contains("flat"));
    }

    #[test]
    fn reads_below_writes_show_the_early_acknowledgement_unless_it_was_late() {
        assert!(
            said(&[("c1-s1", 2.0, 1.0)]).contains("(c1-s1 1.00 below 2.00 MB/s): an early acknowledgement")
        );
        assert!(!said(&[("c1-s1", 2.0, 1.7)]).contains("slower than writes"));
        let rows = rows_of(&[("c1-s1", 2.0, 1.0)]);
        let late = Request { acknowledgement: Acknowledgement::Late, ..published() };
        assert!(sentences(&rows, &late).join("\n").contains("early acknowledgement does not explain"));
    }

    #[test]
    fn nodes_that_send_less_each_share_something() {
        let said_of = said(&[("pp-2", 4.0, 4.0), ("pp-4", 3.0, 5.34)]);
        assert!(
            said_of.contains("write: each node sends 1.00 MB/s to the others with 2 nodes and 0.56 with 4"),
            "{said_of}"
        );
        assert!(!said_of.contains("read: "), "{said_of}");
    }

    #[test]
    fn nodes_behind_full_links_of_their_own_share_nothing_though_each_moves_less() {
        // Links of 1 MB/s: N / (N - 1) of it for each of N nodes.
        let said_of =
            said(&[("pp-2", 4.0, 4.0), ("pp-4", 16.0 / 3.0, 16.0 / 3.0), ("pp-8", 64.0 / 7.0, 64.0 / 7.0)]);
        assert!(!said_of.contains("to the others"), "{said_of}");
        // A node alone sends nothing.
        assert!(!said(&[("pp-1", 9.0, 9.0), ("pp-2", 4.0, 4.0)]).contains("to the others"));
    }

    #[test]
    fn nodes_of_one_machine_report_nothing_of_a_network() {
        let one_machine = on_one_machine();
        let said = sentences(&rows_of(&[("pp-2", 4.0, 4.0), ("pp-4", 3.0, 3.0)]), &one_machine).join("\n");
        assert!(said.contains("share its CPUs and disks, so this says nothing about a network"), "{said}");
    }

    #[test]
    fn a_local_rate_of_fewer_requests_in_flight_is_reported_beside_the_scaling() {
        let mut rows = rows_of(&[("local", 1.0, 1.0), ("c1-s2", 2.0, 2.0)]);
        assert!(!sentences(&rows, &published()).join("\n").contains("in flight"));
        rows[0].queue_depth = 1;
        let said = sentences(&rows, &published()).join("\n");
        assert!(said.contains("local had 1 in flight and the others up to 8 per client"), "{said}");
        assert!(!sentences(&rows[..1], &published()).join("\n").contains("in flight"));
    }

    #[test]
    fn scaling_asks_for_local() {
        assert!(said(&[("c1-s1", 1.0, 1.0)]).contains("name local"));
        assert!(!said(&[("c1-s1", 1.0, 1.0), ("local", 1.0, 1.0)]).contains("name local"));
    }
}
