//! Published tables as observation files, each with the verdict that its paper gives and ours, and why where they differ.

use super::example;
use crate::case::Cases;
use crate::diagnose::diagnose_cases;
use narrows_model::Segment;
use std::collections::BTreeMap;

const ANSWERS: &str = include_str!("../../../../../../docs/examples/observations/answers.csv");

/// One answer: file, observation, what the paper says, what is said here, why that differs.
fn answers() -> Vec<[String; 5]> {
    let row = |line: &str| {
        let mut fields: Vec<String> = vec![String::new()];
        let mut is_quoted = false;
        for letter in line.chars() {
            match letter {
                '"' => is_quoted = !is_quoted,
                ',' if !is_quoted => fields.push(String::new()),
                letter => fields.last_mut().unwrap().push(letter),
            }
        }
        fields.try_into().unwrap_or_else(|fields| panic!("{fields:?}"))
    };
    ANSWERS.lines().skip(1).map(row).collect()
}

#[test]
fn every_published_figure_has_its_golden_answer() {
    let mut files: BTreeMap<String, BTreeMap<String, Segment>> = BTreeMap::new();
    for [file, observation, published, answer, why] in answers() {
        let named = files.entry(file.clone()).or_insert_with(|| {
            let all = example(&file);
            diagnose_cases(&Cases::of_file(&all)).by_load.into_iter().collect()
        });
        let all = example(&file);
        assert!(all.observations.iter().any(|one| one.id == observation), "{file}: no {observation}");
        let found = named.get(&observation).map_or("unknown", |segment| segment.id());
        assert_eq!(found, answer, "{file}, {observation}: published: {published}");
        // What cannot be reached has its reason.
        assert!(answer != "unknown" || !why.is_empty(), "{file}, {observation}");
    }
    for paper in
        ["ioperf-star", "bonnie-pvfs2", "pvfs2-bgl", "jovian2", "nfs-iscsi", "relay-client", "relay-proxy"]
    {
        assert!(files.contains_key(paper), "{paper}");
    }
}
