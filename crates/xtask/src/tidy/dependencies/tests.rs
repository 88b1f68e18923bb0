//! Facts about the size of the default build, on graphs made here.

use super::super::limits::{DEFAULT_PACKAGES_MAX, REFUSED_PACKAGES};
use super::{Graph, Node, check, default_packages};

fn node(name: &str, builds_on: &[&str]) -> (String, Node) {
    let builds_on = builds_on.iter().map(|on| (*on).to_owned()).collect();
    (name.to_owned(), Node { name: name.to_owned(), builds_on })
}

/// The default package over a chain, `total` packages in all.
fn chain(total: usize) -> Graph {
    let mut graph = Graph::from([node("narrows", &["p1"])]);
    for index in 1..total {
        let next = format!("p{}", index + 1);
        let builds_on: &[&str] = if index + 1 < total { &[&next] } else { &[] };
        graph.extend([node(&format!("p{index}"), builds_on)]);
    }
    graph
}

#[test]
fn packages_behind_packages_are_counted_once() {
    let graph = Graph::from([
        node("narrows", &["a", "b"]),
        node("a", &["c"]),
        node("b", &["c", "narrows"]),
        node("c", &[]),
        node("only-for-others", &["c"]),
    ]);
    assert_eq!(default_packages(&graph), ["a", "b", "c", "narrows"]);
}

#[test]
fn a_build_at_the_limit_passes_and_one_package_more_does_not() {
    assert_eq!(check(&chain(DEFAULT_PACKAGES_MAX)), []);
    let more = DEFAULT_PACKAGES_MAX + 1;
    let problems = check(&chain(more));
    assert_eq!(problems.len(), 1);
    assert!(problems[0].found.contains(&format!("{more} packages")), "{}", problems[0]);
}

#[test]
fn each_refused_package_is_found_however_deep() {
    for (name, _) in REFUSED_PACKAGES {
        let graph = Graph::from([node("narrows", &["a"]), node("a", &[name]), node(name, &[])]);
        assert_eq!(check(&graph).len(), 1, "{name}");
    }
}

#[test]
fn a_refused_package_outside_the_default_build_passes() {
    let graph = Graph::from([node("narrows", &[]), node("narrows-remote", &["tokio"]), node("tokio", &[])]);
    assert_eq!(check(&graph), []);
}

#[test]
fn a_graph_without_the_default_package_is_a_problem() {
    assert_eq!(check(&Graph::new()).len(), 1);
}
