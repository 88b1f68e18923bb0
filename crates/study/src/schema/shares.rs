//! The parts of a mix: a table of operations or sizes with their weights.

use super::Span;
use super::kind;
use super::read::ValueReader;
use super::toml_value::{in_file_order, number};
use super::value::FileValue;
use narrows_model::Op;
use narrows_model::quantity::parse_size;
use narrows_model::workload::{BlockShare, OpShare};
use toml::de::DeTable;

/// Operations that may be mixed.
const MIXED_OPERATIONS: [Op; 4] = [Op::Read, Op::Write, Op::Send, Op::Receive];

impl ValueReader<'_, '_> {
    pub(super) fn op_shares(&mut self, table: &DeTable<'_>, at: &Span) -> Option<FileValue> {
        let operation = |name: &str| MIXED_OPERATIONS.into_iter().find(|op| op.name() == name);
        let shares = self.shares(table, at, operation)?;
        let share = |(op, weight)| OpShare { op, weight };
        Some(FileValue::OpShares(shares.into_iter().map(share).collect()))
    }

    pub(super) fn block_shares(&mut self, table: &DeTable<'_>, at: &Span) -> Option<FileValue> {
        let size = |name: &str| parse_size(name).ok().filter(|bytes| kind::BLOCK_BYTES.contains(&bytes.0));
        let shares = self.shares(table, at, size)?;
        for (index, (bytes, _)) in shares.iter().enumerate() {
            if shares[..index].iter().any(|(earlier, _)| earlier == bytes) {
                let hint = "name each size once, with the sum of its weights".to_owned();
                self.complain(at, format!("{bytes} twice"), hint);
                return None;
            }
        }
        let share = |(block_bytes, weight)| BlockShare { block_bytes, weight };
        Some(FileValue::BlockShares(shares.into_iter().map(share).collect()))
    }

    /// The parts of a mix with their weights, in the order of the file.
    fn shares<T>(
        &mut self,
        table: &DeTable<'_>,
        at: &Span,
        part: impl Fn(&str) -> Option<T>,
    ) -> Option<Vec<(T, f64)>> {
        if table.is_empty() || table.len() > kind::SHARES_MAX {
            let hint = format!("name 1 to {} parts, such as {}", kind::SHARES_MAX, self.key.example);
            self.complain(at, format!("{} parts", table.len()), hint);
            return None;
        }
        let mut shares = Vec::new();
        for (name, weight) in in_file_order(table) {
            let known = self.name(name.get_ref(), &name.span(), &part);
            let number = number(weight.get_ref()).filter(|number| kind::WEIGHT.contains(number));
            if number.is_none() {
                let found = format!("the weight {}", self.findings.excerpt(&weight.span()));
                let (least, most) = (kind::WEIGHT.start(), kind::WEIGHT.end());
                self.complain(&weight.span(), found, format!("write a number from {least} to {most}"));
            }
            shares.extend(known.zip(number));
        }
        (shares.len() == table.len()).then_some(shares)
    }
}
