//! Names that say nothing or hide a unit.
//!
//! Only names that the project chose are checked: what implements a foreign trait keeps that trait's names, and test
//! code is exempt.

use proc_macro2::Span;
use syn::Ident;
use syn::visit::{self, Visit};

use super::limits::{EMPTY_WORDS, NAME_EXCEPTIONS, UNITLESS_NAMES, UNITLESS_WORDS};
use super::problem::TidyProblem;
use super::source::SourceFile;

/// Every refused name.
pub(crate) fn check(sources: &[SourceFile]) -> Vec<TidyProblem> {
    let mut problems = Vec::new();
    for source in sources.iter().filter(|source| !source.is_test) {
        let mut finder = NameChecker { file: &source.path, problems: Vec::new() };
        if let Some(name) = module_of_file(&source.path) {
            finder.check_type_name(name, Span::call_site());
        }
        finder.visit_file(&source.syntax);
        problems.append(&mut finder.problems);
    }
    problems
}

/// The module that a file's own name makes; none for the names that every crate has.
fn module_of_file(path: &str) -> Option<&str> {
    let stem = path.rsplit('/').next()?.strip_suffix(".rs")?;
    (!matches!(stem, "lib" | "main" | "mod" | "build")).then_some(stem)
}

struct NameChecker<'a> {
    file: &'a str,
    problems: Vec<TidyProblem>,
}

impl NameChecker<'_> {
    fn note(&mut self, span: Span, found: String, allowed: &str, hint: String) {
        self.problems.push(TidyProblem {
            file: self.file.to_owned(),
            line: span.start().line,
            found,
            allowed: allowed.to_owned(),
            hint,
        });
    }

    /// Checks any name for abbreviations that hide a unit.
    fn check_name(&mut self, name: &str, span: Span) {
        let words = words(name);
        for (word, instead) in UNITLESS_WORDS {
            if words.iter().any(|found| found == word) {
                self.note(
                    span,
                    format!("name `{name}` with `{word}`"),
                    "a name says its unit in full",
                    format!("write {instead}"),
                );
            }
        }
    }

    /// Checks the name of a type or a module.
    fn check_type_name(&mut self, name: &str, span: Span) {
        self.check_name(name, span);
        let words = words(name);
        if NAME_EXCEPTIONS.iter().any(|(exception, _)| words.join("_").ends_with(exception)) {
            return;
        }
        let empty = [words.first(), words.last()]
            .into_iter()
            .flatten()
            .find(|word| EMPTY_WORDS.contains(&word.as_str()));
        if let Some(word) = empty {
            self.note(
                span,
                format!("name `{name}` with the empty word `{word}`"),
                "a name says what the thing is or does",
                "name its stage, its part of the path or its one duty".to_owned(),
            );
        }
    }

    fn check_function_name(&mut self, name: &str, span: Span) {
        self.check_name(name, span);
        if let Some(rest) = name.strip_prefix("get_") {
            self.note(
                span,
                format!("function `{name}`"),
                "no function is named get_",
                format!("`{rest}` for what it returns, or the verb for what it does"),
            );
        }
    }

    /// Checks a field or an argument.
    fn check_value_name(&mut self, name: &str, span: Span) {
        self.check_name(name, span);
        if let Some((_, instead)) = UNITLESS_NAMES.iter().find(|(bare, _)| *bare == name) {
            self.note(
                span,
                format!("a bare `{name}`"),
                "fields and arguments say their unit",
                format!("write for example {instead}"),
            );
        }
    }

    fn check_ident(&mut self, ident: &Ident, check_one: fn(&mut Self, &str, Span)) {
        check_one(self, &ident.to_string(), ident.span());
    }
}

/// The words of a name in lower case: `TcpInfo` and `tcp_info` are `tcp`, `info`.
pub(super) fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut after_lower = false;
    for letter in name.trim_start_matches("r#").chars() {
        if letter == '_' || (letter.is_uppercase() && after_lower) {
            words.push(String::new());
        }
        if letter != '_'
            && let Some(word) = words.last_mut()
        {
            word.extend(letter.to_lowercase());
        }
        after_lower = letter.is_lowercase() || letter.is_ascii_digit();
    }
    words.retain(|word| !word.is_empty());
    words
}

impl<'ast> Visit<'ast> for NameChecker<'_> {
    fn visit_item_impl(&mut self, node: &'ast syn::ItemImpl) {
        if node.trait_.is_none() {
            visit::visit_item_impl(self, node);
        }
    }

    fn visit_signature(&mut self, node: &'ast syn::Signature) {
        self.check_ident(&node.ident, Self::check_function_name);
        visit::visit_signature(self, node);
    }

    fn visit_fn_arg(&mut self, node: &'ast syn::FnArg) {
        if let syn::FnArg::Typed(argument) = node
            && let syn::Pat::Ident(pattern) = &*argument.pat
        {
            self.check_ident(&pattern.ident, Self::check_value_name);
        }
        visit::visit_fn_arg(self, node);
    }

    fn visit_field(&mut self, node: &'ast syn::Field) {
        if let Some(ident) = &node.ident {
            self.check_ident(ident, Self::check_value_name);
        }
        visit::visit_field(self, node);
    }

    fn visit_variant(&mut self, node: &'ast syn::Variant) {
        self.check_ident(&node.ident, Self::check_name);
        visit::visit_variant(self, node);
    }

    fn visit_item_struct(&mut self, node: &'ast syn::ItemStruct) {
        self.check_ident(&node.ident, Self::check_type_name);
        visit::visit_item_struct(self, node);
    }

    fn visit_item_enum(&mut self, node: &'ast syn::ItemEnum) {
        self.check_ident(&node.ident, Self::check_type_name);
        visit::visit_item_enum(self, node);
    }

    fn visit_item_union(&mut self, node: &'ast syn::ItemUnion) {
        self.check_ident(&node.ident, Self::check_type_name);
        visit::visit_item_union(self, node);
    }

    fn visit_item_trait(&mut self, node: &'ast syn::ItemTrait) {
        self.check_ident(&node.ident, Self::check_type_name);
        visit::visit_item_trait(self, node);
    }

    fn visit_item_type(&mut self, node: &'ast syn::ItemType) {
        self.check_ident(&node.ident, Self::check_type_name);
        visit::visit_item_type(self, node);
    }

    fn visit_item_mod(&mut self, node: &'ast syn::ItemMod) {
        // A module in a file of its own is checked by the file's name.
        if node.content.is_some() {
            self.check_ident(&node.ident, Self::check_type_name);
        }
        visit::visit_item_mod(self, node);
    }

    fn visit_item_const(&mut self, node: &'ast syn::ItemConst) {
        self.check_ident(&node.ident, Self::check_name);
        visit::visit_item_const(self, node);
    }

    fn visit_item_static(&mut self, node: &'ast syn::ItemStatic) {
        self.check_ident(&node.ident, Self::check_name);
        visit::visit_item_static(self, node);
    }

    fn visit_impl_item_const(&mut self, node: &'ast syn::ImplItemConst) {
        self.check_ident(&node.ident, Self::check_name);
        visit::visit_impl_item_const(self, node);
    }
}

#[cfg(test)]
mod tests;
