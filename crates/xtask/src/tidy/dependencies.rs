//! How much the default build pulls in: the packages behind the program that a user builds.

use super::limits::{DEFAULT_PACKAGE, DEFAULT_PACKAGES_MAX, REFUSED_PACKAGES};
use super::problem::TidyProblem;
use crate::workspace::BuiltPackages;

/// A default build that is too large, or contains a refused package.
pub(crate) fn check(packages: &BuiltPackages) -> Vec<TidyProblem> {
    let mut problems = Vec::new();
    if packages.len() > DEFAULT_PACKAGES_MAX {
        problems.push(problem(
            format!("{} packages in the default build", packages.len()),
            format!("at most {DEFAULT_PACKAGES_MAX}"),
            format!("`cargo tree -p {DEFAULT_PACKAGE} -e no-dev` shows who brought them"),
        ));
    }
    for (name, reason) in REFUSED_PACKAGES {
        if packages.iter().any(|(built, _)| built == name) {
            problems.push(problem(
                format!("package `{name}` in the default build"),
                format!("the default build does without: {reason}"),
                format!("`cargo tree -p {DEFAULT_PACKAGE} -e no-dev -i {name}` shows who brought it"),
            ));
        }
    }
    problems
}

fn problem(found: String, allowed: String, hint: String) -> TidyProblem {
    TidyProblem { file: "Cargo.lock".to_owned(), line: 1, found, allowed, hint }
}

#[cfg(test)]
mod tests;
