//! Objects of a bucket over loopback: beside a bare loop of the libraries that the engine uses.

use super::PerfFigure;
use super::protocols::compared;
use crate::perf::bench::Bench;
use crate::perf::contest::{Contender, run_rounds};
use crate::perf::finding::{PerfFindings, PerfTarget};
use crate::perf::servers::{S3_BUCKET, S3_KEYS, versitygw};
use std::process::Command;

pub(super) const FIGURE: PerfFigure = PerfFigure {
    name: "protocols-s3",
    what: "puts and gets of objects of 4 KiB, 64 KiB and 8 MiB, one at a time over loopback: beside a bare loop of the same libraries",
    measure,
};

/// Objects of a size, and how many of them a turn puts or gets: so many that the start of a connection, whose windows still grow,
/// is a small part. The bare loop gets over the connection of its puts, narrows over a new one.
const SIZES: [(&str, u64, u64); 3] =
    [("4KiB", 4 << 10, 2000), ("64KiB", 64 << 10, 1500), ("8MiB", 8 << 20, 120)];

fn measure(bench: &Bench) -> anyhow::Result<PerfFindings> {
    let store = match Bench::place_in_memory()? {
        Ok(folder) => folder,
        Err(why) => return Ok(PerfFindings { findings: Vec::new(), missing: vec![why] }),
    };
    let (_server, address) = match versitygw(bench, store.path())? {
        Ok(server) => server,
        Err(why) => return Ok(PerfFindings { findings: Vec::new(), missing: vec![why] }),
    };
    let mut all = PerfFindings::default();
    for op in ["put", "get"] {
        for (length_text, bytes, count) in SIZES {
            let study = study(&address, op, length_text, count);
            let words = [format!("http://{address}"), op.to_owned(), bytes.to_string(), count.to_string()];
            let mut contenders = [
                Contender::new("narrows", || {
                    let mut command = bench.command_of("narrows", &study)?;
                    bench.ops_per_s_of(with_keys(&mut command))
                }),
                Contender::new("bare loop", || {
                    let words: Vec<&str> = words.iter().map(String::as_str).collect();
                    let mut command = bench.tools.bare("bare_s3");
                    let ended = bench.turn("bare_s3", with_keys(&mut command).args(words))?;
                    crate::perf::parse::bare(ended.printed(&[0])?, "ops_per_s")
                }),
            ];
            let rates = run_rounds(bench.rounds, &mut contenders)?;
            let label = format!("S3 {op} {length_text}");
            all.findings.extend(compared(&label, &rates, &[("bare loop", PerfTarget::AtLeast(0.95))])?);
        }
    }
    Ok(all)
}

fn with_keys(command: &mut Command) -> &mut Command {
    command.env("AWS_ACCESS_KEY_ID", S3_KEYS[0]).env("AWS_SECRET_ACCESS_KEY", S3_KEYS[1])
}

/// Each of `count` objects once, one at a time.
fn study(address: &str, op: &str, length_text: &str, count: u64) -> String {
    format!(
        "target = \"s3://{S3_BUCKET}/perf?endpoint=http://{address}\"\nseconds = 7200\ncuts = []\n\n[workload]\nop = \"{op}\"\n\
         block = \"{length_text}\"\n\n[workload.objects]\ncount = {count}\nmin = \"{length_text}\"\nmax = \"{length_text}\"\n\n[stop]\n\
         measure = \"3600s\"\n"
    )
}
