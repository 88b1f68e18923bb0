//! `cargo xtask sbom`: what the program `narrows` is made of, as a `CycloneDX` document for whoever audits a release.
//!
//! It reads the resolved graph and the checksums of Cargo.lock, and fetches nothing. Only what is linked into or runs
//! while building the program is listed: packages that tests alone need are not part of a release.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::Context;
use cargo_metadata::{DependencyKind, Metadata, Package, PackageId};
use serde_json::{Value, json};

use crate::workspace::{BuiltPackages, Workspace, built_packages};
use crate::{TaskOutcome, output};

/// The package whose program a release is.
const PROGRAM: &str = "narrows";

/// Writes the document to `file`, or to stdout.
///
/// # Errors
/// A workspace that cannot be loaded, or a file that cannot be written.
pub(crate) fn run(file: Option<&str>) -> anyhow::Result<TaskOutcome> {
    let workspace = Workspace::load()?;
    let lock = std::fs::read_to_string(workspace.root.join("Cargo.lock")).context("read Cargo.lock")?;
    let built = built_packages(&workspace.root, PROGRAM)?;
    let document = document(&workspace.metadata, &built, &checksums(&lock))?;
    let text = format!("{document:#}\n");
    match file {
        None => output::line(text.trim_end()),
        Some(path) => std::fs::write(Path::new(path), text).with_context(|| format!("write {path}"))?,
    }
    Ok(TaskOutcome::Healthy)
}

/// The document.
///
/// # Source
/// `CycloneDX` 1.5, JSON; package URLs of type `cargo`.
fn document(
    metadata: &Metadata,
    built: &BuiltPackages,
    checksums: &BTreeMap<(String, String), String>,
) -> anyhow::Result<Value> {
    let edges = edges(metadata)?;
    let root = metadata
        .workspace_packages()
        .into_iter()
        .find(|package| package.name.as_str() == PROGRAM)
        .context("the workspace has no package narrows")?;
    let is_part =
        |package: &&Package| built.contains(&(package.name.to_string(), package.version.to_string()));
    let packages: Vec<&Package> = metadata.packages.iter().filter(is_part).collect();
    let mut components: Vec<Value> = packages
        .iter()
        .filter(|package| package.id != root.id)
        .map(|package| component(package, "library", checksums))
        .collect();
    components.sort_by_key(|part| part["bom-ref"].to_string());
    let url_of: BTreeMap<&PackageId, String> =
        packages.iter().map(|package| (&package.id, url(package))).collect();
    let mut dependencies: Vec<Value> = packages
        .iter()
        .map(|package| {
            let on: BTreeSet<&String> =
                edges.get(&package.id).into_iter().flatten().filter_map(|id| url_of.get(id)).collect();
            json!({ "ref": url(package), "dependsOn": on })
        })
        .collect();
    dependencies.sort_by_key(|part| part["ref"].to_string());
    Ok(json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": { "component": component(root, "application", checksums) },
        "components": components,
        "dependencies": dependencies,
    }))
}

/// What each package is built with, without what only its tests need.
fn edges(metadata: &Metadata) -> anyhow::Result<BTreeMap<PackageId, Vec<PackageId>>> {
    let graph = metadata.resolve.as_ref().context("cargo metadata resolved nothing")?;
    let is_built = |dependency: &&cargo_metadata::NodeDep| {
        dependency.dep_kinds.iter().any(|kind| kind.kind != DependencyKind::Development)
    };
    let on = |node: &cargo_metadata::Node| {
        node.deps.iter().filter(is_built).map(|dependency| dependency.pkg.clone()).collect()
    };
    Ok(graph.nodes.iter().map(|node| (node.id.clone(), on(node))).collect())
}

fn component(package: &Package, kind: &str, checksums: &BTreeMap<(String, String), String>) -> Value {
    let mut value = json!({
        "type": kind,
        "bom-ref": url(package),
        "name": package.name.as_str(),
        "version": package.version.to_string(),
        "purl": url(package),
    });
    if let Some(license) = &package.license {
        // An old spelling of OR.
        value["licenses"] = json!([{ "expression": license.replace('/', " OR ") }]);
    }
    if let Some(sum) = checksums.get(&(package.name.to_string(), package.version.to_string())) {
        value["hashes"] = json!([{ "alg": "SHA-256", "content": sum }]);
    }
    value
}

fn url(package: &Package) -> String {
    format!("pkg:cargo/{}@{}", package.name, package.version)
}

/// The checksum of each package that Cargo.lock has one of, by name and version.
fn checksums(lock: &str) -> BTreeMap<(String, String), String> {
    let quoted = |line: &str, key: &str| {
        line.strip_prefix(key)?.strip_prefix(" = \"")?.strip_suffix('"').map(str::to_owned)
    };
    let sum_of = |package: &str| {
        let find = |key: &str| package.lines().find_map(|line| quoted(line, key));
        Some(((find("name")?, find("version")?), find("checksum")?))
    };
    lock.split("[[package]]").filter_map(sum_of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_of_the_program_is_listed_with_its_licence_and_its_checksum_and_tests_are_not() {
        let workspace = Workspace::load().unwrap();
        let lock = std::fs::read_to_string(workspace.root.join("Cargo.lock")).unwrap();
        let built = built_packages(&workspace.root, PROGRAM).unwrap();
        let document = document(&workspace.metadata, &built, &checksums(&lock)).unwrap();
        let parts = document["components"].as_array().unwrap();
        let named = |name: &str| parts.iter().find(|part| part["name"] == name);
        for name in ["libc", "io-uring", "rustix", "serde"] {
            let part = named(name).unwrap();
            assert_eq!(part["hashes"][0]["content"].as_str().unwrap().len(), 64, "{part}");
            assert!(part["licenses"][0]["expression"].as_str().unwrap().contains("MIT"), "{part}");
        }
        assert!(named("narrows-sys").is_some());
        for name in ["assert_cmd", "insta", "proptest", "narrows-lab", "xtask", "schemars"] {
            assert!(named(name).is_none(), "{name} is no part of the program");
        }
        assert!(parts.iter().all(|part| !part["licenses"].is_null()), "a part has no licence");
        assert_eq!(document["dependencies"].as_array().unwrap().len(), parts.len() + 1);
    }

    #[test]
    fn the_same_sources_give_the_same_document() {
        let workspace = Workspace::load().unwrap();
        let sums = BTreeMap::new();
        let built = built_packages(&workspace.root, PROGRAM).unwrap();
        let once = document(&workspace.metadata, &built, &sums).unwrap().to_string();
        assert_eq!(once, document(&workspace.metadata, &built, &sums).unwrap().to_string());
    }
}
