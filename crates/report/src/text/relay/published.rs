//! The sizes that the server's reads returned beside those that were published for the same buffers: how far they are
//! apart, and how many reads filled the buffer, which the published relation of I/Os to bytes counts.
//!
//! Not here: why they differ; a read takes what TCP has delivered by then.

use super::super::Style;
use super::super::table::{Align, Field, TextTable};
use super::super::wrap::{Indent, paragraph};
use super::measured_sweeps;
use narrows_model::counters::Role;
use narrows_model::relay::CallSizes;
use narrows_model::summary::{RelayPointSummary, RelaySummary};
use narrows_model::units::ratio;
use std::collections::BTreeMap;

/// Client's buffer, server's buffer, size of a read, reads.
const PUBLISHED: &str =
    include_str!("../../../../../docs/examples/observations/relay_read_size_histograms.csv");

/// The published sizes for these buffers of client and server; nothing where none are.
fn published_sizes(client_bytes: u64, server_bytes: u64) -> BTreeMap<u64, u64> {
    let row = |line: &str| -> Option<[u64; 4]> {
        let numbers: Option<Vec<u64>> = line.split(',').map(|field| field.parse().ok()).collect();
        numbers?.try_into().ok()
    };
    let rows = PUBLISHED.lines().filter_map(row);
    rows.filter(|[client, server, _, _]| (*client, *server) == (client_bytes, server_bytes))
        .map(|[_, _, bytes, count]| (bytes, count))
        .collect()
}

/// The total variation distance of two distributions: half of the sum of the differences of their shares, 0 for equal ones
/// and 1 for those that have nothing in common; `None` where one is empty.
fn distance(a: &BTreeMap<u64, u64>, b: &BTreeMap<u64, u64>) -> Option<f64> {
    let sum = |all: &BTreeMap<u64, u64>| all.values().sum::<u64>() as f64;
    let (of_a, of_b) = (sum(a), sum(b));
    let share = |all: &BTreeMap<u64, u64>, bytes: u64, sum: f64| {
        ratio(all.get(&bytes).copied().unwrap_or(0) as f64, sum)
    };
    let sizes: std::collections::BTreeSet<u64> = a.keys().chain(b.keys()).copied().collect();
    let apart: Option<Vec<f64>> = sizes
        .into_iter()
        .map(|bytes| Some((share(a, bytes, of_a)? - share(b, bytes, of_b)?).abs()))
        .collect();
    apart.filter(|_| of_a > 0.0 && of_b > 0.0).map(|apart| apart.iter().sum::<f64>() / 2.0)
}

/// A row for each point of two nodes, where any was measured.
pub(super) fn table(relay: &RelaySummary, style: &Style) -> String {
    const COLUMNS: &str = "reads: calls of a trial; filled: those that filled the buffer; published: bytes / buffer, the I/O count \
                           of the paper where the server's buffer is at most the client's, which counts no read of a part; \
                           distance: of the sizes from the published ones (total variation: 0 as published, 1 nothing in common)";
    let mut table = TextTable::new(&[
        ("client", Align::Right),
        ("server", Align::Right),
        ("reads", Align::Right),
        ("filled", Align::Right),
        ("published", Align::Right),
        ("distance", Align::Right),
    ]);
    let mut count = 0;
    for point in measured_sweeps(relay).into_iter().flat_map(|(_, points)| points) {
        if let Some(fields) = fields(point) {
            table.row(fields.into_iter().map(Field::from).collect());
            count += 1;
        }
    }
    if count == 0 {
        return String::new();
    }
    style.heading("READS AND THE PUBLISHED ONES", "")
        + &paragraph(COLUMNS, Indent { first: "  ", rest: "  " }, style.width)
        + &table.render(style)
}

/// The row of a point; `None` with a proxy, or without a read.
fn fields(point: &RelayPointSummary) -> Option<[String; 6]> {
    let (client, server) = (point.buffers.client.0, point.buffers.server.0);
    let role = point.roles.iter().find(|role| role.role == Role::Server)?;
    if point.buffers.proxy.is_some() || role.reads.call_count() == 0 {
        return None;
    }
    let CallSizes { by_bytes } = &role.reads;
    let a_trial = |count: u64| ratio(count as f64, point.trial_count as f64);
    let shown = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), |value| format!("{value:.0}"));
    let filled = a_trial(by_bytes.get(&server).copied().unwrap_or(0));
    let published = a_trial(role.reads.total().0).and_then(|bytes| ratio(bytes, server as f64));
    let apart = distance(by_bytes, &published_sizes(client, server));
    Some([
        client.to_string(),
        server.to_string(),
        format!("{:.0}", role.read_count),
        shown(filled),
        shown(published.filter(|_| server <= client)),
        apart.map_or_else(|| "-".to_owned(), |apart| format!("{apart:.3}")),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn published_sizes_sum_to_the_bytes_of_a_trial() {
        for (client, server) in [(2048, 4096), (4096, 2048), (1024, 4096), (512, 4096), (256, 256)] {
            let sizes = CallSizes { by_bytes: published_sizes(client, server) };
            assert_eq!(sizes.total().0, 50_331_648, "{client} {server}");
        }
        assert!(published_sizes(64, 32).is_empty());
    }

    #[test]
    fn the_distance_is_half_of_what_differs() {
        let of = |pairs: &[(u64, u64)]| pairs.iter().copied().collect::<BTreeMap<u64, u64>>();
        let published = published_sizes(2048, 4096);
        assert_eq!(distance(&published, &published), Some(0.0));
        assert_eq!(distance(&of(&[(1, 5)]), &of(&[(2, 9)])), Some(1.0));
        let quarter = distance(&of(&[(1, 3), (2, 1)]), &of(&[(1, 2), (2, 2)])).unwrap();
        assert!((quarter - 0.25).abs() < 1e-12);
        assert_eq!(distance(&of(&[]), &published), None);
    }
}
