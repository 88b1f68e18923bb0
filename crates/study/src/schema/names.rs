//! Names of keys: which a table may contain, and the nearest or the usual one for a name that is not known.
//!
//! Not here: whether a name is known.

use super::nearest::nearest;
use super::toml_value::joined;
use super::{FileSchema, KeySpec};

/// What was meant by a name that is not known.
pub(super) struct NameHint {
    /// What to do.
    pub(super) hint: String,
    /// The path of the key, or of the table, that was meant.
    pub(super) meant: Option<String>,
}

impl FileSchema {
    /// What to do about a key `found` in the table `table` that is not there.
    pub(super) fn name_hint(&self, table: &str, found: &str) -> NameHint {
        let found = found.to_lowercase();
        let here = self.names_in(table);
        let of_name = |name: &str| self.keys.iter().find(|key| key.name() == name);
        let synonym = self.synonyms.iter().find(|(theirs, _)| *theirs == found);
        let synonym = synonym.and_then(|(_, path)| self.key(path));
        let same = synonym.map(KeySpec::name).filter(|name| here.iter().any(|known| known == name));
        if let Some(near) = same.or_else(|| nearest(&found, here.iter().map(String::as_str))) {
            let swept = self.swept_key(near).filter(|_| is_sweep(table)).map(|key| key.path.to_owned());
            let meant = swept.unwrap_or_else(|| joined(table, near));
            return NameHint { hint: format!("did you mean `{near}`?"), meant: Some(meant) };
        }
        let near = || nearest(&found, self.keys.iter().map(KeySpec::name)).and_then(of_name);
        let meant = of_name(&found).or(synonym).or_else(near);
        let hint = meant.map(|key| self.elsewhere(key, table));
        NameHint {
            hint: hint.unwrap_or_else(|| {
                "remove it: there is no such key, and none with a similar name".to_owned()
            }),
            meant: meant.map(|key| key.path.to_owned()),
        }
    }

    /// Where a key is that was written in `table`.
    fn elsewhere(&self, key: &KeySpec, table: &str) -> String {
        if is_sweep(table) && key.swept {
            return format!("did you mean `{}`?", key.factor());
        }
        let place = match self.table(key.table()).filter(|table| !table.path.is_empty()) {
            Some(table) => format!(" in {}", table.head()),
            None => ", above all tables".to_owned(),
        };
        format!("did you mean `{}`{place}?", key.name())
    }

    /// Names of the keys and tables that `table` may contain.
    pub(super) fn names_in(&self, table: &str) -> Vec<String> {
        if is_sweep(table) {
            let inner = table.strip_prefix("sweep").unwrap_or_default();
            let inner = inner.strip_prefix('.').map(|inner| format!("{inner}.")).unwrap_or_default();
            let swept = self.keys.iter().filter(|key| key.swept);
            return swept.filter_map(|key| key.factor().strip_prefix(&*inner).map(str::to_owned)).collect();
        }
        let keys = self.keys.iter().filter(|key| key.table() == table).map(|key| key.name().to_owned());
        let tables = self.tables.iter().filter_map(|inner| {
            let (parent, name) = inner.path.rsplit_once('.').unwrap_or(("", inner.path));
            (parent == table && !name.is_empty()).then(|| name.to_owned())
        });
        keys.chain(tables).collect()
    }
}

/// Whether `table` is `[sweep]`, or a table in it.
fn is_sweep(table: &str) -> bool {
    table == "sweep" || table.starts_with("sweep.")
}

#[cfg(test)]
mod tests {
    use crate::{file, observations};

    fn key(table: &str, found: &str) -> String {
        file::schema().name_hint(table, found).hint
    }

    #[test]
    fn a_slip_is_put_right_where_it_is() {
        assert_eq!(key("workload", "blok"), "did you mean `block`?");
        assert_eq!(key("", "titel"), "did you mean `title`?");
        assert_eq!(key("", "worklaod"), "did you mean `workload`?");
        assert_eq!(key("sweep", "dpeth"), "did you mean `depth`?");
    }

    #[test]
    fn a_key_in_the_wrong_table_is_sent_to_its_own() {
        assert_eq!(key("", "depth"), "did you mean `depth` in [workload]?");
        assert_eq!(key("workload", "seconds"), "did you mean `seconds`, above all tables?");
        assert_eq!(
            key("workload", "registered_files"),
            "did you mean `registered_files` in [workload.ring]?"
        );
    }

    #[test]
    fn a_name_of_another_tool_is_answered_with_ours() {
        assert_eq!(key("workload", "iodepth"), "did you mean `depth`?");
        assert_eq!(key("workload", "bs"), "did you mean `block`?");
        assert_eq!(key("sweep", "bs"), "did you mean `block`?");
        assert_eq!(key("workload", "pattern"), "did you mean `order`?");
        assert_eq!(key("workload", "runtime"), "did you mean `measure` in [stop]?");
        for schema in [file::schema(), observations::schema()] {
            for (_, path) in schema.synonyms {
                assert!(schema.key(path).is_some(), "{path}");
            }
        }
    }

    #[test]
    fn what_is_like_nothing_gets_the_list() {
        assert!(key("stop", "zzzzzzzz").starts_with("remove it"));
    }

    #[test]
    fn a_key_of_observations_is_put_right_where_it_is_or_sent_to_its_table() {
        let key = |table: &str, found: &str| observations::schema().name_hint(table, found).hint;
        assert_eq!(key("observation", "byte_per_s"), "did you mean `bytes_per_s`?");
        assert_eq!(key("observation", "iops"), "did you mean `ops_per_s`?");
        assert_eq!(key("observation", "scope"), "did you mean `scope` in [[ceiling]]?");
        assert_eq!(key("", "observations"), "did you mean `observation`?");
        assert_eq!(key("ceiling", "title"), "did you mean `title`, above all tables?");
        assert!(key("claim", "zzzzzzz").starts_with("remove it"));
    }

    #[test]
    fn the_key_or_the_table_that_was_meant_is_known() {
        let meant = |table: &str, found: &str| file::schema().name_hint(table, found).meant;
        let meant = |table: &str, found: &str| meant(table, found).unwrap_or_default();
        assert_eq!(meant("workload", "ordr"), "workload.order");
        assert_eq!(meant("sweep", "dpeth"), "workload.depth");
        assert_eq!(meant("", "depth"), "workload.depth");
        assert_eq!(meant("", "workloda"), "workload");
        assert_eq!(meant("stop", "zzzzzzzz"), "");
    }
}
