//! Facts about edges: what the table refuses, and that it has no circle.

use super::super::tables::{CRATES, DEV_ONLY};
use super::{Dependency, WorkspaceCrate, check, check_unused};

fn member(name: &str, dependencies: &[&str]) -> WorkspaceCrate {
    let lines: Vec<String> = dependencies.iter().map(|on| format!("narrows-{on}.workspace = true")).collect();
    WorkspaceCrate {
        name: name.to_owned(),
        manifest_path: format!("crates/{name}/Cargo.toml"),
        manifest: format!("[package]\nname = \"narrows-{name}\"\n[dependencies]\n{}\n", lines.join("\n")),
        dependencies: dependencies
            .iter()
            .map(|on| Dependency { name: (*on).to_owned(), package: format!("narrows-{on}") })
            .collect(),
    }
}

#[test]
fn an_edge_of_the_table_passes() {
    assert_eq!(check(&[member("engines", &["model", "wire", "sim", "sys"])], CRATES), []);
}

#[test]
fn an_edge_outside_the_table_is_refused_at_its_line() {
    let problems = check(&[member("analysis", &["model", "run"])], CRATES);
    assert_eq!(problems.len(), 1);
    assert!(
        problems[0].to_string().starts_with("crates/analysis/Cargo.toml:5: `analysis` depends on `run`;"),
        "{}",
        problems[0]
    );
}

#[test]
fn a_permission_that_no_crate_uses_is_refused() {
    assert_eq!(check_unused(&[member("engines", &["model", "wire", "sim", "sys"])], CRATES), []);
    let problems = check_unused(&[member("engines", &["model", "wire", "sys"])], CRATES);
    assert_eq!(problems.len(), 1);
    assert!(
        problems[0].to_string().contains("`engines` may depend on `sim` and does not"),
        "{}",
        problems[0]
    );
}

#[test]
fn what_evaluates_can_never_reach_what_does_io() {
    for judge in ["study", "analysis", "report"] {
        for doer in ["engines", "run"] {
            assert_eq!(check(&[member(judge, &[doer])], CRATES).len(), 1, "{judge} -> {doer}");
        }
    }
}

#[test]
fn a_product_crate_may_not_build_on_a_developers_crate() {
    for dev in DEV_ONLY {
        assert_eq!(check(&[member("cli", &[dev])], CRATES).len(), 1, "cli -> {dev}");
        assert_eq!(check(&[member("lab", &[dev])], CRATES).len(), 1, "lab -> {dev}");
    }
}

#[test]
fn testkit_builds_on_no_other_crate_so_that_all_may_test_with_it() {
    assert_eq!(check(&[member("testkit", &[])], CRATES), []);
    assert_eq!(check(&[member("testkit", &["model"])], CRATES).len(), 1);
}

#[test]
fn a_crate_without_a_row_is_refused() {
    let problems = check(&[member("sidecar", &[])], CRATES);
    assert_eq!(problems.len(), 1);
    assert_eq!(problems[0].line, 2);
}

#[test]
fn the_table_names_only_crates_that_it_holds() {
    for row in CRATES {
        for on in row.may_depend_on {
            assert!(CRATES.iter().any(|other| other.name == *on), "{} -> {on}", row.name);
        }
    }
}

#[test]
fn the_table_has_no_circle() {
    // Taking away every crate whose neighbours are all gone empties a table without circles.
    let mut left: Vec<_> = CRATES.to_vec();
    loop {
        let names: Vec<&str> = left.iter().map(|row| row.name).collect();
        let before = left.len();
        left.retain(|row| row.may_depend_on.iter().any(|on| names.contains(on)));
        if left.len() == before {
            break;
        }
    }
    assert!(left.is_empty(), "{:?}", left.iter().map(|row| row.name).collect::<Vec<_>>());
}
