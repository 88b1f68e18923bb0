//! All that can be wrong with what is asked of IOzone, before anything is measured, each with what to do about it.

use super::columns::MIXED;
use super::request::{AUTO_FILES_KB, AUTO_RECORDS_KB, Request, kb};
use narrows_model::quantity::amount;
use narrows_model::verification::VERIFIED_FILE_BYTES_MAX;
use narrows_study::Problem;

/// Cells of one run: at a millisecond and its bytes each, hours.
const CELLS_MAX: usize = 20_000;

impl Request {
    /// All that is wrong with it; nothing where it can be planned.
    #[must_use]
    pub fn problems(&self) -> Vec<Problem> {
        let mut all = self.modes();
        all.extend(self.of_tests());
        all.extend(self.of_sizes());
        if all.is_empty() {
            all.extend(self.extent());
            all.extend(self.of_direct());
        }
        all
    }

    /// Letters that do not go together.
    fn modes(&self) -> Vec<Problem> {
        let options = self.options();
        let several = self.is_throughput();
        let has_range = options.processes_least.or(options.processes_most).is_some();
        let reversed =
            options.processes_least.zip(options.processes_most).filter(|(least, most)| least > most);
        let range = "-l 2 -u 4 runs 2, 3 and 4 processes; -u 4 begins with 1, -l 4 is 4 alone";
        let all = [
            (options.auto && several).then(|| {
                let hint = "give sizes with -s and -r instead of -a";
                Problem::new("-a", "auto mode of several processes", "-a, or -t, or -l and -u", hint)
            }),
            (options.processes.is_some() && has_range)
                .then(|| Problem::new("-t", "-t beside -l or -u", "-t, or -l and -u", range)),
            reversed.map(|(least, most)| {
                Problem::new("-l", format!("-l {least} above -u {most}"), "-l up to -u", range)
            }),
            (options.ops && options.micros)
                .then(|| Problem::new("-N", "-N beside -O", "one of them", "omit one of them")),
            (options.micros && several).then(|| {
                let hint = "latencies of several processes are in the record: --detail";
                Problem::new("-N", "-N in throughput mode", "kB/s, or -O", hint)
            }),
            (options.host_list.is_some() && options.processes.is_none()).then(|| {
                let hint = "add -t N: N lines of the file are used";
                Problem::new("-+m", "a list of hosts without -t", "-+m with -t", hint)
            }),
            // Those of the list are put there once the hosts are known.
            (options.host_list.is_some() && !options.names.is_empty() && self.hosts.is_empty()).then(|| {
                Problem::new("-F", "-F beside -+m", "one of them", "omit -F: the list has the folders")
            }),
            (options.host_list.is_some() && options.file.is_some()).then(|| {
                Problem::new("-f", "-f beside -+m", "one of them", "omit -f: the list has the folders")
            }),
            (options.children && !several)
                .then(|| Problem::new("-C", "-C of one process", "-C with -t", "add -t N, or omit -C")),
            (options.cache_kb.is_some() && !options.purge)
                .then(|| Problem::new("-S", "a cache's size without -p", "-S with -p", "add -p, or omit -S")),
        ];
        all.into_iter().flatten().chain(self.of_names()).chain(self.of_bounds()).collect()
    }

    fn of_names(&self) -> Option<Problem> {
        let names = self.options().names.len() as u64;
        if names > 0 && self.options().file.is_some() {
            return Some(Problem::new("-f", "-f beside -F", "one of them", "omit -f: -F names the files"));
        }
        let most = self.processes().into_iter().max().unwrap_or(1);
        if names == 0 || (self.is_throughput() && names == most) {
            return None;
        }
        Some(if self.is_throughput() {
            let found = format!("{names} names for {most} processes");
            Problem::new("-F", found, "as many names as processes", "give one for each process")
        } else {
            let hint = "add -t N, or give one folder as DIR";
            Problem::new("-F", "names without throughput mode", "-F with -t, or -l and -u", hint)
        })
    }

    /// Bounds of auto mode without it.
    fn of_bounds(&self) -> Vec<Problem> {
        let options = self.options();
        let bounds = [
            ("-n", options.file_kb_min.is_some()),
            ("-g", options.file_kb_max.is_some()),
            ("-y", options.record_kb_min.is_some()),
            ("-q", options.record_kb_max.is_some()),
            ("-z", options.all_records),
        ];
        let given = bounds.into_iter().filter(|(_, is_given)| *is_given && !options.auto);
        let hint = "add -a, or give sizes with -s and -r";
        given
            .map(|(key, _)| Problem::new(key, "a limit of auto mode without it", "it with -a", hint))
            .collect()
    }

    /// Tests that lack what they need.
    fn of_tests(&self) -> Vec<Problem> {
        let (tests, options) = (self.tests(), self.options());
        let mut all = Vec::new();
        if let Some(first) = self.columns().first().filter(|first| !first.makes_file) {
            let found = format!("test {} first, which needs a file", first.number);
            let hint =
                "add -i 0, which writes it: narrows does not reuse files of earlier runs, not even with -w";
            let before = if self.is_throughput() { "0 before it" } else { "0, 6, 9 or 11 before it" };
            all.push(Problem::new("-i", found, before, hint));
        }
        if tests.contains(&MIXED) && !self.is_throughput() {
            let hint = "add -t 2, or omit -i 8";
            all.push(Problem::new("-i", "test 8 of one process", "it in throughput mode", hint));
        }
        if options.stride.is_some() && !tests.contains(&5) {
            all.push(Problem::new("-j", "a stride without test 5", "-j with -i 5", "add -i 5, or omit -j"));
        }
        let streams = options.tests.iter().find(|test| [6, 7].contains(*test));
        if let (Some(test), true) = (streams, options.direct) {
            let found = format!("-I with test {test}, whose streams' buffers are not aligned for it");
            all.push(Problem::new(
                "-I",
                found,
                "tests that use no streams",
                format!("leave -i {test} out, or -I"),
            ));
        }
        all
    }

    fn of_sizes(&self) -> Vec<Problem> {
        let options = self.options();
        let reversed = |key, least: Option<u64>, most: Option<u64>, usual: (u64, u64)| {
            let (least, most) = (least.unwrap_or(usual.0), most.unwrap_or(usual.1));
            (options.auto && least > most).then(|| {
                let found = format!("a minimum size of {least} kB and a maximum of {most} kB");
                Problem::new(
                    key,
                    found,
                    "a minimum size up to the maximum",
                    "give the smaller one first: -n and -g for files, -y and -q for records",
                )
            })
        };
        let mut all: Vec<Problem> = [
            reversed("-n", options.file_kb_min, options.file_kb_max, AUTO_FILES_KB),
            reversed("-y", options.record_kb_min, options.record_kb_max, AUTO_RECORDS_KB),
        ]
        .into_iter()
        .flatten()
        .collect();
        let pairs = self.pairs();
        let (files, records) = (self.files_kb(), self.records_kb());
        let file_max = files.iter().copied().max().unwrap_or(0);
        let explicit = !options.auto || !options.records_kb.is_empty();
        for record in records.iter().filter(|record| explicit && **record > file_max) {
            let found = format!("a record of {record} kB in a file of {file_max} kB");
            let hint = format!("give -s {record}k or more, or a smaller -r");
            all.push(Problem::new("-r", found, "records up to the file", hint));
        }
        for file in files.iter().filter(|file| !pairs.iter().any(|pair| pair.file_kb == **file)) {
            if all.is_empty() {
                let least = records.iter().copied().min().unwrap_or(0);
                let found = format!("a file of {file} kB, smaller than every record");
                let hint = format!("give files from {least} kB on, or a smaller record");
                all.push(Problem::new("-s", found, "files of a record at least", hint));
            }
        }
        all
    }

    fn extent(&self) -> Vec<Problem> {
        let mut all = Vec::new();
        let cells =
            self.pairs().len().saturating_mul(self.columns().len()).saturating_mul(self.processes().len());
        if cells > CELLS_MAX {
            let hint = "give fewer sizes, with -n, -g, -y and -q, or fewer tests with -i";
            all.push(Problem::new("-a", format!("{cells} measurements"), format!("up to {CELLS_MAX}"), hint));
        }
        let file = kb(self.files_kb().into_iter().max().unwrap_or(0));
        if self.options().verify && file > VERIFIED_FILE_BYTES_MAX {
            let allowed = format!("files up to {}", amount(VERIFIED_FILE_BYTES_MAX));
            let found = format!("-V of files of {}", amount(file));
            all.push(Problem::new("-V", found, allowed, "give smaller files, or omit -V"));
        }
        if let Some(free) = self.free.filter(|free| self.all_bytes() > *free) {
            let processes = self.processes().into_iter().max().unwrap_or(1);
            let found =
                format!("{} a file, for {processes} at once {}", amount(file), amount(self.all_bytes()));
            let fitting = free.0 / processes.max(1) / 1024;
            let hint = format!("give files up to {fitting} kB with -s or -g, or free space");
            all.push(Problem::new("-s", found, format!("the {} that are free there", amount(free)), hint));
        }
        all
    }

    fn of_direct(&self) -> Option<Problem> {
        if !self.options().direct {
            return None;
        }
        match self.direct_alignment.as_ref()? {
            Err(reason) => {
                let hint = "omit -I, or name a folder on a file system that supports it";
                Some(Problem::new(
                    "-I",
                    format!("no direct access: {reason}"),
                    "it where the file system supports it",
                    hint,
                ))
            }
            Ok(alignment) => {
                let is_odd = |record: &u64| !kb(*record).0.is_multiple_of(alignment.0.max(1));
                let record = self.records_kb().into_iter().find(is_odd)?;
                let allowed = format!("multiples of {alignment} with -I");
                let hint = format!("give -r {}", alignment.0.div_ceil(1024));
                Some(Problem::new("-r", format!("a record of {record} kB"), allowed, hint))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::words;
    use super::*;
    use narrows_model::Bytes;

    fn messages(line: &str) -> String {
        let problems = Request::from_words(&words(line)).err().unwrap_or_default();
        problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
    }

    fn sound(line: &str) -> Request {
        assert_eq!(messages(line), "", "{line}");
        Request::from_words(&words(line)).unwrap()
    }

    #[test]
    fn what_does_not_go_together_is_refused_with_what_to_do() {
        for (line, found) in [
            (
                "-s 4 -r 64",
                "-r: found a record of 64 kB in a file of 4 kB; allowed: records up to the file; give -s 64k",
            ),
            ("-a -t 2", "-a: found auto mode of several processes"),
            ("-t 2 -l 1 -u 3", "-t: found -t beside -l or -u"),
            ("-l 3 -u 2", "-l: found -l 3 above -u 2; allowed: -l up to -u"),
            ("-O -N", "-N: found -N beside -O"),
            ("-N -t 2", "-N: found -N in throughput mode"),
            ("-F x", "-F: found names without throughput mode"),
            ("-+m list -i 0", "-+m: found a list of hosts without -t"),
            ("-+m list -l 2 -u 4", "-+m: found a list of hosts without -t"),
            ("-+m list -t 2 -F a b", "-F: found -F beside -+m"),
            ("-+m list -t 2 -f /x/y", "-f: found -f beside -+m"),
            ("-C", "-C: found -C of one process"),
            ("-t 2 -F x", "-F: found 1 names for 2 processes"),
            ("-t 1 -F x -f y", "-f: found -f beside -F"),
            ("-S 64", "-S: found a cache's size without -p"),
            ("-g 4m", "-g: found a limit of auto mode without it"),
            ("-z", "-z: found a limit of auto mode"),
            ("-a -n 8m -g 4m", "-n: found a minimum size of 8192 kB and a maximum of 4096 kB"),
            ("-a -q 2", "-y: found a minimum size of 4 kB and a maximum of 2 kB"),
            (
                "-i 1",
                "-i: found test 1 first, which needs a file; allowed: 0, 6, 9 or 11 before it; add -i 0",
            ),
            ("-i 0 -i 8", "-i: found test 8 of one process"),
            // Of processes together pread comes before fwrite.
            ("-t 2 -i 6 -i 10", "-i: found test 10 first, which needs a file; allowed: 0 before it"),
            ("-i 0 -j 3", "-j: found a stride without test 5"),
            ("-I -i 0 -i 6", "-I: found -I with test 6"),
            ("-a -n 1k -g 2k", "-s: found a file of 1 kB, smaller than every record"),
            (
                "-l 1 -u 256 -i 0 -i 1 -i 2 -i 3 -i 4 -s 1 -s 2 -s 4 -s 8 -s 16 -s 32 -s 64 -r 1 -r 2",
                "-a: found 26624",
            ),
        ] {
            assert!(messages(line).starts_with(found), "{line}: {}", messages(line));
        }
    }

    #[test]
    fn what_the_machine_does_not_have_is_refused() {
        let with = |line: &str, change: fn(&mut Request)| {
            let mut request = sound(line);
            change(&mut request);
            request.problems().iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
        };
        let said = with("-t 4 -s 1g", |request| request.free = Some(Bytes(1 << 30)));
        assert!(
            said.contains("1.00 GiB a file, for 4 at once 4.00 GiB") && said.contains("up to 262144 kB"),
            "{said}"
        );
        let said = with("-I", |request| request.direct_alignment = Some(Err("tmpfs has none".to_owned())));
        assert!(said.contains("-I: found no direct access: tmpfs has none"), "{said}");
        let said = with("-I -r 1", |request| request.direct_alignment = Some(Ok(Bytes(4096))));
        assert!(said.contains("-r: found a record of 1 kB") && said.contains("give -r 4"), "{said}");
    }
}
