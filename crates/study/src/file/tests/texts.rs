//! Any text at all: slips, steering characters, thousands of mistakes.

use super::*;

#[test]
fn a_file_that_is_no_study_is_refused_by_its_size() {
    let text = "#".repeat(2 << 20);
    assert!(problem(&text).hint.contains("right file"));
}

#[test]
fn a_file_of_thousands_of_slips_is_refused_by_its_first_ones() {
    let lines: Vec<String> = (0..20_000).map(|index| format!("k{index} = 1\n")).collect();
    let problems = parse(&lines.concat(), "s").unwrap_err();
    assert_eq!((problems.list.len(), problems.list[0].line), (500, 1));
    // The missing target is one of them.
    assert_eq!(problems.list.len() + problems.more_count, 20_001);
    assert!(problems.render().contains("... and 19501 more"));
}

#[test]
fn a_steering_character_of_the_file_does_not_reach_the_terminal() {
    let text = "target = \"null:\"\n\"\\u001b[31mx\" = 1\n[workload]\nop = \"\\u001b[2J\"\n";
    let shown = parse(text, "s\u{1b}.toml").unwrap_err().render();
    assert!(!shown.contains('\u{1b}'), "{shown:?}");
}

/// A study in which much can go wrong.
const WHOLE: &str = "title = \"t\"\ntarget = [\"null:\", \"/d\"]\nseconds = 60\nseed = 1\ncell_order = \"random\"\n\
    cuts = [\"generator\"]\ntogether = false\n[workload]\nops = { read = 70, write = 30 }\nfile = \"1MiB\"\n\
    access = \"buffered\"\nthink = \"1ms\"\n[workload.ring]\n[stop]\nmeasure = \"1s\"\n[repeat]\nuntil = \"fixed\"\n\
    [sweep]\nblock = \"512..8KiB x2\"\nworkers = [1, 2]\n";

proptest! {
    #[test]
    fn any_text_gives_a_study_or_problems(text in "\\PC*") {
        if let Err(problems) = parse(&text, "s") {
            prop_assert!(!problems.list.is_empty());
            let _ = problems.render();
        }
    }

    #[test]
    fn any_bytes_of_toml_give_a_study_or_problems(text in "[a-z\\[\\]{}=\"'.,0-9\n #-]{0,200}") {
        if let Err(problems) = parse(&text, "s") {
            prop_assert!(!problems.list.is_empty());
            let _ = problems.render();
        }
    }

    #[test]
    fn any_change_of_a_study_gives_a_study_or_problems(at in 0..WHOLE.len(), cut in 0..12_usize, put in "\\PC{0,6}") {
        let end = (at + cut).min(WHOLE.len());
        let text = format!("{}{put}{}", &WHOLE[..at], &WHOLE[end..]);
        match parse(&text, "s") {
            Ok(study) => prop_assert!(study.point_count() > 0),
            Err(problems) => {
                prop_assert!(!problems.list.is_empty());
                for problem in &problems.list {
                    prop_assert!(problem.line >= 1 && problem.column >= 1 && problem.length >= 1);
                    prop_assert!(!problem.hint.is_empty() && !problem.allowed.is_empty());
                }
                let _ = problems.render();
            }
        }
    }

    #[test]
    fn any_value_of_any_key_gives_a_study_or_problems(
        index in 0..schema().keys.len(),
        value in prop_oneof![
            "\"\\PC{0,12}\"", any::<i64>().prop_map(|n| n.to_string()), any::<f64>().prop_map(|n| format!("{n:?}")),
            Just("[]".to_owned()), Just("{}".to_owned()), Just("true".to_owned()), Just("{ 4KiB = 1, 4096 = 1 }".to_owned()),
        ],
        swept in any::<bool>(),
    ) {
        let key = &schema().keys[index];
        let path = if swept { format!("sweep.{}", key.factor()) } else { key.path.to_owned() };
        let value = if swept { format!("[{value}, {value}]") } else { value };
        let text = text_of(&[("target", "\"null:\""), (&path, &value)]);
        if let Err(problems) = parse(&text, "s") {
            prop_assert!(!problems.list.is_empty(), "{text}");
        }
    }
}

#[test]
fn a_slip_in_a_target_is_put_right() {
    for (wrong, meant) in [
        ("nul:", "null:"),
        ("SIM:local-ssd", "sim:local-ssd"),
        ("tpc://h:7300/disk", "tcp://h:7300/disk"),
        ("tcp://h:7300/dsik", "tcp://h:7300/disk"),
    ] {
        let found = problem(&format!("target = \"{wrong}\"\n"));
        assert_eq!(found.hint, format!("did you mean \"{meant}\"?"));
        assert!(found.found.starts_with(&format!("\"{wrong}\": `")), "{found:?}");
    }
    assert!(problem("target = \"ftp://x\"\n").hint.contains("file:PATH"));
}

/// The line, what was found and the hint of the first problem.
fn first(text: &str) -> (usize, String, String) {
    let problem = problems(text).remove(0);
    (problem.line, problem.found, problem.hint)
}

#[test]
fn a_value_without_quotes_is_shown_with_them() {
    let (line, found, hint) = first("[workload]\nblock = 4KiB # small\n");
    assert_eq!((line, found.as_str()), (2, "4KiB without quotes"));
    assert!(hint.ends_with("block = \"4KiB\""), "{hint}");
}

#[test]
fn a_key_twice_is_refused_where_it_is_given_again() {
    assert_eq!(first("seed = 1\nseed = 2\n").0, 2);
}

#[test]
fn errors_of_several_lines_are_reported_at_once_and_the_rest_is_checked() {
    let text = "target = null:\nsead = 1\n[workload]\nblock = 4KiB\n";
    let lines: Vec<usize> = problems(text).iter().map(|problem| problem.line).collect();
    assert_eq!(lines, [1, 2, 4]);
}
