//! The crates of the workspace as data: who may depend on whom, who may cause which effect, which path in a source
//! file has which effect, and every exception with its reason.
//!
//! To change a rule, change a row here. Nothing here looks at a file; limits and names are in `limits`.

/// Something a piece of code does to the world, or takes from it, besides computing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum CodeEffect {
    Unsafe,
    Threads,
    Clock,
    Files,
    Net,
    Console,
    Process,
    Random,
}

impl CodeEffect {
    /// The effect in words, and where code that wants it should turn.
    pub(crate) fn words(self) -> (&'static str, &'static str) {
        match self {
            Self::Unsafe => ("unsafe code", "put the call behind a safe function of narrows-sys"),
            Self::Threads => ("threads", "leave threads to run, endpoint, the engines' own workers or cli"),
            Self::Clock => ("reading a clock", "take the time, or a clock, as an argument"),
            Self::Files => ("files", "take a reader, a writer or the text as an argument"),
            Self::Net => ("sockets", "take a reader and a writer, or go through engines or endpoint"),
            Self::Console => ("the console", "return text; only cli prints"),
            Self::Process => ("child processes", "leave child processes to run"),
            Self::Random => {
                ("unseeded randomness", "take a seed as an argument; cli makes it and records it")
            }
        }
    }
}

/// A crate: its neighbours, and the effects its sources may cause.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CrateRow {
    /// The folder's name below `crates/`.
    pub(crate) name: &'static str,
    /// The crates that a normal or a build dependency may name; one that none does is refused.
    pub(crate) may_depend_on: &'static [&'static str],
    /// Effects, each with the reason.
    pub(crate) effects: &'static [(CodeEffect, &'static str)],
}

/// Crates that are for developers alone: only dev-dependencies may name them.
pub(crate) const DEV_ONLY: &[&str] = &["testkit", "lab", "xtask"];

const PURE: &[(CodeEffect, &str)] = &[];

const DEVICE_ACCESS: &[(CodeEffect, &str)] = &[
    (CodeEffect::Threads, "an engine's own workers"),
    (CodeEffect::Files, "issuing I/O is what an engine is for"),
    (CodeEffect::Net, "issuing I/O is what an engine is for"),
];

/// Every crate there may be. One that is not here yet may not be added to the workspace.
pub(crate) const CRATES: &[CrateRow] = &[
    CrateRow {
        name: "sys",
        may_depend_on: &[],
        effects: &[
            (CodeEffect::Unsafe, "the one place where unsafe calls get safe faces"),
            (CodeEffect::Clock, "wraps the clock"),
            (CodeEffect::Files, "wraps system calls on files"),
            (CodeEffect::Net, "wraps system calls on sockets"),
            (CodeEffect::Process, "what a child does between fork and exec is unsafe code"),
        ],
    },
    CrateRow { name: "histogram", may_depend_on: &[], effects: PURE },
    CrateRow { name: "model", may_depend_on: &["histogram"], effects: PURE },
    CrateRow { name: "stats", may_depend_on: &[], effects: PURE },
    CrateRow { name: "study", may_depend_on: &["model"], effects: PURE },
    CrateRow { name: "sim", may_depend_on: &["model"], effects: PURE },
    CrateRow {
        name: "record",
        may_depend_on: &["model", "sys"],
        effects: &[(CodeEffect::Files, "writes and reads the folder it is given")],
    },
    CrateRow {
        name: "probe",
        may_depend_on: &["model", "sys"],
        effects: &[(CodeEffect::Files, "reads /proc and /sys under a root that it is given")],
    },
    CrateRow { name: "wire", may_depend_on: &["model"], effects: PURE },
    CrateRow { name: "engines", may_depend_on: &["model", "wire", "sim", "sys"], effects: DEVICE_ACCESS },
    CrateRow {
        name: "remote",
        // `sys` for the memory of blocks.
        may_depend_on: &["model", "engines", "sys"],
        effects: &[
            (CodeEffect::Threads, "an engine's own workers"),
            (CodeEffect::Files, "the certificates that a server's is checked against"),
            (CodeEffect::Net, "issuing I/O is what an engine is for"),
        ],
    },
    CrateRow {
        name: "run",
        // `sys` by docs/design/0001.
        may_depend_on: &["model", "stats", "engines", "probe", "wire", "sys"],
        effects: &[
            (CodeEffect::Threads, "workers are threads"),
            (CodeEffect::Process, "clients are child processes"),
        ],
    },
    CrateRow {
        name: "endpoint",
        may_depend_on: &["model", "sys", "wire", "probe", "engines", "run"],
        effects: &[
            (CodeEffect::Threads, "one thread a connection"),
            (CodeEffect::Files, "the disk store, beneath its root (docs/design/0002)"),
            (CodeEffect::Net, "accepts connections"),
            (CodeEffect::Random, "a token challenge that a seed could repeat would prove nothing"),
        ],
    },
    CrateRow { name: "analysis", may_depend_on: &["model", "stats"], effects: PURE },
    CrateRow { name: "report", may_depend_on: &["model", "analysis"], effects: PURE },
    CrateRow { name: "suites", may_depend_on: &["model", "stats", "study", "analysis"], effects: PURE },
    CrateRow {
        name: "cli",
        may_depend_on: &[
            "sys", "model", "study", "record", "probe", "engines", "remote", "run", "endpoint", "analysis",
            "report", "suites",
        ],
        effects: &[
            (CodeEffect::Threads, "signals and the live view"),
            (CodeEffect::Clock, "the real clock is made here"),
            (CodeEffect::Files, "opens what the command line names"),
            (CodeEffect::Net, "opens what the command line names"),
            (CodeEffect::Console, "the only crate that prints"),
            (
                CodeEffect::Process,
                "starts `narrows serve` for `--server self` (docs/design/0002) and the tools of docs/design/0027",
            ),
            (CodeEffect::Random, "the seed of a run is made and recorded here"),
        ],
    },
    CrateRow {
        name: "mpi",
        // `engines` for the contract of `mpiio` (docs/design/0030).
        may_depend_on: &["cli", "run", "engines", "model", "sys"],
        effects: &[
            (
                CodeEffect::Unsafe,
                "calls of the MPI library, which no other crate may link (docs/design/0026)",
            ),
            (CodeEffect::Threads, "one thread makes all calls of MPI but those on files"),
            (CodeEffect::Clock, "offsets between the clocks of ranks"),
            (CodeEffect::Files, "reads its own program, which all ranks compare"),
            (CodeEffect::Console, "what is wrong before there is a command"),
        ],
    },
    CrateRow {
        name: "testkit",
        may_depend_on: &["stats"],
        effects: &[(CodeEffect::Net, "connections for tests")],
    },
    CrateRow {
        name: "lab",
        may_depend_on: &[],
        effects: &[
            (CodeEffect::Threads, "waits for several real servers"),
            (CodeEffect::Clock, "deadlines for real servers"),
            (CodeEffect::Files, "configurations of real servers"),
            (CodeEffect::Net, "asks whether a real server listens"),
            (CodeEffect::Process, "starts and ends real servers"),
        ],
    },
    CrateRow {
        name: "xtask",
        may_depend_on: &["sys", "stats"],
        effects: &[
            (CodeEffect::Clock, "times programs, and tells how finely the clock steps"),
            (CodeEffect::Files, "reads the sources"),
            (CodeEffect::Net, "asks for a free port for a peer that takes none of the kernel's choice"),
            (CodeEffect::Console, "prints what it found"),
            (CodeEffect::Process, "runs cargo and git, narrows and its peers"),
            (CodeEffect::Threads, "kills checks and servers side by side"),
        ],
    },
];

/// An effect that a single file may cause though its crate may not.
#[derive(Debug, Clone, Copy)]
pub(crate) struct EffectException {
    pub(crate) file: &'static str,
    pub(crate) effect: CodeEffect,
    pub(crate) reason: &'static str,
}

/// An entry whose file no longer causes the effect is itself a problem.
pub(crate) const EFFECT_EXCEPTIONS: &[EffectException] = &[
    EffectException {
        file: "crates/sys/examples/bare_bulk.rs",
        effect: CodeEffect::Console,
        reason: "a program of its own that prints where it listens and its figures",
    },
    EffectException {
        file: "crates/sys/examples/bare_pingpong.rs",
        effect: CodeEffect::Console,
        reason: "a program of its own that prints where it listens and its figures",
    },
    EffectException {
        file: "crates/sys/examples/bare_pread.rs",
        effect: CodeEffect::Console,
        reason: "a program of its own that prints its figures",
    },
    EffectException {
        file: "crates/sys/examples/bare_relay.rs",
        effect: CodeEffect::Console,
        reason: "a program of its own that prints where it listens and its figures",
    },
    EffectException {
        file: "crates/sys/examples/bare_stream.rs",
        effect: CodeEffect::Console,
        reason: "a program of its own that prints where it listens and its figures",
    },
    EffectException {
        file: "crates/engines/src/clock.rs",
        effect: CodeEffect::Clock,
        reason: "the clock that is passed in has its real form here; only cli makes one",
    },
    EffectException {
        file: "crates/lab/src/bin/delaywire/main.rs",
        effect: CodeEffect::Console,
        reason: "a program of its own that tells the lab when its wire is ready",
    },
    EffectException {
        file: "crates/lab/src/bin/delaydisk/main.rs",
        effect: CodeEffect::Console,
        reason: "a program of its own that tells the lab when its disks are mounted",
    },
    EffectException {
        file: "crates/lab/src/bin/labcat.rs",
        effect: CodeEffect::Console,
        reason: "a program of its own that prints what it moved",
    },
    EffectException {
        file: "crates/lab/src/bin/labexporter.rs",
        effect: CodeEffect::Console,
        reason: "a program of its own that tells the lab where it listens",
    },
    EffectException {
        file: "crates/remote/examples/bare_s3.rs",
        effect: CodeEffect::Console,
        reason: "a program of its own that prints the rate that the engine is held against",
    },
    EffectException {
        file: "crates/remote/examples/bare_s3.rs",
        effect: CodeEffect::Clock,
        reason: "a program of its own that times its loop",
    },
    EffectException {
        file: "crates/sys/examples/bare_uring.rs",
        effect: CodeEffect::Console,
        reason: "a program of its own that prints the rate that the engine is held against",
    },
    EffectException {
        file: "crates/lab/src/bin/delaywire/tap.rs",
        effect: CodeEffect::Unsafe,
        reason: "one ioctl makes a TAP device; no product code needs it, so sys does not hold it",
    },
    EffectException {
        file: "crates/sys/src/testing.rs",
        effect: CodeEffect::Threads,
        reason: "a test in a thread whose table of open files ends with it",
    },
    EffectException {
        file: "crates/run/src/group/worker_thread.rs",
        effect: CodeEffect::Unsafe,
        reason: "a table of open files for one thread is safe only where all threads of the process are known",
    },
];

/// The effect of a path in a source file.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PathRow {
    /// The path, or the start of it; the longest row that fits decides.
    pub(crate) path: &'static str,
    /// None marks plain values below a path that is otherwise an effect.
    pub(crate) effect: Option<CodeEffect>,
    /// Naming the type is free, using it as a value is not.
    pub(crate) values_only: bool,
}

const fn effect(path: &'static str, effect: CodeEffect) -> PathRow {
    PathRow { path, effect: Some(effect), values_only: false }
}

const fn plain(path: &'static str) -> PathRow {
    PathRow { path, effect: None, values_only: false }
}

/// Calls of `libc` are left out: none can be made without `unsafe`, which has its own row.
pub(crate) const PATHS: &[PathRow] = &[
    effect("std::thread", CodeEffect::Threads),
    effect("std::time::Instant", CodeEffect::Clock),
    effect("std::time::SystemTime", CodeEffect::Clock),
    effect("std::time::UNIX_EPOCH", CodeEffect::Clock),
    effect("rustix::time", CodeEffect::Clock),
    plain("rustix::time::Timespec"),
    // The engines' clock trait is implemented for this type, so only values made of it count.
    PathRow { path: "narrows_sys::clock", effect: Some(CodeEffect::Clock), values_only: true },
    PathRow { path: "narrows_engines::MonotonicClock", effect: Some(CodeEffect::Clock), values_only: true },
    PathRow {
        path: "narrows_engines::clock::MonotonicClock",
        effect: Some(CodeEffect::Clock),
        values_only: true,
    },
    // Waiting, and how a wait ended, is not reading.
    plain("narrows_sys::clock::Wake"),
    plain("narrows_sys::clock::wait_ns"),
    plain("narrows_sys::clock::wait_until"),
    effect("std::fs", CodeEffect::Files),
    effect("std::os::unix::fs", CodeEffect::Files),
    effect("std::os::linux::fs", CodeEffect::Files),
    effect("rustix::fs", CodeEffect::Files),
    effect("tempfile", CodeEffect::Files),
    effect("std::net", CodeEffect::Net),
    plain("std::net::AddrParseError"),
    plain("std::net::IpAddr"),
    plain("std::net::Ipv4Addr"),
    plain("std::net::Ipv6Addr"),
    plain("std::net::SocketAddr"),
    plain("std::net::SocketAddrV4"),
    plain("std::net::SocketAddrV6"),
    effect("std::os::unix::net", CodeEffect::Net),
    effect("rustix::net", CodeEffect::Net),
    effect("socket2", CodeEffect::Net),
    effect("std::io::stdout", CodeEffect::Console),
    effect("std::io::stderr", CodeEffect::Console),
    effect("std::io::Stdout", CodeEffect::Console),
    effect("std::io::Stderr", CodeEffect::Console),
    effect("rustix::stdio", CodeEffect::Console),
    effect("indicatif", CodeEffect::Console),
    effect("std::process::Child", CodeEffect::Process),
    effect("std::process::Command", CodeEffect::Process),
    effect("std::process::abort", CodeEffect::Process),
    effect("std::process::exit", CodeEffect::Process),
    effect("rustix::process::kill_process", CodeEffect::Process),
    effect("rustix::process::kill_process_group", CodeEffect::Process),
    effect("getrandom", CodeEffect::Random),
    effect("rand::random", CodeEffect::Random),
    effect("rand::rng", CodeEffect::Random),
    effect("rand::thread_rng", CodeEffect::Random),
    effect("rand::rngs::OsRng", CodeEffect::Random),
    effect("rand::rngs::SysRng", CodeEffect::Random),
    effect("rand::rngs::ThreadRng", CodeEffect::Random),
    effect("rand_core::OsRng", CodeEffect::Random),
    effect("rustix::rand", CodeEffect::Random),
    effect("std::collections::hash_map::RandomState", CodeEffect::Random),
    effect("std::hash::RandomState", CodeEffect::Random),
];

/// Macros that write to the console.
pub(crate) const CONSOLE_MACROS: &[&str] = &["print", "println", "eprint", "eprintln", "dbg"];

/// Constructors that seed a generator from the machine, whatever type they belong to.
pub(crate) const RANDOM_CONSTRUCTORS: &[&str] = &["from_os_rng", "try_from_os_rng", "from_entropy"];

/// Methods of `Path` that ask the file system, and that no type of the project shares.
pub(crate) const FILE_METHODS: &[&str] =
    &["canonicalize", "read_dir", "read_link", "symlink_metadata", "try_exists"];
