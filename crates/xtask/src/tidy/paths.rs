//! What the paths in a file mean: the names that `use` brings in, and the paths hidden inside macros.
//!
//! There is no type inference here: a path is followed through the file's own `use` declarations and no further.

use std::collections::BTreeMap;

use proc_macro2::{Span, TokenStream, TokenTree};
use syn::UseTree;
use syn::visit::{self, Visit};

/// A path as a list of names, the first of them a crate.
pub(crate) type PathNames = Vec<String>;

/// One name brought in by a `use`.
pub(crate) struct ImportedName {
    pub(crate) names: PathNames,
    pub(crate) span: Span,
}

/// The names that a file's `use` declarations bring in, anywhere in the file.
#[derive(Default)]
pub(crate) struct Imports {
    pub(crate) all: Vec<ImportedName>,
    by_alias: BTreeMap<String, Vec<PathNames>>,
}

impl Imports {
    /// The imports of a file.
    pub(crate) fn from_file(file: &syn::File) -> Self {
        let mut imports = Self::default();
        imports.visit_file(file);
        imports
    }

    /// Every full path that `names`, as written, may mean; `core` and `alloc` read as `std`.
    pub(crate) fn resolve(&self, names: &[String]) -> Vec<PathNames> {
        let Some((first, rest)) = names.split_first() else {
            return Vec::new();
        };
        let full = match self.by_alias.get(first) {
            Some(targets) => {
                targets.iter().map(|target| target.iter().chain(rest).cloned().collect()).collect()
            }
            None => vec![names.to_vec()],
        };
        full.into_iter().map(with_std_root).collect()
    }

    /// Every path that a `use` of the file brings in under this name.
    pub(crate) fn targets(&self, alias: &str) -> &[PathNames] {
        self.by_alias.get(alias).map_or(&[], Vec::as_slice)
    }

    fn add(&mut self, prefix: &[String], tree: &UseTree) {
        match tree {
            UseTree::Path(path) => {
                let mut longer = prefix.to_vec();
                longer.push(path.ident.to_string());
                self.add(&longer, &path.tree);
            }
            UseTree::Group(group) => group.items.iter().for_each(|item| self.add(prefix, item)),
            UseTree::Glob(glob) => {
                self.all.push(ImportedName {
                    names: with_std_root(prefix.to_vec()),
                    span: glob.star_token.spans[0],
                });
            }
            UseTree::Name(name) => self.add_leaf(prefix, &name.ident, &name.ident),
            UseTree::Rename(rename) => self.add_leaf(prefix, &rename.ident, &rename.rename),
        }
    }

    fn add_leaf(&mut self, prefix: &[String], ident: &syn::Ident, alias: &syn::Ident) {
        let mut names = prefix.to_vec();
        let mut alias = alias.to_string();
        if ident != "self" {
            names.push(ident.to_string());
        } else if alias == "self" {
            alias = names.last().cloned().unwrap_or_default();
        }
        let names = with_std_root(names);
        self.by_alias.entry(alias).or_default().push(names.clone());
        self.all.push(ImportedName { names, span: ident.span() });
    }
}

impl<'ast> Visit<'ast> for Imports {
    fn visit_item_use(&mut self, node: &'ast syn::ItemUse) {
        self.add(&[], &node.tree);
        visit::visit_item_use(self, node);
    }
}

fn with_std_root(mut names: PathNames) -> PathNames {
    if let Some(first) = names.first_mut()
        && (first == "core" || first == "alloc")
    {
        "std".clone_into(first);
    }
    names
}

/// The names of a parsed path.
pub(crate) fn names_of(path: &syn::Path) -> PathNames {
    path.segments.iter().map(|segment| segment.ident.to_string()).collect()
}

/// A path found among the tokens of a macro.
pub(crate) struct TokenPath {
    pub(crate) names: PathNames,
    pub(crate) span: Span,
    /// Whether `!` follows: the path names a macro.
    pub(crate) is_macro: bool,
    /// Whether `.` comes before: the path names a method or a field.
    pub(crate) is_member: bool,
}

/// Every path among the tokens, groups within groups included.
pub(crate) fn token_paths(tokens: &TokenStream) -> Vec<TokenPath> {
    let trees: Vec<TokenTree> = tokens.clone().into_iter().collect();
    let mut found = Vec::new();
    let mut at = 0;
    while at < trees.len() {
        match &trees[at] {
            TokenTree::Ident(_) => {
                let (path, next) = path_from(&trees, at);
                found.push(path);
                at = next;
            }
            TokenTree::Group(group) => {
                found.extend(token_paths(&group.stream()));
                at += 1;
            }
            TokenTree::Punct(_) | TokenTree::Literal(_) => at += 1,
        }
    }
    found
}

fn path_from(trees: &[TokenTree], start: usize) -> (TokenPath, usize) {
    let is_punct =
        |at: usize, sign: char| matches!(trees.get(at), Some(TokenTree::Punct(p)) if p.as_char() == sign);
    let mut names = vec![trees[start].to_string()];
    let mut next = start + 1;
    while is_punct(next, ':') && is_punct(next + 1, ':') {
        let Some(TokenTree::Ident(ident)) = trees.get(next + 2) else { break };
        names.push(ident.to_string());
        next += 3;
    }
    let path = TokenPath {
        names,
        span: trees[start].span(),
        is_macro: is_punct(next, '!') && !is_punct(next + 1, '='),
        is_member: start > 0 && is_punct(start - 1, '.') && !(start > 1 && is_punct(start - 2, '.')),
    };
    (path, next)
}
