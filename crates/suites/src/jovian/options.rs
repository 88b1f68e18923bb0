//! What a run was asked for, read back from its record.

use narrows_analysis::text::amount;
use narrows_model::Bytes;
use narrows_model::plan::SuiteSource;

/// What the option `servers` says where all of them are on one machine.
pub(super) const ONE_MACHINE: &str = "one_machine";

/// What the native output and the reading need of it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Options {
    pub(super) unit: Bytes,
    pub(super) client_bytes: Bytes,
    pub(super) trials: u64,
    pub(super) late: bool,
    pub(super) flush: String,
    pub(super) flush_bytes: Option<Bytes>,
    pub(super) memory: Option<Bytes>,
    pub(super) has_cuts: bool,
    /// Whether all servers are on one machine, and share its CPUs and disks.
    pub(super) one_machine: bool,
}

impl Options {
    /// Those of a run of this suite; `None` of another one.
    pub(super) fn of(source: &SuiteSource) -> Option<Self> {
        let (number, text) = (|name: &str| source.number(name), |name: &str| source.text(name));
        (source.name == super::NAME).then_some(())?;
        Some(Self {
            unit: Bytes(number("unit_bytes")?),
            client_bytes: Bytes(number("client_bytes")?),
            trials: number("trials")?,
            late: text("acknowledgement")? == "late",
            flush: text("flush")?,
            flush_bytes: number("flush_bytes").map(Bytes),
            memory: number("memory_bytes").map(Bytes),
            has_cuts: text("cuts")? == "measured",
            one_machine: text("servers").is_some_and(|servers| servers == ONE_MACHINE),
        })
    }

    /// The load in a line.
    pub(super) fn load(&self) -> String {
        let flush = match (self.flush.as_str(), self.flush_bytes) {
            (_, Some(bytes)) => format!("a dummy file of {} read", amount(bytes)),
            ("drop", _) => "the files' pages dropped".to_owned(),
            _ => "nothing done about caches".to_owned(),
        };
        format!(
            "{} a client, stripe unit {}, writes acknowledged {}, {flush} before reads",
            amount(self.client_bytes),
            amount(self.unit),
            if self.late { "when they are on disk" } else { "when they arrive" },
        )
    }
}
