//! The parts of a mix: a table of operations or sizes with their weights.

use super::kind;
use super::value::{self, Reader, Value};
use crate::located::{Span, nearest_hint, number};
use narrows_model::size::parse_size;
use narrows_model::workload::{BlockShare, OpShare};
use toml::de::DeTable;

/// What a table of weights gives for one name.
struct Share<T> {
    of: T,
    weight: f64,
}

impl Reader<'_, '_> {
    pub(super) fn op_shares(&mut self, table: &DeTable<'_>, at: &Span) -> Option<Value> {
        let shares =
            self.shares(table, at, |name| value::OPERATIONS.iter().find(|op| op.name() == name).copied())?;
        Some(Value::OpShares(
            shares.into_iter().map(|share| OpShare { op: share.of, weight: share.weight }).collect(),
        ))
    }

    pub(super) fn block_shares(&mut self, table: &DeTable<'_>, at: &Span) -> Option<Value> {
        let size = |name: &str| parse_size(name).ok().filter(|bytes| kind::BLOCK.contains(&bytes.0));
        let shares = self.shares(table, at, size)?;
        let shares: Vec<BlockShare> = shares
            .into_iter()
            .map(|share| BlockShare { block_bytes: share.of, weight: share.weight })
            .collect();
        for (index, share) in shares.iter().enumerate() {
            if shares[..index].iter().any(|earlier| earlier.block_bytes == share.block_bytes) {
                let found = format!("{} twice", share.block_bytes);
                self.complain(at, found, "name each size once, with the sum of its weights".to_owned());
                return None;
            }
        }
        Some(Value::BlockShares(shares))
    }

    /// The parts of a mix in the order of the file.
    fn shares<T>(
        &mut self,
        table: &DeTable<'_>,
        at: &Span,
        part: impl Fn(&str) -> Option<T>,
    ) -> Option<Vec<Share<T>>> {
        if table.is_empty() || table.len() > kind::SHARES_MAX {
            let found = format!("{} parts", table.len());
            let hint = format!("name 1 to {} parts, such as {}", kind::SHARES_MAX, self.key.example);
            self.complain(at, found, hint);
            return None;
        }
        let mut parts: Vec<_> = table.iter().collect();
        parts.sort_by_key(|(name, _)| name.span().start);
        let mut shares = Vec::new();
        for (name, weight) in &parts {
            let of = part(name.get_ref());
            if of.is_none() {
                let found = format!("`{}`", self.findings.excerpt(&name.span()));
                let hint =
                    nearest_hint(name.get_ref(), self.key.kind.names()).unwrap_or_else(|| self.example());
                self.complain(&name.span(), found, hint);
            }
            let number = number(weight.get_ref()).filter(|number| kind::WEIGHT.contains(number));
            if number.is_none() {
                let found = format!("the weight {}", self.findings.excerpt(&weight.span()));
                let (least, most) = (kind::WEIGHT.start(), kind::WEIGHT.end());
                self.complain(&weight.span(), found, format!("write a number from {least} to {most}"));
            }
            if let (Some(of), Some(weight)) = (of, number) {
                shares.push(Share { of, weight });
            }
        }
        (shares.len() == parts.len()).then_some(shares)
    }
}
