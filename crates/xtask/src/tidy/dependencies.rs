//! How much the default build pulls in: the packages behind the program that a user builds.
//!
//! Normal and build dependencies of this host are followed; dev-dependencies are not.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Context;
use cargo_metadata::{DependencyKind, Metadata};

use super::limits::{DEFAULT_PACKAGE, DEFAULT_PACKAGES_MAX, REFUSED_PACKAGES};
use super::problem::TidyProblem;

/// A package and the packages it builds on.
#[derive(Debug, Clone)]
pub(crate) struct Node {
    pub(crate) name: String,
    pub(crate) builds_on: Vec<String>,
}

/// The resolved graph by package id.
pub(crate) type Graph = BTreeMap<String, Node>;

/// The graph that cargo resolved, without the edges that only tests have.
///
/// # Errors
/// Metadata without a resolved graph.
pub(crate) fn graph(metadata: &Metadata) -> anyhow::Result<Graph> {
    let resolve = metadata.resolve.as_ref().context("cargo metadata resolved nothing")?;
    let nodes = resolve.nodes.iter().map(|node| {
        let builds_on = node
            .deps
            .iter()
            .filter(|edge| edge.dep_kinds.iter().any(|kind| kind.kind != DependencyKind::Development));
        let builds_on = builds_on.map(|edge| edge.pkg.to_string()).collect();
        (node.id.to_string(), Node { name: metadata[&node.id].name.to_string(), builds_on })
    });
    Ok(nodes.collect())
}

/// The names of every package in the default build, the project's own included; empty without that package.
pub(crate) fn default_packages(graph: &Graph) -> Vec<&str> {
    let mut waiting: Vec<&str> =
        graph.iter().filter(|(_, node)| node.name == DEFAULT_PACKAGE).map(|(id, _)| id.as_str()).collect();
    let mut seen = BTreeSet::new();
    while let Some(id) = waiting.pop() {
        if seen.insert(id) {
            waiting.extend(graph.get(id).into_iter().flat_map(|node| &node.builds_on).map(String::as_str));
        }
    }
    seen.iter().filter_map(|id| graph.get(*id)).map(|node| node.name.as_str()).collect()
}

/// A default build that is missing, too large, or contains a refused package.
pub(crate) fn check(graph: &Graph) -> Vec<TidyProblem> {
    let packages = default_packages(graph);
    let mut problems = Vec::new();
    if packages.is_empty() {
        problems.push(problem(
            format!("no package `{DEFAULT_PACKAGE}`"),
            "the default build is that package".to_owned(),
            "name it in crates/cli/Cargo.toml".to_owned(),
        ));
    }
    if packages.len() > DEFAULT_PACKAGES_MAX {
        problems.push(problem(
            format!("{} packages in the default build", packages.len()),
            format!("at most {DEFAULT_PACKAGES_MAX}"),
            format!("`cargo tree -p {DEFAULT_PACKAGE} -e no-dev` shows who brought them"),
        ));
    }
    for (name, reason) in REFUSED_PACKAGES {
        if packages.contains(name) {
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
