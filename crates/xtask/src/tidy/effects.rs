//! Which effects a source file causes, compared with what its crate may cause.
//!
//! The judgement is by name, not by type: a file is followed through its own imports, into macros, and no further.
//! Test code is exempt.

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::Span;
use syn::visit::{self, Visit};

use super::paths::{Imports, names_of, token_paths};
use super::problem::TidyProblem;
use super::source::SourceFile;
use super::tables::{
    CONSOLE_MACROS, CodeEffect, CrateRow, EffectException, FILE_METHODS, PATHS, RANDOM_CONSTRUCTORS,
};

/// Every effect that a file causes and its crate may not, every crate root that does not forbid unsafe code, and
/// every exception that nothing needs any more.
pub(crate) fn check(
    sources: &[SourceFile],
    crates: &[CrateRow],
    exceptions: &[EffectException],
) -> Vec<TidyProblem> {
    let mut problems = Vec::new();
    let mut used = BTreeSet::new();
    for source in sources.iter().filter(|source| !source.is_test) {
        // A crate without a row is reported with the edges.
        let Some(row) = crates.iter().find(|row| Some(row.name) == source.crate_name()) else { continue };
        problems.extend(unsafe_code_not_forbidden(source, row, exceptions));
        for (key, what) in causes(source) {
            if row.effects.iter().any(|(effect, _)| *effect == key.effect) {
                continue;
            }
            let exception =
                exceptions.iter().position(|entry| entry.file == source.path && entry.effect == key.effect);
            match exception {
                Some(index) => drop(used.insert(index)),
                None => problems.push(refused(source, row, &key, &what)),
            }
        }
    }
    for (index, entry) in exceptions.iter().enumerate() {
        if !used.contains(&index) {
            problems.push(stale(entry));
        }
    }
    problems
}

fn refused(source: &SourceFile, row: &CrateRow, key: &Cause, what: &str) -> TidyProblem {
    let (words, hint) = key.effect.words();
    let allowed: Vec<&str> = row.effects.iter().map(|(effect, _)| effect.words().0).collect();
    let allowed = if allowed.is_empty() { "no effect at all".to_owned() } else { allowed.join(", ") };
    TidyProblem {
        file: source.path.clone(),
        line: key.line,
        found: format!("`{what}` ({words})"),
        allowed: format!("crate {} may cause {allowed}", row.name),
        hint: hint.to_owned(),
    }
}

fn stale(entry: &EffectException) -> TidyProblem {
    TidyProblem {
        file: entry.file.to_owned(),
        line: 1,
        found: format!("an exception for {} that nothing here needs", entry.effect.words().0),
        allowed: format!("an exception lives as long as its reason ({})", entry.reason),
        hint: "take the entry out of crates/xtask/src/tidy/tables.rs".to_owned(),
    }
}

/// A crate root without the attribute that refuses unsafe code: `forbid`, or `deny` where a file of the crate is an
/// exception.
fn unsafe_code_not_forbidden(
    source: &SourceFile,
    row: &CrateRow,
    exceptions: &[EffectException],
) -> Option<TidyProblem> {
    let folder = format!("crates/{}/src/", row.name);
    // A binary of its own is a crate of its own.
    let of_crate = |entry: &EffectException| {
        entry.file.strip_prefix(&folder).is_some_and(|file| !file.starts_with("bin/"))
    };
    let has_exception = exceptions.iter().any(|entry| entry.effect == CodeEffect::Unsafe && of_crate(entry));
    let level = if has_exception { "deny" } else { "forbid" };
    let inside = source.path.strip_prefix("crates/")?.split_once('/')?.1;
    let is_root = matches!(inside, "src/lib.rs" | "src/main.rs")
        || inside.strip_prefix("src/bin/").is_some_and(|name| !name.contains('/'));
    let may = row.effects.iter().any(|(effect, _)| *effect == CodeEffect::Unsafe);
    let forbids = source.syntax.attrs.iter().any(|attribute| {
        attribute.path().is_ident(level)
            && attribute.parse_args::<syn::Ident>().is_ok_and(|name| name == "unsafe_code")
    });
    (is_root && !may && !forbids).then(|| TidyProblem {
        file: source.path.clone(),
        line: 1,
        found: format!("a crate root without #![{level}(unsafe_code)]"),
        allowed: format!("crate {} holds no unsafe code", row.name),
        hint: format!("write #![{level}(unsafe_code)] below the module's documentation"),
    })
}

/// An effect at a line: one finding, however often the line names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Cause {
    line: usize,
    effect: CodeEffect,
}

fn causes(source: &SourceFile) -> BTreeMap<Cause, String> {
    let mut finder = EffectFinder { imports: Imports::from_file(&source.syntax), found: BTreeMap::new() };
    let imported: Vec<_> =
        finder.imports.all.iter().map(|import| (import.names.clone(), import.span)).collect();
    for (names, span) in imported {
        finder.note_resolved(&names, span, false);
    }
    finder.visit_file(&source.syntax);
    finder.found
}

struct EffectFinder {
    imports: Imports,
    found: BTreeMap<Cause, String>,
}

impl EffectFinder {
    fn note(&mut self, effect: CodeEffect, span: Span, what: &str) {
        self.found.entry(Cause { line: span.start().line, effect }).or_insert_with(|| what.to_owned());
    }

    fn note_path(&mut self, names: &[String], span: Span, is_value: bool) {
        for full in self.imports.resolve(names) {
            self.note_resolved(&full, span, is_value);
        }
    }

    fn note_resolved(&mut self, full: &[String], span: Span, is_value: bool) {
        if full.last().is_some_and(|last| RANDOM_CONSTRUCTORS.contains(&last.as_str())) {
            self.note(CodeEffect::Random, span, &full.join("::"));
        }
        if let Some(effect) = effect_of(full, is_value) {
            self.note(effect, span, &full.join("::"));
        }
    }

    fn note_macro(&mut self, name: Option<&String>, span: Span) {
        if let Some(name) = name.filter(|name| CONSOLE_MACROS.contains(&name.as_str())) {
            self.note(CodeEffect::Console, span, &format!("{name}!"));
        }
    }

    fn note_method(&mut self, name: &str, span: Span) {
        if FILE_METHODS.contains(&name) {
            self.note(CodeEffect::Files, span, &format!(".{name}()"));
        }
    }
}

/// The effect of the longest row of the table that the path begins with.
fn effect_of(full: &[String], is_value: bool) -> Option<CodeEffect> {
    PATHS
        .iter()
        .filter(|row| is_value || !row.values_only)
        .filter(|row| begins_with(full, row.path))
        .max_by_key(|row| row.path.len())
        .and_then(|row| row.effect)
}

fn begins_with(full: &[String], start: &str) -> bool {
    // Nearly all rows are refused here, without a look for separators.
    if full.first().is_none_or(|first| !start.starts_with(first.as_str())) {
        return false;
    }
    let mut names = full.iter();
    start.split("::").all(|part| names.next().is_some_and(|name| name == part))
}

impl<'ast> Visit<'ast> for EffectFinder {
    fn visit_path(&mut self, node: &'ast syn::Path) {
        if let Some(first) = node.segments.first() {
            self.note_path(&names_of(node), first.ident.span(), false);
        }
        visit::visit_path(self, node);
    }

    fn visit_expr_path(&mut self, node: &'ast syn::ExprPath) {
        if let Some(first) = node.path.segments.first() {
            self.note_path(&names_of(&node.path), first.ident.span(), true);
        }
        visit::visit_expr_path(self, node);
    }

    fn visit_expr_method_call(&mut self, node: &'ast syn::ExprMethodCall) {
        self.note_method(&node.method.to_string(), node.method.span());
        visit::visit_expr_method_call(self, node);
    }

    fn visit_macro(&mut self, node: &'ast syn::Macro) {
        if let Some(last) = node.path.segments.last() {
            self.note_macro(Some(&last.ident.to_string()), last.ident.span());
        }
        for path in token_paths(&node.tokens) {
            if path.is_macro {
                self.note_macro(path.names.last(), path.span);
            } else if path.is_member {
                self.note_method(&path.names[0], path.span);
            } else if path.names == ["unsafe"] {
                self.note(CodeEffect::Unsafe, path.span, "unsafe");
            } else {
                self.note_path(&path.names, path.span, true);
            }
        }
        visit::visit_macro(self, node);
    }

    fn visit_expr_unsafe(&mut self, node: &'ast syn::ExprUnsafe) {
        self.note(CodeEffect::Unsafe, node.unsafe_token.span, "unsafe { }");
        visit::visit_expr_unsafe(self, node);
    }

    fn visit_signature(&mut self, node: &'ast syn::Signature) {
        if let Some(token) = node.unsafety {
            self.note(CodeEffect::Unsafe, token.span, "unsafe fn");
        }
        visit::visit_signature(self, node);
    }

    fn visit_item_impl(&mut self, node: &'ast syn::ItemImpl) {
        if let Some(token) = node.unsafety {
            self.note(CodeEffect::Unsafe, token.span, "unsafe impl");
        }
        visit::visit_item_impl(self, node);
    }

    fn visit_item_trait(&mut self, node: &'ast syn::ItemTrait) {
        if let Some(token) = node.unsafety {
            self.note(CodeEffect::Unsafe, token.span, "unsafe trait");
        }
        visit::visit_item_trait(self, node);
    }

    fn visit_item_foreign_mod(&mut self, node: &'ast syn::ItemForeignMod) {
        self.note(CodeEffect::Unsafe, node.abi.extern_token.span, "extern block");
        visit::visit_item_foreign_mod(self, node);
    }
}

#[cfg(test)]
mod tests;
