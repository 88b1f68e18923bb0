//! What every key promises, walked by the registry, and what is wrong with combinations, one by one.

use super::*;
use narrows_model::Nanos;
use proptest::prelude::*;
use std::collections::BTreeMap;

/// What a key needs beside it to mean anything.
fn companions(path: &str) -> &'static [(&'static str, &'static str)] {
    const OF: &[(&str, &[(&str, &str)])] = &[
        ("together", &[("target", "[\"null:\", \"null:copy\"]")]),
        ("workload.zipf_theta", &[("workload.order", "\"zipf\"")]),
        ("workload.stride", &[("workload.order", "\"stride\"")]),
        ("workload.offered", &[("workload.arrivals", "\"poisson\"")]),
        ("workload.arrivals", &[("workload.offered", "\"1000/s\"")]),
        ("workload.engine", &[("target", "\"/data\"")]),
        ("workload.sync", &[("workload.op", "\"write\"")]),
        ("workload.acknowledgement", &[("target", "\"tcp://h:7300/disk\"")]),
        ("workload.batch", &[("workload.depth", "16")]),
        ("workload.verify", &[("target", "\"/data\"")]),
        ("workload.ring.registered_buffers", URING),
        ("workload.ring.registered_files", URING),
        ("workload.ring.submission_polling", URING),
        (
            "workload.ring.completion_polling",
            &[("target", "\"/data\""), ("workload.engine", "\"uring\""), ("workload.access", "\"direct\"")],
        ),
        ("workload.psync.vectors", &[("target", "\"/data\"")]),
        ("stop.stone_wall", &[("stop.ops", "1000")]),
        ("workload.stdio.calls", STDIO),
        ("workload.stdio.flush", STDIO),
        ("workload.stdio.buffer", STDIO),
        ("workload.objects.count", OBJECTS),
        ("workload.objects.min", &[("workload.op", "\"put\""), ("workload.objects.max", "\"1GiB\"")]),
        ("workload.objects.max", OBJECTS),
        ("workload.objects.folders", OBJECTS),
        ("workload.objects.spread", OBJECTS),
        ("workload.objects.names", OBJECTS),
        ("workload.objects.seed", OBJECTS),
        ("workload.objects.calls", OBJECTS),
        ("workload.objects.read_block", OBJECTS),
        ("workload.objects.sync", OBJECTS),
        ("workload.objects.stat_reads", OBJECTS),
        ("workload.transactions.halves", TRANSACTIONS),
        ("workload.transactions.read_bias", TRANSACTIONS),
        ("workload.transactions.create_bias", TRANSACTIONS),
        ("repeat.half_width", &[("repeat.until", "\"interval\"")]),
        ("repeat.level", &[("repeat.until", "\"interval\"")]),
        ("repeat.trials_min", &[("repeat.until", "\"interval\"")]),
        ("repeat.window", &[("repeat.until", "\"steady\"")]),
    ];
    const OBJECTS: &[(&str, &str)] = &[("workload.op", "\"put\"")];
    const TRANSACTIONS: &[(&str, &str)] = &[("workload.transactions.count", "10")];
    const STDIO: &[(&str, &str)] = &[("target", "\"/data\""), ("workload.engine", "\"stdio\"")];
    const URING: &[(&str, &str)] = &[("target", "\"/data\""), ("workload.engine", "\"uring\"")];
    OF.iter().find(|(known, _)| *known == path).map_or(&[], |(_, needed)| needed)
}

/// The text of a study with these keys.
fn text_of(entries: &[(&str, &str)]) -> String {
    let mut tables: BTreeMap<&str, String> = BTreeMap::new();
    for (path, value) in entries {
        let (table, name) = path.rsplit_once('.').unwrap_or(("", path));
        let lines = tables.entry(table).or_default();
        lines.extend([name, " = ", value, "\n"]);
    }
    let mut text = tables.remove("").unwrap_or_default();
    for (table, lines) in tables {
        text.extend(["[", table, "]\n", &lines]);
    }
    text
}

/// A study that holds nothing but `key = value` and what it needs.
fn with(path: &str, value: &str) -> String {
    let mut entries = vec![("target", "\"null:\"")];
    for (needed, its_value) in companions(path).iter().copied().chain([(path, value)]) {
        entries.retain(|(known, _)| *known != needed);
        entries.push((needed, its_value));
    }
    text_of(&entries)
}

fn problems(text: &str) -> Vec<StudyProblem> {
    match parse(text, "study.toml") {
        Ok(_) => panic!("nothing was found wrong with\n{text}"),
        Err(problems) => problems.list,
    }
}

/// The one problem of a text.
fn problem(text: &str) -> StudyProblem {
    let mut list = problems(text);
    assert_eq!(list.len(), 1, "{list:#?}\n{text}");
    list.remove(0)
}

fn assert_located(problem: &StudyProblem, key: &Key, value: &str, text: &str) {
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
    for key in KEYS {
        let text = with(key.path, key.example);
        if let Err(problems) = parse(&text, "study.toml") {
            panic!("{}: {problems}", key.path);
        }
    }
}

#[test]
fn every_key_of_the_workload_can_be_swept_alone() {
    for key in KEYS.iter().filter(|key| key.swept && key.path != "target") {
        let mut entries: Vec<(&str, &str)> = companions(key.path).to_vec();
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
    for key in KEYS {
        let mut refused = 0;
        for value in VALUES {
            let text = with(key.path, value);
            // Any text may be a path.
            let text_taken = matches!(key.kind, Kind::Text | Kind::Target) && value == "\"\\u0001\"";
            let taken = text_taken || (key.kind == Kind::Flag && value == "true");
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
fn out_of_range(kind: Kind) -> Vec<String> {
    let below = |min: u64| min.checked_sub(1).map(|value| value.to_string());
    let above = |max: u64| max.checked_add(1).map(|value| value.to_string());
    match kind {
        Kind::Count { min, max } | Kind::Size { min, max } => {
            below(min).into_iter().chain(above(max)).collect()
        }
        Kind::Number { min, max, .. } => {
            vec![(min - 1e-6).to_string(), (max + 1.0).to_string(), "inf".into(), "nan".into()]
        }
        Kind::Duration { min_ns, max_ns } => {
            let ends = below(min_ns).into_iter().chain(above(max_ns));
            ends.map(|nanos| format!("\"{nanos}ns\"")).collect()
        }
        Kind::ByteRate => vec!["\"0B/s\"".into(), "\"2000TiB/s\"".into()],
        Kind::OpRate => vec!["0".into(), "\"0/s\"".into(), "1e12".into()],
        Kind::OpShares => vec!["{}".into(), "{ read = 0 }".into(), "{ read = -1, write = 1 }".into()],
        Kind::BlockShares => {
            vec!["{}".into(), "{ 4KiB = 0 }".into(), "{ 1GiB = 1 }".into(), "{ 0 = 1 }".into()]
        }
        Kind::Sync => vec!["\"every 0\"".into(), "\"every 1000001\"".into()],
        Kind::Text | Kind::Flag | Kind::Target | Kind::Choice(_) | Kind::Choices(_) => Vec::new(),
    }
}

#[test]
fn every_key_with_a_range_refuses_what_lies_outside() {
    for key in KEYS {
        for value in out_of_range(key.kind) {
            let text = with(key.path, &value);
            assert_located(&problem(&text), key, &value, &text);
        }
    }
}

#[test]
fn every_key_with_a_unit_refuses_a_wrong_one_and_none() {
    for key in KEYS {
        let values: &[&str] = match key.kind {
            Kind::Size { .. } => &["\"4 parsecs\"", "\"4KiBs\"", "\"1.5MiB\"", "\"KiB\"", "1.5"],
            Kind::Duration { .. } => &["\"5 parsecs\"", "\"5\"", "5", "1.5", "\"5 sec\"", "\"s\""],
            Kind::ByteRate => &["\"10MiB\"", "\"10MiB/min\"", "\"10\"", "10", "\"10 parsecs/s\""],
            Kind::OpRate => &["\"1000\"", "\"1000/min\"", "\"1000 parsecs/s\""],
            Kind::Number { .. } | Kind::Count { .. } => &["\"5\"", "\"5 s\""],
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
    for key in KEYS {
        for name in key.kind.names().iter().filter(|name| name.len() > 3) {
            let slip: String =
                name.chars().enumerate().filter(|(index, _)| *index != 2).map(|(_, c)| c).collect();
            let value = match key.kind {
                Kind::Choices(_) => format!("[\"{slip}\"]"),
                Kind::OpShares => format!("{{ {slip} = 1 }}"),
                _ => format!("\"{slip}\""),
            };
            let problem = problem(&with(key.path, &value));
            assert_eq!(problem.hint, format!("did you mean \"{name}\"?"), "{problem:?}");
        }
    }
}

#[test]
fn every_key_is_suggested_for_a_slip_of_its_name() {
    // A slip in a name of two letters leaves nothing to tell it by.
    for key in KEYS.iter().filter(|key| key.name().len() > 2) {
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
    for key in KEYS.iter().filter(|key| key.swept || key.table() == "stop") {
        let text = with(key.path, key.default);
        let (Ok(given), Ok(without)) = (
            parse(&text, "s"),
            parse(&text.replace(&format!("{} = {}\n", key.name(), key.default), ""), "s"),
        ) else {
            continue;
        };
        assert_eq!(given.points[0].workload, without.points[0].workload, "{}", key.path);
        assert_eq!(given.points[0].stop, without.points[0].stop, "{}", key.path);
    }
}

/// Combinations that do not go together: the study, the key that is told, a part of what is found.
const CLASHES: &[(&str, &str, &str)] = &[
    (
        "target = \"/d\"\n[workload]\nblock = \"1MiB\"\nfile = \"64KiB\"\n",
        "workload.block",
        "larger than the file",
    ),
    (
        "target = \"/d\"\n[workload]\nblocks = { 4KiB = 1, 1MiB = 1 }\nfile = \"64KiB\"\n",
        "workload.blocks",
        "larger than",
    ),
    ("target = \"/d\"\n[workload]\nworkers = 32\nfile = \"64KiB\"\n", "workload.workers", "32 workers"),
    ("target = \"/d\"\n[workload]\nblock = 1000\naccess = \"direct\"\n", "workload.block", "direct access"),
    (
        "target = \"/d\"\n[workload]\nengine = \"stdio\"\naccess = \"direct\"\n",
        "workload.access",
        "the engine stdio, whose buffer",
    ),
    (
        "target = \"/d\"\n[workload]\nengine = \"stdio\"\nverify = true\nworkers = 2\n",
        "workload.workers",
        "2 workers of the engine stdio",
    ),
    (
        "target = \"/d\"\n[workload]\nstdio = { flush = \"fsync\" }\n",
        "workload.stdio.flush",
        "without engine",
    ),
    (
        "target = \"/d\"\n[workload]\nengine = \"mmap\"\naccess = \"direct\"\n",
        "workload.access",
        "direct access",
    ),
    ("target = \"/d\"\n[workload]\ndepth = 16\n", "workload.depth", "synchronous engine psync"),
    (
        "target = \"/d\"\n[workload]\ndepth = 16\nengine = \"mmap\"\n",
        "workload.depth",
        "synchronous engine mmap",
    ),
    (
        "target = \"/d\"\n[workload]\nengine = \"uring\"\ndepth = 4\nbatch = 8\n",
        "workload.batch",
        "a batch of 8",
    ),
    ("target = \"null:\"\n[workload]\ndepth = 65536\nworkers = 2\n", "workload.depth", "requests in flight"),
    (
        "target = \"null:\"\n[workload]\narrivals = \"poisson\"\noffered = 10\nthink = \"1ms\"\n",
        "workload.think",
        "open loop",
    ),
    (
        "target = \"null:\"\n[workload]\narrivals = \"poisson\"\n",
        "workload.arrivals",
        "without its offered load",
    ),
    ("target = \"null:\"\n[workload]\noffered = 10\n", "workload.offered", "without arrivals"),
    (
        "target = \"null:\"\n[workload]\narrivals = \"constant\"\noffered = 10\nmax_ops = 5\n",
        "workload.max_ops",
        "a cap",
    ),
    (
        "target = \"null:\"\n[workload]\nblocks = { 4KiB = 1, 8KiB = 1 }\norder = \"random\"\n",
        "workload.blocks",
        "several block sizes",
    ),
    (
        "target = \"null:\"\n[workload]\norder = \"stride\"\nstride = \"5KiB\"\n",
        "workload.stride",
        "no multiple",
    ),
    ("target = \"null:\"\n[workload]\norder = \"stride\"\n", "workload.order", "without a stride"),
    (
        "target = \"null:\"\n[workload]\norder = \"stride\"\nstride = \"64MiB\"\n",
        "workload.stride",
        "in a file",
    ),
    ("target = \"null:\"\n[workload]\nstride = \"64KiB\"\n", "workload.stride", "without order"),
    ("target = \"null:\"\n[workload]\norder = \"zipf\"\n", "workload.order", "without its exponent"),
    ("target = \"null:\"\n[workload]\nzipf_theta = 1.0\n", "workload.zipf_theta", "without order"),
    (
        "target = \"/d\"\n[workload.ring]\nregistered_files = \"off\"\n",
        "workload.ring.registered_files",
        "without engine",
    ),
    (
        "target = \"/d\"\n[workload]\nengine = \"uring\"\nring = { completion_polling = true }\n",
        "workload.ring.completion_polling",
        "buffered access",
    ),
    ("target = \"null:\"\n[workload]\nengine = \"psync\"\n", "workload.engine", "does not serve"),
    ("target = \"tcp://h:1/sink\"\n[workload]\nop = \"read\"\n", "workload.op", "the operation read"),
    ("target = \"/d\"\n[workload]\nop = \"send\"\n", "workload.op", "the operation send"),
    (
        "target = \"null:\"\n[workload]\nsync = \"dsync\"\n",
        "workload.sync",
        "without an operation that writes",
    ),
    (
        "target = \"/d\"\n[workload]\nacknowledgement = \"late\"\n",
        "workload.acknowledgement",
        "without an endpoint",
    ),
    (
        "target = \"null:\"\n[workload]\nverify = true\n",
        "workload.verify",
        "nothing that was written can be read",
    ),
    (
        "target = \"tcp://h:1/source\"\n[workload]\nop = \"receive\"\nverify = true\n",
        "workload.verify",
        "at tcp://h:1/source",
    ),
    (
        "target = \"stripe:tcp://h:1/sink,tcp://i:1/sink\"\n[workload]\nop = \"send\"\nverify = true\n",
        "workload.verify",
        "at stripe:tcp://h:1/sink",
    ),
    (
        "target = \"/d\"\n[workload]\nverify = true\nblock = 1000\n",
        "workload.block",
        "verify = true with a block of 1000B",
    ),
    (
        "target = \"/d\"\n[workload]\nverify = true\nblocks = { 4KiB = 1, 100 = 1 }\n",
        "workload.blocks",
        "verify = true with a block of 100B",
    ),
    ("target = \"/d\"\n[workload]\nverify = true\nfile = \"33GiB\"\n", "workload.file", "a file of 33GiB"),
    ("target = \"null:\"\n[stop]\nbytes = 100\n", "stop.bytes", "less than one block"),
    (
        "target = \"/d\"\n[workload]\nop = \"write\"\nwrite_back_every = 10\n",
        "workload.op",
        "write_back_every = 10 with the operation write",
    ),
    (
        "target = \"/d\"\n[workload]\nblocks = { 4KiB = 1, 8KiB = 1 }\nwrite_back_every = 1\n",
        "workload.blocks",
        "write_back_every = 1 with blocks of several sizes",
    ),
    (
        "target = \"null:\"\n[workload]\ndepth = 8\nwrite_back_every = 1\n",
        "workload.depth",
        "write_back_every = 1 at a depth of 8",
    ),
    (
        "target = \"/d\"\n[workload]\nmax_ops = \"5/s\"\nwrite_back_every = 1\n",
        "workload.max_ops",
        "in a load that waits between requests",
    ),
    (
        "target = \"/d\"\n[workload]\nverify = true\nwrite_back_every = 1\n",
        "workload.verify",
        "verify = true with write_back_every = 1",
    ),
    (
        "target = \"/d\"\n[workload]\norder = \"listing\"\n",
        "workload.order",
        "order = \"listing\" with op = \"read\"",
    ),
    (
        "target = \"/d\"\n[workload]\nop = \"get\"\norder = \"listing\"\n",
        "workload.order",
        "order = \"listing\" with op = \"get\"",
    ),
    (
        "target = \"/d\"\n[workload]\nop = \"put\"\norder = \"backward\"\n",
        "workload.order",
        "order = \"backward\" with op = \"put\"",
    ),
    (
        "target = \"/d\"\n[workload]\norder = \"random\"\n[workload.transactions]\ncount = 5\n",
        "workload.order",
        "order = \"random\" with op",
    ),
    (
        "target = \"/d\"\n[workload]\nop = \"stat\"\norder = \"listing\"\nworkers = 2\n",
        "workload.order",
        "with 2 workers",
    ),
    (
        "target = \"/d\"\n[workload]\nop = \"put\"\nworkers = 4\n[workload.objects]\ncount = 3\n",
        "workload.objects.count",
        "3 objects for 4 workers",
    ),
    (
        "target = \"/d\"\n[workload]\nop = \"put\"\n[workload.objects]\nmin = 5\nmax = 4\n",
        "workload.objects.max",
        "at least 5B and at most 4B",
    ),
    (
        "target = \"/d\"\n[workload]\nop = \"put\"\n[workload.objects]\nfolders = 257\nsync = \"data_and_folder\"\n",
        "workload.objects.folders",
        "257 folders that are synced",
    ),
    (
        "target = \"/d\"\n[workload]\nop = \"put\"\ndepth = 2\n",
        "workload.depth",
        "a depth of 2 with the synchronous",
    ),
    ("target = \"null:\"\n[workload]\nop = \"put\"\ndepth = 2\n", "workload.depth", "with whole objects"),
    ("target = \"/d\"\n[workload]\nop = \"put\"\n[stop]\nwarm_up = \"1s\"\n", "stop.warm_up", "a warm-up"),
    (
        "target = \"/d\"\n[workload]\nop = \"put\"\n[stop]\nbytes = \"1MiB\"\n",
        "stop.bytes",
        "a bound in bytes",
    ),
    (
        "target = \"tcp://h:7300/disk\"\n[workload]\nop = \"put\"\n",
        "workload.op",
        "the operation put at tcp://h:7300/disk",
    ),
    (
        "target = \"/d\"\n[workload]\nop = \"put\"\n[workload.transactions]\ncount = 5\n",
        "workload.transactions.count",
        "count beside op",
    ),
    ("target = \"/d\"\n[workload]\nops = { put = 1 }\n", "workload.ops", "put"),
    ("target = \"/d\"\n[workload.objects]\ncount = 5\n", "workload.objects.count", "count"),
    ("target = \"/d\"\n[workload]\nop = \"stat\"\ncache = \"cold\"\n", "workload.cache", "cache"),
    (
        "target = \"/d\"\n[workload]\nop = \"put\"\n[workload.transactions]\nread_bias = 5\n",
        "workload.transactions.read_bias",
        "read_bias",
    ),
    ("target = \"null:\"\n[workload]\nmax_rate = \"1KiB/s\"\n", "workload.max_rate", "a cap"),
    (
        "target = \"null:\"\n[workload]\nop = \"read\"\nops = { read = 1, write = 1 }\n",
        "workload.ops",
        "beside op",
    ),
    (
        "target = \"null:\"\n[workload]\nblock = 512\nblocks = { 4KiB = 1 }\n",
        "workload.blocks",
        "beside block",
    ),
    (
        "target = \"null:\"\n[workload]\ndepth = 4\n[sweep]\ndepth = [1, 2]\n",
        "sweep.depth",
        "outside of [sweep]",
    ),
    ("target = \"null:\"\n[sweep]\ntarget = [\"null:copy\"]\n", "sweep.target", "outside of [sweep]"),
    ("target = \"null:\"\n[sweep]\ndepth = []\n", "sweep.depth", "an empty list"),
    ("target = \"null:\"\n[sweep]\ndepth = [1, 2, 1]\n", "sweep.depth", "a second time"),
    ("target = \"null:\"\n[sweep]\ndepth = 4\n", "sweep.depth", "4 (a whole number)"),
    ("target = \"null:\"\n[sweep]\nblock = \"8KiB..4KiB x2\"\n", "sweep.block", "8KiB..4KiB"),
    ("target = \"null:\"\n[sweep]\nmeasure = [\"1s\"]\n", "sweep.measure", "belongs to the whole study"),
    ("target = [\"null:\", \"null:\"]\n", "target", "a second time"),
    ("target = []\n", "target", "an empty list"),
    ("target = \"ftp://x\"\n", "target", "is not a scheme"),
    ("target = \"null:\"\ntogether = true\n", "together", "one target"),
    ("target = \"null:\"\ncuts = [\"page_cache\"]\n", "cuts", "page_cache"),
    ("target = \"/d\"\ncuts = [\"network_stream\"]\n", "cuts", "network_stream"),
    ("target = \"null:\"\n[stop]\ntrials = 2\n[repeat]\nuntil = \"interval\"\n", "stop.trials", "2 trials"),
    ("target = \"null:\"\n[stop]\ntrials = 4\n[repeat]\nuntil = \"steady\"\n", "stop.trials", "4 trials"),
    ("target = \"null:\"\n[repeat]\nwindow = 5\n", "repeat.window", "without until"),
    ("target = \"null:\"\nworkload = 5\n", "workload", "5 (a whole number)"),
    ("[workload]\ndepth = 1\n", "target", "no target"),
    (
        "target = \"null:\"\n[sweep]\nblock = \"1..64MiB x2\"\ndepth = \"1..1024 x2\"\nworkers = \"1..512 x2\"\nbatch = [1, 2, 3, 4]\n",
        "sweep",
        "points (27 block x 11 depth x 10 workers x 4 batch)",
    ),
];

#[test]
fn settings_that_do_not_go_together_are_one_located_problem_with_a_hint() {
    for (text, key, part) in CLASHES {
        let problem = problem(text);
        assert_eq!(problem.key, *key, "{problem:?}\n{text}");
        assert!(problem.found.contains(part), "{problem:?}\n{text}");
        assert!(!problem.hint.is_empty() && !problem.allowed.is_empty(), "{problem:?}");
        let line = text.lines().nth(problem.line - 1).unwrap();
        let name = key.rsplit_once('.').map_or(*key, |(_, name)| name);
        assert!(*key == "target" || line.contains(name), "{problem:?}\n{text}");
    }
}

#[test]
fn several_combinations_are_told_at_once() {
    let text = "target = \"/d\"\n[workload]\nblock = \"1000B\"\naccess = \"direct\"\ndepth = 8\nbatch = 16\n\
                order = \"zipf\"\narrivals = \"constant\"\nthink = \"1ms\"\n";
    let lines: Vec<usize> = problems(text).iter().map(|problem| problem.line).collect();
    assert_eq!(lines, [3, 5, 6, 7, 8, 9]);
}

#[test]
fn a_value_that_never_works_is_a_problem_and_one_that_sometimes_works_is_left_out() {
    let never = "target = \"/d\"\n[sweep]\nengine = [\"psync\", \"uring\"]\nblock = [\"4KiB\", \"128KiB\"]\n[workload]\nfile = \"64KiB\"\n";
    let problem = problem(never);
    assert_eq!((problem.key.as_str(), problem.line), ("sweep.block", 4));
    let sometimes = "target = \"/d\"\n[sweep]\nengine = [\"psync\", \"uring\"]\ndepth = [1, 16]\n";
    let study = parse(sometimes, "s").unwrap();
    let left_out: Vec<&str> = study.points.iter().filter_map(|point| point.left_out.as_deref()).collect();
    assert_eq!(left_out, ["a depth of 16 with the synchronous engine psync"]);
    assert_eq!((study.points.len(), study.point_count()), (4, 3));
}

#[test]
fn several_clients_of_a_simulated_machine_are_a_problem_or_left_out_for_each_would_have_its_own() {
    let never = problem("target = \"sim:local-ssd\"\n[workload]\nclients = 2\n");
    assert_eq!((never.key.as_str(), never.line), ("workload.clients", 3));
    assert!(never.found.contains("a simulated machine of its own"), "{}", never.found);
    let sometimes = "target = [\"null:\", \"sim:local-ssd\"]\n[sweep]\nclients = [1, 2]\n";
    let study = parse(sometimes, "s").unwrap();
    let left_out: Vec<bool> = study.points.iter().map(|point| point.left_out.is_some()).collect();
    assert_eq!(left_out, [false, false, false, true]);
}

#[test]
fn records_larger_than_files_leave_a_surface_with_a_corner_missing() {
    let text = "target = \"/d\"\n[sweep]\nblock = \"4KiB..64KiB x2\"\nfile = \"8KiB..32KiB x2\"\n";
    // 64KiB fits no file at all.
    assert!(problem(text).found.contains("64KiB"), "{:?}", problem(text));
    let study = parse(&text.replace("4KiB..64KiB", "4KiB..32KiB"), "s").unwrap();
    assert_eq!((study.points.len(), study.point_count()), (12, 9));
}

#[test]
fn a_factor_without_meaning_at_a_point_is_measured_there_once() {
    let text = "target = \"null:\"\n[sweep]\norder = [\"random\", \"zipf\"]\nzipf_theta = [0.8, 0.99]\n";
    let study = parse(text, "s").unwrap();
    let left_out: Vec<_> = study.points.iter().map(|point| point.left_out.is_some()).collect();
    assert_eq!(left_out, [false, true, false, false]);
}

#[test]
fn the_last_factor_of_the_sweep_changes_fastest_and_targets_slowest() {
    let text = "target = [\"null:\", \"null:copy\"]\n[sweep]\ndepth = [1, 2]\nblock = [512, 1024]\n";
    let study = parse(text, "s").unwrap();
    let names: Vec<&str> = study.factors().iter().map(|factor| factor.name.as_str()).collect();
    assert_eq!(names, ["target", "depth", "block"]);
    let blocks: Vec<u64> = study.points.iter().map(|point| point.workload.block_bytes.0).collect();
    assert_eq!(blocks, [512, 1024, 512, 1024, 512, 1024, 512, 1024]);
}

#[test]
fn targets_together_have_the_clients_of_each_alone() {
    let text = "target = [\"null:\", \"null:copy\"]\ntogether = true\n[workload]\nclients = 2\n";
    let study = parse(text, "s").unwrap();
    let clients: Vec<u32> = study.points.iter().map(|point| point.workload.clients).collect();
    assert_eq!(clients, [2, 2, 4]);
    assert_eq!(study.points[2].more_targets.len(), 1);
    assert_eq!(study.factors()[0].values.len(), 3);
}

#[test]
fn what_is_asked_of_the_machine_is_each_target_with_each_engine_and_its_cuts() {
    let text =
        "target = \"tcp://h:7300/disk\"\ncuts = [\"generator\", \"network_stream\", \"server_memory\"]\n";
    let targets: Vec<String> = parse(text, "s").unwrap().targets().iter().map(ToString::to_string).collect();
    let layers = ["disk", "sink", "source", "memory"].map(|layer| format!("tcp://h:7300/{layer}"));
    assert_eq!(targets, layers);
    let text = "target = \"/d\"\n[sweep]\nengine = [\"psync\", \"uring\"]\n";
    assert_eq!(parse(text, "s").unwrap().wanted().len(), 2);
}

#[test]
fn a_file_that_is_no_study_is_refused_by_its_size() {
    let text = "#".repeat(2 << 20);
    assert!(problem(&text).hint.contains("right file"));
}

#[test]
fn a_file_of_thousands_of_slips_is_told_by_its_first_ones() {
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
        index in 0..KEYS.len(),
        value in prop_oneof![
            "\"\\PC{0,12}\"", any::<i64>().prop_map(|n| n.to_string()), any::<f64>().prop_map(|n| format!("{n:?}")),
            Just("[]".to_owned()), Just("{}".to_owned()), Just("true".to_owned()), Just("{ 4KiB = 1, 4096 = 1 }".to_owned()),
        ],
        swept in any::<bool>(),
    ) {
        let key = &KEYS[index];
        let path = if swept { format!("sweep.{}", key.factor()) } else { key.path.to_owned() };
        let value = if swept { format!("[{value}, {value}]") } else { value };
        let text = text_of(&[("target", "\"null:\""), (&path, &value)]);
        if let Err(problems) = parse(&text, "s") {
            prop_assert!(!problems.list.is_empty(), "{text}");
        }
    }
}

#[test]
fn what_does_not_go_together_is_told_beside_what_cannot_be_read() {
    let text = "target = \"null:\"\nbogus = 1\n[workload]\ndepth = 4\nbatch = 16\nblock = \"128KiB\"\nfile = \"64KiB\"\n\
                zipf_theta = 0.5\nthink = \"5\"\n[sweep]\norder = [\"stride\"]\n";
    let keys: Vec<String> = problems(text).into_iter().map(|problem| problem.key).collect();
    let all =
        ["bogus", "workload.batch", "workload.block", "workload.zipf_theta", "workload.think", "sweep.order"];
    assert_eq!(keys, all);
}

#[test]
fn nothing_is_said_of_what_rests_on_a_key_that_cannot_be_read() {
    for text in [
        "target = \"null:\"\n[workload]\ndepth = \"many\"\nbatch = 16\n",
        "target = \"null:\"\n[workload]\niodepth = 32\nbatch = 16\n",
        "target = \"null:\"\n[workload]\nordr = \"zipf\"\nzipf_theta = 0.5\n",
        "target = \"null:\"\n[workload]\nbatch = 16\n[sweep]\ndepth = [\"many\", 4]\n",
        "target = \"/tmp\"\n[workload]\nengine = \"urring\"\ndepth = 16\n",
    ] {
        let found = problem(text);
        assert!(!found.key.contains("batch") && !found.key.contains("theta"), "{found:?}");
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

#[test]
fn a_trial_with_a_bound_on_what_it_moves_has_no_warm_up_that_uses_it_up() {
    let warm_up = |stop: &str| {
        let text = format!("target = \"null:\"\n[stop]\n{stop}\n");
        parse(&text, "study.toml").unwrap().points[0].stop.warm_up_ns
    };
    assert_eq!(warm_up("bytes = \"64MiB\""), Nanos(0));
    assert_eq!(warm_up("ops = 1000"), Nanos(0));
    assert_eq!(warm_up("ops = 1000\nwarm_up = \"1s\""), Nanos(1_000_000_000));
    assert_eq!(warm_up("measure = \"1s\""), Nanos(300_000_000));
}
