//! What every key promises, walked by the registry, and what is wrong with rows, one by one.

use super::*;
use crate::schema::{FileProblem, KeySpec, ROLE_NAMES, Requirement, ValueKind};
use narrows_model::Segment;
use narrows_model::cell::FactorValue;
use narrows_model::counters::Role;
use narrows_model::observation::{Capacity, CeilingBasis, ObservedOp, Quality, Scope};
use proptest::prelude::*;

const HEAD: &str = "schema = \"narrows.observations/1\"\ntitle = \"t\"\n";
const ONE: &str = "[[observation]]\nid = \"one\"\n";

/// A file of which nothing but `key = value` and what must be given is in its table.
fn with(key: &KeySpec, value: &str) -> String {
    let line = format!("{} = {value}\n", key.name());
    let beside = |table: &str| {
        let needed = schema()
            .keys
            .iter()
            .filter(|other| other.table() == table && other.requirement == Requirement::Required);
        let lines = needed
            .filter(|other| other.name() != key.name())
            .map(|other| format!("{} = {}\n", other.name(), other.example));
        let mut lines: String = lines.collect();
        let capacity = ["bytes_per_s", "ops_per_s", "latency_s"];
        if table == "ceiling" && !capacity.contains(&key.name()) {
            lines.push_str("bytes_per_s = 1\n");
        }
        lines
    };
    let top = beside("");
    match key.table() {
        "" => format!("{line}{top}{ONE}"),
        table => format!("{top}{ONE}[[{table}]]\n{line}{}", beside(table)),
    }
}

fn problems(text: &str) -> Vec<FileProblem> {
    match parse(text, "o.toml") {
        Ok(_) => panic!("nothing was found wrong with\n{text}"),
        Err(problems) => problems.list,
    }
}

fn problem(text: &str) -> FileProblem {
    let mut list = problems(text);
    assert_eq!(list.len(), 1, "{list:#?}\n{text}");
    list.remove(0)
}

fn taken(text: &str) -> Observations {
    parse(text, "o.toml").unwrap_or_else(|problems| panic!("{problems}\n{text}"))
}

#[test]
fn every_key_has_an_example_that_is_taken() {
    for key in &schema().keys {
        if key.path == "observation.id" {
            continue; // Two ids of one file must differ; `with` gives the other one.
        }
        let text = with(key, key.example);
        let text = text.replace("id = \"write-47\"", "id = \"two\"");
        let _ = taken(&text);
    }
}

#[test]
fn every_key_refuses_every_wrong_type_at_its_place_and_suggests_something() {
    for key in &schema().keys {
        let mut refused = 0;
        for value in ["1979-05-27", "[[1]]", "{ zz = { a = 1 } }", "\"\"", "-1.5", "inf", "nan", "[\"x\"]"] {
            let arithmetic = matches!(key.kind, ValueKind::Arithmetic | ValueKind::Number { min: ..0.0, .. })
                && value == "-1.5";
            if arithmetic {
                continue;
            }
            refused += 1;
            let found = problems(&with(key, value));
            let own = found.iter().find(|problem| problem.key == key.path);
            let own = own.unwrap_or_else(|| panic!("{} {value}: {found:#?}", key.path));
            assert!(own.line_text.starts_with(key.name()), "{own:?}");
            assert!(!own.allowed.is_empty() && !own.hint.is_empty(), "{own:?}");
        }
        assert!(refused >= 7, "{}", key.path);
    }
}

fn beyond(kind: ValueKind) -> Vec<String> {
    match kind {
        ValueKind::Number { min, max, .. } => {
            vec![(min - min.abs() * 0.1 - 1e-13).to_string(), format!("{:e}", max * 1.1 + 1e-13)]
        }
        ValueKind::Whole { min, max, .. } => vec![(max + 2).to_string(), "1.5".into()]
            .into_iter()
            .chain(min.checked_sub(1).map(|n| n.to_string()))
            .collect(),
        _ => Vec::new(),
    }
}

#[test]
fn every_key_with_a_range_refuses_what_is_outside() {
    for key in &schema().keys {
        let (kind, wrap): (ValueKind, fn(&str) -> String) = match key.kind {
            ValueKind::Numbers(of) => (*of, |value| format!("[1, {value}]")),
            ValueKind::Each(ROLE_NAMES, of) => (*of, |value| format!("{{ server = {value} }}")),
            ValueKind::Each(_, of) => (*of, |value| format!("{{ wire = {value} }}")),
            ValueKind::EachSegment(of) => (*of, |value| format!("{{ device = {value} }}")),
            kind => (kind, str::to_owned),
        };
        for value in beyond(kind) {
            let found = problem(&with(key, &wrap(&value)));
            assert_eq!(found.key, key.path, "{found:?}");
        }
    }
}

#[test]
fn every_name_that_a_key_takes_is_suggested_for_a_slip_of_it() {
    for key in &schema().keys {
        let ValueKind::Choice(names) = key.kind else { continue };
        for name in names.iter().filter(|name| name.len() > 4) {
            let slip: String =
                name.chars().enumerate().filter(|(index, _)| *index != 2).map(|(_, c)| c).collect();
            let found = problem(&with(key, &format!("\"{slip}\"")));
            assert_eq!(found.hint, format!("did you mean \"{name}\"?"));
        }
    }
}

#[test]
fn every_key_missing_that_must_be_given_is_reported_at_its_table() {
    for key in schema().keys.iter().filter(|key| key.requirement == Requirement::Required) {
        let text: String = with(key, key.example).replace("id = \"write-47\"", "id = \"two\"");
        let start = format!("{} = ", key.name());
        let of_table = text.rfind(&start).unwrap();
        let end = of_table + text[of_table..].find('\n').unwrap() + 1;
        let without = format!("{}{}", &text[..of_table], &text[end..]);
        let found = problem(&without);
        assert_eq!(found.key, key.path, "{without}");
        assert!(key.table().is_empty() || found.line_text == format!("[[{}]]", key.table()), "{found:?}");
    }
}

#[test]
fn everything_of_a_file_arrives_in_the_model() {
    let text = format!(
        "{HEAD}source = \"s\"\n[[ceiling]]\nsegment = \"network.bandwidth\"\nbytes_per_s = 12.5e6\nscope = \"client\"\ncount = 2\n\
         basis = \"declared\"\n[[observation]]\nid = \"one\"\nop = \"write\"\nper_client_bytes_per_s = [1.5, 2]\n\
         calls = {{ client = 12288 }}\nbusy_ratio = {{ device = 0.9, device.bus = 0.2 }}\nbytes = {{ application = 1e9, wire = 0 }}\n\
         factor = {{ disks = 2, setting = \"on\", cache = true }}\nquality = \"lower-bound\"\n[factor_segment]\nosds = \"server.threads\"\n\
         [[claim]]\ntext = \"9/47 = 215 kB/s\"\nleft = \"9000/47\"\nright = 215.0\ntolerance_ratio = 0.02\n"
    );
    let text = text.replace("device = 0.9, device.bus", "device.bus");
    let read = taken(&text);
    assert_eq!((read.title.as_str(), read.source.as_deref()), ("t", Some("s")));
    let ceiling = &read.ceilings[0];
    assert_eq!(
        (ceiling.segment, ceiling.scope, ceiling.count),
        (Segment::NetworkBandwidth, Scope::Client, Some(2))
    );
    assert!(matches!(ceiling.capacity, Capacity::BytesPerS(rate) if (rate.0 - 12.5e6).abs() < 1e-3));
    assert_eq!(ceiling.basis, CeilingBasis::Declared);
    let one = &read.observations[0];
    assert_eq!((one.op, one.clients, one.quality), (ObservedOp::Write, Some(2), Quality::LowerBound));
    assert_eq!(one.calls.get(&Role::Client), Some(&12_288));
    assert_eq!(one.busy_ratio.get(&Segment::DeviceBus), Some(&0.2));
    assert_eq!(one.bytes.application.map(|bytes| bytes.0), Some(1_000_000_000));
    assert_eq!(one.factors.get("cache"), Some(&FactorValue::Text("true".to_owned())));
    assert_eq!(read.factor_segments.get("osds"), Some(&Segment::ServerThreads));
    assert!((read.claims[0].left_value - 191.489).abs() < 0.001);
}

#[test]
fn all_problems_are_reported_at_once_in_the_order_of_the_file() {
    let text = "schema = \"narrows.observations/2\"\n[[observation]]\nid = \"a\"\nclients = 0\nbytes_per_s = -5.0\n\
                hit_ratio = 1.2\niops = 7\n[[observation]]\nid = \"a\"\ncalls = { cleint = 1 }\n\
                [[ceiling]]\nsegment = \"network.bandwith\"\nbytes_per_s = 1\n[[claim]]\ntext = \"x\"\nleft = \"9/\"\nright = 1\n";
    let keys: Vec<String> = problems(text).into_iter().map(|problem| problem.key).collect();
    let expected = [
        "schema",
        "title",
        "observation.clients",
        "observation.bytes_per_s",
        "observation.hit_ratio",
        "observation.iops",
        "observation.id",
        "observation.calls",
        "ceiling.segment",
        "claim.left",
    ];
    assert_eq!(
        keys.iter().collect::<std::collections::BTreeSet<_>>(),
        expected.map(str::to_owned).iter().collect()
    );
    assert_eq!(keys.len(), expected.len());
}

#[test]
fn rows_that_contradict_themselves_are_refused() {
    let of = |rows: &str| problem(&format!("{HEAD}{rows}"));
    assert!(of("[[observation]]\nid = \"a\"\n[[observation]]\nid = \"a\"\n").found.contains("second time"));
    assert!(
        of("[[observation]]\nid = \"a\"\nclients = 3\nper_client_bytes_per_s = [1, 2]\n")
            .found
            .contains("2 rates")
    );
    assert!(of("[[observation]]\nid = \"a\"\nelapsed_s = 1\nelapsed_first_s = 2\n").hint.contains("swapped"));
    assert!(of(&format!("{ONE}[[ceiling]]\nsegment = \"device\"\n")).found.contains("without a value"));
    let both = format!("{ONE}[[ceiling]]\nsegment = \"device\"\nops_per_s = 1\nbytes_per_s = 1\n");
    assert!(of(&both).found.contains("with"));
    assert!(of("[observation]\nid = \"a\"\n").hint.contains("[[observation]]"));
    assert!(of("").found.contains("no observation"));
    assert!(
        of(&format!("{ONE}[factor_segment]\nosds = \"server.thread\"\n")).hint.contains("server.threads")
    );
    assert!(of(&format!("{ONE}busy_ratio = {{ devise = 0.9 }}\n")).hint.contains("device"));
}

#[test]
fn a_problem_looks_like_one_of_a_study_file() {
    let shown = parse(&format!("{HEAD}{ONE}byte_per_s = 1\n"), "o.toml").unwrap_err().render();
    let first: Vec<&str> = shown.lines().take(4).collect();
    assert_eq!(
        first,
        [
            "o.toml:5:1: observation.byte_per_s: found the key `byte_per_s`",
            "  |",
            "5 | byte_per_s = 1",
            "  | ^^^^^^^^^^"
        ]
    );
    assert!(
        shown.contains("= hint: did you mean `bytes_per_s`?\n") && shown.ends_with("1 problem in o.toml\n"),
        "{shown}"
    );
}

#[test]
fn what_is_too_large_is_refused_and_quickly() {
    let text = format!("{HEAD}{}", "[[observation]]\nid = \"a\"\n".repeat(10_001));
    assert!(problem(&text).found.contains("10001"));
    assert!(problem(&" ".repeat((4 << 20) + 1)).found.contains("bytes"));
}

const WHOLE: &str = include_str!("../../tests/observations/every-key.toml");

#[test]
fn a_file_with_every_key_is_taken() {
    let _ = taken(WHOLE);
    for key in &schema().keys {
        assert!(
            WHOLE.contains(&format!("\n{} = ", key.name()))
                || WHOLE.contains(&format!("\n[{}]\n", key.name()))
                || WHOLE.starts_with(key.name()),
            "{}",
            key.path
        );
    }
}

proptest! {
    #[test]
    fn no_bytes_are_too_strange(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        if let Err(problems) = parse(&String::from_utf8_lossy(&bytes), "o") {
            prop_assert!(!problems.render().is_empty());
        }
    }

    #[test]
    fn no_mutation_of_a_good_file_is_too_strange(
        edits in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0..3_u8), 1..30),
    ) {
        let mut bytes = WHOLE.as_bytes().to_vec();
        for (at, byte, what) in edits {
            let at = at.index(bytes.len());
            match what {
                0 => bytes[at] = byte,
                1 => drop(bytes.remove(at)),
                _ => bytes.insert(at, byte),
            }
        }
        if let Err(problems) = parse(&String::from_utf8_lossy(&bytes), "o") {
            prop_assert!(!problems.list.is_empty() && problems.list.iter().all(|problem| problem.line > 0));
        }
    }
}
