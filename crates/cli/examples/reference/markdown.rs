//! Markdown as text: the head of a page, tables, lists of properties.

/// The head of a page: title, what it lists, and where it comes from.
pub(crate) fn head(title: &str, lists: &str, source: &str) -> String {
    format!(
        "# {title}\n\n{lists}\n\nThis page is written by `cargo xtask gen-docs` from {source}. Do not edit it.\n"
    )
}

/// A table with these columns.
pub(crate) fn table<const COLUMNS: usize>(
    columns: [&str; COLUMNS],
    rows: impl IntoIterator<Item = [String; COLUMNS]>,
) -> String {
    let mut out = line(columns.map(str::to_owned));
    out.extend(["|", "---|".repeat(COLUMNS).as_str(), "\n"]);
    out.extend(rows.into_iter().map(line));
    out
}

fn line<const COLUMNS: usize>(cells: [String; COLUMNS]) -> String {
    let escaped = cells.map(|cell| cell.replace('|', "\\|"));
    format!("| {} |\n", escaped.join(" | "))
}

/// A section of its own.
pub(crate) fn section(title: &str, body: &str) -> String {
    format!("\n## {title}\n\n{body}")
}

/// Named properties, one a line.
pub(crate) fn properties(entries: &[(&str, String)]) -> String {
    let lines: Vec<String> = entries.iter().map(|(name, value)| format!("- **{name}**: {value}\n")).collect();
    lines.concat()
}

/// `text` as code.
pub(crate) fn code(text: &str) -> String {
    format!("`{text}`")
}
