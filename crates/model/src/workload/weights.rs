//! How many of a set's objects each member of a stripe of folders gets: whole weights, as PostMark's locations have them.
//!
//! Not here: which object is in which folder, which the engine draws by the object's number.

#[cfg(feature = "schemas")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Most weights: they are copied with the set that they are of, so that they have a fixed place in it.
pub const MEMBER_WEIGHTS_MAX: usize = 32;

/// The weight of each member, in the order of the stripe.
#[derive(Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
#[serde(try_from = "Vec<u32>", into = "Vec<u32>")]
#[cfg_attr(feature = "schemas", schemars(with = "Vec<u32>"))]
pub struct MemberWeights {
    weights: [u32; MEMBER_WEIGHTS_MAX],
    count: u8,
}

impl MemberWeights {
    /// Those of this list.
    ///
    /// # Errors
    /// What is wrong with it, as a phrase: more than 32, a weight of 0, a sum above 2147483647.
    pub fn new(list: &[u32]) -> Result<Self, String> {
        let mut weights = [0; MEMBER_WEIGHTS_MAX];
        let Some(room) = weights.get_mut(..list.len()) else {
            return Err(format!("{} weights where {MEMBER_WEIGHTS_MAX} at most are possible", list.len()));
        };
        room.copy_from_slice(list);
        if list.contains(&0) {
            return Err("a weight of 0, with which a member gets nothing".to_owned());
        }
        let sum: u64 = list.iter().map(|weight| u64::from(*weight)).sum();
        if sum > SUM_MAX {
            return Err(format!("weights with the sum {sum}, above {SUM_MAX}"));
        }
        Ok(Self { weights, count: u8::try_from(list.len()).unwrap_or(u8::MAX) })
    }

    /// Whether there are none, so that all members get equally many.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The weights in their order.
    #[must_use]
    pub fn as_slice(&self) -> &[u32] {
        self.weights.get(..usize::from(self.count)).unwrap_or_default()
    }

    /// The sum of all; 0 without any.
    #[must_use]
    pub fn sum(&self) -> u32 {
        self.as_slice().iter().sum()
    }

    /// The member that owns `number`, one below the sum: the first one owns as many of the lowest numbers as its weight is,
    /// and each other as many of those behind them; the last one owns all that are left.
    #[must_use]
    pub fn owner_of(&self, number: u32) -> usize {
        let mut left = number;
        for (index, weight) in self.as_slice().iter().enumerate() {
            match left.checked_sub(*weight) {
                Some(rest) => left = rest,
                None => return index,
            }
        }
        usize::from(self.count).saturating_sub(1)
    }
}

/// Greatest sum: numbers below it are drawn in 31 bits.
const SUM_MAX: u64 = i32::MAX as u64;

impl TryFrom<Vec<u32>> for MemberWeights {
    type Error = String;

    fn try_from(list: Vec<u32>) -> Result<Self, String> {
        Self::new(&list)
    }
}

impl From<MemberWeights> for Vec<u32> {
    fn from(weights: MemberWeights) -> Self {
        weights.as_slice().to_vec()
    }
}

impl fmt::Debug for MemberWeights {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_slice().fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_member_owns_as_many_numbers_as_its_weight_is() {
        let weights = MemberWeights::new(&[3, 1, 2]).unwrap();
        let owners: Vec<usize> = (0..weights.sum()).map(|number| weights.owner_of(number)).collect();
        assert_eq!(owners, [0, 0, 0, 1, 2, 2]);
        assert_eq!((weights.owner_of(99), MemberWeights::default().sum()), (2, 0));
    }

    #[test]
    fn lists_that_are_too_long_or_have_nothing_for_a_member_are_refused() {
        let problem = |list: &[u32]| MemberWeights::new(list).unwrap_err();
        assert!(problem(&[1; MEMBER_WEIGHTS_MAX + 1]).contains("33 weights where 32"));
        assert!(problem(&[1, 0]).contains("a weight of 0"));
        assert!(problem(&[2_000_000_000, 2_000_000_000]).contains("the sum 4000000000, above 2147483647"));
        assert_eq!(MemberWeights::new(&[]), Ok(MemberWeights::default()));
    }

    #[test]
    fn they_are_written_as_a_list_and_read_again() {
        let weights = MemberWeights::new(&[5, 7]).unwrap();
        assert_eq!(serde_json::to_string(&weights).unwrap(), "[5,7]");
        assert_eq!(serde_json::from_str::<MemberWeights>("[5,7]").unwrap(), weights);
        assert!(serde_json::from_str::<MemberWeights>("[0]").is_err());
    }
}
