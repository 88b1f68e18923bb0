//! Every rule of the planner of studies as a fact.

use super::*;
use crate::file::parse;
use narrows_model::Cut;

fn plan(text: &str) -> Plan {
    let study = parse(text, "study.toml").unwrap();
    plan_study(&study, &StudyFacts::default(), 7).unwrap()
}

#[test]
fn every_combination_is_a_cell_and_one_generator_serves_alike_loads() {
    let plan = plan(
        "target = \"null:\"\n[sweep]\nblock = [\"4KiB\", \"64KiB\"]\norder = [\"sequential\", \"random\"]\n",
    );
    let count = |cut| plan.cells.iter().filter(|cell| cell.cut == cut).count();
    assert_eq!((count(Cut::Path), count(Cut::Generator)), (4, 4));
}
