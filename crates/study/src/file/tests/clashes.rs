//! Settings that do not go together, one by one and several at once.

use super::*;

/// Combinations that do not go together: the study, the key that is refused, a part of what is found.
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
        "the engine stdio: a stream's buffer",
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
    (
        "target = \"/d\"\n[workload]\npsync = { calls = \"at_position\", vectors = 4 }\n",
        "workload.psync.calls",
        "vectors = 4 with calls",
    ),
    (
        "target = \"nfs://h/e\"\n[workload]\nnfs = { stat = \"getattr\" }\n",
        "workload.nfs.stat",
        "stat = \"getattr\" in a load of blocks",
    ),
    (
        "target = \"/d\"\n[workload]\nengine = \"mpiio\"\nop = \"write\"\nsync = \"every 2\"\n",
        "workload.sync",
        "independent writes to a shared file",
    ),
    (
        "target = \"/d\"\n[workload]\nengine = \"mpiio\"\nmpiio = { hints = \"cb_nodes\" }\n",
        "workload.mpiio.hints",
        "the hint `cb_nodes`",
    ),
    (
        "target = \"/d\"\n[workload]\nthink = \"2s\"\n[stop]\nmeasure = \"500ms\"\n",
        "workload.think",
        "a think time of 2 s in a window of 0.5 s",
    ),
    ("target = \"/d\"\n[workload]\nthink = \"2s\"\n", "workload.think", "in a window of 1.5 s"),
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
        "written data cannot be read back",
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
    (
        "target = \"/d\"\n[workload]\nop = \"put\"\nsync = \"dsync\"\n",
        "workload.sync",
        "without an operation that writes",
    ),
    (
        "target = \"nfs://h/e\"\n[workload]\nop = \"put\"\nsync = \"at_end\"\n",
        "workload.sync",
        "without an operation that writes",
    ),
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
        "count with op",
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
        "with op",
    ),
    ("target = \"null:\"\n[workload]\nblock = 512\nblocks = { 4KiB = 1 }\n", "workload.blocks", "with block"),
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
    ("target = \"ftp://x\"\n", "target", "is not a known scheme"),
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
fn several_combinations_are_reported_at_once() {
    let text = "target = \"/d\"\n[workload]\nblock = \"1000B\"\naccess = \"direct\"\ndepth = 8\nbatch = 16\n\
                order = \"zipf\"\narrivals = \"constant\"\nthink = \"1ms\"\n";
    let lines: Vec<usize> = problems(text).iter().map(|problem| problem.line).collect();
    assert_eq!(lines, [3, 5, 6, 7, 8, 9]);
}

#[test]
fn what_does_not_go_together_is_reported_beside_what_cannot_be_read() {
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
fn writes_of_objects_may_be_durable_one_by_one_where_their_engine_stores_them_early() {
    let text = "target = \"nfs://h/e\"\n[workload]\nop = \"put\"\nsync = \"dsync\"\n";
    let problems = parse(text, "study.toml").err().map(|problems| problems.list).unwrap_or_default();
    assert!(problems.is_empty(), "{problems:?}");
}
