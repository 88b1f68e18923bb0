//! The limits of a block device's queue, from `/sys/block/NAME/queue`.

use narrows_model::inventory::QueueLimits;
use narrows_model::units::{Bytes, saturate_u32};

use crate::parse::block;
use crate::root::Root;

const KIB: u64 = 1024;

/// The limits of the queue of the device that `/sys` describes in `folder`; what its kernel does not report is `None`.
///
/// # Source
/// The kernel's `Documentation/ABI/stable/sysfs-block`.
pub(super) fn read(root: &Root, folder: &str) -> QueueLimits {
    let count = |file: &str| block::count(&root.read(&format!("{folder}/queue/{file}")).ok()?).ok();
    let bytes = |file: &str| count(file).map(Bytes);
    let kib = |file: &str| count(file).map(|kib| Bytes(kib.saturating_mul(KIB)));
    let set = |limit: Option<Bytes>| limit.filter(|bytes| bytes.0 > 0);
    QueueLimits {
        request_bytes_max: kib("max_sectors_kb"),
        hardware_request_bytes_max: kib("max_hw_sectors_kb"),
        segment_count_max: count("max_segments").map(saturate_u32),
        physical_block_bytes: bytes("physical_block_size"),
        optimal_request_bytes: set(bytes("optimal_io_size")),
        read_ahead_bytes: kib("read_ahead_kb"),
        discard_bytes_max: set(bytes("discard_max_bytes")),
        forced_unit_access: count("fua").map(|fua| fua != 0),
        hardware_queue_count: root
            .names(&format!("{folder}/mq"))
            .ok()
            .map(|names| saturate_u32(names.len() as u64)),
    }
}
