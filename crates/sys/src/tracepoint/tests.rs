//! Recording of tracepoints: events of this process where the right to it exists, and records of any bytes.

use super::*;
use crate::error::ErrorKind;
use crate::trace_folder::TraceFolder;

/// A record with its header.
fn record(kind: u32, body: &[u8]) -> Vec<u8> {
    let size = u16::try_from(HEADER_BYTES + body.len()).unwrap();
    let header = [kind.to_ne_bytes().as_slice(), &0_u16.to_ne_bytes(), &size.to_ne_bytes()].concat();
    [header.as_slice(), body].concat()
}

fn sampled(at_ns: u64, fields: &[u8]) -> Vec<u8> {
    let length = u32::try_from(fields.len()).unwrap().to_ne_bytes();
    record(RECORD_SAMPLE, &[at_ns.to_ne_bytes().as_slice(), &length, fields].concat())
}

fn read(bytes: &[u8]) -> Vec<String> {
    let mut found = Vec::new();
    for_each_record(bytes, &mut |record| found.push(format!("{record:?}")));
    found
}

#[test]
fn samples_and_losses_are_read_and_other_records_are_left_out() {
    let lost = record(RECORD_LOST, &[9_u64.to_ne_bytes(), 7_u64.to_ne_bytes()].concat());
    let bytes = [sampled(5, &[1, 2, 3, 4]), record(77, &[0; 8]), lost].concat();
    assert_eq!(read(&bytes), ["Sample { at_ns: 5, fields: [1, 2, 3, 4] }", "Lost(7)"]);
}

#[test]
fn records_that_are_cut_short_or_malformed_are_left_out_and_never_a_panic() {
    let whole = sampled(5, &[1, 2, 3, 4]);
    for length in 0..whole.len() {
        assert!(read(&whole[..length]).is_empty());
    }
    assert!(read(&[0; 64]).is_empty(), "a record is no shorter than its header");
    assert!(read(&[255; 64]).is_empty());
    let mut long = sampled(5, &[1, 2, 3, 4]);
    long[16] = 200;
    assert!(read(&long).is_empty(), "fields are within their record");
}

/// The number of a tracepoint, and this machine's CPU 0; `None` without the right to read it.
fn point(filter: &str) -> Option<Tracepoint> {
    let text = TraceFolder::open().ok()?.read("events/sched/sched_process_fork/id").ok()?;
    Some(Tracepoint { id: text.trim().parse().unwrap(), filter: filter.to_owned() })
}

fn online() -> Vec<u32> {
    let list = std::fs::read_to_string("/sys/devices/system/cpu/online").unwrap();
    let bounds: Vec<u32> = list.trim().split([',', '-']).map(|bound| bound.parse().unwrap()).collect();
    // One range is enough for the machines that these tests run on.
    (bounds[0]..=bounds[bounds.len().min(2) - 1]).collect()
}

fn open(filter: &str) -> Option<TracepointRings> {
    match TracepointRings::open(&online(), &[point(filter)?, point(filter)?]) {
        Ok(rings) => Some(rings),
        Err(error) if error.kind() == ErrorKind::Denied => None,
        Err(error) => panic!("{error}"),
    }
}

/// Processes started since the last call, by their events, and the time up to which they are all known.
fn forks(rings: &mut TracepointRings) -> (usize, u64) {
    let mut count = 0;
    let until_ns =
        rings.take(&mut |record| count += usize::from(matches!(record, TraceRecord::Sample { .. })));
    (count, until_ns)
}

fn start_thread() {
    std::thread::spawn(|| ()).join().unwrap();
}

#[test]
fn events_are_recorded_while_enabled_with_times_of_the_monotonic_clock() {
    let own = format!("parent_pid == {}", rustix::thread::gettid().as_raw_nonzero());
    let Some(mut rings) = open(&own) else { return };
    start_thread();
    assert_eq!(forks(&mut rings).0, 0, "they begin disabled");
    rings.set_enabled(true).unwrap();
    let before_ns = clock::read_ns();
    start_thread();
    start_thread();
    let after_ns = clock::read_ns();
    rings.set_enabled(false).unwrap();
    start_thread();
    let mut times = Vec::new();
    let until_ns = rings.take(&mut |record| {
        let TraceRecord::Sample { at_ns, fields } = record else { panic!("{record:?}") };
        assert!(fields.len() > 8);
        times.push(at_ns);
    });
    // The leader and its follower record the same events.
    assert_eq!(times.len(), 4, "{times:?}");
    assert!(times.iter().all(|at_ns| (before_ns..=after_ns).contains(at_ns)), "{before_ns} {times:?}");
    assert!(until_ns >= after_ns);
    assert_eq!(forks(&mut rings).0, 0, "what was taken is not taken again");
}

#[test]
fn a_ring_that_is_full_counts_what_it_loses() {
    let own = format!("parent_pid == {}", rustix::thread::gettid().as_raw_nonzero());
    let Some(point) = point(&own) else { return };
    let mut events = match CpuEvents::open(0, &[point], rustix::param::page_size()) {
        Ok(events) => events,
        Err(error) if error.kind() == ErrorKind::Denied => return,
        Err(error) => panic!("{error}"),
    };
    // An event is in the ring of the CPU that it happened on.
    crate::process::set_affinity(&[0]).unwrap();
    set::<ENABLE>(&events.leader, 0).unwrap();
    let (mut seen, mut lost) = (0_u64, 0);
    let mut buffer = Vec::new();
    for count in [300, 1] {
        // A loss is recorded in front of the next event that finds room.
        (0..count).for_each(|_| start_thread());
        events.ring.take(&mut buffer);
        for_each_record(&buffer, &mut |record| match record {
            TraceRecord::Sample { .. } => seen += 1,
            TraceRecord::Lost(count) => lost += count,
        });
    }
    assert!(seen > 1 && lost > 0 && seen + lost == 301, "{seen} seen, {lost} lost");
}

#[test]
fn a_filter_that_the_kernel_does_not_understand_and_nothing_to_record_are_invalid() {
    assert_eq!(TracepointRings::open(&[], &[]).unwrap_err().kind(), ErrorKind::Invalid);
    let Some(bad) = point("no_such_field == 1") else { return };
    let error = TracepointRings::open(&[0], &[bad]).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Invalid | ErrorKind::Denied), "{error}");
}
