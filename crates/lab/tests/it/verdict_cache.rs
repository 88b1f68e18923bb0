//! What a page cache served is called so, and never a device.

use std::fs;
use std::path::PathBuf;

use crate::support::check::{Checked, local_check_command, run_check};
use crate::support::study::write_data;
use crate::support::{lab, on_a_calm_machine};
use narrows_lab::{Lab, counters, device_under};
use narrows_model::{Cut, Segment};

const FILE_BYTES: usize = 256 << 20;
const WORDS: &str = "--op read --seconds 14 --cell-seconds 0.6 --block 1MiB --depth 1";

/// A file of data below the scratch folder.
fn some_file(lab: &Lab) -> PathBuf {
    let path = lab.scratch().join("data");
    write_data(&path, FILE_BYTES);
    path
}

/// The slugs of the findings about the path.
fn slugs(checked: &Checked) -> Vec<&str> {
    checked.summary.diagnosis.findings.iter().map(|finding| finding.slug.as_str()).collect()
}

#[test]
fn a_file_in_the_page_cache_is_called_cached_and_its_rate_no_devices() {
    on_a_calm_machine(|| {
        let Some(lab) = lab() else { return };
        let file = some_file(&lab);
        // Reading it through puts it into the cache, if writing it has not.
        assert_eq!(fs::read(&file).unwrap().len(), FILE_BYTES);
        let checked = run_check(&lab, "cached", local_check_command(&file), WORDS);
        assert_eq!(checked.summary.diagnosis.limiting[0].segment, Segment::ClientCache);
        assert!(slugs(&checked).contains(&"cache_served"), "{:?}", slugs(&checked));
        let cached: Vec<_> = checked.cells(Cut::Path).collect();
        assert!(!cached.is_empty());
        for cell in cached {
            let rate = cell.rate_bytes_per_s.unwrap().0;
            assert!(cell.cache_served_ratio.unwrap() > 0.95, "{}: {:?}", cell.id, cell.cache_served_ratio);
            assert!(
                cell.limiting.is_none_or(|segment| segment == Segment::ClientCache),
                "{:?}",
                cell.limiting
            );
            for segment in [Segment::DeviceBandwidth, Segment::DeviceIops, Segment::DeviceLatency] {
                let device = checked.segment(segment);
                let ceiling = device.ceiling_bytes_per_s.unwrap_or_default().0;
                assert!(
                    ceiling < 0.9 * rate,
                    "{segment} is said to carry {ceiling}, the cache carried {rate}"
                );
                assert!(device.source.as_deref().is_none_or(|source| source == "cut local-device"));
            }
        }
        checked.assert_none_limit(&[
            Segment::Device,
            Segment::DeviceBandwidth,
            Segment::DeviceIops,
            Segment::DeviceLatency,
        ]);
    });
}

#[test]
#[ignore = "campaign: a variant of a proof that ./test makes"]
fn a_file_that_was_dropped_from_the_cache_is_read_from_the_device_and_not_called_cached() {
    on_a_calm_machine(|| {
        let Some(lab) = lab() else { return };
        let folder = lab.scratch().join("cold");
        fs::create_dir(&folder).unwrap();
        let device = device_under(&folder).unwrap().name;
        counters::drop_caches().unwrap();
        let before = counters::diskstats(&device).unwrap().read_bytes;
        let checked = run_check(&lab, "cold", local_check_command(&folder), WORDS);
        let read_bytes = counters::diskstats(&device).unwrap().read_bytes - before;
        let cold: Vec<_> = checked.cells(Cut::Path).collect();
        assert!(!cold.is_empty());
        for cell in &cold {
            assert!(cell.cache_served_ratio.unwrap() < 0.05, "{}: {:?}", cell.id, cell.cache_served_ratio);
            assert_ne!(cell.limiting, Some(Segment::ClientCache), "{}", cell.id);
        }
        let moved: u64 = cold.iter().map(|cell| cell.bytes.application.0).sum();
        assert!(read_bytes >= moved, "the device read {read_bytes} bytes for {moved}");
        checked.assert_none_limit(&[Segment::ClientCache]);
        assert!(!slugs(&checked).contains(&"cache_served"), "{:?}", slugs(&checked));
    });
}
