//! Runs the system's own tools (`ip`, `tc`) to their end and turns a refusal into an error with their words.
//!
//! It does not interpret their output.

use std::process::{Command, Stdio};

use crate::error::{Error, LabErrorKind, Result};

/// Runs a program to its end; its standard output if it succeeded.
pub(crate) fn run(program: &str, arguments: &[&str]) -> Result<String> {
    let line = || format!("{program} {}", arguments.join(" "));
    let output = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .map_err(|source| Error::os("run", line(), source))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let words = String::from_utf8_lossy(&output.stderr);
    Err(Error::new(
        LabErrorKind::Refused,
        "run",
        line(),
        format!("{}; it said: {}", output.status, words.trim()),
    ))
}

pub(crate) fn ip(arguments: &[&str]) -> Result<String> {
    run("ip", arguments)
}

pub(crate) fn tc(arguments: &[&str]) -> Result<String> {
    run("tc", arguments)
}

#[cfg(test)]
mod tests {
    use super::run;

    #[test]
    fn a_failing_tool_reports_its_own_words() {
        let error = run("sh", &["-c", "echo no such thing >&2; exit 3"]).unwrap_err();
        assert!(error.to_string().contains("no such thing"), "{error}");
    }

    #[test]
    fn a_missing_tool_is_named() {
        let error = run("narrows-no-such-tool", &[]).unwrap_err();
        assert_eq!(error.kind(), crate::LabErrorKind::Missing);
        assert!(error.to_string().contains("narrows-no-such-tool"));
    }
}
