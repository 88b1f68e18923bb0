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

/// Words that say nothing, refused at either end of a type's or a module's name.
pub(crate) const EMPTY_WORDS: &[&str] =
    &["manager", "helper", "helpers", "util", "utils", "common", "info", "infos"];

/// Endings that hold an empty word all the same, each with the reason.
pub(crate) const NAME_EXCEPTIONS: &[(&str, &str)] =
    &[("tcp_info", "the kernel's own name of the structure that TCP_INFO fills")];

/// Abbreviations that hide a unit, refused anywhere in a name, each with what to write.
pub(crate) const UNITLESS_WORDS: &[(&str, &str)] =
    &[("bps", "rate_bytes_per_s or link_bits_per_s"), ("bw", "rate_bytes_per_s or bandwidth_bytes_per_s")];

/// Names of fields and arguments that hide a unit, each with what to write.
pub(crate) const UNITLESS_NAMES: &[(&str, &str)] =
    &[("time", "elapsed_s, latency_ns, started_at"), ("size", "block_bytes, file_bytes, entry_count")];

/// The package whose dependencies are counted: what a user builds.
pub(crate) const DEFAULT_PACKAGE: &str = "narrows";
/// Packages in the default build, the project's own included.
pub(crate) const DEFAULT_PACKAGES_MAX: usize = 130;
/// Packages that the default build does without, each with the reason.
pub(crate) const REFUSED_PACKAGES: &[(&str, &str)] = &[
    ("tokio", "no executor inside or beside the timed path"),
    ("rusqlite", "a C library to build; records are plain files"),
    ("parquet", "an export format; it belongs in a crate of its own"),
    ("rustls", "TLS is not part of the default build"),
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
