//! The binary `narrows`: everything is in the library, so that another binary can add to it.
#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    narrows::main_with(&narrows::Setup::default())
}
