//! Which crate depends on which, compared with the table.
//!
//! Normal and build dependencies count; dev-dependencies are exempt, because tests may look at everything.

use cargo_metadata::{DependencyKind, Metadata};

use super::problem::TidyProblem;
use super::tables::{CrateRow, DEV_ONLY};

/// A crate of the workspace and the crates of the workspace that it builds on.
#[derive(Debug, Clone)]
pub(crate) struct WorkspaceCrate {
    /// The folder's name below `crates/`.
    pub(crate) name: String,
    /// From the workspace's root.
    pub(crate) manifest_path: String,
    pub(crate) manifest: String,
    /// Normal and build dependencies within the workspace: folder and package name.
    pub(crate) dependencies: Vec<Dependency>,
}

/// One edge.
#[derive(Debug, Clone)]
pub(crate) struct Dependency {
    pub(crate) name: String,
    pub(crate) package: String,
}

/// The workspace's crates, without the edges that only tests have.
///
/// # Errors
/// A manifest that cannot be read.
pub(crate) fn members(metadata: &Metadata) -> std::io::Result<Vec<WorkspaceCrate>> {
    let packages = metadata.workspace_packages();
    let folder = |package: &cargo_metadata::Package| {
        package.manifest_path.parent().and_then(|folder| folder.file_name()).unwrap_or_default().to_owned()
    };
    packages
        .iter()
        .map(|package| {
            let inside = package.dependencies.iter().filter(|dependency| {
                dependency.kind != DependencyKind::Development && dependency.path.is_some()
            });
            let dependencies = inside
                .map(|dependency| {
                    let found = packages.iter().find(|other| other.name.as_str() == dependency.name);
                    let name = found.map_or_else(|| dependency.name.clone(), |other| folder(other));
                    Dependency { name, package: dependency.name.clone() }
                })
                .collect();
            let path = &package.manifest_path;
            let shown = path.strip_prefix(&metadata.workspace_root).unwrap_or(path);
            Ok(WorkspaceCrate {
                name: folder(package),
                manifest_path: shown.to_string(),
                manifest: std::fs::read_to_string(path)?,
                dependencies,
            })
        })
        .collect()
}

/// Every crate without a row, and every edge without a permission.
pub(crate) fn check(members: &[WorkspaceCrate], crates: &[CrateRow]) -> Vec<TidyProblem> {
    let mut problems = Vec::new();
    for member in members {
        let Some(row) = crates.iter().find(|row| row.name == member.name) else {
            problems.push(unknown(member));
            continue;
        };
        for dependency in &member.dependencies {
            let is_dev_only = DEV_ONLY.contains(&dependency.name.as_str());
            if is_dev_only || !row.may_depend_on.contains(&dependency.name.as_str()) {
                problems.push(refused(member, row, dependency, is_dev_only));
            }
        }
    }
    problems
}

/// Every permission that no edge uses.
pub(crate) fn check_unused(members: &[WorkspaceCrate], crates: &[CrateRow]) -> Vec<TidyProblem> {
    let mut problems = Vec::new();
    for row in crates {
        let Some(member) = members.iter().find(|member| member.name == row.name) else { continue };
        let is_unused = |on: &&&str| member.dependencies.iter().all(|dependency| dependency.name != ***on);
        problems.extend(row.may_depend_on.iter().filter(is_unused).map(|on| TidyProblem {
            file: member.manifest_path.clone(),
            line: 1,
            found: format!("`{}` may depend on `{on}` and does not", row.name),
            allowed: "the table has only edges that exist".to_owned(),
            hint: "remove it from crates/xtask/src/tidy/tables.rs and from ARCHITECTURE.md".to_owned(),
        }));
    }
    problems
}

fn unknown(member: &WorkspaceCrate) -> TidyProblem {
    TidyProblem {
        file: member.manifest_path.clone(),
        line: line_of(&member.manifest, "name"),
        found: format!("crate `{}`, which the edge table does not know", member.name),
        allowed: "the crates of crates/xtask/src/tidy/tables.rs".to_owned(),
        hint: "decide where it stands and give it a row".to_owned(),
    }
}

fn refused(
    member: &WorkspaceCrate,
    row: &CrateRow,
    dependency: &Dependency,
    is_dev_only: bool,
) -> TidyProblem {
    let list = row.may_depend_on.join(", ");
    let allowed = if list.is_empty() { "no crate of the workspace".to_owned() } else { list };
    let hint = if is_dev_only {
        "that crate is for developers alone: name it under [dev-dependencies]"
    } else {
        "move what is needed down to a crate that both may see, or pass it in as a value"
    };
    TidyProblem {
        file: member.manifest_path.clone(),
        line: line_of(&member.manifest, &dependency.package),
        found: format!("`{}` depends on `{}`", member.name, dependency.name),
        allowed: format!("`{}` may depend on {allowed}", member.name),
        hint: hint.to_owned(),
    }
}

/// The first line of a manifest that sets `key`, 1 when none does.
fn line_of(manifest: &str, key: &str) -> usize {
    let sets = |line: &str| {
        line.trim_start().strip_prefix(key).is_some_and(|rest| rest.trim_start().starts_with(['=', '.']))
    };
    manifest.lines().position(sets).map_or(1, |index| index + 1)
}

#[cfg(test)]
mod tests;
