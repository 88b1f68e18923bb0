//! Whether every package that a manifest names has a row with its reason in DEPENDENCIES.md, and every row a package.

use std::collections::BTreeSet;

use cargo_metadata::Metadata;

use super::problem::TidyProblem;

const FILE: &str = "DEPENDENCIES.md";

/// The packages from outside the workspace that its manifests name, dev-dependencies included.
pub(crate) fn named_packages(metadata: &Metadata) -> BTreeSet<String> {
    let packages = metadata.workspace_packages();
    let all = packages.iter().flat_map(|package| &package.dependencies);
    all.filter(|dependency| dependency.path.is_none()).map(|dependency| dependency.name.clone()).collect()
}

/// Packages of `named` without a row in `text`, and rows of packages that no manifest names.
pub(crate) fn check(named: &BTreeSet<String>, text: &str) -> Vec<TidyProblem> {
    let rows = packages_of_rows(text);
    let known: BTreeSet<&str> = rows.iter().map(|(_, name)| *name).collect();
    let missing = named.iter().filter(|name| !known.contains(name.as_str())).map(|name| TidyProblem {
        file: FILE.to_owned(),
        line: 1,
        found: format!("no row for the package `{name}`, which a manifest names"),
        allowed: "every package has its reason".to_owned(),
        hint: "write what it does here that code of our own should not".to_owned(),
    });
    let stale = rows.iter().filter(|(_, name)| !named.contains(*name)).map(|(line, name)| TidyProblem {
        file: FILE.to_owned(),
        line: *line,
        found: format!("a row for the package `{name}`, which no manifest names"),
        allowed: "rows of packages that are used".to_owned(),
        hint: "remove the row".to_owned(),
    });
    missing.chain(stale).collect()
}

/// Lines and names of the packages in the first column of the tables.
fn packages_of_rows(text: &str) -> Vec<(usize, &str)> {
    let rows = text.lines().enumerate().filter(|(_, line)| line.starts_with("| `"));
    let first_column = rows.filter_map(|(index, line)| Some((index + 1, line.split('|').nth(1)?)));
    first_column
        .flat_map(|(line, cell)| cell.split('`').skip(1).step_by(2).map(move |name| (line, name)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_package_without_a_row_and_a_row_without_a_package_are_found() {
        let named = ["serde", "serde_json", "toml"].map(str::to_owned).into();
        let text =
            "| package | what for |\n|---|---|\n| `serde`, `serde_json` | records |\n| `regex` | nothing |\n";
        let found: Vec<(usize, String)> =
            check(&named, text).into_iter().map(|problem| (problem.line, problem.found)).collect();
        assert!(
            matches!(&found[..], [(1, missing), (4, stale)] if missing.contains("`toml`") && stale.contains("`regex`")),
            "{found:?}"
        );
        assert_eq!(check(&named, &text.replace("regex", "toml")), []);
    }
}
