//! Outputs that are not what was asked for: which tool's they look like, and what to do with them.
//!
//! Not here: reading them.

use super::Importer;
use crate::IMPORTERS;
use narrows_model::located::Complaint;

/// A file that people mix up with the output of a classic benchmark.
struct ForeignFormat {
    /// What it is.
    what: &'static str,
    /// A text that only it has.
    mark: &'static str,
    /// What to do with it.
    hint: &'static str,
}

/// By hand into an observation file.
const BY_HAND: &str =
    "write its figures into an observation file (docs/guide/observations.md) and diagnose that";

const FOREIGN: [ForeignFormat; 9] = [
    ForeignFormat {
        what: "an observation file",
        mark: "narrows.observations/",
        hint: "narrows diagnose FILE.toml",
    },
    ForeignFormat {
        what: "a file of a record",
        mark: "\"schema\":\"narrows.",
        hint: "run narrows diagnose on the folder that contains the file",
    },
    ForeignFormat { what: "output of fio", mark: "fio version", hint: BY_HAND },
    ForeignFormat { what: "output of fio", mark: "ioengine=", hint: BY_HAND },
    ForeignFormat { what: "output of iperf3", mark: "sum_received", hint: BY_HAND },
    ForeignFormat { what: "output of IOR", mark: "MPI Coordinated Test of Parallel I/O", hint: BY_HAND },
    ForeignFormat { what: "output of mdtest", mark: "mdtest-", hint: BY_HAND },
    ForeignFormat { what: "output of elbencho", mark: "elbencho", hint: BY_HAND },
    ForeignFormat {
        what: "a web page without results of a known tool",
        mark: "</",
        hint: "save the page that has the results themselves; where they are a picture, write them into an observation file",
    },
];

/// What to say of a text that does not look like `asked`, or like anything.
pub(super) fn complaint(text: &str, asked: Option<&Importer>, looks: Option<&Importer>) -> Complaint {
    let names: Vec<&str> = IMPORTERS.iter().map(|importer| importer.name).collect();
    let allowed = asked.map_or_else(
        || format!("output of one of {}", names.join(", ")),
        |asked| format!("output of {}, such as `{}`", asked.title, asked.example),
    );
    if let Some(looks) = looks {
        let found = format!("what looks like output of {}", looks.title);
        return Complaint::new(
            "",
            found,
            allowed,
            format!("narrows import {} FILE, or import auto", looks.name),
        );
    }
    match FOREIGN.iter().find(|foreign| text.contains(foreign.mark)) {
        Some(foreign) => {
            Complaint::new("", format!("what looks like {}", foreign.what), allowed, foreign.hint)
        }
        None => Complaint::new(
            "",
            "a text in no known format",
            allowed,
            "is this the right file? the results must be in it, with the lines above them that name the columns",
        ),
    }
}
