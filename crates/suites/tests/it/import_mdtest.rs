//! Tables in the form of mdtest's, imported: the means of their lines, what is left out, and damaged ones.

use narrows_model::located::FileProblems;
use narrows_model::observation::ObservedOp;
use narrows_suites::import::{Import, ImportOptions, import, importer};

const NEW: &str = include_str!("../data/mdtest_4.1.txt");
const OLD: &str = include_str!("../data/mdtest_3.4.txt");

fn read(text: &str, format: Option<&str>) -> Result<Import, FileProblems> {
    import(text.as_bytes(), "out", format.and_then(importer), &ImportOptions::default())
}

/// The figures of an import by their names.
fn rates(made: &Import) -> Vec<(&str, f64)> {
    let all = made.observations.observations.iter();
    all.map(|one| (one.id.as_str(), one.ops_per_s.unwrap().0)).collect()
}

#[test]
fn the_mean_of_each_line_is_an_observation_of_all_tasks() {
    let made = read(NEW, None).unwrap_or_else(|problems| panic!("{problems}"));
    assert_eq!(made.format, "mdtest");
    let expected = [
        ("file creation", 2568.114),
        ("file stat", 39_601.337),
        ("file read", 14_090.405),
        ("file removal", 3211.077),
        ("tree creation", 455.33),
    ];
    assert_eq!(rates(&made), expected, "a line of zeros was not run");
    let all = &made.observations.observations;
    assert!(all.iter().all(|one| one.clients == Some(10) && one.op == ObservedOp::Metadata));
    let note = "mean of 3 iterations from 2391.044 to 2743.518, standard deviation 176.243";
    assert_eq!(all[0].note.as_deref(), Some(note));
}

#[test]
fn older_tables_and_several_runs_in_one_file_are_read() {
    let made = read(OLD, Some("mdtest")).unwrap_or_else(|problems| panic!("{problems}"));
    assert_eq!((rates(&made).len(), rates(&made)[0]), (9, ("directory creation", 5679.277)));
    assert!(made.remarks.join("\n").contains("one iteration"), "{:?}", made.remarks);
    let both = read(&format!("{OLD}{NEW}"), None).unwrap_or_else(|problems| panic!("{problems}"));
    let found = rates(&both);
    assert_eq!((found.len(), found[8].0, found[9].0), (14, "run 1 tree removal", "run 2 file creation"));
    let clients: Vec<Option<u64>> = both.observations.observations.iter().map(|one| one.clients).collect();
    assert_eq!((clients[0], clients[13]), (Some(4), Some(10)));
}

#[test]
fn tables_of_times_and_rates_of_ranks_are_left_out() {
    let ranks = "   File stat          \t      4102.290       3811.425       3960.133          ";
    let text = NEW.replace("   File stat          ", ranks).replace(
        "-- finished",
        "\nSUMMARY time (in ms/op): (of 3 iterations)\n   File stat 1.000 1.000 1.000 0.000\n-- finished",
    );
    let made = read(&text, None).unwrap_or_else(|problems| panic!("{problems}"));
    assert_eq!((rates(&made).len(), rates(&made)[1]), (5, ("file stat", 39_601.337)));
}

#[test]
fn damaged_lines_are_refused_where_they_are() {
    let damaged = [
        ("39601.337       1455.802", "39601.337       145x.802", "a line with 0 figures"),
        ("39601.337       1455.802", "396", "a line with 3 figures"),
        ("39601.337       1455.802", "99601.337       1455.802", "figures out of order"),
        ("39601.337       1455.802", "39601.337       -455.802", "figures out of order"),
    ];
    for (figures, instead, said) in damaged {
        let problems = read(&NEW.replace(figures, instead), None).unwrap_err();
        assert!(problems.list.len() == 1 && problems.list[0].line == 15, "{problems}");
        assert!(problems.list[0].found.contains(said), "{said}: {problems}");
    }
    let head: String = NEW.split_inclusive('\n').take(9).collect();
    let problems = read(&head, None).unwrap_err();
    assert!(problems.list[0].found.contains("no figures of mdtest"), "{problems}");
}
