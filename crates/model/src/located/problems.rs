//! What is wrong with a file that somebody wrote: all of it at once, each with its place, what was found and what to do.
//!
//! Not here: finding it.

use super::position::{self, Span};
use annotate_snippets::{AnnotationKind, Level, Renderer, Snippet};
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

/// Longer lines are shown around what is meant.
const COLUMNS: usize = 120;
/// Most problems that are kept: a file with more of them is another file, and finding each one's line takes time.
const PROBLEMS_MAX: usize = 500;

impl FileProblems {
    /// The problems for people: for each one its place, the line with a caret, what is allowed, what to do.
    #[must_use]
    pub fn render(&self) -> String {
        let mut text = String::new();
        for problem in &self.list {
            let _ = writeln!(text, "{}\n", self.render_one(problem));
        }
        if self.more_count > 0 {
            let _ = writeln!(text, "... and {} more", self.more_count);
        }
        let count = self.list.len() + self.more_count;
        let _ = writeln!(text, "{count} problem{} in {}", if count == 1 { "" } else { "s" }, self.file());
        text
    }

    fn file(&self) -> String {
        position::printable(&self.name)
    }

    fn render_one(&self, problem: &FileProblem) -> String {
        let (line, column) = (problem.line, problem.column);
        let key = if problem.key.is_empty() { String::new() } else { format!("{}: ", problem.key) };
        let title = format!("{}:{line}:{column}: {key}found {}", self.file(), problem.found);
        let text = position::printable(&problem.line_text);
        let bytes = |chars: usize| text.char_indices().nth(chars).map_or(text.len(), |(index, _)| index);
        let meant = bytes(column - 1)..bytes(column - 1 + problem.length);
        let snippet =
            Snippet::source(&*text).line_start(line).annotation(AnnotationKind::Primary.span(meant));
        let group = Level::ERROR
            .no_name()
            .primary_title(&*title)
            .element(snippet)
            .element(Level::NOTE.with_name("allowed").message(&*problem.allowed))
            .element(Level::HELP.with_name("hint").message(&*problem.hint));
        Renderer::plain().term_width(COLUMNS).render(&[group])
    }
}

impl fmt::Display for FileProblems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.render())
    }
}

impl std::error::Error for FileProblems {}

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
        let place = position::text_position(self.text, span);
        let problem = FileProblem {
            line: place.line,
            column: place.column,
            length: place.length,
            line_text: place.text,
            key: position::printable(&complaint.key),
            found: complaint.found,
            allowed: complaint.allowed,
            hint: complaint.hint,
        };
        if !self.list.iter().any(|(at, known)| at == span && *known == problem) {
            self.list.push((span.clone(), problem));
        }
    }

    /// Takes over the problems of `others` that `keep` accepts.
    pub fn take(&mut self, others: Findings<'_>, keep: impl Fn(&FileProblem) -> bool) {
        self.more_count += others.more_count;
        self.list.extend(others.list.into_iter().filter(|(_, problem)| keep(problem)));
    }

    /// Whether further problems are only counted.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.list.len() >= PROBLEMS_MAX
    }

    /// The text at `span`, in one line.
    #[must_use]
    pub fn excerpt(&self, span: &Span) -> String {
        position::excerpt(self.text, span)
    }

    /// Whether something was said of the key `name` already, be it that it was meant.
    #[must_use]
    pub fn mentions(&self, name: &str) -> bool {
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
            "s.toml:2:9: workload.block: found `x`\n  |\n2 | block = \"x\"\n  |         ^^^\n  |\n  \
             = allowed: a size\n  = hint: write 4KiB\n\n1 problem in s.toml\n"
        );
    }

    #[test]
    fn a_tab_and_a_wide_character_before_the_place_move_the_caret() {
        for (text, at) in [("\tblock = 1", 9..10), ("ü\t= 1", 5..6), ("\u{1b}x = 1", 5..6)] {
            let shown = rendered(text, at);
            let caret = shown.lines().find_map(|line| line.chars().position(|c| c == '^'));
            let line = shown.lines().find(|line| line.ends_with("= 1")).unwrap();
            assert_eq!(caret, Some(line.chars().count() - 1), "{shown}");
        }
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
