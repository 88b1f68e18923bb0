//! What is wrong with a file that somebody wrote: all of it at once, each with its place, what was found and what to do.
//!
//! Not here: finding it.

use super::place::{self, Span};
use std::fmt;
use std::fmt::Write as _;

/// One thing that is wrong with a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileProblem {
    /// Line in the file, from 1.
    pub line: usize,
    /// Column in the line, in characters, from 1.
    pub column: usize,
    /// Characters from there on that are meant; at least 1.
    pub length: usize,
    /// The line's text.
    pub line_text: String,
    /// Path of the key, such as `workload.block`; empty where the text is no TOML.
    pub key: String,
    /// What was found.
    pub found: String,
    /// What is allowed.
    pub allowed: String,
    /// What to do.
    pub hint: String,
}

impl fmt::Display for FileProblem {
    /// The problem in one line, without its file: `line:column: key: found ...; allowed: ...; hint`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: ", self.line, self.column)?;
        if !self.key.is_empty() {
            write!(f, "{}: ", self.key)?;
        }
        write!(f, "found {}; allowed: {}; {}", self.found, self.allowed, self.hint)
    }
}

/// Everything that is wrong with a file, in the order of the file; never empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileProblems {
    /// The file, as it was named.
    pub name: String,
    /// What is wrong; 500 at most.
    pub list: Vec<FileProblem>,
    /// How many more there are.
    pub more_count: usize,
}

/// Most problems that are kept: a file with more of them is another file, and finding each one's line takes time.
const PROBLEMS_MAX: usize = 500;

impl FileProblems {
    /// The problems for people: for each one its place, the line with a caret, what is allowed, what to do.
    #[must_use]
    pub fn render(&self) -> String {
        let mut text = String::new();
        for problem in &self.list {
            let _ = self.one(&mut text, problem);
        }
        if self.more_count > 0 {
            let _ = writeln!(text, "... and {} more", self.more_count);
        }
        let count = self.list.len() + self.more_count;
        let _ = writeln!(text, "{count} problem{} in {}", if count == 1 { "" } else { "s" }, self.file());
        text
    }

    fn file(&self) -> String {
        place::printable(&self.name)
    }

    fn one(&self, out: &mut String, problem: &FileProblem) -> fmt::Result {
        let (line, column) = (problem.line, problem.column);
        let key = if problem.key.is_empty() { String::new() } else { format!("{}: ", problem.key) };
        writeln!(out, "{}:{line}:{column}: {key}found {}", self.file(), problem.found)?;
        let shown = shown_line(problem);
        let number = line.to_string();
        let margin = " ".repeat(number.len());
        writeln!(out, "  {number} | {}", shown.text)?;
        writeln!(out, "  {margin} | {}{}", shown.before_caret, "^".repeat(shown.caret_count))?;
        writeln!(out, "  {margin} = allowed: {}", problem.allowed)?;
        writeln!(out, "  {margin} = hint: {}\n", problem.hint)
    }
}

impl fmt::Display for FileProblems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.render())
    }
}

impl std::error::Error for FileProblems {}

struct ShownLine {
    text: String,
    before_caret: String,
    caret_count: usize,
}

/// The part of the line around the place; tabs stay tabs under the line too, so that the caret stays below its text.
fn shown_line(problem: &FileProblem) -> ShownLine {
    const BEFORE_MAX: usize = 60;
    const CHARS_MAX: usize = 110;
    let start = (problem.column - 1).saturating_sub(BEFORE_MAX);
    let line = place::printable(&problem.line_text);
    let part: String = line.chars().skip(start).take(CHARS_MAX).collect();
    let offset = problem.column - 1 - start;
    let shown = part.chars().count();
    let mut before_caret: String =
        part.chars().take(offset).map(|c| if c == '\t' { '\t' } else { ' ' }).collect();
    before_caret.extend(std::iter::repeat_n(' ', offset.saturating_sub(shown)));
    let caret_count = problem.length.min(shown.saturating_sub(offset)).max(1);
    ShownLine { text: part, before_caret, caret_count }
}

/// What to say about a place.
#[derive(Debug, Clone)]
pub struct Complaint {
    /// Path of the key; empty where there is none.
    pub key: String,
    /// What was found.
    pub found: String,
    /// What is allowed.
    pub allowed: String,
    /// What to do.
    pub hint: String,
}

impl Complaint {
    /// Something to say, of these words.
    pub fn new(
        key: impl Into<String>,
        found: impl Into<String>,
        allowed: impl Into<String>,
        hint: impl Into<String>,
    ) -> Self {
        Self { key: key.into(), found: found.into(), allowed: allowed.into(), hint: hint.into() }
    }
}

/// Collects what is wrong with one text.
#[derive(Debug)]
pub struct Findings<'a> {
    name: &'a str,
    text: &'a str,
    list: Vec<(Span, FileProblem)>,
    more_count: usize,
}

impl<'a> Findings<'a> {
    /// Nothing wrong yet with `text`, which is called `name` in messages.
    #[must_use]
    pub fn new(name: &'a str, text: &'a str) -> Self {
        Self { name, text, list: Vec::new(), more_count: 0 }
    }

    /// Adds a problem; the same one at the same place is said once.
    pub fn add(&mut self, span: &Span, complaint: Complaint) {
        if self.is_full() {
            self.more_count += 1;
            return;
        }
        let place = place::place(self.text, span);
        let problem = FileProblem {
            line: place.line,
            column: place.column,
            length: place.length,
            line_text: place.text,
            key: place::printable(&complaint.key),
            found: complaint.found,
            allowed: complaint.allowed,
            hint: complaint.hint,
        };
        if !self.list.iter().any(|(at, known)| at == span && *known == problem) {
            self.list.push((span.clone(), problem));
        }
    }

    /// Takes over what others have found and `keep` holds of.
    pub fn take(&mut self, others: Findings<'_>, keep: impl Fn(&FileProblem) -> bool) {
        self.more_count += others.more_count;
        self.list.extend(others.list.into_iter().filter(|(_, problem)| keep(problem)));
    }

    /// Whether further problems are only counted.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.list.len() >= PROBLEMS_MAX
    }

    /// What stands at `span`, in one line.
    #[must_use]
    pub fn excerpt(&self, span: &Span) -> String {
        place::excerpt(self.text, span)
    }

    /// Whether something was said of the key `name` already, be it that it was meant.
    #[must_use]
    pub fn mention(&self, name: &str) -> bool {
        let quoted = format!("`{name}`");
        self.list.iter().any(|(_, problem)| problem.key == name || problem.hint.contains(&quoted))
    }

    /// Whether the text is no TOML, so that what was read of it may not be what was meant.
    #[must_use]
    pub fn has_syntax(&self) -> bool {
        self.list.iter().any(|(_, problem)| problem.key.is_empty())
    }

    /// Whether nothing was found.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// The problems in the order of the file; `Ok` when there are none.
    ///
    /// # Errors
    /// The problems.
    pub fn into_result(self) -> Result<(), FileProblems> {
        if self.list.is_empty() {
            return Ok(());
        }
        let mut list = self.list;
        list.sort_by_key(|(span, _)| span.start);
        Err(FileProblems {
            name: self.name.to_owned(),
            list: list.into_iter().map(|(_, problem)| problem).collect(),
            more_count: self.more_count,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rendered(text: &str, span: Span) -> String {
        let mut findings = Findings::new("s.toml", text);
        findings.add(&span, Complaint::new("workload.block", "`x`", "a size", "write 4KiB"));
        findings.into_result().unwrap_err().render()
    }

    #[test]
    fn the_caret_stands_below_what_is_meant() {
        assert_eq!(
            rendered("[workload]\nblock = \"x\"\n", 19..22),
            "s.toml:2:9: workload.block: found `x`\n  2 | block = \"x\"\n    |         ^^^\n    \
             = allowed: a size\n    = hint: write 4KiB\n\n1 problem in s.toml\n"
        );
    }

    #[test]
    fn a_tab_before_the_place_stays_one() {
        assert!(rendered("\tblock = 1", 9..10).contains("\n    | \t        ^\n"));
    }

    #[test]
    fn a_long_line_is_shown_around_the_place() {
        let text = format!("{}block = 1{}", " ".repeat(500), " ".repeat(500));
        let shown = rendered(&text, 508..509);
        assert!(shown.contains("block = 1") && shown.lines().all(|line| line.len() < 130), "{shown}");
    }

    #[test]
    fn problems_come_in_the_order_of_the_file_and_once() {
        let mut findings = Findings::new("s", "ab\ncd");
        for span in [3..4, 0..1, 3..4] {
            findings.add(&span, Complaint::new("k", "f", "a", "h"));
        }
        let lines: Vec<usize> = findings.into_result().unwrap_err().list.iter().map(|p| p.line).collect();
        assert_eq!(lines, [1, 2]);
    }
}
