//! The whole objects of a point's load, from the keys of `workload.objects` and `workload.transactions`.
//!
//! Not here: whether they go with the rest of the load, which is `clash`'s.

use super::choices::TransactionHalves;
use super::fields::StudyKeys;
use narrows_model::Op;
use narrows_model::workload::{BIAS_MAX, ObjectSet, Transactions};

/// PostMark's own bias: both of a half's operations are equally likely.
const EVEN_BIAS: u8 = 5;

impl StudyKeys {
    /// The objects that the load is about; `None` for a load of blocks of files.
    pub(crate) fn object_set(&self) -> Option<ObjectSet> {
        let transactions = self.transactions();
        let is_of_objects = self.workload.op.value.is_some_and(Op::is_of_objects);
        if !is_of_objects && transactions.is_none() {
            return None;
        }
        let (keys, usual) = (&self.objects, ObjectSet::default());
        let min_bytes = keys.min.value.unwrap_or(usual.min_bytes);
        Some(ObjectSet {
            count: keys.count.value.unwrap_or(usual.count),
            kind: usual.kind,
            shared_folder: usual.shared_folder,
            stride: usual.stride,
            min_bytes,
            max_bytes: keys.max.value.unwrap_or(min_bytes),
            folders: keys.folders.value.unwrap_or(usual.folders),
            spread: keys.spread.value.unwrap_or(usual.spread),
            tree: usual.tree,
            member_weights: usual.member_weights,
            names: keys.names.value.unwrap_or(usual.names),
            seed: keys.seed.value.unwrap_or(usual.seed),
            draws: usual.draws,
            calls: keys.calls.value.unwrap_or(usual.calls),
            read_block_bytes: keys.read_block.value,
            get_bytes: usual.get_bytes,
            sync: keys.sync.value.unwrap_or(usual.sync),
            stat_reads: keys.stat_reads.value.unwrap_or_default(),
            stat_finds: usual.stat_finds,
            transactions,
        })
    }

    fn transactions(&self) -> Option<Transactions> {
        let keys = &self.transactions;
        let bias = |tenths: Option<u64>| {
            let tenths = tenths.and_then(|tenths| u8::try_from(tenths).ok());
            tenths.unwrap_or(EVEN_BIAS).min(BIAS_MAX)
        };
        let halves = keys.halves.value.unwrap_or(TransactionHalves::Both);
        let has = |half| halves == TransactionHalves::Both || halves == half;
        Some(Transactions {
            count: keys.count.value?,
            read_bias: has(TransactionHalves::ReadAppend).then(|| bias(keys.read_bias.value)),
            create_bias: has(TransactionHalves::CreateDelete).then(|| bias(keys.create_bias.value)),
        })
    }
}
