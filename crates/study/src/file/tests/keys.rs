//! What every key promises, walked by the registry.

use super::*;

fn assert_located(problem: &StudyProblem, key: &KeySpec, value: &str, text: &str) {
    assert_eq!(problem.key, key.path, "{problem:?}\n{text}");
    let line = text.lines().nth(problem.line - 1).unwrap();
    assert_eq!(line, problem.line_text);
    let rest: String = line.chars().skip(problem.column - 1).collect();
    assert!(
        value.contains(rest.split(' ').next().unwrap()) || rest.starts_with(value),
        "{problem:?}\n{text}"
    );
    assert!(!problem.allowed.is_empty() && !problem.hint.is_empty(), "{problem:?}");
}

#[test]
fn every_key_has_an_example_that_is_taken() {
    for key in &schema().keys {
        let text = with(key.path, key.example);
        if let Err(problems) = parse(&text, "study.toml") {
            panic!("{}: {problems}", key.path);
        }
    }
}

#[test]
fn every_key_of_the_workload_can_be_swept_alone() {
    for key in schema().keys.iter().filter(|key| key.swept && key.path != "target") {
        let mut entries: Vec<(&str, &str)> = companions(key.path);
        if !entries.iter().any(|(path, _)| *path == "target") {
            entries.push(("target", "\"null:\""));
        }
        let (table, name) = key.factor().rsplit_once('.').unwrap_or(("", key.factor()));
        let path = if table.is_empty() { format!("sweep.{name}") } else { format!("sweep.{table}.{name}") };
        let list = format!("[{}]", key.example);
        entries.push((&path, &list));
        let text = text_of(&entries);
        let study = parse(&text, "study.toml").unwrap_or_else(|problems| panic!("{}: {problems}", key.path));
        assert_eq!(study.factors().len(), 1, "{}", key.path);
        assert_eq!(study.factors()[0].name, key.factor());
        assert_eq!(study.points[0].factors.len(), 1);
    }
}

#[test]
fn every_key_refuses_every_wrong_type_at_its_place_and_suggests_something() {
    const VALUES: [&str; 6] = ["1979-05-27", "true", "\"\\u0001\"", "{ a = 1 }", "[[1]]", "-1.5"];
    for key in &schema().keys {
        let mut refused = 0;
        for value in VALUES {
            let text = with(key.path, value);
            // Any text may be a path.
            let text_taken =
                matches!(key.kind, ValueKind::Text | ValueKind::Target) && value == "\"\\u0001\"";
            let taken = text_taken || (key.kind == ValueKind::Flag && value == "true");
            if taken {
                continue;
            }
            refused += 1;
            let found = problems(&text);
            let own = found.iter().find(|problem| problem.key == key.path);
            let own = own.unwrap_or_else(|| panic!("{value}: {found:#?}"));
            assert!(text.lines().nth(own.line - 1).unwrap().starts_with(key.name()), "{own:?}");
            assert!(!own.allowed.is_empty() && !own.hint.is_empty(), "{own:?}");
        }
        assert!(refused >= 4, "{}", key.path);
    }
}

/// Values just outside of what a kind takes.
fn out_of_range(kind: ValueKind) -> Vec<String> {
    let below = |min: u64| min.checked_sub(1).map(|value| value.to_string());
    let above = |max: u64| max.checked_add(1).map(|value| value.to_string());
    match kind {
        ValueKind::Count { min, max } | ValueKind::Size { min, max } => {
            below(min).into_iter().chain(above(max)).collect()
        }
        ValueKind::Number { min, max, .. } => {
            vec![(min - 1e-6).to_string(), (max + 1.0).to_string(), "inf".into(), "nan".into()]
        }
        ValueKind::Duration { min_ns, max_ns } => {
            let ends = below(min_ns).into_iter().chain(above(max_ns));
            ends.map(|nanos| format!("\"{nanos}ns\"")).collect()
        }
        ValueKind::ByteRate => vec!["\"0B/s\"".into(), "\"2000TiB/s\"".into()],
        ValueKind::OpRate => vec!["0".into(), "\"0/s\"".into(), "1e12".into()],
        ValueKind::OpShares => vec!["{}".into(), "{ read = 0 }".into(), "{ read = -1, write = 1 }".into()],
        ValueKind::BlockShares => {
            vec!["{}".into(), "{ 4KiB = 0 }".into(), "{ 1GiB = 1 }".into(), "{ 0 = 1 }".into()]
        }
        ValueKind::Sync => vec!["\"every 0\"".into(), "\"every 1000001\"".into()],
        _ => Vec::new(),
    }
}

#[test]
fn every_key_with_a_range_refuses_what_is_outside() {
    for key in &schema().keys {
        for value in out_of_range(key.kind) {
            let text = with(key.path, &value);
            assert_located(&problem(&text), key, &value, &text);
        }
    }
}

#[test]
fn every_key_with_a_unit_refuses_a_wrong_one_and_none() {
    for key in &schema().keys {
        let values: &[&str] = match key.kind {
            ValueKind::Size { .. } => &["\"4 parsecs\"", "\"4KiBs\"", "\"1.5MiB\"", "\"KiB\"", "1.5"],
            ValueKind::Duration { .. } => &["\"5 parsecs\"", "\"5\"", "5", "1.5", "\"5 sec\"", "\"s\""],
            ValueKind::ByteRate => &["\"10MiB\"", "\"10MiB/min\"", "\"10\"", "10", "\"10 parsecs/s\""],
            ValueKind::OpRate => &["\"1000\"", "\"1000/min\"", "\"1000 parsecs/s\""],
            ValueKind::Number { .. } | ValueKind::Count { .. } => &["\"5\"", "\"5 s\""],
            _ => &[],
        };
        for value in values {
            let text = with(key.path, value);
            assert_located(&problem(&text), key, value, &text);
        }
    }
}

#[test]
fn every_name_that_a_key_takes_is_suggested_for_a_slip_of_it() {
    for key in &schema().keys {
        for name in key.kind.names().iter().filter(|name| name.len() > 3) {
            let slip: String =
                name.chars().enumerate().filter(|(index, _)| *index != 2).map(|(_, c)| c).collect();
            let value = match key.kind {
                ValueKind::Choices(_) => format!("[\"{slip}\"]"),
                ValueKind::OpShares => format!("{{ {slip} = 1 }}"),
                _ => format!("\"{slip}\""),
            };
            let problem = problem(&with(key.path, &value));
            assert_eq!(problem.hint, format!("did you mean \"{name}\"?"), "{problem:?}");
        }
    }
}

#[test]
fn every_key_is_suggested_for_a_slip_of_its_name() {
    // A slip in a name of two letters leaves nothing to know it by.
    for key in schema().keys.iter().filter(|key| key.name().len() > 2) {
        let name = key.name();
        let slip: String =
            name.chars().enumerate().filter(|(index, _)| *index != 1).map(|(_, c)| c).collect();
        let path = if key.table().is_empty() { slip.clone() } else { format!("{}.{slip}", key.table()) };
        let text = text_of(&[("target", "\"null:\""), (&path, key.example)]);
        let found = problems(&text);
        let own = found.iter().find(|problem| problem.key == path).unwrap();
        assert!(own.hint.contains(&format!("`{name}`")), "{own:?}");
        assert!(text.lines().nth(own.line - 1).unwrap().starts_with(&slip));
    }
}

#[test]
fn every_default_that_is_a_value_is_the_one_that_holds() {
    for key in schema().keys.iter().filter(|key| key.swept || key.table() == "stop") {
        let text = with(key.path, key.default());
        let (Ok(given), Ok(without)) = (
            parse(&text, "s"),
            parse(&text.replace(&format!("{} = {}\n", key.name(), key.default()), ""), "s"),
        ) else {
            continue;
        };
        assert_eq!(given.points[0].workload, without.points[0].workload, "{}", key.path);
        assert_eq!(given.points[0].stop, without.points[0].stop, "{}", key.path);
    }
}

#[test]
fn a_key_that_cannot_be_read_clashes_with_its_alternative_all_the_same() {
    for (text, found) in [
        ("op = \"read\"\nops = { read = 0 }\n", "ops with op"),
        ("block = \"4KiB\"\nblocks = { 4KiB = 0 }\n", "blocks with block"),
    ] {
        let problems = parse(&format!("target = \"null:\"\n[workload]\n{text}"), "s").unwrap_err().list;
        let all: Vec<&str> = problems.iter().map(|problem| problem.found.as_str()).collect();
        assert!(all.contains(&found) && all.iter().any(|found| found.contains("weight")), "{all:?}");
    }
}

#[test]
fn a_sync_after_no_writes_is_hinted_to_what_is_allowed() {
    let problems =
        parse("target = \"/d\"\n[workload]\nop = \"write\"\nsync = \"every 0\"\n", "s").unwrap_err().list;
    assert!(
        problems[0].hint.contains("every 16") && !problems[0].hint.contains("did you mean"),
        "{problems:?}"
    );
}

#[test]
fn targets_that_are_wrong_on_the_machine_are_reported_beside_everything_else() {
    let text = "target = [\"/a\", \"sim:zzz\", \"/b\"]\n[workload]\nblock = \"x\"\n";
    let wrong = |target: &Target| {
        let found = target.to_string();
        (found != "/b").then(|| TargetProblem {
            found,
            allowed: "others".to_owned(),
            hint: "mend".to_owned(),
        })
    };
    let problems = parse_where(text, "s", wrong).unwrap_err().list;
    let places: Vec<_> =
        problems.iter().map(|problem| (problem.line, problem.column, &*problem.key)).collect();
    assert_eq!(places, [(1, 11, "target"), (1, 17, "target"), (3, 9, "workload.block")]);
}
