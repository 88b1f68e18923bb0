//! What is asked of IOPerf, and all that can be wrong with it before anything is measured.

use crate::client_hosts::{HostClient, SuiteHosts};
use crate::host_rates::LinkCeiling;
use crate::limits::outside;
use crate::machine_name;
use narrows_model::quantity::amount;
use narrows_model::workload::StdioFlush;
use narrows_model::{Bytes, BytesPerSec, Summary};
use narrows_study::Problem;
use serde::{Deserialize, Serialize};

/// Published size of an I/O of the block tests.
pub(super) const PUBLISHED_BUFFER_KB: u64 = 8;
/// Published number of I/Os at a client.
pub(super) const PUBLISHED_COUNT: u64 = 5000;
/// Largest buffer: each process has it twice, once as its block and once in its stream.
pub(super) const BUFFER_KB_MAX: u64 = 64 << 10;
/// Largest file of one process.
const FILE_BYTES_MAX: u64 = 1 << 50;
/// I/Os of the smallest buffer that make it.
pub(super) const COUNT_MAX: u64 = FILE_BYTES_MAX / 1024;
/// Most passes.
pub(super) const PASSES_MAX: u32 = 1000;
/// Most processes of one machine.
pub(super) const PROCESSES_MAX: u32 = 256;

/// What follows every I/O that writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FlushCall {
    /// `fflush`: into the page cache.
    Fflush,
    /// `fflush` and `fdatasync`.
    Fdatasync,
    /// `fflush` and `fsync`.
    Fsync,
}

impl FlushCall {
    /// Every call.
    pub(super) const ALL: [Self; 3] = [Self::Fflush, Self::Fdatasync, Self::Fsync];

    /// The name of the call.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Fflush => "fflush",
            Self::Fdatasync => "fdatasync",
            Self::Fsync => "fsync",
        }
    }

    /// The one whose call has this name.
    pub(super) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|flush| flush.name() == name)
    }

    pub(super) fn calls(self) -> StdioFlush {
        match self {
            Self::Fflush => StdioFlush::Fflush,
            Self::Fdatasync => StdioFlush::Fdatasync,
            Self::Fsync => StdioFlush::Fsync,
        }
    }
}

/// What a row of the table is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum RowKind {
    /// One plain run.
    #[serde(rename = "run")]
    Run,
    /// One process below a driver.
    #[serde(rename = "1PV")]
    OneProcess,
    /// Several processes below it that start together.
    #[serde(rename = "NPV")]
    Processes,
}

impl RowKind {
    /// Every kind, in the order of the table.
    pub const ALL: [Self; 3] = [Self::Run, Self::OneProcess, Self::Processes];

    /// The name in records.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Run => "run",
            Self::OneProcess => "1PV",
            Self::Processes => "NPV",
        }
    }

    /// The kind of this name.
    pub(super) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

/// What is asked for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Request {
    /// Size of an I/O of the block tests, in KB of 1024 bytes.
    pub buffer_kb: u64,
    /// I/Os of a test.
    pub count: u64,
    /// Times that each test is done; its figures are of all of them.
    pub passes: u32,
    /// Processes of the row [`RowKind::Processes`].
    pub processes: u32,
    /// The rows, in the order of [`RowKind::ALL`].
    pub rows: Vec<RowKind>,
    /// What follows every I/O that writes.
    pub flush: FlushCall,
    /// Name of the rows; `None` until the machine's name is known.
    pub tag: Option<String>,
    /// Whether the native output is CSV.
    pub csv: bool,
    /// Hosts that the processes run on, in turn, or those of the ranks that they are; none for one host.
    #[serde(default, skip_serializing_if = "SuiteHosts::is_empty")]
    pub hosts: SuiteHosts,
    /// Whether the rows were named, and not chosen by the number of processes.
    #[serde(skip)]
    pub(super) has_rows: bool,
    /// The number of processes, where it was given.
    #[serde(skip)]
    pub(super) typed_processes: Option<u32>,
    /// How many ranks of a job on several hosts the processes are.
    #[serde(skip)]
    pub(super) ranks: Option<u32>,
    /// Rate of the link that all hosts share, where it was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link: Option<BytesPerSec>,
    /// Whether cuts of the path are measured beside the tests.
    pub has_cuts: bool,
    /// Memory of the host that has the least, where known.
    pub memory: Option<Bytes>,
    /// Free room for files, where known.
    pub free: Option<Bytes>,
}

impl Request {
    /// Bytes of an I/O of the block tests.
    #[must_use]
    pub fn buffer_bytes(&self) -> Bytes {
        Bytes(self.buffer_kb.saturating_mul(1024))
    }

    /// Bytes of the file of each process: I/Os times buffer.
    #[must_use]
    pub fn file_bytes(&self) -> Bytes {
        Bytes(self.buffer_bytes().0.saturating_mul(self.count))
    }

    /// The name of the rows in the output.
    pub(super) fn tag(&self) -> &str {
        self.tag.as_deref().unwrap_or(machine_name::NAMELESS)
    }

    /// Size of the file of each process in KB.
    pub(super) fn file_kb(&self) -> u64 {
        self.buffer_kb.saturating_mul(self.count)
    }

    /// I/Os of each process in all passes of a test.
    pub(super) fn ios(&self) -> u64 {
        self.count.saturating_mul(u64::from(self.passes))
    }

    /// The most processes of any row.
    #[must_use]
    pub fn processes_max(&self) -> u32 {
        if self.rows.contains(&RowKind::Processes) { self.processes } else { 1 }
    }

    /// Has the processes run on `hosts`: so many as were asked for on each, and one alone on the first.
    ///
    /// # Errors
    /// Rows and processes that hosts cannot have.
    pub(super) fn set_hosts(&mut self, hosts: &SuiteHosts) -> Result<(), Vec<Problem>> {
        self.hosts = hosts.clone();
        self.processes = self.processes.saturating_mul(hosts.count());
        if !self.has_rows {
            self.rows = vec![RowKind::OneProcess, RowKind::Processes];
        }
        let mut problems = self.problems();
        if self.rows.contains(&RowKind::Run) {
            let hint = "a process on the first host alone is 1PV; omit --rows for 1PV and NPV";
            problems.push(Problem::new("rows", "run, with --hosts", "1PV, NPV", hint));
        }
        if problems.is_empty() { Ok(()) } else { Err(problems) }
    }

    /// Has the processes run on the ranks of a job: on all of them where no number was asked for. The rows are those of hosts
    /// where these ranks are on several of `hosts`, which are those of all ranks in their order.
    ///
    /// # Errors
    /// Processes that ranks cannot have.
    pub(super) fn set_ranks(&mut self, hosts: &SuiteHosts) -> Result<(), Vec<Problem>> {
        let processes = self.typed_processes.unwrap_or(hosts.count());
        let used = hosts.first_of(processes);
        if !used.are_several() {
            return Ok(());
        }
        (self.hosts, self.processes, self.ranks) = (used, processes, Some(processes));
        if !self.has_rows {
            self.rows = vec![RowKind::OneProcess, RowKind::Processes];
        }
        let problems = self.problems();
        if problems.is_empty() { Ok(()) } else { Err(problems) }
    }

    /// What the names of all processes begin with.
    pub(super) fn name_start(&self) -> String {
        if self.hosts.is_empty() { format!("{}.", self.tag()) } else { self.hosts.common_start() }
    }

    /// The processes of [`RowKind::Processes`] in the order of their rows: by their numbers, or host by host.
    pub(super) fn clients(&self, count: usize) -> Vec<HostClient> {
        if !self.hosts.is_empty() {
            return self.hosts.clients(count);
        }
        (0..count).map(|index| HostClient { index, name: format!("{}.{}", self.tag(), index + 1) }).collect()
    }

    /// What all hosts share at most: the link that was given, or the network as it was measured from all of them.
    pub(super) fn link_ceiling(&self, summary: &Summary) -> Option<LinkCeiling> {
        LinkCeiling::new(self.link, &summary.segments)
    }

    /// Bytes of all files at once.
    #[must_use]
    pub fn all_bytes(&self) -> Bytes {
        Bytes(self.file_bytes().0.saturating_mul(u64::from(self.processes_max())))
    }

    /// All that is wrong with it; nothing where it can be planned.
    #[must_use]
    pub fn problems(&self) -> Vec<Problem> {
        let mut all: Vec<Problem> = self.numbers();
        all.extend(self.tag_problem());
        if all.is_empty() {
            all.extend(self.room_problem());
        }
        all
    }

    fn numbers(&self) -> Vec<Problem> {
        let counts = FILE_BYTES_MAX / self.buffer_bytes().0.max(1);
        let published = format!("published are --count {PUBLISHED_COUNT} and --buffer {PUBLISHED_BUFFER_KB}");
        let processes = if self.hosts.is_empty() {
            format!("{PROCESSES_MAX} is the maximum on one machine, and 1 is the plain run")
        } else if self.ranks.is_some() {
            format!("--processes {PROCESSES_MAX} uses the first {PROCESSES_MAX} ranks")
        } else {
            format!("{PROCESSES_MAX} is the maximum on all hosts together; give fewer on each")
        };
        let all = [
            outside("buffer", self.buffer_kb, 1..=BUFFER_KB_MAX, &published),
            outside("count", self.count, 1..=counts, &published),
            outside("passes", u64::from(self.passes), 1..=u64::from(PASSES_MAX), "--passes 3 is usual"),
            outside("processes", u64::from(self.processes), 1..=u64::from(PROCESSES_MAX), &processes),
        ];
        let all = all.into_iter().flatten();
        let rows = self.rows.is_empty().then(|| {
            Problem::new("rows", "none", "run, 1PV, NPV", "omit --rows for those that match --processes")
        });
        all.chain(rows).collect()
    }

    /// The tag is printed before the figures, in a table that is split at columns.
    fn tag_problem(&self) -> Option<Problem> {
        let hint = "give the host's name or another one with --tag; NPV is the prefix of its own rows";
        if self.tag().starts_with(RowKind::Processes.name()) {
            return Some(machine_name::refused("tag", self.tag(), hint));
        }
        machine_name::problem("tag", self.tag(), hint)
    }

    fn room_problem(&self) -> Option<Problem> {
        let free = self.free.filter(|free| self.all_bytes() > *free)?;
        let found = format!(
            "{} a file, for {} at once {}",
            amount(self.file_bytes()),
            self.processes_max(),
            amount(self.all_bytes())
        );
        let fitting = free.0 / u64::from(self.processes_max().max(1)) / self.buffer_bytes().0.max(1);
        let hint = if fitting > 0 {
            format!("--count {fitting} is the maximum, or use fewer processes; or free space")
        } else {
            "free space, or name another folder".to_owned()
        };
        Some(Problem::new("count", found, format!("the {} that are free there", amount(free)), hint))
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::request;
    use super::*;

    fn messages(change: impl Fn(&mut Request)) -> String {
        let mut asked = request();
        change(&mut asked);
        crate::testing::messages(&asked.problems())
    }

    #[test]
    fn the_file_is_the_number_of_ios_times_the_buffer() {
        assert_eq!(request().file_bytes(), Bytes(40_000 * 1024));
        assert_eq!(Request { count: 50_000, ..request() }.file_bytes(), Bytes(400_000 * 1024));
        for flush in [FlushCall::Fflush, FlushCall::Fdatasync, FlushCall::Fsync] {
            assert_eq!(messages(|asked| asked.flush = flush), "", "the published size goes with each");
        }
    }

    #[test]
    fn nothing_and_too_much_are_refused_with_what_is_allowed() {
        assert!(messages(|asked| asked.count = 0).contains("count: found 0; allowed: 1 to"));
        assert!(messages(|asked| asked.buffer_kb = 0).contains("buffer: found 0; allowed: 1 to 65536"));
        assert!(messages(|asked| asked.passes = 0).contains("passes: found 0"));
        assert!(messages(|asked| asked.processes = 257).contains("processes: found 257; allowed: 1 to 256"));
        assert!(messages(|asked| asked.count = u64::MAX).contains("count: found 18446744073709551615"));
        assert!(messages(|asked| asked.rows.clear()).contains("rows: found none"));
    }

    #[test]
    fn ranks_on_several_hosts_have_the_rows_of_hosts_and_those_of_one_keep_theirs() {
        let hosts = SuiteHosts::new(&["a", "a", "b", "b"].map(str::to_owned));
        let placed = |asked: Request, hosts: &SuiteHosts| {
            let mut asked = asked;
            asked.set_ranks(hosts).unwrap();
            asked
        };
        let all = placed(request(), &hosts);
        assert_eq!((all.processes, all.rows), (4, vec![RowKind::OneProcess, RowKind::Processes]));
        assert_eq!(all.hosts.client_names(4), ["a.1", "a.2", "b.1", "b.2"]);
        let three = placed(Request { processes: 3, typed_processes: Some(3), ..request() }, &hosts);
        assert_eq!((three.processes, three.hosts.client_names(3).pop().as_deref()), (3, Some("b.1")));
        // Asked for, the plain run of rank 0 stays.
        let rows = RowKind::ALL.to_vec();
        assert_eq!(placed(Request { rows: rows.clone(), has_rows: true, ..request() }, &hosts).rows, rows);
        let two = Request { processes: 2, typed_processes: Some(2), ..request() };
        assert_eq!(placed(two.clone(), &hosts), two, "both are on a");
        let one_host = hosts.first_of(2);
        assert_eq!(placed(request(), &one_host), request());
    }

    #[test]
    fn more_ranks_than_processes_can_be_are_refused_and_not_left_idle() {
        let names: Vec<String> = (0..300).map(|index| format!("n{}", index / 2)).collect();
        let hosts = SuiteHosts::new(&names);
        let refused = crate::testing::messages(&Request::set_ranks(&mut request(), &hosts).unwrap_err());
        assert!(refused.contains("processes: found 300; allowed: 1 to 256"), "{refused}");
        assert!(refused.contains("--processes 256 uses the first 256 ranks"), "{refused}");
        assert_eq!(Request::set_ranks(&mut request(), &hosts.first_of(256)), Ok(()));
        assert!(Request::set_ranks(&mut request(), &hosts.first_of(257)).is_err());
        let mut first = Request { processes: 256, typed_processes: Some(256), ..request() };
        assert_eq!((first.set_ranks(&hosts), first.hosts.count()), (Ok(()), 256));
    }

    #[test]
    fn files_that_do_not_fit_are_refused_with_the_count_that_does() {
        let said = messages(|asked| {
            (asked.processes, asked.free) = (10, Some(Bytes(100 << 20)));
            asked.rows = RowKind::ALL.to_vec();
        });
        // 100 MiB for ten files of 8 KB blocks: 1280 blocks each.
        assert!(
            said.contains("39.1 MiB a file, for 10 at once 391 MiB; allowed: the 100 MiB")
                && said.contains("--count 1280 is the maximum"),
            "{said}"
        );
        assert!(messages(|asked| asked.free = Some(Bytes(1000))).contains("name another folder"));
        assert_eq!(messages(|asked| asked.free = Some(Bytes(40_000 * 1024))), "");
    }

    #[test]
    fn a_tag_is_a_word_that_no_reader_of_the_table_takes_for_something_else() {
        for tag in ["", "two words", "a,b", "<all>", "1PV", "NPV_x", "12", "a|b", "né"] {
            assert!(messages(|asked| asked.tag = Some(tag.to_owned())).contains("tag: found"), "{tag}");
        }
        assert_eq!(messages(|asked| asked.tag = Some("rcas6001.rcf.bnl.gov".to_owned())), "");
    }
}
