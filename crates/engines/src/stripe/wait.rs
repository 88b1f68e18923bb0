//! Waiting for several members at once, in one system call.
//!
//! Hot path: no allocation.

use super::MEMBERS_MAX;
use super::member::StripeMember;
use crate::contract::Readiness;
use crate::error::EngineError;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// Members by their bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct MemberSet(u64);

impl MemberSet {
    pub(super) const NONE: Self = Self(0);

    pub(super) fn add(&mut self, member: usize) {
        self.0 |= 1 << member;
    }

    pub(super) fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Their numbers.
    pub(super) fn iter(self) -> impl Iterator<Item = usize> {
        (0..MEMBERS_MAX).filter(move |member| self.0 >> member & 1 == 1)
    }
}

/// Waits until members that have something in flight can continue, for `span_ns` at most, and returns them; none when
/// the time passed or a signal came. Members that can always continue are returned at once.
///
/// # Errors
/// When the system cannot wait for them.
pub(super) fn ready(members: &mut [StripeMember], span_ns: u64) -> Result<MemberSet, EngineError> {
    let mut found = MemberSet::NONE;
    let mut awaited: [Option<(usize, Readiness<'_>)>; MEMBERS_MAX] = [None; MEMBERS_MAX];
    let mut count = 0;
    for (index, member) in members.iter_mut().enumerate().filter(|(_, member)| member.is_busy()) {
        match member.readiness()? {
            None => found.add(index),
            Some(readiness) => {
                awaited[count] = Some((index, readiness));
                count += 1;
            }
        }
    }
    let Some((_, first)) = awaited[0] else { return Ok(found) };
    let mut polled: [PollFd<'_>; MEMBERS_MAX] = std::array::from_fn(|index| {
        let Readiness { descriptor, events } = awaited[index].map_or(first, |(_, readiness)| readiness);
        PollFd::from_borrowed_fd(descriptor, events)
    });
    let span = if found.is_empty() { span_ns } else { 0 };
    let span = Timespec {
        tv_sec: i64::try_from(span / 1_000_000_000).unwrap_or(i64::MAX),
        tv_nsec: i64::try_from(span % 1_000_000_000).unwrap_or(0),
    };
    match poll(&mut polled[..count], Some(&span)) {
        Ok(_) | Err(rustix::io::Errno::INTR) => {}
        Err(errno) => return Err(EngineError::from_io("wait", "the stripe's members", errno.into())),
    }
    for (entry, polled) in awaited.iter().flatten().zip(&polled) {
        if polled.revents() != PollFlags::empty() {
            found.add(entry.0);
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_reported_by_their_numbers() {
        let mut members = MemberSet::NONE;
        assert!(members.is_empty());
        members.add(63);
        members.add(0);
        assert_eq!(members.iter().collect::<Vec<_>>(), [0, 63]);
    }
}
