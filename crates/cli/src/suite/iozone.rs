//! `narrows suite iozone`: from what was typed to the table, its files and the verdict, as a pipeline of values.

use super::on_folder::{self, OnFolder, Room};
use super::refused;
use crate::args::IozoneArguments;
use crate::check::Prepared;
use crate::console::Console;
use crate::exit::{Exit, Failure};
use crate::measurement::{self, Terms, Watch, random_u64};
use narrows_engines::psync::TestFolder;
use narrows_engines::{EngineFactory, EngineRegistry};
use narrows_model::capabilities::Support;
use narrows_model::{Bytes, Plan, Summary, Target};
use narrows_suites::iozone::{Request, plan, sheet_csv, surface_csv, surface_svg};
use std::collections::BTreeSet;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Time of each cut, in seconds: short, as the tests beside it are.
const CUT_SECONDS: f64 = 0.25;
/// Largest block of the cuts: a larger record is moved in such parts by every layer below.
const CUT_BLOCK_MAX: Bytes = Bytes(1 << 20);
/// Where the machine tells of the caches of its first processor.
const CPU_CACHES: &str = "/sys/devices/system/cpu/cpu0/cache";

/// Runs the suite.
pub(super) fn run(
    arguments: &IozoneArguments,
    command: &[String],
    console: &Console,
) -> Result<Exit, Failure> {
    let terms = Terms { output: &arguments.output, command, console };
    let mut request = Request::of(&arguments.letters).map_err(|problems| refused(&problems))?;
    request.has_cuts = !arguments.cuts.no_verdict;
    let files = Files::of(arguments, &request)?;
    on_folder::check_folder(&arguments.dir)?;
    if let Some(mount) = request.cold_mount() {
        let parents = parents_of(&request)?;
        let folders: Vec<&Path> = if parents.is_empty() {
            vec![&arguments.dir]
        } else {
            parents.iter().map(PathBuf::as_path).collect()
        };
        check_mount(mount, &folders)?;
    }
    let watch = Watch::start(console)?;
    let folder = OnFolder {
        dir: &arguments.dir,
        cuts: &arguments.cuts,
        cell_seconds: CUT_SECONDS,
        seed: arguments.seed,
        block: request.record_bytes_max().min(CUT_BLOCK_MAX),
    };
    let mut prepared = folder.prepare(&arguments.output, &watch, console)?;
    let mut folders = Folders::of(arguments, &request, folder.own(&prepared), console)?;
    let plan = planned(&mut request, &prepared, &folders)?;
    let Some(ran) = on_folder::run(&plan, &mut prepared, &watch, terms)? else { return Ok(Exit::Done) };
    if request.keeps_files() {
        for kept in prepared.place.keep().into_iter().chain(folders.keep()) {
            console.say(&format!("kept: {}", kept.display()));
        }
    }
    drop(prepared);
    measurement::conclude_by(ran, terms, &mut |summary, text| {
        console.result(text)?;
        files.write(summary)
    })
}

/// What is written beside the output, by its option.
struct Files {
    wanted: Vec<(&'static str, PathBuf, TextOf)>,
}

/// What a file holds of a summary.
type TextOf = fn(&Summary) -> Option<String>;

impl Files {
    /// The files that are asked for.
    ///
    /// Fails where one is there already, or nothing could be written: that must not show after hours of measuring.
    fn of(arguments: &IozoneArguments, request: &Request) -> Result<Self, Failure> {
        if request.is_throughput() && arguments.surface_svg.is_some() {
            return Err(Failure::bad_input(
                "--surface-svg: several processes (-t, -l, -u) have no surface of sizes to draw; leave them out, or give \
                 --surface-csv, which lists their figures",
            ));
        }
        let all: [(_, Option<PathBuf>, TextOf); 3] = [
            ("-b", request.sheet_file().map(PathBuf::from), sheet_csv),
            ("--surface-csv", arguments.surface_csv.clone(), surface_csv),
            ("--surface-svg", arguments.surface_svg.clone(), surface_svg),
        ];
        let wanted: Vec<_> =
            all.into_iter().filter_map(|(option, path, text)| Some((option, path?, text))).collect();
        for (option, path, _) in &wanted {
            let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
            let problem = if std::fs::symlink_metadata(path).is_ok() {
                "is there already; name a file that is not, or remove it"
            } else if !parent.unwrap_or(Path::new(".")).is_dir() {
                "lies in no folder; make it first"
            } else {
                continue;
            };
            return Err(Failure::bad_input(format!("{option} {}: {problem}", path.display())));
        }
        Ok(Self { wanted })
    }

    fn write(&self, summary: &Summary) -> Result<(), Failure> {
        for (option, path, text) in &self.wanted {
            let text = text(summary).ok_or_else(|| {
                Failure::could_not_run(format!(
                    "{option} {}: the record holds nothing to write there",
                    path.display()
                ))
            })?;
            let made = std::fs::File::create_new(path).and_then(|mut file| file.write_all(text.as_bytes()));
            made.map_err(|error| {
                Failure::could_not_run(format!(
                    "{option} {}: {error}; the record has all of it",
                    path.display()
                ))
            })?;
        }
        Ok(())
    }
}

/// Where the files of processes lie: in our own folder, or for each name of `-F` in one of our own beside it.
struct Folders {
    targets: Vec<Target>,
    made: Vec<TestFolder>,
}

impl Folders {
    fn of(
        arguments: &IozoneArguments,
        request: &Request,
        own: PathBuf,
        console: &Console,
    ) -> Result<Self, Failure> {
        if request.names().is_empty() {
            return Ok(Self { targets: vec![Target::File { path: own }], made: Vec::new() });
        }
        let mut all = Self { targets: Vec::new(), made: Vec::new() };
        let parents = parents_of(request)?;
        // What lies in DIR has been named with its check.
        let others: BTreeSet<&PathBuf> = parents.iter().filter(|parent| **parent != arguments.dir).collect();
        for leftover in others.into_iter().flat_map(|parent| measurement::leftovers(parent)) {
            console.say(&leftover);
        }
        for parent in parents {
            let path = if arguments.output.plan {
                parent
            } else {
                let made = measurement::make(&parent, random_u64()?)?;
                let path = made.path().to_path_buf();
                all.made.push(made);
                path
            };
            all.targets.push(Target::File { path });
        }
        Ok(all)
    }

    fn keep(&mut self) -> impl Iterator<Item = &Path> {
        self.made.iter_mut().for_each(TestFolder::keep);
        self.made.iter().map(TestFolder::path)
    }
}

/// Refuses a mount that does not hold all of `folders`: their caches would not be those that its unmounting empties.
fn check_mount(mount: &str, folders: &[&Path]) -> Result<(), Failure> {
    let whole = |path: &Path| {
        std::fs::canonicalize(path)
            .map_err(|error| Failure::bad_input(format!("-U {mount}: {}: {error}", path.display())))
    };
    let below = whole(Path::new(mount))?;
    for folder in folders {
        let folder = whole(folder)?;
        if !below.is_dir() || !folder.starts_with(&below) {
            return Err(Failure::bad_input(format!(
                "-U {mount}: does not hold the folder of the tests, {}; give the mount that it lies in, or another folder that \
                 holds all of them",
                folder.display()
            )));
        }
    }
    Ok(())
}

/// The folders of the names of `-F`, in their order.
fn parents_of(request: &Request) -> Result<Vec<PathBuf>, Failure> {
    request.names().iter().map(|name| parent_of(name)).collect()
}

/// The folder of a name of `-F`: the name itself where it is one, else the one that it lies in.
fn parent_of(name: &str) -> Result<PathBuf, Failure> {
    let path = Path::new(name);
    if path.is_dir() {
        return Ok(path.to_path_buf());
    }
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if parent.is_dir() {
        return Ok(parent.to_path_buf());
    }
    let hint = "the process's file is made in the folder of its name; give one that exists";
    Err(Failure::bad_input(format!("-F {name}: {} is no folder; {hint}", parent.display())))
}

fn planned(request: &mut Request, prepared: &Prepared, folders: &Folders) -> Result<Plan, Failure> {
    request.free = Room::of(prepared).free.filter(|_| folders.made.is_empty());
    request.cpu_cache = of_caches(Path::new(CPU_CACHES), "size");
    request.cpu_cache_line = of_caches(Path::new(CPU_CACHES), "coherency_line_size");
    request.direct =
        folders.targets.first().filter(|_| request.is_direct()).map(|target| direct(target, prepared));
    plan(request, &folders.targets, prepared.plan.clone()).map_err(|problems| refused(&problems))
}

/// What direct access must be a multiple of at `target`, or why there is none: file systems say so of a file.
fn direct(target: &Target, prepared: &Prepared) -> Result<Bytes, String> {
    let probed = prepared.place.own_file().map_or_else(|| target.clone(), |path| Target::File { path });
    let factory = EngineRegistry::for_user().factory(&probed, None).map_err(|error| error.to_string())?;
    let capabilities =
        EngineFactory::capabilities(factory.as_ref(), &probed).map_err(|error| error.to_string())?;
    match capabilities.direct {
        Support::Yes => Ok(capabilities.alignment_bytes),
        Support::No { reason } => Err(reason),
    }
}

/// The largest `fact` of the caches below `folder`, of which each tells its size as `32768K` and its line's as `64`.
fn of_caches(folder: &Path, fact: &str) -> Option<Bytes> {
    let entries = std::fs::read_dir(folder).ok()?;
    let sizes = entries.filter_map(|entry| {
        let text = std::fs::read_to_string(entry.ok()?.path().join(fact)).ok()?;
        narrows_model::size::parse_size(&text.trim().replace('K', "KiB").replace('M', "MiB")).ok()
    });
    sizes.max()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_cache_is_found() {
        let folder = tempfile::tempdir().unwrap();
        for (name, size) in [("index0", "32K\n"), ("index3", "16M\n"), ("index2", "512K\n"), ("power", "x")] {
            std::fs::create_dir(folder.path().join(name)).unwrap();
            std::fs::write(folder.path().join(name).join("size"), size).unwrap();
            std::fs::write(folder.path().join(name).join("coherency_line_size"), "64\n").unwrap();
        }
        assert_eq!(of_caches(folder.path(), "size"), Some(Bytes(16 << 20)));
        assert_eq!(of_caches(folder.path(), "coherency_line_size"), Some(Bytes(64)));
        assert_eq!(of_caches(&folder.path().join("none"), "size"), None);
    }

    #[test]
    fn a_mount_must_hold_every_folder_of_the_tests() {
        let folder = tempfile::tempdir().unwrap();
        let (one, two) = (folder.path().join("one"), folder.path().join("two"));
        for each in [&one, &two] {
            std::fs::create_dir(each).unwrap();
        }
        let of = |mount: &Path| check_mount(mount.to_str().unwrap(), &[&one, &two]);
        assert!(of(folder.path()).is_ok() && check_mount(one.to_str().unwrap(), &[&one]).is_ok());
        let told = of(&one).unwrap_err().message().clone();
        assert!(
            told.contains("does not hold the folder of the tests") && told.contains("two; give the mount"),
            "{told}"
        );
        assert!(of(&folder.path().join("none")).unwrap_err().message().contains("No such file"));
    }

    #[test]
    fn a_name_stands_for_the_folder_that_it_lies_in() {
        let folder = tempfile::tempdir().unwrap();
        let inside = folder.path().join("file");
        assert_eq!(parent_of(inside.to_str().unwrap()).unwrap(), folder.path());
        assert_eq!(parent_of(folder.path().to_str().unwrap()).unwrap(), folder.path());
        assert_eq!(parent_of("plain").unwrap(), Path::new("."));
        let missing = inside.join("deeper/file");
        assert!(parent_of(missing.to_str().unwrap()).unwrap_err().message().contains("is no folder"));
    }
}
