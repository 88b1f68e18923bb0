//! Writes are acknowledged before they are on a device.

use super::{Rule, SegmentVerdict};
use crate::case::Cases;
use crate::case::table::{self, ObservationTable};
use crate::method::cache::{self, CountingPoint};
use crate::method::given;
use crate::text;
use crate::thresholds::{BUSY_RATIO, GAIN_RATIO};
use narrows_model::counters::Role;
use narrows_model::diagnosis::Severity;
use narrows_model::observation::ObservedOp;
use narrows_model::{Bytes, Observation, Segment};
use std::collections::BTreeMap;

/// The rule.
pub(super) static RULE: Rule = Rule {
    code: "early-acknowledgement",
    slug: "early_ack",
    segment: Segment::ServerCommit,
    title: "writes are acknowledged before the device has them",
    definition: "Writes were faster than the devices, or than reads over the same path with the same clients, or \
                 their bytes were not at the device in the same time: they were acknowledged when they arrived in \
                 memory (the server's, or the client's on a local path), which absorbs them until it is full. The \
                 rate is not that of the storage; with more data than memory it will fall. Where the file gives the \
                 size of the memory, it is compared with the bytes written.",
    formula: "write rate > 1.03 x count x ceiling of the device, or > 1.1 x read rate of the same load (of more than single characters, \
              and the load's own CPU below 80 % in one of them), or bytes at the device \
              < 0.5 x bytes on the wire (of the application where those are not given)",
    source: "Jovian-2 (Univ. of Maryland, 1996): writes are acknowledged when the block arrives, reads wait for the disk",
    example: "writes at 9.4 MB/s and reads at 4.9 MB/s with the same clients; 70 MB written, 256 MB of memory",
    how_to_measure: None,
    how_to_write: Some(
        "write more than the memory of client and server together, or with a sync inside the time; count the \
                     bytes at the device (bytes = { .. })",
    ),
    run,
};

fn run(cases: &Cases<'_>) -> Vec<SegmentVerdict> {
    let Some(table) = cases.table() else { return Vec::new() };
    let known = cache::writes(table);
    let of_writes =
        |found: &SegmentVerdict| found.segment == Segment::ServerCache && known.contains(found.cell.as_str());
    let above = given::impossible(table).into_iter().filter(of_writes);
    let reads = reads(table);
    let writes = || table.observations().iter().filter(|one| one.op == ObservedOp::Write);
    above
        .chain(writes().filter_map(|one| not_at_the_device(table, one)))
        .chain(writes().filter_map(|one| faster_than_reads(&reads, one)))
        .chain(writes().filter_map(in_memory))
        .collect()
}

/// Bytes of a write that were not at the device in its time: the memory of the server has them, or the client's where nothing
/// is remote.
fn not_at_the_device(table: &ObservationTable<'_>, write: &Observation) -> Option<SegmentVerdict> {
    let cache = if table.is_remote(write) { Segment::ServerCache } else { Segment::ClientCache };
    cache::of_observation(write, cache, CountingPoint::Device)
}

/// Reads by what was the same about them.
fn reads<'a>(table: &ObservationTable<'a>) -> BTreeMap<String, &'a Observation> {
    let reads = table.observations().iter().filter(|one| one.op == ObservedOp::Read);
    reads.map(|one| (table::setting(one, ""), one)).collect()
}

fn faster_than_reads(reads: &BTreeMap<String, &Observation>, write: &Observation) -> Option<SegmentVerdict> {
    let read = reads.get(&table::setting_under(write, ObservedOp::Read, &|_| false))?;
    if write.block_bytes == Some(Bytes(1)) || (is_of_the_cpu(write) && is_of_the_cpu(read)) {
        return None; // What differs is the cost of the calls.
    }
    let faster = table::speed_up(read, write)?.low;
    (faster > GAIN_RATIO + table::doubt_ratio(write)).then(|| {
        let text = format!("{} is {faster:.2} times as fast as {}", write.id, read.id);
        let note = SegmentVerdict::note(Segment::ServerCommit, &write.id, Severity::Warning);
        note.with_evidence(text, "rates of write and read", "")
    })
}

/// Whether the load's own CPU decides its rate.
fn is_of_the_cpu(one: &Observation) -> bool {
    table::cpu(one, Role::Client).is_some_and(|cpu| cpu.ratio >= BUSY_RATIO)
}

/// Fewer bytes than there is memory.
fn in_memory(write: &Observation) -> Option<SegmentVerdict> {
    let bytes = write.file_bytes.or(write.bytes.application)?;
    let memory = [Role::Server, Role::Client].iter().find_map(|role| write.memory_bytes.get(role))?;
    (bytes < *memory).then(|| {
        let text = format!(
            "{}: {} written by each client is less than the {} of memory, so it may never have reached a device",
            write.id,
            text::amount(bytes),
            text::amount(*memory)
        );
        SegmentVerdict::note(Segment::ServerCommit, &write.id, Severity::Warning).with_evidence(text, "bytes written and memory", "")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::observed::{cleared, first, read, slugs};

    fn observations(write: &str, read_rate: &str) -> narrows_model::Observations {
        read(&format!(
            "[[observation]]\nid = \"w\"\nop = \"write\"\nclients = 2\nbytes_per_s = {write}\n[[observation]]\nid = \"r\"\nop = \"read\"\nclients = 2\nbytes_per_s = {read_rate}\n"
        ))
    }

    #[test]
    fn writes_faster_than_reads_are_reported() {
        assert!(slugs(&observations("9.4e6", "4.9e6")).contains(&"early_ack".to_owned()));
        assert!(!slugs(&observations("4.8e6", "4.9e6")).contains(&"early_ack".to_owned()));
    }

    #[test]
    fn characters_and_loads_that_their_own_cpu_decides_report_nothing_of_the_device() {
        let with = |change: fn(&mut Observation)| {
            let mut all = observations("9.4e6", "4.9e6");
            all.observations.iter_mut().for_each(change);
            slugs(&all).contains(&"early_ack".to_owned())
        };
        assert!(
            !with(|one| one.block_bytes = Some(Bytes(1))) && with(|one| one.block_bytes = Some(Bytes(2)))
        );
        assert!(!with(|one| one.cpu_cores = BTreeMap::from([(Role::Client, 0.83)])));
        assert!(with(|one| one.cpu_cores = BTreeMap::from([(Role::Client, 0.7)])));
        let mut one_busy = observations("9.4e6", "4.9e6");
        one_busy.observations[0].cpu_cores.insert(Role::Client, 0.9);
        one_busy.observations[1].cpu_cores.insert(Role::Client, 0.3);
        assert!(slugs(&one_busy).contains(&"early_ack".to_owned()));
    }

    #[test]
    fn writes_faster_than_the_disks_are_in_the_servers_memory() {
        let all = read(
            "[[ceiling]]\nsegment = \"device.bandwidth\"\nbytes_per_s = 5e6\n[[observation]]\nid = \"w\"\nop = \"write\"\nclients = 2\nbytes_per_s = 9e6\n",
        );
        assert_eq!(first(&all), Segment::ServerCache);
        assert!(slugs(&all).contains(&"early_ack".to_owned()));
    }

    #[test]
    fn writes_whose_bytes_never_were_at_the_device_are_in_a_memory() {
        let of = |bytes: &str, rest: &str| {
            read(&format!(
                "[[observation]]\nid = \"w\"\nop = \"write\"\nbytes = {{ application = 1e9, {bytes} }}\n{rest}\n"
            ))
        };
        for (bytes, rest, segment) in [
            ("wire = 1e9, device = 0", "", Segment::ServerCache),
            ("wire = 1e9, device = 4e8", "", Segment::ServerCache),
            ("device = 0", "clients = 2", Segment::ServerCache),
            ("device = 0", "", Segment::ClientCache),
            ("wire = 1e9, device = 0", "factor = { path = \"local\" }", Segment::ClientCache),
            ("wire = 0, device = 0", "", Segment::ClientCache),
        ] {
            let all = of(bytes, rest);
            assert_eq!(first(&all), segment, "{bytes} {rest}");
            let slug = if bytes.starts_with("wire = 0") { "cache_served" } else { "early_ack" };
            assert!(slugs(&all).contains(&slug.to_owned()), "{bytes} {rest}");
        }
        let durable = of("wire = 1e9, device = 1.1e9", "");
        assert!(
            cleared(&durable, Segment::ServerCache) && !slugs(&durable).contains(&"early_ack".to_owned())
        );
    }
}
