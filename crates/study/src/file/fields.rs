//! The keys of a study with their values: what the points of a sweep and the checks are made of.

use super::keys::{
    ObjectKeys, RepeatKeys, StopKeys, StudyHeadKeys, TransactionKeys, WorkloadKeys, engine_tables, schema,
};
use crate::schema::{AnyField, FileValue, KeyField, KeyFields, KeyMark, KeySpec, Span, untyped};

/// Every key of a study file with its value.
#[derive(Debug, Clone)]
pub(crate) struct StudyKeys {
    pub(crate) head: StudyHeadKeys,
    pub(crate) workload: WorkloadKeys,
    /// The options of every engine, which declares their types.
    pub(crate) options: Vec<KeyField<FileValue>>,
    pub(crate) objects: ObjectKeys,
    pub(crate) transactions: TransactionKeys,
    pub(crate) stop: StopKeys,
    pub(crate) repeat: RepeatKeys,
    /// The head of `[workload]`.
    pub(crate) workload_at: Option<Span>,
}

impl Default for StudyKeys {
    fn default() -> Self {
        let tables: Vec<String> = engine_tables().map(|table| format!("workload.{}", table.name)).collect();
        let is_option = |key: &&KeySpec| tables.iter().any(|table| table == key.table());
        Self {
            head: StudyHeadKeys::default(),
            workload: WorkloadKeys::default(),
            options: untyped(schema().keys.iter().filter(is_option)),
            objects: ObjectKeys::default(),
            transactions: TransactionKeys::default(),
            stop: StopKeys::default(),
            repeat: RepeatKeys::default(),
            workload_at: None,
        }
    }
}

impl KeyFields for StudyKeys {
    fn fields(&self) -> Vec<&dyn AnyField> {
        let options = self.options.iter().map(|field| field as &dyn AnyField);
        let tables: [&dyn KeyFields; 6] =
            [&self.head, &self.workload, &self.objects, &self.transactions, &self.stop, &self.repeat];
        tables.into_iter().flat_map(KeyFields::fields).chain(options).collect()
    }

    fn fields_mut(&mut self) -> Vec<&mut dyn AnyField> {
        let options = self.options.iter_mut().map(|field| field as &mut dyn AnyField);
        let tables: [&mut dyn KeyFields; 6] = [
            &mut self.head,
            &mut self.workload,
            &mut self.objects,
            &mut self.transactions,
            &mut self.stop,
            &mut self.repeat,
        ];
        tables.into_iter().flat_map(KeyFields::fields_mut).chain(options).collect()
    }
}

impl StudyKeys {
    /// The options of an engine whose table has this name, by their names in it.
    pub(crate) fn options_of(
        &self,
        table: &str,
    ) -> impl Iterator<Item = (&'static str, &KeyField<FileValue>)> {
        let prefix = format!("workload.{table}.");
        self.options.iter().filter_map(move |field| Some((field.mark.path.strip_prefix(&*prefix)?, field)))
    }

    /// The marks of keys of the workload that an engine's declaration names, such as `depth` and `psync.calls`.
    pub(crate) fn workload_marks(&self, names: &[&str]) -> Vec<&KeyMark> {
        let fields = self.fields();
        let named = |name: &&str| {
            let marks = fields.iter().map(|field| field.mark());
            marks.into_iter().find(|mark| mark.path.strip_prefix("workload.") == Some(*name))
        };
        names.iter().filter_map(named).collect()
    }

    /// Where to point for a problem of `marks`: at the first of them that is given, else at the workload's head.
    pub(crate) fn position(&self, marks: &[&KeyMark]) -> Span {
        let given = marks.iter().find_map(|mark| mark.at.clone());
        given.or_else(|| self.workload_at.clone()).unwrap_or(0..0)
    }
}

/// The marks of some keys: `marks!(keys; workload.block, stop.bytes)`.
macro_rules! marks {
    ($keys:expr; $($table:ident.$key:ident),* $(,)?) => { [$(&$keys.$table.$key.mark),*] };
}
pub(crate) use marks;

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_key_has_a_field() {
        let keys = StudyKeys::default();
        let fields: BTreeSet<&str> = keys.fields().into_iter().map(|field| field.mark().path).collect();
        assert_eq!(fields, schema().keys.iter().map(|key| key.path).collect());
    }
}
