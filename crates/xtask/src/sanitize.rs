//! `cargo xtask sanitize`: the tests of the crates nearest to the kernel, under tools that see what a test cannot: Miri, and
//! the address and thread sanitizers.
//!
//! They need a nightly toolchain, which is never installed here; of one that is there, a missing component is. Miri knows
//! neither rings nor mapped files: it runs what is pointers and bytes alone, and the sanitizers run the rest.

use std::path::Path;
use std::process::Command;

use anyhow::Context;

use crate::workspace::Workspace;
use crate::{TaskOutcome, output};

const TOOLCHAIN: &str = "nightly";
/// The sanitizers of Rust on this machine's architecture; sanitizers want a target that is named.
const TARGETS: [(&str, &str); 2] =
    [("x86_64", "x86_64-unknown-linux-gnu"), ("aarch64", "aarch64-unknown-linux-gnu")];

/// What is replaced by the folder of the workspace in a value of the environment.
const ROOT: &str = "{root}";

/// One run of one tool.
struct SanitizerRun {
    name: &'static str,
    components: &'static [&'static str],
    environment: &'static [(&'static str, &'static str)],
    /// Words of cargo up to the target.
    command: &'static [&'static str],
    /// Words after it: packages, then the tests that are run or left out.
    tests: &'static [&'static str],
    /// Whether the target is named, which keeps build scripts out of the sanitizer.
    names_target: bool,
}

// Leaks are meant where the kernel keeps memory of a ring. SIGBUS is handled by mapped files themselves. The sanitizers see
// system calls as the C library makes them: of a mapping that rustix removes by itself they would know nothing, and take
// what is mapped there next for the same memory.
const RUNS: &[SanitizerRun] = &[
    SanitizerRun {
        name: "miri-sys",
        components: &["miri", "rust-src"],
        environment: &[("MIRIFLAGS", "-Zmiri-disable-isolation")],
        command: &["miri", "test"],
        tests: &[
            "-p",
            "narrows-sys",
            "--lib",
            "--",
            "stdio::buffer::",
            "racy_copy::",
            "a_buffer_keeps_its_address",
            "entropy_reaches_the_last_byte",
            "a_region_holds_whole_slots",
        ],
        names_target: false,
    },
    SanitizerRun {
        name: "miri-wire",
        components: &["miri", "rust-src"],
        environment: &[("MIRIFLAGS", "-Zmiri-disable-isolation"), ("PROPTEST_CASES", "4")],
        command: &["miri", "test"],
        // The largest opening is 2 MiB of text: a quarter of an hour here, and no pointer that smaller ones do not show.
        tests: &[
            "-p",
            "narrows-wire",
            "--lib",
            "--",
            "--skip",
            "an_opening_within_all_limits_fits_its_frame",
        ],
        names_target: false,
    },
    // What a ring has in flight, and the parts of a striped request: bookkeeping without a kernel.
    SanitizerRun {
        name: "miri-engines",
        components: &["miri", "rust-src"],
        environment: &[("MIRIFLAGS", "-Zmiri-disable-isolation"), ("PROPTEST_CASES", "4")],
        command: &["miri", "test"],
        tests: &["-p", "narrows-engines", "--lib", "--", "flights::", "stripe::layout::", "request::"],
        names_target: false,
    },
    SanitizerRun {
        name: "miri-record",
        components: &["miri", "rust-src"],
        environment: &[("MIRIFLAGS", "-Zmiri-disable-isolation"), ("PROPTEST_CASES", "4")],
        command: &["miri", "test"],
        tests: &["-p", "narrows-record", "--lib", "--", "line::", "decode::", "--skip", "the_short_way"],
        names_target: false,
    },
    SanitizerRun {
        name: "address",
        components: &[],
        environment: &[
            ("RUSTFLAGS", "-Zsanitizer=address --cfg=rustix_use_libc"),
            ("ASAN_OPTIONS", "detect_leaks=0:handle_sigbus=0"),
        ],
        command: &["test"],
        tests: &["-p", "narrows-sys", "-p", "narrows-engines", "-p", "narrows-endpoint", "--lib", "--tests"],
        names_target: true,
    },
    SanitizerRun {
        name: "thread",
        components: &["rust-src"],
        environment: &[
            ("RUSTFLAGS", "-Zsanitizer=thread --cfg=rustix_use_libc"),
            ("TSAN_OPTIONS", "handle_sigbus=0:suppressions={root}/crates/xtask/src/sanitize/thread.supp"),
        ],
        command: &["test", "-Zbuild-std"],
        tests: &["-p", "narrows-sys", "-p", "narrows-engines", "-p", "narrows-endpoint", "--lib", "--tests"],
        names_target: true,
    },
];

/// Runs those of `names`, all of them where there is none.
///
/// # Errors
/// No nightly toolchain, a component that cannot be installed, or a tool that cannot be started.
pub(crate) fn run(names: &[&str]) -> anyhow::Result<TaskOutcome> {
    if let Some(unknown) = names.iter().find(|name| RUNS.iter().all(|run| run.name != **name)) {
        let known: Vec<&str> = RUNS.iter().map(|run| run.name).collect();
        output::complaint(&format!("sanitize: no tool {unknown:?}; allowed: {}", known.join(", ")));
        return Ok(TaskOutcome::BadCommand);
    }
    let workspace = Workspace::load()?;
    let installed = installed_components()?;
    let chosen = RUNS.iter().filter(|run| names.is_empty() || names.contains(&run.name));
    let mut failed = Vec::new();
    for run in chosen {
        install(run, &installed)?;
        output::line(&format!("sanitize: {} ...", run.name));
        if !passes(run, &workspace.root)? {
            failed.push(run.name);
        }
    }
    if failed.is_empty() {
        output::line("sanitize: nothing found");
        return Ok(TaskOutcome::Healthy);
    }
    output::complaint(&format!("sanitize: {} found something, printed above", failed.join(", ")));
    Ok(TaskOutcome::ProblemsFound)
}

/// Components of the nightly toolchain, one a line.
fn installed_components() -> anyhow::Result<String> {
    let listing = Command::new("rustup")
        .args(["component", "list", "--installed", "--toolchain", TOOLCHAIN])
        .output()
        .context("could not start rustup, which selects the nightly toolchain")?;
    anyhow::ensure!(
        listing.status.success(),
        "there is no nightly toolchain; install it: rustup toolchain install nightly --component miri,rust-src"
    );
    Ok(String::from_utf8_lossy(&listing.stdout).into_owned())
}

fn install(run: &SanitizerRun, installed: &str) -> anyhow::Result<()> {
    for component in run.components {
        if installed.lines().any(|line| line.starts_with(component)) {
            continue;
        }
        output::line(&format!("sanitize: installing the component {component} of the nightly toolchain"));
        let status = Command::new("rustup")
            .args(["component", "add", component, "--toolchain", TOOLCHAIN])
            .status()
            .context("could not start rustup")?;
        anyhow::ensure!(status.success(), "rustup component add {component} --toolchain {TOOLCHAIN} failed");
    }
    Ok(())
}

fn passes(run: &SanitizerRun, root: &Path) -> anyhow::Result<bool> {
    let target = TARGETS.iter().find(|(architecture, _)| *architecture == std::env::consts::ARCH);
    let (_, target) = target.context("the sanitizers know x86_64 and aarch64 alone")?;
    let status = Command::new("rustup")
        .args(["run", TOOLCHAIN, "cargo"])
        .args(run.command)
        .args(run.names_target.then_some(["--target", target]).iter().flatten())
        .arg("--locked")
        .args(run.tests)
        .envs(
            run.environment.iter().map(|(name, value)| (*name, value.replace(ROOT, &root.to_string_lossy()))),
        )
        // The cargo that runs this chore names itself and its toolchain to its children.
        .env_remove("CARGO")
        .env_remove("RUSTUP_TOOLCHAIN")
        .env("CARGO_TARGET_DIR", root.join("target/sanitize").join(run.name))
        .current_dir(root)
        .status()
        .with_context(|| format!("could not start {}", run.name))?;
    Ok(status.success())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tool_that_is_not_known_is_refused_with_those_that_are() {
        assert_eq!(run(&["sanitiser"]).unwrap(), TaskOutcome::BadCommand);
    }

    #[test]
    fn every_run_has_a_name_of_its_own_and_tests_the_crate_with_unsafe_code_under_each_tool() {
        for tool in ["miri", "address", "thread"] {
            let of_tool = RUNS.iter().find(|run| run.name.starts_with(tool)).unwrap();
            assert!(of_tool.tests.contains(&"narrows-sys"), "{tool}");
        }
        let names: std::collections::BTreeSet<&str> = RUNS.iter().map(|run| run.name).collect();
        assert_eq!(names.len(), RUNS.len());
    }
}
