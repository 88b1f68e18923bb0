//! Facts about the size of the default build, on packages named here.

use super::super::limits::{DEFAULT_PACKAGES_MAX, REFUSED_PACKAGES};
use super::check;
use crate::workspace::BuiltPackages;

/// `total` packages, none of them refused.
fn packages(total: usize) -> BuiltPackages {
    (0..total).map(|index| (format!("p{index}"), "1.0.0".to_owned())).collect()
}

#[test]
fn a_build_at_the_limit_passes_and_one_package_more_does_not() {
    assert_eq!(check(&packages(DEFAULT_PACKAGES_MAX)), []);
    let more = DEFAULT_PACKAGES_MAX + 1;
    let problems = check(&packages(more));
    assert_eq!(problems.len(), 1);
    assert!(problems[0].found.contains(&format!("{more} packages")), "{}", problems[0]);
}

#[test]
fn each_refused_package_is_found() {
    for (name, _) in REFUSED_PACKAGES {
        let mut packages = packages(3);
        packages.insert(((*name).to_owned(), "1.0.0".to_owned()));
        assert_eq!(check(&packages).len(), 1, "{name}");
    }
}
