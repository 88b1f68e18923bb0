//! All that can be wrong with what is asked of bonnie++, before anything is measured, each with what to do about it.

use super::MIB;
use super::request::{BonnieFiles, Request};
use crate::limits::outside;
use crate::machine_name;
use narrows_model::quantity::amount;
use narrows_model::workload::{OBJECT_BYTES_MAX, OBJECT_COUNT_MAX, SYNCED_FOLDERS_MAX};
use narrows_study::Problem;

/// A chunk is a power of two between these.
const CHUNK_BYTES: std::ops::RangeInclusive<u64> = 256..=MIB;
/// Largest file of one process.
pub(super) const FILE_MIB_MAX: u64 = 1 << 30;
/// Most seeks.
const SEEKS_MAX: u64 = 1_000_000_000;
/// Most processes that seek, and most of one machine.
const PROCESSES_MAX: u32 = 256;
/// Most runs.
pub(super) const RUNS_MAX: u32 = 1000;
/// Most folders: their names have five digits.
const FOLDERS_MAX: u64 = 65_536;

impl Request {
    /// All that is wrong with it; nothing where it can be planned.
    #[must_use]
    pub fn problems(&self) -> Vec<Problem> {
        let mut all = self.typed_problems();
        if all.is_empty() {
            all.extend(self.size_problem());
            all.extend(self.room_problem());
        }
        all
    }

    /// What is wrong whatever the machine is.
    #[must_use]
    pub fn typed_problems(&self) -> Vec<Problem> {
        let mut all = self.numbers();
        all.extend(self.chunk_problem());
        all.extend(self.files_problem());
        all.extend(self.name_problem());
        if self.file_mib == Some(0) && self.files.thousands == 0 {
            let allowed = "one of them above 0";
            let hint = "-s 0 skips the phases of one file and -n 0 those of many; use only one of them";
            all.push(Problem::new("-s", "0, with -n 0: nothing to do", allowed, hint));
        }
        all
    }

    fn numbers(&self) -> Vec<Problem> {
        let processes = u64::from(PROCESSES_MAX);
        let all = [
            outside(
                "-s",
                self.file_mib.unwrap_or(0),
                0..=FILE_MIB_MAX,
                "it is in MiB: -s 4096 is a file of 4 GiB",
            ),
            outside("seeks", self.seeks, 1..=SEEKS_MAX, "-s 4096:8k:8192 does 8192 seeks, which is usual"),
            outside("seekers", u64::from(self.seekers()), 1..=processes, "5 are usual, 3 in version 1.03"),
            outside("-x", u64::from(self.runs), 1..=u64::from(RUNS_MAX), "-x 3 runs all phases three times"),
            outside(
                "-p",
                u64::from(self.processes),
                1..=processes,
                if self.hosts.is_empty() {
                    "it starts that many processes on this machine"
                } else {
                    "it starts that many processes on all hosts together; give fewer on each"
                },
            ),
            outside("-r", self.ram_mib.unwrap_or(0), 0..=FILE_MIB_MAX, "it is in MiB; 0 allows any size"),
            outside(
                "-f",
                self.char_mib.unwrap_or(1),
                1..=FILE_MIB_MAX,
                "-f without a number skips the character phases",
            ),
        ];
        all.into_iter().flatten().collect()
    }

    fn chunk_problem(&self) -> Option<Problem> {
        let sound = CHUNK_BYTES.contains(&self.chunk.0) && self.chunk.0.is_power_of_two();
        let allowed = "a power of two from 256 to 1048576 bytes";
        if !sound {
            let near = self.chunk.0.clamp(*CHUNK_BYTES.start(), *CHUNK_BYTES.end()).next_power_of_two();
            let hint = format!("the next one is {near}, such as -s 4096:{near}");
            return Some(Problem::new("-s", format!("a chunk of {} bytes", self.chunk.0), allowed, hint));
        }
        let hint = "devices need a chunk of 4096 bytes or more: -s 4096:8k";
        (self.direct && self.chunk.0 < 512).then(|| {
            let found = format!("-D, past the page cache, with a chunk of {} bytes", self.chunk.0);
            Problem::new("-D", found, "whole sectors of 512 bytes or more", hint)
        })
    }

    fn files_problem(&self) -> Option<Problem> {
        let BonnieFiles { thousands, max, min, folders, chunk } = self.files;
        let most = OBJECT_COUNT_MAX / 1024;
        if thousands > most {
            let hint = format!("-n {most} are {OBJECT_COUNT_MAX} files of each process");
            return Some(Problem::new("-n", thousands.to_string(), format!("0 to {most}"), hint));
        }
        if max < min {
            let found = format!("at most {} and at least {} bytes", max.0, min.0);
            let hint = format!("the larger one comes first: -n {thousands}:{}:{}", min.0, max.0);
            return Some(Problem::new("-n", found, "a maximum of at least the minimum", hint));
        }
        if max > OBJECT_BYTES_MAX {
            let found = format!("files of {}", amount(max));
            let hint = "use -s for large files";
            return Some(Problem::new("-n", found, format!("up to {}", amount(OBJECT_BYTES_MAX)), hint));
        }
        let chunks = 1..=MIB;
        if !chunks.contains(&chunk.0) {
            let found = format!("calls of {} bytes", chunk.0);
            return Some(Problem::new("-n", found, "1 to 1048576 bytes", "omit it for 8192"));
        }
        let synced = u64::from(SYNCED_FOLDERS_MAX);
        let most = if self.syncs_each { synced } else { FOLDERS_MAX };
        (folders > most || (thousands > 0 && folders > self.files.count())).then(|| {
            let with = if self.syncs_each { " with -b" } else { "" };
            let allowed = format!("up to {most}{with}, with at least one file in each");
            Problem::new(
                "-n",
                format!("{folders} directories"),
                allowed,
                "give fewer directories, or omit them",
            )
        })
    }

    /// The name is part of lines that are split at commas and at spaces.
    fn name_problem(&self) -> Option<Problem> {
        machine_name::problem("-m", self.name(), "the name is a field of the CSV; give one without commas")
    }

    /// A file that fits into memory is read from there.
    fn size_problem(&self) -> Option<Problem> {
        let Some(memory_mib) = self.memory_mib() else {
            let unknown = self.file_mib.is_none();
            return unknown.then(|| {
                let hint = "give the file's size with -s MiB, or the memory's with -r MiB";
                Problem::new("-s", "no size, and the memory is not known", "a size", hint)
            });
        };
        let file_mib = self.file_bytes().0 / MIB;
        let least = memory_mib.saturating_mul(2);
        (file_mib > 0 && file_mib < least).then(|| {
            let found = format!("a file of {file_mib} MiB where the memory is {memory_mib} MiB");
            let hint = format!(
                "a smaller file is read from memory: give -s {least}; or -r 0 to measure the page cache as well, or \
                 with -r MiB how much memory to assume; -s 0 skips the phases of one file"
            );
            Problem::new("-s", found, format!("twice the memory, {least} MiB, or more"), hint)
        })
    }

    fn room_problem(&self) -> Option<Problem> {
        let free = self.free.filter(|free| self.all_bytes() > *free)?;
        let found = format!("files of {} at once", amount(self.all_bytes()));
        let fitting = free.0 / MIB / u64::from(self.processes.max(1));
        let hint = format!(
            "free space, name another folder with -d, or give -s {fitting} or less (-r 0 allows sizes below twice the \
            memory)"
        );
        Some(Problem::new("-s", found, format!("the {} that are free there", amount(free)), hint))
    }
}

#[cfg(test)]
mod tests {
    use super::super::request::Edition;
    use super::super::testing::request;
    use super::*;
    use narrows_model::Bytes;

    fn messages(change: impl Fn(&mut Request)) -> String {
        let mut asked = request();
        change(&mut asked);
        crate::testing::messages(&asked.problems())
    }

    #[test]
    fn a_file_is_twice_the_memory_and_a_smaller_one_is_refused_with_what_to_do() {
        assert_eq!(messages(|_| ()), "");
        let asked = Request { file_mib: None, memory: Some(Bytes(3 << 30)), ..request() };
        assert_eq!(asked.file_bytes(), Bytes(6 << 30));
        let said = messages(|asked| asked.file_mib = Some(100));
        assert!(
            said.contains("a file of 100 MiB where the memory is 256 MiB")
                && said.contains("-s 512; or -r 0"),
            "{said}"
        );
        // The value of -r has precedence over what the machine has.
        assert_eq!(messages(|asked| (asked.file_mib, asked.ram_mib) = (Some(100), Some(50))), "");
        assert_eq!(messages(|asked| (asked.file_mib, asked.ram_mib) = (Some(1), Some(0))), "");
        assert!(messages(|asked| (asked.file_mib, asked.memory) = (None, None)).contains("-r MiB"));
        assert!(
            messages(|asked| (asked.file_mib, asked.ram_mib) = (None, Some(0)))
                .contains("give the file's size")
        );
    }

    #[test]
    fn numbers_out_of_range_are_refused_with_what_is_allowed() {
        assert!(messages(|asked| asked.runs = 0).contains("-x: found 0; allowed: 1 to 1000"));
        assert!(messages(|asked| asked.processes = 257).contains("-p: found 257; allowed: 1 to 256"));
        assert!(messages(|asked| asked.seeks = 0).contains("seeks: found 0"));
        assert!(messages(|asked| asked.seekers = Some(u64::MAX)).contains("seekers: found 4294967295"));
        assert!(messages(|asked| asked.char_mib = Some(0)).contains("-f: found 0"));
        assert!(messages(|asked| asked.file_mib = Some(u64::MAX)).contains("-s: found 18446744073709551615"));
        assert!(messages(|asked| asked.chunk = Bytes(1000)).contains("the next one is 1024"));
        assert!(messages(|asked| asked.chunk = Bytes(1 << 21)).contains("the next one is 1048576"));
        assert!(messages(|asked| (asked.chunk, asked.direct) = (Bytes(256), true)).contains("-D"));
        assert!(
            messages(|asked| (asked.file_mib, asked.files.thousands) = (Some(0), 0))
                .contains("nothing to do")
        );
    }

    #[test]
    fn files_that_cannot_be_are_refused() {
        let said = messages(|asked| (asked.files.max, asked.files.min) = (Bytes(10), Bytes(20)));
        assert!(said.contains("at most 10 and at least 20 bytes") && said.contains("-n 16:20:10"), "{said}");
        assert!(messages(|asked| asked.files.thousands = 4097).contains("0 to 4096"));
        assert!(messages(|asked| asked.files.max = Bytes(2 << 30)).contains("use -s for large files"));
        assert!(messages(|asked| asked.files.folders = 70_000).contains("70000 directories"));
        assert!(
            messages(|asked| (asked.files.folders, asked.syncs_each) = (300, true)).contains("256 with -b")
        );
        assert!(messages(|asked| asked.files.chunk = Bytes(0)).contains("calls of 0 bytes"));
    }

    #[test]
    fn files_that_do_not_fit_are_refused_with_the_size_that_does() {
        let said = messages(|asked| (asked.processes, asked.free) = (2, Some(Bytes(600 << 20))));
        assert!(said.contains("files of 1.00 GiB at once") && said.contains("-s 300 or less"), "{said}");
    }

    #[test]
    fn a_name_is_a_word_between_commas() {
        for name in ["", "a,b", "two words", "1", "a\nb"] {
            assert!(messages(|asked| asked.name = Some(name.to_owned())).contains("-m: found"), "{name}");
        }
    }

    #[test]
    fn characters_are_the_whole_file_of_the_older_edition_and_a_part_of_the_newer() {
        let asked = request();
        assert_eq!(asked.char_bytes(), Bytes(20 << 20));
        assert_eq!(Request { edition: Edition::V1_03, ..asked.clone() }.char_bytes(), Bytes(512 << 20));
        assert_eq!(Request { char_mib: None, ..asked.clone() }.char_bytes(), Bytes(0));
        assert_eq!((asked.seekers(), Request { edition: Edition::V1_03, ..asked }.seekers()), (5, 3));
    }
}
