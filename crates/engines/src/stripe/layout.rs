//! Where the bytes of a striped object are stored: unit i on member i modulo their number, the units of a member end to
//! end.
//!
//! Pure. Of any range the part on one member is contiguous there, so that each member gets one request for it.
//!
//! # Source
//! Patterson, Gibson and Katz, "A case for redundant arrays of inexpensive disks", SIGMOD 1988: level 0, without
//! redundancy.

/// Where the bytes of a striped object are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct StripeLayout {
    unit_bytes: u64,
    member_count: u64,
}

/// The part of a range that is on one member.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct MemberRange {
    /// Where it begins on the member.
    pub(super) offset_bytes: u64,
    /// How long it is; 0 where the range does not touch the member.
    pub(super) length_bytes: u64,
}

/// A piece of a range that is contiguous in the object too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct StripePiece {
    /// The member that it is on.
    pub(super) member: usize,
    /// Where it begins in the range.
    pub(super) at_bytes: u64,
    /// Where it begins in the member's share of the range.
    pub(super) at_share_bytes: u64,
    /// How long it is.
    pub(super) length_bytes: u64,
}

impl StripeLayout {
    /// The layout over `member_count` members, at least one, with units of `unit_bytes`, at least one.
    pub(super) fn new(unit_bytes: u64, member_count: usize) -> Self {
        let member_count = u64::try_from(member_count).unwrap_or(u64::MAX);
        Self { unit_bytes: unit_bytes.max(1), member_count: member_count.max(1) }
    }

    fn row_bytes(self) -> u64 {
        self.unit_bytes.saturating_mul(self.member_count)
    }

    /// Bytes of member `member` that are below `position_bytes` of the object.
    pub(super) fn below(self, member: usize, position_bytes: u64) -> u64 {
        let first = self.unit_bytes.saturating_mul(member as u64);
        let (rows, rest) = (position_bytes / self.row_bytes(), position_bytes % self.row_bytes());
        rows * self.unit_bytes + rest.saturating_sub(first).min(self.unit_bytes)
    }

    /// The part of `length_bytes` from `offset_bytes` on that is on `member`.
    pub(super) fn share(self, member: usize, offset_bytes: u64, length_bytes: u64) -> MemberRange {
        let start = self.below(member, offset_bytes);
        let end = self.below(member, offset_bytes.saturating_add(length_bytes));
        MemberRange { offset_bytes: start, length_bytes: end - start }
    }

    /// The position in the object of a byte of `member`.
    pub(super) fn position(self, member: usize, member_offset_bytes: u64) -> u64 {
        let (row, rest) = (member_offset_bytes / self.unit_bytes, member_offset_bytes % self.unit_bytes);
        row.saturating_mul(self.row_bytes())
            .saturating_add(self.unit_bytes.saturating_mul(member as u64))
            .saturating_add(rest)
    }

    /// The longest part of any range of `length_bytes` that is on one member.
    pub(super) fn share_bytes_max(self, length_bytes: u64) -> u64 {
        let (rows, rest) = (length_bytes / self.row_bytes(), length_bytes % self.row_bytes());
        rows * self.unit_bytes + rest.min(self.unit_bytes)
    }

    /// The pieces of `length_bytes` from `offset_bytes` on, in the order of the object.
    pub(super) fn pieces(self, offset_bytes: u64, length_bytes: u64) -> impl Iterator<Item = StripePiece> {
        let mut at_bytes = 0;
        std::iter::from_fn(move || {
            if at_bytes >= length_bytes {
                return None;
            }
            let position = offset_bytes.saturating_add(at_bytes);
            let left_in_unit = self.unit_bytes - position % self.unit_bytes;
            let member = usize::try_from(position / self.unit_bytes % self.member_count).unwrap_or(0);
            let piece = StripePiece {
                member,
                at_bytes,
                at_share_bytes: self.below(member, position) - self.below(member, offset_bytes),
                length_bytes: left_in_unit.min(length_bytes - at_bytes),
            };
            at_bytes += piece.length_bytes;
            Some(piece)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn unit_i_is_on_member_i_modulo_their_number() {
        let layout = StripeLayout::new(4096, 3);
        for unit in 0..12_u64 {
            let member = usize::try_from(unit % 3).unwrap();
            let share = layout.share(member, unit * 4096, 4096);
            assert_eq!(share, MemberRange { offset_bytes: unit / 3 * 4096, length_bytes: 4096 });
            for other in (0..3).filter(|other| *other != member) {
                assert_eq!(layout.share(other, unit * 4096, 4096).length_bytes, 0);
            }
        }
    }

    #[test]
    fn a_range_of_two_rows_and_a_half_is_one_share_a_member() {
        let layout = StripeLayout::new(4, 2);
        assert_eq!(layout.share(0, 2, 20), MemberRange { offset_bytes: 2, length_bytes: 10 });
        assert_eq!(layout.share(1, 2, 20), MemberRange { offset_bytes: 0, length_bytes: 10 });
        let pieces: Vec<_> = layout.pieces(2, 20).map(|piece| (piece.member, piece.length_bytes)).collect();
        assert_eq!(pieces, [(0, 2), (1, 4), (0, 4), (1, 4), (0, 4), (1, 2)]);
    }

    proptest! {
        #[test]
        fn every_byte_is_on_one_member_and_is_found_again(
            unit in 1_u64..50, count in 1_usize..7, offset in 0_u64..5000, length in 0_u64..2000,
        ) {
            let layout = StripeLayout::new(unit, count);
            let shares: Vec<MemberRange> = (0..count).map(|member| layout.share(member, offset, length)).collect();
            prop_assert_eq!(shares.iter().map(|share| share.length_bytes).sum::<u64>(), length);
            prop_assert!(shares.iter().all(|share| share.length_bytes <= layout.share_bytes_max(length)));
            let mut moved = vec![0; count];
            let mut at = 0;
            for piece in layout.pieces(offset, length) {
                prop_assert_eq!(piece.at_bytes, at);
                prop_assert_eq!(piece.at_share_bytes, moved[piece.member]);
                let place = shares[piece.member].offset_bytes + piece.at_share_bytes;
                prop_assert_eq!(layout.position(piece.member, place), offset + at);
                moved[piece.member] += piece.length_bytes;
                at += piece.length_bytes;
            }
            prop_assert_eq!(at, length);
        }
    }
}
