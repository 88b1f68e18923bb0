//! The surface as a picture: a panel for each column of the table, coloured by the logarithm of the rate.
//!
//! All panels share one scale, so that their colours can be compared. Letters are the reader's sans-serif font.

use super::super::figures::points;
use super::{Surface, SurfaceCeiling, SurfaceMarks, short_kb, short_rate};
use narrows_model::Summary;
use std::fmt::Write;

/// Width and height of a place, in pixels.
const PLACE: (f64, f64) = (48.0, 22.0);
/// Room left of a panel for file sizes, above it for its title, below it for record sizes.
const ROOM: (f64, f64, f64) = (74.0, 46.0, 46.0);
/// Between panels, and beside them: room for the name of a level ridge.
const GAP: f64 = 64.0;
/// Panels beside each other.
const BESIDE: usize = 2;
/// Left and right of the title and of the legend.
const MARGIN: f64 = 28.0;
/// Above the signs of the legend: the title, the target and the scale.
const ABOVE_SIGNS: f64 = 118.0;
/// From one sign of the legend to the next.
const SIGN_HEIGHT: f64 = 18.0;
/// Narrowest picture, in which every sign of the legend has room.
const WIDTH_MIN: f64 = 680.0;
/// Mean width of a letter of 12 pixels; wider ones are made up for by narrow ones.
const LETTER_WIDTH: f64 = 7.2;
/// How axes and remarks are written.
const LABEL: &str = "fill=\"#444444\"";
/// Steps of the legend.
const LEGEND_STEPS: u32 = 60;

/// Colours from the lowest to the highest rate: dark blue to yellow, with lightness that rises throughout, so that it
/// is readable in grey and by those who cannot distinguish red from green.
///
/// # Source
/// Five points of the colour map viridis (van der Walt and Smith, 2015, in the public domain).
const COLOURS: [[f64; 3]; 5] =
    [[68.0, 1.0, 84.0], [59.0, 82.0, 139.0], [33.0, 145.0, 140.0], [94.0, 201.0, 98.0], [253.0, 231.0, 37.0]];

/// The picture of a run; `None` where `summary` is of another suite, or of throughput mode, which has no surface.
pub(in super::super) fn svg(summary: &Summary) -> Option<String> {
    let request = super::super::recorded(summary)?;
    if request.is_throughput() {
        return None;
    }
    let points = points(summary);
    let surfaces: Vec<Surface> =
        request.columns().into_iter().filter_map(|column| Surface::from_points(&points, column)).collect();
    Some(picture(&surfaces, &SurfaceMarks::from_summary(summary), &summary.target.to_string()))
}

/// The picture of `surfaces`, which all have the same sizes.
pub(super) fn picture(surfaces: &[Surface], marks: &SurfaceMarks, target: &str) -> String {
    let span = surfaces
        .iter()
        .map(Surface::span)
        .fold((f64::INFINITY, 0.0_f64), |all, one| (all.0.min(one.0), all.1.max(one.1)));
    let (records, files) = surfaces.first().map_or((0, 0), |one| (one.records.len(), one.files.len()));
    let panel_width = ROOM.0 + records as f64 * PLACE.0 + GAP;
    let panel_height = ROOM.1 + files as f64 * PLACE.1 + ROOM.2 + GAP;
    let beside = BESIDE.min(surfaces.len().max(1));
    let width = (beside as f64 * panel_width + MARGIN).max(WIDTH_MIN);
    let signs = legend_entries(surfaces, marks);
    let top = ABOVE_SIGNS + signs.len() as f64 * SIGN_HEIGHT + 8.0;
    let height = top + surfaces.len().div_ceil(beside) as f64 * panel_height;
    // Writing into a string cannot fail.
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" width=\"{width:.0}\" \
         height=\"{height:.0}\" font-family=\"sans-serif\" font-size=\"11\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n"
    );
    let bold = "font-size=\"16\" font-weight=\"bold\"";
    out += &text((MARGIN, 26.0), bold, "IOzone: rate by record and file size");
    out += &text(
        (MARGIN, 44.0),
        "font-size=\"12\"",
        &shorten_start(target, (width - 2.0 * MARGIN) / LETTER_WIDTH),
    );
    out += &scale(span);
    for (index, sign) in signs.iter().enumerate() {
        out += &legend_line(sign, ABOVE_SIGNS + index as f64 * SIGN_HEIGHT);
    }
    for (index, surface) in surfaces.iter().enumerate() {
        let x = MARGIN + (index % beside) as f64 * panel_width;
        let y = top + (index / beside) as f64 * panel_height;
        let _ = writeln!(out, "<g transform=\"translate({x:.1} {y:.1})\">");
        out += &panel(surface, marks, span);
        out += "</g>\n";
    }
    out + "</svg>\n"
}

/// The end of `words` that fits in so many letters: of a path the last folders say most.
fn shorten_start(words: &str, letters: f64) -> String {
    let (count, room) = (words.chars().count(), narrows_model::units::round_to_u64(letters.floor()));
    let room = usize::try_from(room).unwrap_or(usize::MAX).max(4);
    if count <= room {
        return words.to_owned();
    }
    format!("...{}", words.chars().skip(count - room + 3).collect::<String>())
}

fn text(at: (f64, f64), style: &str, words: &str) -> String {
    format!("<text x=\"{:.1}\" y=\"{:.1}\" {style}>{}</text>\n", at.0, at.1, escaped(words))
}

fn escaped(words: &str) -> String {
    let plain: String = words.chars().filter(|letter| !letter.is_control()).collect();
    plain.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// The place of a rate between the least and the greatest, 0 to 1, by its logarithm.
fn place(rate: f64, span: (f64, f64)) -> f64 {
    if span.1 > span.0 && span.0 > 0.0 {
        ((rate / span.0).ln() / (span.1 / span.0).ln()).clamp(0.0, 1.0)
    } else {
        1.0
    }
}

/// The colour at a place, and that of letters on it.
fn colours(place: f64) -> (String, &'static str) {
    let scaled = place * (COLOURS.len() - 1) as f64;
    let index = (1..COLOURS.len() - 1).filter(|index| scaled >= *index as f64).count();
    let part = scaled - index as f64;
    let mixed =
        [0, 1, 2].map(|one| COLOURS[index][one] + part * (COLOURS[index + 1][one] - COLOURS[index][one]));
    // Letters are readable by the lightness of their background (ITU-R BT.601).
    let lightness = 0.299 * mixed[0] + 0.587 * mixed[1] + 0.114 * mixed[2];
    let [red, green, blue] = mixed;
    (format!("rgb({red:.0},{green:.0},{blue:.0})"), if lightness > 140.0 { "#000000" } else { "#ffffff" })
}

/// The scale of colours with its ends and middle.
fn scale(span: (f64, f64)) -> String {
    let (x, y, width) = (MARGIN, 56.0, 360.0);
    let step = width / f64::from(LEGEND_STEPS);
    let mut out = String::new();
    for index in 0..LEGEND_STEPS {
        let (colour, _) = colours((f64::from(index) + 0.5) / f64::from(LEGEND_STEPS));
        let left = x + f64::from(index) * step;
        let _ = writeln!(
            out,
            "<rect x=\"{left:.1}\" y=\"{y}\" width=\"{:.1}\" height=\"12\" fill=\"{colour}\"/>",
            step + 0.2
        );
    }
    if span.1 > 0.0 {
        for (place, anchor) in [(0.0, "start"), (0.5, "middle"), (1.0, "end")] {
            let rate = span.0 * (span.1 / span.0).powf(place);
            let words = format!("{}/s", short_rate(rate));
            out += &text((x + place * width, y + 26.0), &format!("text-anchor=\"{anchor}\""), &words);
        }
    }
    let units = "k, M, G are KiB, MiB, GiB, in the squares a second; colours by the logarithm";
    out + &text((x, y + 44.0), LABEL, units)
}

/// What a sign looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LegendSymbol {
    Framed,
    Grey,
    Upright,
    Level,
}

/// The signs that the panels have, each with what it means.
fn legend_entries(surfaces: &[Surface], marks: &SurfaceMarks) -> Vec<(LegendSymbol, String)> {
    let mut all = Vec::new();
    let cached = |one: &Surface| one.each().any(|(_, _, rate)| marks.is_cache(rate) == Some(true));
    if let Some(SurfaceCeiling { kb_per_s, source }) = marks.ceiling.filter(|_| surfaces.iter().any(cached)) {
        let above = short_rate(kb_per_s);
        all.push((LegendSymbol::Framed, format!("above {above}/s of {source}: served by a cache")));
    }
    if surfaces.iter().any(|one| one.rates.iter().flatten().any(Option::is_none)) {
        all.push((LegendSymbol::Grey, "not measured".to_owned()));
    }
    if surfaces.iter().any(|one| split_column(one, marks).is_some()) {
        let words = "rsize or wsize of the mount: records right of it are split into requests of that size";
        all.push((LegendSymbol::Upright, words.to_owned()));
    }
    if let Some(memory) =
        marks.memory_kb.filter(|_| surfaces.iter().any(|one| memory_row(one, marks).is_some()))
    {
        let words =
            format!("memory of this machine, {}: files below the line are larger", short_rate(memory as f64));
        all.push((LegendSymbol::Level, words));
    }
    all
}

fn legend_line((look, words): &(LegendSymbol, String), y: f64) -> String {
    let (x, middle) = (MARGIN, y + 6.0);
    let rect = |style: &str| {
        format!("<rect x=\"{:.1}\" y=\"{:.1}\" width=\"20.0\" height=\"10.0\" {style}/>\n", x + 1.0, y + 1.0)
    };
    let drawn = match look {
        LegendSymbol::Framed => rect("fill=\"#ffffff\" stroke=\"#d62728\" stroke-width=\"2\""),
        LegendSymbol::Grey => rect("fill=\"#eeeeee\""),
        LegendSymbol::Upright => dashed((x + 11.0, y - 2.0), (x + 11.0, y + 14.0)),
        LegendSymbol::Level => dashed((x, middle), (x + 22.0, middle)),
    };
    drawn + &text((x + 30.0, y + 10.0), "", words)
}

/// Records up to the mount's request size, where the panel has smaller and larger ones; and what the size is called.
fn split_column(surface: &Surface, marks: &SurfaceMarks) -> Option<(usize, String)> {
    let (split, name) = marks.split_kb(surface.column)?;
    let smaller = surface.records.iter().filter(|record| **record <= split).count();
    (1..surface.records.len()).contains(&smaller).then(|| (smaller, format!("{name} {}", short_kb(split))))
}

/// Files up to this machine's memory, where the panel has smaller and larger ones.
fn memory_row(surface: &Surface, marks: &SurfaceMarks) -> Option<usize> {
    let memory = marks.memory_kb?;
    let smaller = surface.files.iter().filter(|file| **file <= memory).count();
    (1..surface.files.len()).contains(&smaller).then_some(smaller)
}

/// One column: its title, places, axes and ridges.
fn panel(surface: &Surface, marks: &SurfaceMarks, span: (f64, f64)) -> String {
    let (left, top) = (ROOM.0, ROOM.1);
    let (columns, rows) = (surface.records.len() as f64, surface.files.len() as f64);
    let (right, bottom) = (left + columns * PLACE.0, top + rows * PLACE.1);
    let mut out = text((left, 16.0), "font-size=\"13\" font-weight=\"bold\"", surface.column.name);
    for (row, (file, rates)) in surface.files.iter().zip(&surface.rates).enumerate() {
        let y = top + row as f64 * PLACE.1;
        out += &text((left - 6.0, y + 15.0), "text-anchor=\"end\"", &short_kb(*file));
        for (column, rate) in rates.iter().enumerate() {
            out += &square((left + column as f64 * PLACE.0, y), *rate, marks, span);
        }
    }
    for (column, record) in surface.records.iter().enumerate() {
        let x = left + (column as f64 + 0.5) * PLACE.0;
        out += &text((x, bottom + 15.0), "text-anchor=\"middle\"", &short_kb(*record));
    }
    out += &text(
        (left.midpoint(right), bottom + 32.0),
        &format!("text-anchor=\"middle\" {LABEL}"),
        "record size",
    );
    let middle = top.midpoint(bottom);
    let turned = format!("text-anchor=\"middle\" {LABEL} transform=\"rotate(-90 14 {middle:.1})\"");
    out += &text((14.0, middle), &turned, "file size");
    if let Some((smaller, words)) = split_column(surface, marks) {
        let x = left + smaller as f64 * PLACE.0 - 0.5;
        out += &dashed((x, top - 4.0), (x, bottom));
        out += &text((x, top - 8.0), "text-anchor=\"middle\"", &words);
    }
    if let Some(smaller) = memory_row(surface, marks) {
        let y = top + smaller as f64 * PLACE.1 - 0.5;
        out += &dashed((left, y), (right + 6.0, y));
        out += &text((right + 9.0, y + 4.0), "", "memory");
    }
    out
}

fn square(at: (f64, f64), rate: Option<f64>, marks: &SurfaceMarks, span: (f64, f64)) -> String {
    let (width, height) = (PLACE.0 - 1.0, PLACE.1 - 1.0);
    let Some(rate) = rate else {
        return format!(
            "<rect x=\"{:.1}\" y=\"{:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" fill=\"#eeeeee\"/>\n",
            at.0, at.1
        );
    };
    let (colour, letters) = colours(place(rate, span));
    let frame = match marks.is_cache(rate) {
        Some(true) => " stroke=\"#d62728\" stroke-width=\"1.5\"",
        _ => "",
    };
    let inset = if frame.is_empty() { 0.0 } else { 1.0 };
    format!(
        "<rect x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\" fill=\"{colour}\"{frame}/>\n{}",
        at.0 + inset,
        at.1 + inset,
        width - 2.0 * inset,
        height - 2.0 * inset,
        text(
            (at.0 + width / 2.0, at.1 + 15.0),
            &format!("text-anchor=\"middle\" fill=\"{letters}\""),
            &short_rate(rate)
        )
    )
}

/// A dashed line, seen on light and on dark.
fn dashed(from: (f64, f64), to: (f64, f64)) -> String {
    let line = |style: &str| {
        format!(
            "<line x1=\"{:.1}\" y1=\"{:.1}\" x2=\"{:.1}\" y2=\"{:.1}\" {style}/>\n",
            from.0, from.1, to.0, to.1
        )
    };
    line("stroke=\"#ffffff\" stroke-width=\"4\"")
        + &line("stroke=\"#000000\" stroke-width=\"2\" stroke-dasharray=\"6 3\"")
}

#[cfg(test)]
mod tests {
    use super::super::super::columns::IozoneColumn;
    use super::super::super::testing::surface;
    use super::*;

    fn marks() -> SurfaceMarks {
        SurfaceMarks {
            read_kb: Some(64),
            write_kb: Some(64),
            memory_kb: Some(24_576),
            ceiling: Some(SurfaceCeiling { kb_per_s: 122_070.0, source: "the wire, as measured" }),
        }
    }

    fn drawn(columns: &[&str], target: &str) -> String {
        let points = surface();
        let surfaces: Vec<Surface> = columns
            .iter()
            .map(|name| Surface::from_points(&points, IozoneColumn::named(name).unwrap()).unwrap())
            .collect();
        picture(&surfaces, &marks(), target)
    }

    #[test]
    fn a_picture_has_axes_units_a_legend_values_and_ridges() {
        let text = drawn(&["write", "read"], "/mnt/nfs");
        insta::assert_snapshot!("picture", text);
        // Ten to a file up to 16 MB less one record beyond it, and one place for each that was left out.
        // And one of each in the legend.
        assert_eq!(text.matches("stroke=\"#d62728\"").count(), 2 * 12 + 1);
        assert_eq!(text.matches("#eeeeee").count(), 2 * 2 + 1);
    }

    #[test]
    fn every_element_is_closed_and_names_cannot_break_it() {
        let text = drawn(&["write"], "/a<b>&\"c\u{7}");
        assert!(text.contains("/a&lt;b&gt;&amp;&quot;c"), "{text}");
        for element in ["svg", "g", "text"] {
            let (opened, closed) = (format!("<{element} "), format!("</{element}>"));
            assert_eq!(text.matches(&opened).count(), text.matches(&closed).count(), "{element}");
        }
        assert!(picture(&[], &SurfaceMarks::default(), "/x").ends_with("</svg>\n"));
    }

    #[test]
    fn nothing_that_is_written_runs_out_of_the_picture() {
        let target = format!("/{}", "folder/".repeat(60));
        let text = drawn(&["write"], &target);
        let attribute = |line: &str, name: &str| -> f64 {
            let rest = line.split(&format!(" {name}=\"")).nth(1).unwrap();
            rest.split('"').next().unwrap().parse().unwrap()
        };
        let width = attribute(&text, "width");
        assert!(text.contains("...") && text.contains("/folder/<"), "{text}");
        for line in text.lines().filter(|line| line.starts_with("<text ") && !line.contains("text-anchor")) {
            let words = line.split('>').nth(1).unwrap().split('<').next().unwrap();
            let end = attribute(line, "x") + words.chars().count() as f64 * LETTER_WIDTH;
            assert!(end < width, "{end} of {width}: {line}");
        }
    }

    #[test]
    fn only_signs_that_are_drawn_are_explained() {
        let read = Surface::from_points(&surface(), IozoneColumn::named("read").unwrap()).unwrap();
        assert_eq!(legend_entries(std::slice::from_ref(&read), &marks()).len(), 4);
        let none = SurfaceMarks { memory_kb: Some(1 << 30), ..SurfaceMarks::default() };
        assert_eq!(legend_entries(&[read], &none), [(LegendSymbol::Grey, "not measured".to_owned())]);
    }

    #[test]
    fn letters_are_light_on_dark_and_dark_on_light() {
        assert_eq!(colours(0.0), ("rgb(68,1,84)".to_owned(), "#ffffff"));
        assert_eq!(colours(1.0), ("rgb(253,231,37)".to_owned(), "#000000"));
        assert_eq!(
            (place(1.0, (1.0, 100.0)), place(10.0, (1.0, 100.0)), place(3.0, (3.0, 3.0))),
            (0.0, 0.5, 1.0)
        );
    }
}
