//! The surface of record and file sizes: its rates, and what is known of the path to draw over them.
//!
//! `heat` draws it in letters, `svg` as a picture, `csv` lists it; `ridges` says where it breaks. Rates are in kB/s here,
//! whatever unit the table has.

mod csv;
mod heat;
mod ridges;
mod svg;

pub(super) use csv::csv;
pub(super) use svg::svg;

pub(super) use heat::heat;
pub(super) use ridges::{beyond_split, fall, flat};

use super::columns::IozoneColumn;
use super::figures::{IozonePoint, at, sizes};
use super::request::FigureUnit;
use narrows_model::inventory::PathKind;
use narrows_model::{Bytes, Op, Role, Segment, Summary};

/// A figure above the ceiling by less than this is the ceiling's own noise.
const ABOVE_RATIO: f64 = 1.02;

/// The rates of one column.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Surface {
    pub(super) column: &'static IozoneColumn,
    /// In kB, from the smallest on.
    pub(super) files: Vec<u64>,
    /// In kB, from the smallest on.
    pub(super) records: Vec<u64>,
    /// kB/s, for each file its records; `None` for what was left out.
    pub(super) rates: Vec<Vec<Option<f64>>>,
}

impl Surface {
    /// That of `column`; `None` where nothing of it was measured.
    pub(super) fn from_points(points: &[IozonePoint], column: &'static IozoneColumn) -> Option<Self> {
        let (files, records) = sizes(points);
        let rate = |file: u64, record: u64| at(points, column, file, record)?.value(FigureUnit::KbPerS);
        let rates: Vec<Vec<Option<f64>>> =
            files.iter().map(|file| records.iter().map(|record| rate(*file, *record)).collect()).collect();
        let is_any = rates.iter().flatten().any(Option::is_some);
        is_any.then_some(Self { column, files, records, rates })
    }

    /// Each rate with its file and its record.
    pub(super) fn each(&self) -> impl Iterator<Item = (u64, u64, f64)> {
        self.files.iter().zip(&self.rates).flat_map(move |(file, row)| {
            self.records.iter().zip(row).filter_map(move |(record, rate)| Some((*file, *record, (*rate)?)))
        })
    }

    /// The least and the greatest rate.
    pub(super) fn span(&self) -> (f64, f64) {
        self.each()
            .fold((f64::INFINITY, 0.0), |(least, most), (_, _, rate)| (least.min(rate), most.max(rate)))
    }
}

/// What no rate of the path can be above, and whose it is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct SurfaceCeiling {
    pub(super) kb_per_s: f64,
    pub(super) source: &'static str,
}

/// What is known of the path beside the figures.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct SurfaceMarks {
    /// The mount's largest read in kB.
    pub(super) read_kb: Option<u64>,
    /// The mount's largest write in kB.
    pub(super) write_kb: Option<u64>,
    /// This machine's memory in kB.
    pub(super) memory_kb: Option<u64>,
    pub(super) ceiling: Option<SurfaceCeiling>,
}

impl SurfaceMarks {
    /// What the summary knows: the client's inventory, and cuts of the path that were measured.
    pub(super) fn from_summary(summary: &Summary) -> Self {
        let client = summary.hosts.iter().find(|host| host.roles.contains(&Role::Client));
        let Some(inventory) = client.map(|host| &host.inventory) else { return Self::default() };
        let in_kb = |bytes: Option<Bytes>| bytes.map(|bytes| bytes.0 / 1024).filter(|kb| *kb > 0);
        let path = inventory.path.as_ref();
        let nfs = path.and_then(|path| path.nfs.as_ref());
        let is_remote = path.is_some_and(|path| matches!(path.kind, PathKind::Nfs | PathKind::OtherNetwork));
        let measured = |id: Segment| {
            let segment = summary.segments.iter().find(|segment| segment.id == id)?;
            segment.ceiling_bytes_per_s.map(|rate| rate.0 / 1024.0)
        };
        let ceiling = |kb_per_s: f64, source| SurfaceCeiling { kb_per_s, source };
        let wire = measured(Segment::NetworkBandwidth).map(|rate| ceiling(rate, "the wire, as measured"));
        let links = inventory.host.nics.iter().filter(|nic| !nic.is_virtual && nic.operstate == "up");
        let link = links.filter_map(|nic| nic.link_bits_per_s).max();
        let link = link.map(|bits| ceiling(bits as f64 / 8.0 / 1024.0, "this machine's fastest link"));
        let device = measured(Segment::DeviceBandwidth).map(|rate| ceiling(rate, "the device, as measured"));
        Self {
            read_kb: in_kb(nfs.and_then(|nfs| nfs.read_bytes_max)),
            write_kb: in_kb(nfs.and_then(|nfs| nfs.write_bytes_max)),
            memory_kb: in_kb(inventory.client_memory()),
            ceiling: if is_remote { wire.or(link) } else { wire.or(device) },
        }
    }

    /// The size of the mount's requests in the direction of `column`.
    pub(super) fn split_kb(&self, column: &IozoneColumn) -> Option<(u64, &'static str)> {
        let (size, name) =
            if column.op == Op::Write { (self.write_kb, "wsize") } else { (self.read_kb, "rsize") };
        size.map(|size| (size, name))
    }

    /// Whether only a cache can have served this rate; `None` where no ceiling is known.
    pub(super) fn is_cache(&self, kb_per_s: f64) -> Option<bool> {
        self.ceiling.map(|ceiling| kb_per_s > ABOVE_RATIO * ceiling.kb_per_s)
    }
}

/// A size in kB as it is spoken of: 64k, 4M, 2G.
pub(super) fn short_kb(kb: u64) -> String {
    match kb {
        kb if kb >= 1 << 20 && kb.is_multiple_of(1 << 20) => format!("{}G", kb >> 20),
        kb if kb >= 1 << 10 && kb.is_multiple_of(1 << 10) => format!("{}M", kb >> 10),
        kb => format!("{kb}k"),
    }
}

/// A rate in three digits or so, for a place that has no room for more: kB/s, MB/s or GB/s of 1024.
pub(super) fn short_rate(kb_per_s: f64) -> String {
    let (value, unit) = match kb_per_s {
        rate if rate >= 1_048_576.0 => (rate / 1_048_576.0, "G"),
        rate if rate >= 1024.0 => (rate / 1024.0, "M"),
        rate => (rate, "k"),
    };
    if value < 9.95 { format!("{value:.1}{unit}") } else { format!("{value:.0}{unit}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_rates_are_short() {
        assert_eq!(
            [short_kb(4), short_kb(1024), short_kb(1536), short_kb(2 << 20)],
            ["4k", "1M", "1536k", "2G"]
        );
        assert_eq!(
            [short_rate(3.25), short_rate(512.0), short_rate(60_000.0), short_rate(2e6)],
            ["3.2k", "512k", "59M", "1.9G"]
        );
    }

    #[test]
    fn only_rates_above_the_ceiling_are_a_caches() {
        let marks = SurfaceMarks {
            ceiling: Some(SurfaceCeiling { kb_per_s: 1000.0, source: "the wire" }),
            ..SurfaceMarks::default()
        };
        assert_eq!((marks.is_cache(1010.0), marks.is_cache(1030.0)), (Some(false), Some(true)));
        assert_eq!(SurfaceMarks::default().is_cache(1e9), None);
    }
}
