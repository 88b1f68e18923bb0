//! bonnie++: its CSV of versions 1.03, 1.96 to 1.98 and 2.00, and the text of 1.03.
//!
//! `csv` and `text` find the fields, by position; `run` makes observations of them. Deliberately absent: running it.

mod csv;
mod run;
mod text;

use crate::import::completion::AS_DEVICE;
use crate::import::source::lines;
use crate::import::{Import, ImportOptions, Importer};
use narrows_model::counters::Role;
use narrows_model::located::{Complaint, Findings};
use narrows_model::observation::ObservedOp;
use narrows_model::quantity::amount;
use narrows_model::units::ratio;
use narrows_model::{Bytes, Observation, Observations};
use run::BonnieRun;

/// The importer.
pub(crate) static IMPORTER: Importer = Importer {
    name: "bonnie",
    title: "bonnie++",
    definition: "A line of CSV for each run: 27 fields in version 1.03, 48 in 1.96 and 1.97, 50 in 1.98 and 2.00, \
                 distinguished by their first fields; or the text tables of 1.03 if there is no such line, each \
                 figure by its column. Other text is ignored. `+++++` is too fast to time (under 0.5 s): a lower \
                 bound, not zero; a blank was not run, and a blank size of an I/O is unknown. Links (`-n N:-1`, `N:-2`) \
                 are no files, and are named. With `--as-device N` the block figures become ceilings of N \
                 devices.",
    source: "bonnie++ by Russell Coker: the programs of Debian, their manual page and bon_csv2txt",
    example: "fs2,10G,38476,95,49354,14,23415,5,35808,72,63971,5,557.3,0,16,3113,99,+++++,+++,...",
    takes: &[AS_DEVICE],
    looks_like,
    reads_tables: false,
    read,
};

fn looks_like(text: &str) -> bool {
    text.contains("------Sequential Output------")
        || text.contains("------Sequential Create------")
        || lines(text).any(|line| csv::is_row(line) || csv::is_header(line))
}

fn read(text: &str, completion: &ImportOptions, findings: &mut Findings<'_>) -> Import {
    let mut runs = csv::runs(text, findings);
    if runs.is_empty() && findings.is_empty() {
        runs = text::runs(text, findings);
    }
    let mut made = Import {
        observations: Observations { title: "bonnie++".to_owned(), ..Observations::default() },
        ..Import::default()
    };
    let mut names: std::collections::BTreeMap<String, u32> = std::collections::BTreeMap::new();
    for run in &mut runs {
        let count = names.entry(run.name.clone()).or_default();
        *count += 1;
        if *count > 1 {
            run.name = format!("{} #{count}", run.name);
        }
        made.remarks.extend(remarks(run));
        if let Some(count) = completion.device_count {
            made.observations.ceilings.extend(run.ceilings(count));
        } else {
            let mut all = run.observations();
            if completion.client_memory.is_none() {
                made.remarks.extend(assume_memory(run, &mut all));
            }
            made.observations.observations.extend(all);
        }
    }
    if completion.device_count.is_some() {
        if made.observations.ceilings.is_empty() && !runs.is_empty() && findings.is_empty() {
            findings.add(&(0..0), no_block_figures());
        }
        made.remarks.push("Only ceilings: add the [[observation]]s that they apply to.".to_owned());
    }
    made
}

/// Rewriting at such a share of reading and then writing each block, and with so little CPU, waits for the disk twice a block.
const COMPOSED_SHARE: std::ops::RangeInclusive<f64> = 0.5..=1.1;
const WAITING_CPU: f64 = 50.0;

/// Adds the most memory that the machine can have had, where rewriting shows that the file was not in it: bonnie++ refuses a
/// file below twice the memory. What was assumed.
fn assume_memory(run: &BonnieRun, all: &mut [Observation]) -> Option<String> {
    let (share, cpu_percent) = (composed_share(run)?, run.cpu_percent("rewrite")?);
    let memory = Bytes(run.file_bytes? / 2);
    if !COMPOSED_SHARE.contains(&share) || cpu_percent > WAITING_CPU {
        return None;
    }
    for one in all.iter_mut().filter(|one| one.op != ObservedOp::Metadata) {
        one.memory_bytes.insert(Role::Client, memory);
    }
    Some(format!(
        "{}: memory of {} is assumed, the most that bonnie++ accepts a file of {} for: rewriting waits for the disk, with \
         {cpu_percent} % CPU; --memory replaces it.",
        run.name,
        amount(memory),
        amount(Bytes(run.file_bytes?))
    ))
}

fn no_block_figures() -> Complaint {
    Complaint::new(
        "--as-device",
        "no block figures (put_block, get_block)",
        "rates of block writes and reads",
        "run bonnie++ with a file larger than memory (-s), or import without --as-device",
    )
}

/// What a run says beyond its figures.
fn remarks(run: &BonnieRun) -> Vec<String> {
    let mut all = Vec::new();
    let fast = run.too_fast();
    if !fast.is_empty() {
        all.push(format!(
            "{}: too fast to time (+++++, under 0.5 s): {}; where the amount is printed, the rate is written as a lower bound.",
            run.name,
            fast.join(", ")
        ));
    }
    all.extend(rewrite(run));
    all
}

/// Rewriting against reading and then writing each block at the rates of the block tests.
fn rewrite(run: &BonnieRun) -> Option<String> {
    let share = composed_share(run)? * 100.0;
    Some(format!(
        "{}: rewrite is {share:.0} % of 1/(1/read + 1/write): what limits block reads and writes limits it too.",
        run.name
    ))
}

/// The rate of rewriting over that of reading and then writing each block at the rates of the block tests.
fn composed_share(run: &BonnieRun) -> Option<f64> {
    let (read, write, rewrite) = (run.rate("get_block")?, run.rate("put_block")?, run.rate("rewrite")?);
    ratio(rewrite, ratio(1.0, ratio(1.0, read)? + ratio(1.0, write)?)?)
}
