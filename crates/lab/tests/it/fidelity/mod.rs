//! Originals and ours with the same options: which lines of their output are equal, which differ and why. The table of
//! `docs/reference/fidelity.md` is what these tests find; one that is not up to date is a failure.
//!
//! Programs that are packaged run in turn with ours; of the others kept outputs, or lines that were published, are compared.

mod kept;
mod packaged;
mod published;

use std::fs;
use std::path::Path;

use crate::support::lab;
use crate::support::original::original;

/// A difference that is wanted: what of the original's line, and why ours is another one.
struct KnownDifference {
    program: &'static str,
    original: &'static str,
    why: &'static str,
}

const KNOWN: [KnownDifference; 8] = [
    KnownDifference {
        program: "PostMark",
        original: "PostMark v1.51",
        why: "names narrows in the place of a date",
    },
    KnownDifference {
        program: "bonnie++",
        original: "field 2",
        why: "the version is that of the edition, without the distribution's letter",
    },
    KnownDifference {
        program: "bonnie++",
        original: "field 25",
        why: "the number of directories, which the original prints as the size of a call",
    },
    KnownDifference {
        program: "bonnie++",
        original: "field 26",
        why: "blank for the default size of a call, where the original has the number of directories",
    },
    KnownDifference {
        program: "bonnie++",
        original: "format_version",
        why: "the header names all 50 fields, that of the original 48",
    },
    KnownDifference {
        program: "IOzone",
        original: "Iozone: Performance Test",
        why: "names narrows in the place of version, contributors and date",
    },
    KnownDifference { program: "IOzone", original: "Command line used", why: "the command as it was typed" },
    KnownDifference {
        program: "relay",
        original: "server reads",
        why: "the server's buffer is larger than the client's: how many reads TCP makes of the stream is its timing",
    },
];

/// One option set of a program: how many lines (or fields) are equal, and those that are not.
pub(super) struct FidelityRow {
    program: &'static str,
    options: String,
    unit: &'static str,
    equal_count: usize,
    differing: Vec<(String, &'static str)>,
}

impl FidelityRow {
    /// Lines or fields of both sides, in pairs; a difference that is not known is a failure.
    pub(super) fn from_pairs(
        program: &'static str,
        options: &str,
        unit: &'static str,
        pairs: &[(String, String)],
    ) -> Self {
        let mut row =
            Self { program, options: options.to_owned(), unit, equal_count: 0, differing: Vec::new() };
        for (theirs, ours) in pairs {
            if theirs == ours {
                row.equal_count += 1;
                continue;
            }
            // A field is known by its whole number, a line by how it begins.
            let is_it = |known: &&KnownDifference| match theirs.split_once(": ") {
                Some((field, _)) if field.starts_with("field ") => field == known.original,
                _ => theirs.starts_with(known.original),
            };
            let known = KNOWN.iter().filter(|known| known.program == program).find(is_it);
            let known = known.unwrap_or_else(|| panic!("{program} {options}: {theirs:?} and {ours:?}"));
            row.differing.push((known.original.to_owned(), known.why));
        }
        row.differing.dedup();
        row
    }

    fn markdown(&self) -> String {
        let differing: Vec<String> =
            self.differing.iter().map(|(line, why)| format!("`{line}`: {why}")).collect();
        let differing = if differing.is_empty() { "none".to_owned() } else { differing.join("; ") };
        let options = if self.options.is_empty() { "defaults" } else { &self.options };
        format!("| {} | `{options}` | {} {} | {differing} |\n", self.program, self.equal_count, self.unit)
    }
}

/// A figure with its digits before the point left out: `N.00` for `12.34`.
fn masked(word: &str) -> String {
    let form = |word: &str| match word.split_once('.') {
        Some((_, digits)) => format!("N.{}", "0".repeat(digits.len())),
        None => "N".to_owned(),
    };
    if word.parse::<f64>().is_ok() { form(word) } else { word.to_owned() }
}

/// The lines of both in pairs; where one has fewer, nothing is its counterpart.
pub(super) fn pairs(theirs: &[String], ours: &[String]) -> Vec<(String, String)> {
    let at = |lines: &[String], index: usize| lines.get(index).cloned().unwrap_or_default();
    (0..theirs.len().max(ours.len())).map(|index| (at(theirs, index), at(ours, index))).collect()
}

const HEAD: &str = "# Fidelity of the suites

What the originals print and what narrows prints with the same options, line by line; made by the lab's test `fidelity`.
Times and rates are compared by their form alone, counts and bytes by their value.

Run in turn with ours: PostMark and bonnie++, the packaged programs of Debian (postmark 1.53, bonnie++ 2.00a).

Compared with kept outputs: IOzone, which Debian has outside of its main section (iozone3, version 3.489). It ran on the disk
of a virtual machine with two CPUs, one run for each row; ours runs with the same options. Every line counts, by its form; the
names of files and record sizes of `-R` by their value. The row of all tests of `-t` is from published lines of versions 3.434
to 3.506 instead. The lines on the processor's cache have the sizes of this machine's, where the original has 1024 kB and 32
bytes.

In three alternating rounds of `-t 2 -s 64m -r 64k -i 0 -+n` on that machine, which was idle, children and parent saw, in
GB/s, 5.4 and 1.5, 5.4 and 1.6, 7.1 and 1.7 with the original, 6.9 and 1.6, 5.6 and 1.7, 6.3 and 1.7 with ours: the clock of
the parent runs until the children have ended in both. With `-e -c` each of the two saw what its parent did: 1.5 to 1.6 with
the original, 1.7 to 1.8 with ours.

Not run: IOPerf and the relay, which no distribution has. Of these the published lines are compared: of IOPerf a row of the
table of 2002, of the relay rows of its tables. For them the page shows that ours prints such lines and, for the relay, the
published counts; it does not show that two programs did the same.

In rows of PostMark with several locations `+two` and `+three` stand for other folders than the first one.

Refused by ours, with the reason and what to do instead: links of bonnie++ (`-n N:-1`, `-n N:-2`), and the options of IOzone
that `narrows suite iozone` names when they are typed.

| program | options | equal | different, and why |
|---|---|---|---|
";

fn page(rows: &[FidelityRow]) -> String {
    HEAD.to_owned() + &rows.iter().map(FidelityRow::markdown).collect::<String>()
}

/// The page as it is kept.
fn kept_page() -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/fidelity.md"))
        .unwrap()
}

#[test]
fn rows_of_the_table_of_fidelity_are_what_the_programs_print() {
    let Some(lab) = lab() else { return };
    let (Some(own_postmark), Some(own_bonnie)) = (original("postmark"), original("bonnie++")) else { return };
    let mut rows = packaged::postmark(lab.scratch(), &own_postmark, &["", "set location +two"]);
    rows.extend(packaged::bonnie(lab.scratch(), &own_bonnie, &packaged::BONNIE[..1]));
    rows.push(published::iozone(lab.scratch()));
    rows.extend(kept::iozone(lab.scratch(), &kept::TRANSCRIPTS));
    rows.extend(published::relay(lab.scratch(), &["both"]));
    let kept = kept_page();
    for row in rows {
        let made = row.markdown();
        assert!(kept.contains(&made), "docs/reference/fidelity.md has no such row:\n{made}");
    }
}

#[test]
#[ignore = "campaign: every row of the table of fidelity"]
fn the_table_of_fidelity_is_what_the_programs_print() {
    let Some(lab) = lab() else { return };
    let (Some(own_postmark), Some(own_bonnie)) = (original("postmark"), original("bonnie++")) else { return };
    let mut rows = packaged::postmark(lab.scratch(), &own_postmark, &packaged::POSTMARK);
    rows.extend(packaged::bonnie(lab.scratch(), &own_bonnie, &packaged::BONNIE));
    rows.push(published::iozone(lab.scratch()));
    rows.extend(kept::iozone(lab.scratch(), &kept::TRANSCRIPTS));
    rows.push(published::ioperf(lab.scratch()));
    rows.extend(published::relay(lab.scratch(), &["server", "both", "proxy+server", "client"]));
    let made = page(&rows);
    assert!(
        kept_page() == made,
        "docs/reference/fidelity.md is not what the programs print; it should be:\n\n{made}"
    );
}
