//! How long files and functions are, and whether each file says what it is for.
//!
//! Test code does not count towards lengths; a test file needs its opening sentence all the same.

use syn::spanned::Spanned;
use syn::visit::{self, Visit};

use super::limits::{
    FILE_LINES_AIM, FILE_LINES_MAX, FUNCTION_LINES_MAX, FUNCTION_LINES_P90_BELOW, LengthExemption,
};
use super::problem::TidyProblem;
use super::source::SourceFile;

const TABLE: &str = "crates/xtask/src/tidy/limits.rs";

/// A function and its length, from `fn` to the closing brace.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Function {
    file: String,
    name: String,
    line: usize,
    line_count: usize,
}

/// Every file and function that is too long, every file without an opening sentence, and every exemption that no
/// longer says the truth.
pub(crate) fn check(sources: &[SourceFile], exemptions: &[LengthExemption]) -> Vec<TidyProblem> {
    let functions = functions(sources);
    let mut problems: Vec<TidyProblem> = sources.iter().filter_map(without_opening).collect();
    for source in product(sources) {
        let exempt = exemptions.iter().any(|entry| entry.function.is_none() && entry.file == source.path);
        if source.line_count > FILE_LINES_MAX && !exempt {
            problems.push(long_file(source));
        }
    }
    for function in &functions {
        let exempt = exemptions
            .iter()
            .any(|entry| entry.function == Some(function.name.as_str()) && entry.file == function.file);
        if function.line_count > FUNCTION_LINES_MAX && !exempt {
            problems.push(long_function(function));
        }
    }
    problems.extend(long_tenth(&functions));
    problems.extend(exemptions.iter().filter_map(|entry| untrue(entry, sources, &functions)));
    problems
}

/// Files that are longer than aimed for and not yet too long: remarks, not problems.
pub(crate) fn remarks(sources: &[SourceFile]) -> Vec<String> {
    product(sources)
        .filter(|source| (FILE_LINES_AIM + 1..=FILE_LINES_MAX).contains(&source.line_count))
        .map(|source| format!("{}: {} lines; the aim is {FILE_LINES_AIM}", source.path, source.line_count))
        .collect()
}

fn product(sources: &[SourceFile]) -> impl Iterator<Item = &SourceFile> {
    sources.iter().filter(|source| !source.is_test)
}

fn without_opening(source: &SourceFile) -> Option<TidyProblem> {
    let opens = source
        .text
        .lines()
        .next()
        .and_then(|line| line.strip_prefix("//!"))
        .is_some_and(|rest| !rest.trim().is_empty());
    (!opens).then(|| TidyProblem {
        file: source.path.clone(),
        line: 1,
        found: "a file that does not open with `//!` and a sentence".to_owned(),
        allowed: "every file says first what it is for and what it deliberately does not do".to_owned(),
        hint: "write that sentence on line 1".to_owned(),
    })
}

fn long_file(source: &SourceFile) -> TidyProblem {
    TidyProblem {
        file: source.path.clone(),
        line: FILE_LINES_MAX,
        found: format!("a file of {} lines without its tests", source.line_count),
        allowed: format!("at most {FILE_LINES_MAX}, {FILE_LINES_AIM} is the aim"),
        hint: "split it by reason to change".to_owned(),
    }
}

fn long_function(function: &Function) -> TidyProblem {
    TidyProblem {
        file: function.file.clone(),
        line: function.line,
        found: format!("function `{}` of {} lines", function.name, function.line_count),
        allowed: format!("at most {FUNCTION_LINES_MAX}, 40 is the aim"),
        hint: "keep the control flow here and move the leaves out".to_owned(),
    }
}

/// A problem at the longest function when more than a tenth of all functions are long.
fn long_tenth(functions: &[Function]) -> Option<TidyProblem> {
    let mut counts: Vec<usize> = functions.iter().map(|function| function.line_count).collect();
    counts.sort_unstable();
    let rank = (counts.len() * 9).div_ceil(10);
    let percentile = *counts.get(rank.checked_sub(1)?)?;
    let longest = functions.iter().max_by_key(|function| function.line_count)?;
    (percentile >= FUNCTION_LINES_P90_BELOW).then(|| TidyProblem {
        file: longest.file.clone(),
        line: longest.line,
        found: format!("a 90th percentile of {percentile} lines over {} functions", functions.len()),
        allowed: format!("under {FUNCTION_LINES_P90_BELOW}"),
        hint: format!("shorten the long ones; the longest is `{}` here", longest.name),
    })
}

fn untrue(entry: &LengthExemption, sources: &[SourceFile], functions: &[Function]) -> Option<TidyProblem> {
    let (actual, limit) = match entry.function {
        None => {
            let file = product(sources).find(|source| source.path == entry.file);
            (file.map(|source| source.line_count), FILE_LINES_MAX)
        }
        Some(name) => {
            let same = functions.iter().filter(|f| f.file == entry.file && f.name == name);
            (same.map(|function| function.line_count).max(), FUNCTION_LINES_MAX)
        }
    };
    let (found, hint) = match actual {
        None => ("an exemption for what is not there".to_owned(), "take the entry out".to_owned()),
        Some(lines) if lines <= limit => {
            (format!("an exemption for {lines} lines, which need none"), "take the entry out".to_owned())
        }
        Some(lines) if lines > entry.lines => (
            format!("{lines} lines under an exemption for {}", entry.lines),
            "move the addition elsewhere".to_owned(),
        ),
        Some(lines) if lines < entry.lines => (
            format!("{lines} lines under an exemption for {}", entry.lines),
            format!("lower the entry to {lines}"),
        ),
        Some(_) => return None,
    };
    let what = entry.function.map_or_else(|| "the file".to_owned(), |name| format!("`{name}`"));
    Some(TidyProblem {
        file: entry.file.to_owned(),
        line: 1,
        found: format!("{what}: {found}"),
        allowed: format!("exemptions only shrink ({})", entry.reason),
        hint: format!("{hint} ({TABLE})"),
    })
}

fn functions(sources: &[SourceFile]) -> Vec<Function> {
    let mut finder = FunctionFinder { file: String::new(), found: Vec::new() };
    for source in product(sources) {
        finder.file.clone_from(&source.path);
        finder.visit_file(&source.syntax);
    }
    finder.found
}

struct FunctionFinder {
    file: String,
    found: Vec<Function>,
}

impl FunctionFinder {
    fn note(&mut self, signature: &syn::Signature, block: &syn::Block) {
        let first = signature.fn_token.span().start().line;
        let last = block.span().end().line;
        self.found.push(Function {
            file: self.file.clone(),
            name: signature.ident.to_string(),
            line: first,
            line_count: last - first + 1,
        });
    }
}

impl<'ast> Visit<'ast> for FunctionFinder {
    fn visit_item_fn(&mut self, node: &'ast syn::ItemFn) {
        self.note(&node.sig, &node.block);
        visit::visit_item_fn(self, node);
    }

    fn visit_impl_item_fn(&mut self, node: &'ast syn::ImplItemFn) {
        self.note(&node.sig, &node.block);
        visit::visit_impl_item_fn(self, node);
    }

    fn visit_trait_item_fn(&mut self, node: &'ast syn::TraitItemFn) {
        if let Some(block) = &node.default {
            self.note(&node.sig, block);
        }
        visit::visit_trait_item_fn(self, node);
    }
}

#[cfg(test)]
mod tests;
