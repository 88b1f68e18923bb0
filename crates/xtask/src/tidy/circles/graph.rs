//! The tree of a crate's modules, which siblings need which, and the circles among them.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::super::source::SourceFile;
use super::references::FileNames;

/// A module by the names on the way from the crate's root, which is empty.
type Module = Vec<String>;

/// Re-exports that one name may pass through.
const REEXPORTS_MAX: usize = 16;

/// A need that is part of a circle, with the first line that shows it.
#[derive(Debug, Clone)]
pub(super) struct ModuleDependency {
    pub(super) from: String,
    pub(super) to: String,
    pub(super) file: String,
    pub(super) line: usize,
    pub(super) written: String,
}

/// Siblings that need each other.
#[derive(Debug)]
pub(super) struct Circle {
    /// The module that declares them, as `a::b`; empty for the crate.
    pub(super) parent: String,
    /// All of them, sorted.
    pub(super) modules: Vec<String>,
    /// One way around, through some of them.
    pub(super) steps: Vec<ModuleDependency>,
}

/// The circles among the modules of a crate, of which `sources` are all files.
pub(super) fn circles(sources: &[&SourceFile]) -> Vec<Circle> {
    let has_library = sources.iter().any(|source| source.path.ends_with("/src/lib.rs"));
    let files: Vec<(Module, &SourceFile, FileNames)> = sources
        .iter()
        .filter(|source| !(has_library && source.path.ends_with("/src/main.rs")))
        .filter_map(|source| Some((module_of(&source.path)?, *source, FileNames::from_file(&source.syntax))))
        .collect();
    let tree = Tree { modules: files.iter().map(|(module, _, names)| (module.clone(), names)).collect() };
    let mut levels: BTreeMap<Module, Siblings> = BTreeMap::new();
    for (module, source, names) in &files {
        for reference in &names.references {
            let Some(target) = tree.resolve(module, &reference.names, 0) else { continue };
            let shared = module.iter().zip(&target).take_while(|(a, b)| a == b).count();
            if let (Some(from), Some(to)) = (module.get(shared), target.get(shared)) {
                let step = ModuleDependency {
                    from: from.clone(),
                    to: to.clone(),
                    file: source.path.clone(),
                    line: reference.line,
                    written: reference.names.join("::"),
                };
                levels.entry(module[..shared].to_vec()).or_default().add(step);
            }
        }
    }
    levels.iter().flat_map(|(parent, level)| level.circles(&parent.join("::"))).collect()
}

/// The module whose code is in a file below `src`; none for examples and further binaries.
fn module_of(path: &str) -> Option<Module> {
    let (_, inside) = path.strip_prefix("crates/")?.split_once('/')?;
    let stem = inside.strip_prefix("src/")?.strip_suffix(".rs")?;
    let mut names: Module = stem.split('/').map(str::to_owned).collect();
    if names.first().is_some_and(|first| first == "bin") {
        return None;
    }
    if names.last().is_some_and(|last| matches!(last.as_str(), "mod" | "lib" | "main")) {
        names.pop();
    }
    Some(names)
}

/// The modules of a crate with what their files name.
struct Tree<'a> {
    modules: BTreeMap<Module, &'a FileNames>,
}

impl Tree<'_> {
    /// The module that declares what `names` mean in `from`; none for what is outside of the crate.
    fn resolve(&self, from: &[String], names: &[String], reexports: usize) -> Option<Module> {
        let (first, mut rest) = names.split_first()?;
        let start = match first.as_str() {
            "crate" => Module::new(),
            "self" => from.to_vec(),
            "super" => {
                let mut above = parent(from);
                while let Some(("super", further)) =
                    rest.split_first().map(|(name, more)| (name.as_str(), more))
                {
                    (above, rest) = (parent(&above), further);
                }
                above
            }
            _ => Some(child(from, first)).filter(|module| self.modules.contains_key(module))?,
        };
        Some(self.follow(start, rest, reexports))
    }

    /// Where `names` end that start in `module`.
    fn follow(&self, mut module: Module, names: &[String], reexports: usize) -> Module {
        for (index, name) in names.iter().enumerate() {
            let below = child(&module, name);
            if self.modules.contains_key(&below) {
                module = below;
                continue;
            }
            let targets = self.modules.get(&module).map_or(&[][..], |names| names.imports.targets(name));
            let Some(target) = targets.first().filter(|_| reexports < REEXPORTS_MAX) else { break };
            let further: Vec<String> = target.iter().chain(&names[index + 1..]).cloned().collect();
            return self.resolve(&module, &further, reexports + 1).unwrap_or(module);
        }
        module
    }
}

fn parent(module: &[String]) -> Module {
    module.split_last().map_or_else(Module::new, |(_, above)| above.to_vec())
}

fn child(module: &[String], name: &str) -> Module {
    let mut below = module.to_vec();
    below.push(name.to_owned());
    below
}

/// The needs among the children of one module.
#[derive(Default)]
struct Siblings {
    needs: BTreeMap<String, BTreeMap<String, ModuleDependency>>,
}

impl Siblings {
    /// Keeps the first line that shows a need.
    fn add(&mut self, step: ModuleDependency) {
        self.needs.entry(step.from.clone()).or_default().entry(step.to.clone()).or_insert(step);
    }

    fn circles(&self, parent: &str) -> Vec<Circle> {
        let mut seen: BTreeSet<&str> = BTreeSet::new();
        let mut found = Vec::new();
        for name in self.needs.keys().map(String::as_str) {
            if seen.contains(name) || !self.reachable(name).contains(name) {
                continue;
            }
            let mutual =
                self.reachable(name).into_iter().filter(|other| self.reachable(other).contains(name));
            let modules: Vec<String> = mutual.map(str::to_owned).collect();
            seen.extend(
                self.needs.keys().map(String::as_str).filter(|known| modules.iter().any(|one| one == known)),
            );
            found.push(Circle { parent: parent.to_owned(), steps: self.way_around(name), modules });
        }
        found
    }

    /// Every module that `from` needs, itself among them if it is in a circle.
    fn reachable(&self, from: &str) -> BTreeSet<&str> {
        let mut found = BTreeSet::new();
        let mut open = vec![from];
        while let Some(name) = open.pop() {
            for next in self.needs.get(name).into_iter().flat_map(BTreeMap::keys) {
                if found.insert(next.as_str()) {
                    open.push(next);
                }
            }
        }
        found
    }

    /// The fewest needs that lead from `start` back to it.
    fn way_around(&self, start: &str) -> Vec<ModuleDependency> {
        let mut came_by: BTreeMap<&str, &ModuleDependency> = BTreeMap::new();
        let mut open = VecDeque::from([start]);
        while let Some(name) = open.pop_front() {
            for (next, step) in self.needs.get(name).into_iter().flatten() {
                if let Entry::Vacant(unseen) = came_by.entry(next.as_str()) {
                    unseen.insert(step);
                    open.push_back(next);
                }
            }
        }
        let mut steps = Vec::new();
        let mut at = start;
        while let Some(step) = came_by.get(at) {
            steps.push((*step).clone());
            at = &step.from;
            if at == start || steps.len() > came_by.len() {
                break;
            }
        }
        steps.reverse();
        steps
    }
}
