//! Limits and refused words as data: lengths, names, packages, texts, and every exemption with its reason.
//!
//! To change a rule, change a line here. Nothing here looks at a file; crates and effects are in `tables`.

/// Lines of a file, tests not counted, that are aimed for; more is a remark.
pub(crate) const FILE_LINES_AIM: usize = 300;
/// Lines of a file, tests not counted, that are never passed.
pub(crate) const FILE_LINES_MAX: usize = 500;
/// Lines of a function, from `fn` to its brace, that are never passed.
pub(crate) const FUNCTION_LINES_MAX: usize = 70;
/// Nine functions of ten are shorter than this.
pub(crate) const FUNCTION_LINES_P90_BELOW: usize = 30;

/// A file or a function that may be longer than the rest, for a reason.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LengthExemption {
    pub(crate) file: &'static str,
    /// None: the file as a whole.
    pub(crate) function: Option<&'static str>,
    /// Exactly how long it is: what grows is refused, what shrinks lowers this figure, what fits loses its entry.
    pub(crate) lines: usize,
    pub(crate) reason: &'static str,
}

/// The list may only shrink.
pub(crate) const LENGTH_EXEMPTIONS: &[LengthExemption] = &[];

/// This file, for hints.
pub(crate) const CIRCLES_FILE: &str = "crates/xtask/src/tidy/limits.rs";

/// Modules of one parent that still need each other, and why they still do.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CircleExemption {
    pub(crate) crate_name: &'static str,
    /// The module that declares them, as `a::b`; empty for the crate itself.
    pub(crate) parent: &'static str,
    /// All modules of the circle, sorted.
    pub(crate) modules: &'static [&'static str],
    pub(crate) reason: &'static str,
}

/// The list may only shrink.
pub(crate) const CIRCLE_EXEMPTIONS: &[CircleExemption] = &[
    CircleExemption {
        crate_name: "model",
        parent: "",
        modules: &["capabilities", "engine", "target", "workload"],
        reason: "an engine's declaration names targets and workloads, which name engines",
    },
    CircleExemption {
        crate_name: "run",
        parent: "worker",
        modules: &["objects", "state", "verifier", "write_back"],
        reason: "what a load adds to the state is stored in it and works on it, without dispatch on the hot path",
    },
];

/// Words that say nothing, refused at either end of a type's or a module's name.
pub(crate) const EMPTY_WORDS: &[&str] =
    &["manager", "helper", "helpers", "util", "utils", "common", "info", "infos"];

/// Endings that are allowed although they contain an empty word, each with the reason.
pub(crate) const NAME_EXCEPTIONS: &[(&str, &str)] =
    &[("tcp_info", "the kernel's own name of the structure that TCP_INFO fills")];

/// Abbreviations that hide a unit, refused anywhere in a name, each with what to write.
pub(crate) const UNITLESS_WORDS: &[(&str, &str)] =
    &[("bps", "rate_bytes_per_s or link_bits_per_s"), ("bw", "rate_bytes_per_s or bandwidth_bytes_per_s")];

/// Names of fields and arguments that hide a unit, each with what to write.
pub(crate) const UNITLESS_NAMES: &[(&str, &str)] =
    &[("time", "elapsed_s, latency_ns, started_at"), ("size", "block_bytes, file_bytes, entry_count")];

/// Type names that each of several parts declares for itself.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SharedTypeNames {
    /// The parts: what a path starts with.
    pub(crate) below: &'static str,
    pub(crate) names: &'static [&'static str],
}

/// The only type names that may exist twice.
pub(crate) const SHARED_TYPE_NAMES: &[SharedTypeNames] = &[
    // Each suite has a request and arguments, which are named with their module: `iozone::Request`.
    SharedTypeNames { below: "crates/suites/src/", names: &["Request", "Arguments"] },
    // Each crate has one of its own, as in std.
    SharedTypeNames { below: "crates/", names: &["Error", "ErrorKind", "Result"] },
];

/// Words that are retired anywhere in a name, each with what to write.
pub(crate) const RETIRED_WORDS: &[(&str, &str)] = &[
    ("told", "what the value is: messages, lines, reason, format_..."),
    ("lies", "is, is_in, located"),
    ("carries", "has, contains, transfers"),
    ("whose", "owner, peer, kind"),
    ("hears", "receives, is_notified"),
    ("heard", "received"),
    ("courtesies", "optional_flags"),
    ("deed", "action"),
    ("fate", "outcome"),
    ("sitting", "session"),
    ("workshop", "context"),
    ("surveyor", "builder"),
    ("wishes", "options"),
    ("patience", "deadline, wait_mode"),
];

/// Words that comments of Rust files do without, each with what to write.
pub(crate) const RETIRED_COMMENT_WORDS: &[(&str, &str)] = &[
    ("tells", "reports, sends, shows, means"),
    ("told", "reported, notified, distinguished"),
    ("lies", "is, is in, is stored"),
    ("stands", "is, means, represents, replaces"),
    ("hears", "receives, is notified"),
    ("heard", "received"),
    ("carries", "has, contains, transfers"),
    ("judges", "evaluates, checks, compares"),
];

/// Functions that are retired by their whole name, each with what to write.
pub(crate) const RETIRED_FUNCTIONS: &[(&str, &str)] = &[
    ("of", "new, from_..., kind, or what it returns"),
    ("judge", "evaluate, check, classify, compare"),
    ("tell", "report, format_..., describe"),
    ("tells", "reports"),
    ("together", "merge_..., combine, sum"),
    ("put_on", "execute"),
    ("goes", "what it decides: is_routed, proceeds"),
    ("held", "stored, blocked, retained"),
];

/// Types that are retired by their whole name, each with what to write.
pub(crate) const RETIRED_TYPES: &[(&str, &str)] = &[
    ("Undertaking", "RunSpec"),
    ("Terms", "what is limited: OutputContext, CellLimits"),
    ("Ran", "FinishedRun"),
    ("Further", "RefineFn"),
    ("Place", "what is placed: GridPoint, QueueSlot, TextPosition"),
    ("Line", "what flows or stands there: DataSocket, TextLine"),
    ("Way", "Direction"),
    ("Trouble", "FaultKind"),
    ("Leaving", "SendQueue"),
    ("Attended", "AbortGuard"),
    ("Staff", "PoolContext"),
    ("Employed", "WorkerGuard"),
    ("Stretch", "Slowdown"),
    ("Landing", "Completion"),
];

/// The package whose dependencies are counted: what a user builds.
pub(crate) const DEFAULT_PACKAGE: &str = "narrows";
/// Packages in the default build, the project's own included.
pub(crate) const DEFAULT_PACKAGES_MAX: usize = 133;
/// Packages that the default build does without, each with the reason.
pub(crate) const REFUSED_PACKAGES: &[(&str, &str)] = &[
    ("tokio", "no executor inside or beside the timed path"),
    ("rusqlite", "a C library to build; records are plain files"),
    ("parquet", "an export format; it belongs in a crate of its own"),
    ("aws-lc-sys", "a minute of C to build; TLS is rustls with ring"),
    ("ratatui", "the live view needs no terminal toolkit"),
];

/// The one registry that `Cargo.lock` may name.
pub(crate) const LOCK_SOURCE: &str = "registry+https://github.com/rust-lang/crates.io-index";
/// Parts of a host's name that mark a package registry or a mirror of one.
pub(crate) const REGISTRY_LABELS: &[&str] =
    &["registry", "mirror", "mirrors", "artifactory", "nexus", "verdaccio", "pypi", "devpi", "npmjs"];
/// Hosts that serve packages without saying so in their name.
pub(crate) const REGISTRY_HOSTS: &[&str] = &[
    "index.crates.io",
    "static.crates.io",
    "files.pythonhosted.org",
    "proxy.golang.org",
    "deb.debian.org",
    "security.debian.org",
    "archive.ubuntu.com",
];
/// Keys of a cargo configuration that point builds at another registry.
pub(crate) const REGISTRY_KEYS: &[&str] = &["[source", "[registr", "replace-with", "registry ="];
/// The folder that the project happened to be written in; split so that this line is not itself a finding.
pub(crate) const BUILD_FOLDER: &str = concat!("/", "work");
