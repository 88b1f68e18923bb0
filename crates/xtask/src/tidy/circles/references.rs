//! The names that a file uses, as it writes them.

use proc_macro2::Span;
use syn::visit::{self, Visit};

use super::super::paths::{Imports, PathNames, names_of, token_paths};

/// A path in a file.
pub(super) struct Reference {
    pub(super) names: PathNames,
    pub(super) line: usize,
}

/// Everything that a file names.
pub(super) struct FileNames {
    pub(super) references: Vec<Reference>,
    /// What its `use` declarations bring in, for itself and for whoever names it through this file.
    pub(super) imports: Imports,
}

impl FileNames {
    /// What `file` names.
    pub(super) fn from_file(file: &syn::File) -> Self {
        let imports = Imports::from_file(file);
        let mut finder = ReferenceFinder { inline_depth: 0, found: Vec::new() };
        for import in &imports.all {
            finder.note(import.names.clone(), import.span);
        }
        finder.visit_file(file);
        Self { references: finder.found, imports }
    }
}

struct ReferenceFinder {
    /// Modules within the file around the place: they belong to the file's own module.
    inline_depth: usize,
    found: Vec<Reference>,
}

impl ReferenceFinder {
    fn note(&mut self, mut names: PathNames, span: Span) {
        if self.inline_depth > 0 && names.first().is_some_and(|name| name == "super") {
            "self".clone_into(&mut names[0]);
        }
        self.found.push(Reference { names, line: span.start().line });
    }
}

impl<'ast> Visit<'ast> for ReferenceFinder {
    fn visit_path(&mut self, node: &'ast syn::Path) {
        if let Some(first) = node.segments.first() {
            self.note(names_of(node), first.ident.span());
        }
        visit::visit_path(self, node);
    }

    fn visit_macro(&mut self, node: &'ast syn::Macro) {
        for path in token_paths(&node.tokens) {
            if !path.is_member {
                self.note(path.names, path.span);
            }
        }
        visit::visit_macro(self, node);
    }

    fn visit_item_mod(&mut self, node: &'ast syn::ItemMod) {
        self.inline_depth += 1;
        visit::visit_item_mod(self, node);
        self.inline_depth -= 1;
    }
}
