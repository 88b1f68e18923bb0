//! The caches of the machine's first processor.

use narrows_model::Bytes;

use crate::root::Root;

/// Where the machine lists them, a folder each.
const CACHES: &str = "/sys/devices/system/cpu/cpu0/cache";

/// A cache of a processor; what the machine does not state is `None`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct CpuCache {
    /// Its size.
    pub size_bytes: Option<Bytes>,
    /// A line of it.
    pub line_bytes: Option<Bytes>,
}

/// The largest cache of the first processor; `None` where the machine lists none.
#[must_use]
pub fn largest_cpu_cache(root: &Root) -> Option<CpuCache> {
    let names = root.names(CACHES).ok()?;
    let caches = names.iter().filter(|name| name.starts_with("index")).map(|name| {
        let fact = |fact: &str| root.text(&format!("{CACHES}/{name}/{fact}")).ok();
        CpuCache {
            size_bytes: fact("size").and_then(|text| size(&text)),
            line_bytes: fact("coherency_line_size").and_then(|text| text.parse().ok().map(Bytes)),
        }
    });
    // Of caches without a size the order says nothing; one with a size comes after them.
    caches.max()
}

/// A size as the kernel prints it: `32768K`.
fn size(text: &str) -> Option<Bytes> {
    let kib: u64 = text.strip_suffix('K')?.parse().ok()?;
    kib.checked_mul(1024).map(Bytes)
}
