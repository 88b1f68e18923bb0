//! `cargo xtask tidy`: the house rules that neither the compiler nor clippy can enforce.
//!
//! This file gathers the facts and prints the findings, all at once. Each rule is a module that turns facts into
//! problems; what is allowed is in `tables` and `limits`. Nothing is ever changed.

mod circles;
mod dependencies;
mod edges;
mod effects;
mod lengths;
mod limits;
mod names;
mod paths;
mod problem;
mod reasons;
mod source;
mod tables;
mod texts;
mod vocabulary;

use std::path::Path;

use anyhow::Context;

use crate::workspace::{Workspace, built_packages, files};
use crate::{TaskOutcome, output};
use problem::TidyProblem;
use source::SourceFile;

/// Whether the workspace around the current folder keeps the rules; what does not is printed.
///
/// # Errors
/// Facts that could not be gathered: no cargo, no git, an unreadable file.
pub(crate) fn run() -> anyhow::Result<TaskOutcome> {
    report(&Workspace::load()?)
}

/// Whether this workspace keeps the rules; what does not is printed.
///
/// # Errors
/// Facts that could not be gathered: no git, an unreadable file.
pub(crate) fn report(workspace: &Workspace) -> anyhow::Result<TaskOutcome> {
    let texts = texts_of(&workspace.root, &files(&workspace.root)?)?;
    let (sources, mut problems) = parse(&texts);
    let members = edges::members(&workspace.metadata).context("could not read a crate's manifest")?;
    let built = built_packages(&workspace.root, limits::DEFAULT_PACKAGE)?;

    problems.extend(edges::check(&members, tables::CRATES));
    problems.extend(edges::check_unused(&members, tables::CRATES));
    problems.extend(effects::check(&sources, tables::CRATES, tables::EFFECT_EXCEPTIONS));
    problems.extend(lengths::check(&sources, limits::LENGTH_EXEMPTIONS));
    problems.extend(names::check(&sources));
    problems.extend(vocabulary::check(&sources));
    problems.extend(circles::check(&sources, limits::CIRCLE_EXEMPTIONS));
    problems.extend(dependencies::check(&built));
    let reasons =
        texts.iter().find(|(path, _)| path == "DEPENDENCIES.md").map_or("", |(_, text)| text.as_str());
    problems.extend(reasons::check(&reasons::named_packages(&workspace.metadata), reasons));
    problems.extend(texts.iter().flat_map(|(path, text)| texts::check(path, text)));

    for remark in lengths::remarks(&sources) {
        output::line(&format!("remark: {remark}"));
    }
    Ok(conclude(problems, &sources, built.len()))
}

fn conclude(mut problems: Vec<TidyProblem>, sources: &[SourceFile], package_count: usize) -> TaskOutcome {
    problems.sort();
    problems.dedup();
    for problem in &problems {
        output::line(&problem.to_string());
    }
    if problems.is_empty() {
        output::line(&format!(
            "tidy: {} sources keep the rules; {package_count} packages in the default build (at most {})",
            sources.len(),
            limits::DEFAULT_PACKAGES_MAX
        ));
        TaskOutcome::Healthy
    } else {
        output::complaint(&format!("tidy: {} problems in {} sources", problems.len(), sources.len()));
        TaskOutcome::ProblemsFound
    }
}

/// Path and text of every file that is UTF-8.
fn texts_of(root: &Path, files: &[String]) -> anyhow::Result<Vec<(String, String)>> {
    let mut texts = Vec::with_capacity(files.len());
    for path in files {
        let bytes = std::fs::read(root.join(path)).with_context(|| format!("could not read {path}"))?;
        if let Ok(text) = String::from_utf8(bytes) {
            texts.push((path.clone(), text));
        }
    }
    Ok(texts)
}

/// The Rust files, and a problem for each that does not parse.
fn parse(files: &[(String, String)]) -> (Vec<SourceFile>, Vec<TidyProblem>) {
    let mut sources = Vec::new();
    let mut problems = Vec::new();
    for (path, text) in files.iter().filter(|(path, _)| is_rust(path)) {
        match SourceFile::parse(path, text) {
            Ok(source) => sources.push(source),
            Err(error) => problems.push(TidyProblem {
                file: path.clone(),
                line: error.span().start().line,
                found: format!("text that does not parse as Rust ({error})"),
                allowed: "every .rs file parses".to_owned(),
                hint: "`cargo check` says more".to_owned(),
            }),
        }
    }
    source::mark_test_modules(&mut sources);
    (sources, problems)
}

fn is_rust(path: &str) -> bool {
    Path::new(path).extension().is_some_and(|extension| extension == "rs")
}

#[cfg(test)]
mod tests {
    use super::{TaskOutcome, conclude, parse};

    #[test]
    fn a_file_that_does_not_parse_is_a_problem_at_its_line() {
        let files = [("crates/a/src/lib.rs".to_owned(), "//! a\nfn {\n".to_owned())];
        let (sources, problems) = parse(&files);
        assert!(sources.is_empty());
        assert_eq!((problems.len(), problems[0].line), (1, 2));
    }

    #[test]
    fn only_rust_files_are_parsed() {
        let (sources, problems) = parse(&[("README.md".to_owned(), "# fn {".to_owned())]);
        assert!(sources.is_empty() && problems.is_empty());
    }

    #[test]
    fn one_problem_is_enough_to_fail() {
        let (_, problems) = parse(&[("a.rs".to_owned(), "fn {".to_owned())]);
        assert_eq!(conclude(problems, &[], 0), TaskOutcome::ProblemsFound);
        assert_eq!(conclude(Vec::new(), &[], 0), TaskOutcome::Healthy);
    }
}
