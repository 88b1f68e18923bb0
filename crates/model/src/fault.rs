//! Failures met while measuring, as data: counted, kept, shown.

#[cfg(feature = "schemas")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::workload::Op;

/// How often one operation failed in one way.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
pub struct ErrorCount {
    /// The operation.
    pub op: Op,
    /// The system's name of the error, such as `EIO`, or narrows' own, such as `PEER_GONE`.
    pub errno: String,
    /// What happened first, for people: operation, target, offset, cause.
    pub first_message: String,
    /// How often.
    pub count: u64,
}

/// Adds `more` to `counts`, joining equal operation and error.
pub fn merge_errors(counts: &mut Vec<ErrorCount>, more: &[ErrorCount]) {
    for error in more {
        match counts.iter_mut().find(|known| known.op == error.op && known.errno == error.errno) {
            Some(known) => known.count = known.count.saturating_add(error.count),
            None => counts.push(error.clone()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_errors_are_counted_together_and_keep_the_first_message() {
        let error = |message: &str| ErrorCount {
            op: Op::Read,
            errno: "EIO".into(),
            first_message: message.into(),
            count: 2,
        };
        let mut counts = vec![error("first")];
        merge_errors(&mut counts, &[error("second"), ErrorCount { op: Op::Write, ..error("third") }]);
        assert_eq!(counts.len(), 2);
        assert_eq!((counts[0].count, counts[0].first_message.as_str()), (4, "first"));
    }
}
