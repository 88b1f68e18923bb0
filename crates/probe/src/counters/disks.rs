//! Which lines of `/proc/diskstats` count, and their counters.

use std::collections::BTreeMap;

use narrows_model::counters::DiskCounters;

use super::counter_file::CounterFile;
use crate::error::Result;
use crate::parse::diskstats;
use crate::root::Root;

/// Names remembered; a bound against a file that names ever new devices.
const NAMES_MAX: usize = 4096;

/// Counters of the devices in scope.
#[derive(Debug)]
pub(super) struct DiskReadings {
    source: CounterFile,
    selection: Selection,
}

#[derive(Debug)]
enum Selection {
    Named(Vec<String>),
    /// Whole disks, and the result for each name seen: `/sys/block` lists whole disks alone.
    Whole {
        root: Root,
        known: BTreeMap<Vec<u8>, bool>,
    },
}

impl DiskReadings {
    /// Counts `devices`, or all whole disks when the list is empty.
    pub(super) fn new(root: &Root, source: CounterFile, devices: &[String]) -> Self {
        let selection = if devices.is_empty() {
            Selection::Whole { root: root.clone(), known: BTreeMap::new() }
        } else {
            Selection::Named(devices.to_vec())
        };
        Self { source, selection }
    }

    /// Devices named that the file did not list when `disks` was read from it.
    pub(super) fn missing<'named>(
        &'named self,
        disks: &'named [DiskCounters],
    ) -> impl Iterator<Item = &'named String> {
        let named = if let Selection::Named(names) = &self.selection { names.as_slice() } else { &[] };
        named.iter().filter(|name| disks.iter().all(|disk| disk.name != **name))
    }

    pub(super) fn read(&mut self, buffer: &mut Vec<u8>) -> Result<Vec<DiskCounters>> {
        let Self { source, selection } = self;
        source.parse(buffer, |bytes| diskstats::parse(bytes, |name| selection.wants(name)))
    }
}

impl Selection {
    fn wants(&mut self, name: &[u8]) -> bool {
        match self {
            Self::Named(names) => names.iter().any(|wanted| wanted.as_bytes() == name),
            Self::Whole { root, known } => {
                if let Some(&whole) = known.get(name) {
                    return whole;
                }
                let whole = is_whole(root, name);
                if known.len() < NAMES_MAX {
                    known.insert(name.to_vec(), whole);
                }
                whole
            }
        }
    }
}

/// Sysfs writes `!` for the slash in names such as `cciss/c0d0`.
fn is_whole(root: &Root, name: &[u8]) -> bool {
    let entry = String::from_utf8_lossy(name).replace('/', "!");
    root.exists(&format!("/sys/block/{entry}"))
}
