//! Old figures against new ones: what `compare` shows where a side is no record.
//!
//! Not here: any verdict; there is none.

use super::Style;
use super::style::Paint;
use super::table::{Align, TextTable};
use super::wrap::{Indent, paragraph};
use narrows_model::figures::{FigureComparison, FigureRow, FigureSide};
use narrows_model::quantity::{op_rate, storage_rate};

const HANGING: Indent<'static> = Indent { first: "  ", rest: "    " };

/// Both sides with what is known of them, a row for each figure that both have, and what must be known first.
///
/// # Shape
/// Whole lines; never empty.
#[must_use]
pub fn figures(found: &FigureComparison, style: &Style) -> String {
    let count = found.rows.len();
    let plural = if count == 1 { "" } else { "s" };
    let head = format!("{count} figure{plural} in both; B/A is their ratio, and no verdict.");
    let mut out = paragraph(&head, Indent { first: "", rest: "  " }, style.width) + "\n";
    out += &side("A", &found.a, style);
    out += &side("B", &found.b, style);
    out += &style.heading("FIGURES", "");
    out += &table(&found.rows).render(style);
    let notes = found.rows.iter().filter(|row| !row.differs.is_empty());
    for row in notes {
        out += &paragraph(&format!("{}: {}", row.a, row.differs.join("; ")), HANGING, style.width);
    }
    for (name, only) in [("A", &found.only_in_a), ("B", &found.only_in_b)] {
        if !only.is_empty() {
            let shown =
                if style.detail { only.join(", ") } else { format!("{}; --detail lists them", only.len()) };
            out += &paragraph(&format!("only in {name}: {shown}"), HANGING, style.width);
        }
    }
    if !found.remarks.is_empty() {
        out += &style.heading("BEFORE YOU CONCLUDE", "");
        for remark in &found.remarks {
            let text = paragraph(remark, HANGING, style.width);
            out.extend(text.lines().map(|line| style.paint(Paint::Warning, line) + "\n"));
        }
    }
    out
}

fn side(letter: &str, side: &FigureSide, style: &Style) -> String {
    let known = if side.known.is_empty() { String::new() } else { format!("; {}", side.known.join("; ")) };
    paragraph(&format!("{letter}: {}, {}: {}{known}", side.name, side.kind, side.title), HANGING, style.width)
}

fn table(rows: &[FigureRow]) -> TextTable {
    let heads = [("figure", Align::Left), ("A", Align::Right), ("B", Align::Right), ("B/A", Align::Right)];
    let mut table = TextTable::new(&heads);
    for row in rows {
        let rate: fn(f64) -> String = if row.is_of_bytes { storage_rate } else { op_rate };
        let ratio = row.ratio.map_or_else(|| "-".to_owned(), |ratio| format!("{ratio:.2}"));
        table.row(vec![row.a.clone().into(), rate(row.rate_a).into(), rate(row.rate_b).into(), ratio.into()]);
    }
    table
}
