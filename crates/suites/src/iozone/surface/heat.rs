//! The surface in letters: a number and a shade for each record and file.

use super::{Surface, SurfaceMarks, short_kb, short_rate};
use std::fmt::Write;

/// Shades from the least to the greatest rate; no letters of other alphabets, which not every terminal has.
const SHADES: &[u8] = b".:-=+*#%@";
/// Width of a place.
const WIDTH: usize = 8;

/// The map of `surface`, indented by `indent`, its ridges named below it.
pub(in super::super) fn heat(surface: &Surface, marks: &SurfaceMarks, indent: &str) -> String {
    let (least, most) = surface.span();
    // Writing into a string cannot fail.
    let mut out = format!("{indent}{:>7}", "file");
    for record in &surface.records {
        let _ = write!(out, "{:>WIDTH$}", short_kb(*record));
    }
    out += "   record\n";
    let mut over_memory = false;
    for (file, row) in surface.files.iter().zip(&surface.rates) {
        if !over_memory && marks.memory_kb.is_some_and(|memory| *file > memory) {
            over_memory = true;
            let _ = writeln!(out, "{indent}{:-<1$} memory", "", 7 + WIDTH * surface.records.len());
        }
        let _ = write!(out, "{indent}{:>7}", short_kb(*file));
        for rate in row {
            let _ = match rate {
                None => write!(out, "{:>WIDTH$}", ""),
                Some(rate) => {
                    let cached = if marks.is_cache(*rate) == Some(true) { "c" } else { "" };
                    let text = format!("{}{cached}{}", short_rate(*rate), shade(*rate, least, most));
                    write!(out, "{text:>WIDTH$}")
                }
            };
        }
        out.truncate(out.trim_end().len());
        out.push('\n');
    }
    out + &key(surface, marks, indent)
}

/// The shade of a rate between the least and the greatest, by its logarithm.
fn shade(rate: f64, least: f64, most: f64) -> char {
    let steps = SHADES.len() as f64;
    let place = if most > least { (rate / least).ln() / (most / least).ln() } else { 1.0 };
    let reached = (1..SHADES.len()).filter(|index| place * steps >= *index as f64).count();
    char::from(SHADES[reached.min(SHADES.len() - 1)])
}

/// What the letters mean, and the ridge at the mount's request size.
fn key(surface: &Surface, marks: &SurfaceMarks, indent: &str) -> String {
    let (least, most) = surface.span();
    let mut out = format!(
        "{indent}kB/s (k), MB/s (M), GB/s (G) of 1024; {} to {} is {}",
        short_rate(least),
        short_rate(most),
        String::from_utf8_lossy(SHADES)
    );
    if let Some((split, name)) = marks.split_kb(surface.column) {
        let _ = write!(out, "; records above {} are split ({name})", short_kb(split));
    }
    let is_any = surface.each().any(|(_, _, rate)| marks.is_cache(rate) == Some(true));
    if let (true, Some(ceiling)) = (is_any, marks.ceiling) {
        let _ = write!(out, "; c is above {} of {}, a cache", short_rate(ceiling.kb_per_s), ceiling.source);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::super::super::columns::IozoneColumn;
    use super::super::super::testing::surface;
    use super::super::SurfaceCeiling;
    use super::*;

    #[test]
    fn a_map_has_its_rates_shades_and_ridges() {
        let marks = SurfaceMarks {
            read_kb: Some(64),
            memory_kb: Some(24_576),
            ceiling: Some(SurfaceCeiling { kb_per_s: 122_070.0, source: "the wire, as measured" }),
            ..SurfaceMarks::default()
        };
        let read = Surface::from_points(&surface(), IozoneColumn::named("read").unwrap()).unwrap();
        insta::assert_snapshot!("heat", heat(&read, &marks, "  "));
    }

    #[test]
    fn equal_rates_have_one_shade() {
        assert_eq!((shade(5.0, 5.0, 5.0), shade(1.0, 1.0, 100.0), shade(100.0, 1.0, 100.0)), ('@', '.', '@'));
    }
}
