//! A Rust file as tidy sees it: parsed, with its test code taken out and counted.
//!
//! Test code is what `#[cfg(test)]` or `#[test]` marks, a file `tests.rs`, anything below a folder `tests/`, and
//! the file of a module that its parent declares under `#[cfg(test)]`.

use std::collections::BTreeSet;

use syn::punctuated::Punctuated;
use syn::spanned::Spanned;
use syn::{Attribute, Expr, ExprLit, ImplItem, Item, Lit, Meta, Token, TraitItem};

/// One parsed file.
pub(crate) struct SourceFile {
    /// From the workspace's root, `/` between folders.
    pub(crate) path: String,
    pub(crate) text: String,
    /// Without test items; empty where the path says that all of the file is test code, about whose syntax no rule is.
    pub(crate) syntax: syn::File,
    /// Lines that are not part of a test item.
    pub(crate) line_count: usize,
    /// Whether the whole file is test code.
    pub(crate) is_test: bool,
    /// Modules in files of their own that are declared here for tests alone.
    test_modules: Vec<TestModule>,
}

impl SourceFile {
    /// The parsed file.
    ///
    /// # Errors
    /// Text that is not Rust, with the line.
    pub(crate) fn parse(path: &str, text: &str) -> syn::Result<Self> {
        let is_test = is_test_path(path);
        let mut syntax = syn::parse_file(if is_test { "" } else { text })?;
        let mut taken = TestCode::default();
        taken.strip_items(&mut syntax.items);
        let total = text.lines().count();
        Ok(Self {
            path: path.to_owned(),
            text: text.to_owned(),
            syntax,
            line_count: total.saturating_sub(taken.lines.len()),
            is_test,
            test_modules: taken.modules,
        })
    }

    /// The folder below `crates/` that the file is in.
    pub(crate) fn crate_name(&self) -> Option<&str> {
        self.path.strip_prefix("crates/")?.split('/').next()
    }

    /// The path of a module that this file declares, without its extension.
    fn module_path(&self, module: &TestModule) -> String {
        match module {
            TestModule::Named(name) => format!("{}/{name}", self.module_folder()),
            TestModule::At(path) => {
                let folder = self.path.rsplit_once('/').map_or("", |(folder, _)| folder);
                format!("{folder}/{}", path.strip_suffix(".rs").unwrap_or(path))
            }
        }
    }

    fn module_folder(&self) -> String {
        let stem = self.path.strip_suffix(".rs").unwrap_or(&self.path);
        let (folder, name) = stem.rsplit_once('/').unwrap_or(("", stem));
        if matches!(name, "lib" | "main" | "mod") { folder.to_owned() } else { stem.to_owned() }
    }
}

/// Marks the files of modules that another file declares under `#[cfg(test)]`.
pub(crate) fn mark_test_modules(sources: &mut [SourceFile]) {
    let roots: Vec<String> = sources
        .iter()
        .flat_map(|source| source.test_modules.iter().map(|module| source.module_path(module)))
        .collect();
    for source in sources {
        source.is_test |= roots.iter().any(|root| {
            source.path.strip_prefix(root.as_str()).is_some_and(|rest| rest == ".rs" || rest.starts_with('/'))
        });
    }
}

fn is_test_path(path: &str) -> bool {
    path.ends_with("/tests.rs") || path.split('/').rev().skip(1).any(|folder| folder == "tests")
}

/// A module in a file of its own.
enum TestModule {
    /// Where its name puts it.
    Named(String),
    /// Where a `#[path]` beside the declaring file puts it.
    At(String),
}

impl TestModule {
    fn from_item(module: &syn::ItemMod) -> Self {
        let path = module.attrs.iter().find_map(|attribute| match &attribute.meta {
            Meta::NameValue(pair) if pair.path.is_ident("path") => match &pair.value {
                Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) => Some(text.value()),
                _ => None,
            },
            _ => None,
        });
        path.map_or_else(|| Self::Named(module.ident.to_string()), Self::At)
    }
}

/// What has been taken out of a file.
#[derive(Default)]
struct TestCode {
    lines: BTreeSet<usize>,
    modules: Vec<TestModule>,
}

impl TestCode {
    fn strip_items(&mut self, items: &mut Vec<Item>) {
        items.retain(|item| {
            let is_test = item_attributes(item).iter().any(marks_test);
            if is_test {
                self.note(item);
            }
            if let (true, Item::Mod(module)) = (is_test, item)
                && module.content.is_none()
            {
                self.modules.push(TestModule::from_item(module));
            }
            !is_test
        });
        for item in items {
            self.strip_inside(item);
        }
    }

    fn strip_inside(&mut self, item: &mut Item) {
        match item {
            Item::Mod(module) => {
                if let Some((_, items)) = &mut module.content {
                    self.strip_items(items);
                }
            }
            Item::Impl(block) => block.items.retain(|member| self.keeps(impl_attributes(member), member)),
            Item::Trait(block) => block.items.retain(|member| self.keeps(trait_attributes(member), member)),
            _ => {}
        }
    }

    fn keeps(&mut self, attributes: &[Attribute], member: &impl Spanned) -> bool {
        let is_test = attributes.iter().any(marks_test);
        if is_test {
            self.note(member);
        }
        !is_test
    }

    fn note(&mut self, node: &impl Spanned) {
        let span = node.span();
        self.lines.extend(span.start().line..=span.end().line);
    }
}

/// Whether an attribute keeps its item out of every build but a test's.
fn marks_test(attribute: &Attribute) -> bool {
    match &attribute.meta {
        Meta::Path(path) => path.is_ident("test"),
        Meta::List(list) if list.path.is_ident("cfg") => {
            list.parse_args::<Meta>().is_ok_and(|condition| holds_only_in_tests(&condition))
        }
        _ => false,
    }
}

fn holds_only_in_tests(condition: &Meta) -> bool {
    match condition {
        Meta::Path(path) => path.is_ident("test"),
        Meta::List(list) => {
            let Ok(parts) = list.parse_args_with(Punctuated::<Meta, Token![,]>::parse_terminated) else {
                return false;
            };
            if list.path.is_ident("all") {
                parts.iter().any(holds_only_in_tests)
            } else {
                list.path.is_ident("any") && !parts.is_empty() && parts.iter().all(holds_only_in_tests)
            }
        }
        Meta::NameValue(_) => false,
    }
}

fn item_attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(node) => &node.attrs,
        Item::Enum(node) => &node.attrs,
        Item::ExternCrate(node) => &node.attrs,
        Item::Fn(node) => &node.attrs,
        Item::ForeignMod(node) => &node.attrs,
        Item::Impl(node) => &node.attrs,
        Item::Macro(node) => &node.attrs,
        Item::Mod(node) => &node.attrs,
        Item::Static(node) => &node.attrs,
        Item::Struct(node) => &node.attrs,
        Item::Trait(node) => &node.attrs,
        Item::TraitAlias(node) => &node.attrs,
        Item::Type(node) => &node.attrs,
        Item::Union(node) => &node.attrs,
        Item::Use(node) => &node.attrs,
        _ => &[],
    }
}

fn impl_attributes(member: &ImplItem) -> &[Attribute] {
    match member {
        ImplItem::Const(node) => &node.attrs,
        ImplItem::Fn(node) => &node.attrs,
        ImplItem::Macro(node) => &node.attrs,
        ImplItem::Type(node) => &node.attrs,
        _ => &[],
    }
}

fn trait_attributes(member: &TraitItem) -> &[Attribute] {
    match member {
        TraitItem::Const(node) => &node.attrs,
        TraitItem::Fn(node) => &node.attrs,
        TraitItem::Macro(node) => &node.attrs,
        TraitItem::Type(node) => &node.attrs,
        _ => &[],
    }
}

#[cfg(test)]
mod tests;
