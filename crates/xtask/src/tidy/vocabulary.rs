//! One vocabulary: a type name means one thing in the whole workspace, and retired words are not used again.
//!
//! Test code and examples are exempt, and so are names that a trait gave: they are checked where the trait declares them.

use std::collections::BTreeMap;

use proc_macro2::Span;
use syn::Ident;
use syn::visit::{self, Visit};

use super::limits::{RETIRED_FUNCTIONS, RETIRED_TYPES, RETIRED_WORDS, SHARED_TYPE_NAMES};
use super::names::words;
use super::problem::TidyProblem;
use super::source::SourceFile;

/// Every type name that is declared twice, and every retired name.
pub(crate) fn check(sources: &[SourceFile]) -> Vec<TidyProblem> {
    let mut problems = Vec::new();
    let mut types: BTreeMap<String, Vec<Declaration>> = BTreeMap::new();
    for source in sources.iter().filter(|source| !source.is_test && !is_example(&source.path)) {
        let mut reader = VocabularyReader { file: &source.path, types: Vec::new(), problems: Vec::new() };
        reader.visit_file(&source.syntax);
        for (name, line) in reader.types {
            types.entry(name).or_default().push(Declaration { file: source.path.clone(), line });
        }
        problems.append(&mut reader.problems);
    }
    for (name, declarations) in &types {
        problems.extend(repeated(name, declarations));
    }
    problems
}

fn is_example(path: &str) -> bool {
    path.split('/').any(|folder| folder == "examples")
}

/// Where a type is declared.
struct Declaration {
    file: String,
    /// Counted from 1.
    line: usize,
}

/// A problem for each declaration but the first, of those that may not share their name.
fn repeated(name: &str, declarations: &[Declaration]) -> Vec<TidyProblem> {
    let shares = |declaration: &Declaration| {
        SHARED_TYPE_NAMES
            .iter()
            .any(|shared| shared.names.contains(&name) && declaration.file.starts_with(shared.below))
    };
    let own: Vec<&Declaration> = declarations.iter().filter(|declaration| !shares(declaration)).collect();
    let Some((first, others)) = own.split_first() else { return Vec::new() };
    let problem = |declaration: &&Declaration| TidyProblem {
        file: declaration.file.clone(),
        line: declaration.line,
        found: format!("type `{name}`, which {}:{} declares too", first.file, first.line),
        allowed: "a type name exists once in the workspace".to_owned(),
        hint: "name what this one is".to_owned(),
    };
    others.iter().map(problem).collect()
}

struct VocabularyReader<'a> {
    file: &'a str,
    /// Names of types, each with its line.
    types: Vec<(String, usize)>,
    problems: Vec<TidyProblem>,
}

impl VocabularyReader<'_> {
    fn note(&mut self, span: Span, name: &str, instead: &str) {
        self.problems.push(TidyProblem {
            file: self.file.to_owned(),
            line: span.start().line,
            found: format!("the retired name `{name}`"),
            allowed: "names use the words of the field".to_owned(),
            hint: format!("write {instead}"),
        });
    }

    fn check_words(&mut self, ident: &Ident) {
        let name = ident.to_string();
        let words = words(&name);
        if let Some((_, instead)) =
            RETIRED_WORDS.iter().find(|(retired, _)| words.iter().any(|word| word == retired))
        {
            self.note(ident.span(), &name, instead);
        }
    }

    fn check_type(&mut self, ident: &Ident) {
        let name = ident.to_string();
        if let Some((_, instead)) = RETIRED_TYPES.iter().find(|(retired, _)| *retired == name) {
            self.note(ident.span(), &name, instead);
        }
        self.check_words(ident);
        self.types.push((name, ident.span().start().line));
    }

    fn check_function(&mut self, ident: &Ident) {
        let name = ident.to_string();
        if let Some((_, instead)) = RETIRED_FUNCTIONS.iter().find(|(retired, _)| *retired == name) {
            self.note(ident.span(), &name, instead);
        }
        self.check_words(ident);
    }
}

impl<'ast> Visit<'ast> for VocabularyReader<'_> {
    fn visit_item_impl(&mut self, node: &'ast syn::ItemImpl) {
        if node.trait_.is_none() {
            visit::visit_item_impl(self, node);
            return;
        }
        for member in &node.items {
            if let syn::ImplItem::Fn(function) = member {
                self.visit_block(&function.block);
            }
        }
    }

    fn visit_signature(&mut self, node: &'ast syn::Signature) {
        self.check_function(&node.ident);
        visit::visit_signature(self, node);
    }

    fn visit_pat_ident(&mut self, node: &'ast syn::PatIdent) {
        self.check_words(&node.ident);
        visit::visit_pat_ident(self, node);
    }

    fn visit_field(&mut self, node: &'ast syn::Field) {
        if let Some(ident) = &node.ident {
            self.check_words(ident);
        }
        visit::visit_field(self, node);
    }

    fn visit_variant(&mut self, node: &'ast syn::Variant) {
        self.check_words(&node.ident);
        visit::visit_variant(self, node);
    }

    fn visit_item_struct(&mut self, node: &'ast syn::ItemStruct) {
        self.check_type(&node.ident);
        visit::visit_item_struct(self, node);
    }

    fn visit_item_enum(&mut self, node: &'ast syn::ItemEnum) {
        self.check_type(&node.ident);
        visit::visit_item_enum(self, node);
    }

    fn visit_item_union(&mut self, node: &'ast syn::ItemUnion) {
        self.check_type(&node.ident);
        visit::visit_item_union(self, node);
    }

    fn visit_item_trait(&mut self, node: &'ast syn::ItemTrait) {
        self.check_type(&node.ident);
        visit::visit_item_trait(self, node);
    }

    fn visit_item_type(&mut self, node: &'ast syn::ItemType) {
        self.check_type(&node.ident);
        visit::visit_item_type(self, node);
    }

    fn visit_item_mod(&mut self, node: &'ast syn::ItemMod) {
        self.check_words(&node.ident);
        visit::visit_item_mod(self, node);
    }

    fn visit_item_const(&mut self, node: &'ast syn::ItemConst) {
        self.check_words(&node.ident);
        visit::visit_item_const(self, node);
    }

    fn visit_item_static(&mut self, node: &'ast syn::ItemStatic) {
        self.check_words(&node.ident);
        visit::visit_item_static(self, node);
    }
}

#[cfg(test)]
mod tests;
