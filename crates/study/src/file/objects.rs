//! The whole objects of a point's load, from the keys of `workload.objects` and `workload.transactions`.
//!
//! Not here: whether they go with the rest of the load, which is `clash`'s.

use super::point::View;
use narrows_model::Op;
use narrows_model::units::saturate_u32;
use narrows_model::workload::{BIAS_MAX, NameForm, ObjectCalls, ObjectSet, ObjectSync, Spread, Transactions};

/// PostMark's own bias: both of a half's operations are equally likely.
const EVEN_BIAS: u8 = 5;

impl View<'_> {
    /// The objects that the load is about; `None` for one that goes to blocks of files.
    pub(crate) fn objects(&self) -> Option<ObjectSet> {
        let transactions = self.transactions();
        let is_of_objects =
            self.name("workload.op").and_then(super::value::op).is_some_and(Op::is_of_objects);
        if !is_of_objects && transactions.is_none() {
            return None;
        }
        let usual = ObjectSet::default();
        let min_bytes = self.size("workload.objects.min").unwrap_or(usual.min_bytes);
        Some(ObjectSet {
            count: self.count("workload.objects.count").unwrap_or(usual.count),
            min_bytes,
            max_bytes: self.size("workload.objects.max").unwrap_or(min_bytes),
            folders: self.count("workload.objects.folders").map_or(usual.folders, saturate_u32),
            spread: match self.name("workload.objects.spread") {
                Some("scattered") => Spread::Scattered,
                _ => Spread::InOrder,
            },
            names: match self.name("workload.objects.names") {
                Some("number_letters") => NameForm::NumberLetters,
                Some("letters_number") => NameForm::LettersNumber,
                _ => NameForm::Number,
            },
            seed: self.count("workload.objects.seed").unwrap_or(usual.seed),
            calls: match self.name("workload.objects.calls") {
                Some("streams") => ObjectCalls::Streams,
                _ => ObjectCalls::System,
            },
            read_block_bytes: self.size("workload.objects.read_block"),
            sync: match self.name("workload.objects.sync") {
                Some("data") => ObjectSync::Data,
                Some("data_and_folder") => ObjectSync::DataAndFolder,
                _ => ObjectSync::None,
            },
            stat_reads: self.flag("workload.objects.stat_reads"),
            transactions,
        })
    }

    fn transactions(&self) -> Option<Transactions> {
        let bias = |path| {
            let tenths = self.count(path).and_then(|tenths| u8::try_from(tenths).ok());
            tenths.unwrap_or(EVEN_BIAS).min(BIAS_MAX)
        };
        let halves = self.name("workload.transactions.halves");
        let has = |half: &str| halves.is_none_or(|halves| halves == "both" || halves == half);
        Some(Transactions {
            count: self.count("workload.transactions.count")?,
            read_bias: has("read_append").then(|| bias("workload.transactions.read_bias")),
            create_bias: has("create_delete").then(|| bias("workload.transactions.create_bias")),
        })
    }
}
