//! Several targets of one kind as one: consecutive units are on consecutive members.
//!
//! Text form and what may be a member only; the engine decides where a block is stored.

use super::{Layer, Target};
use crate::engine::{EngineId, StripeSupport};
use crate::size::parse_size;
use crate::units::Bytes;
use std::fmt::{self, Write};
use std::mem::discriminant;

/// Units are whole sectors: below that a member could not be written past a page cache.
const SECTOR_BYTES: u64 = 512;
/// Largest unit: beyond it no request would ever meet two members.
const UNIT_BYTES_MAX: u64 = 1 << 30;
/// Most members: one thread waits for all of them.
const MEMBERS_MAX: usize = 64;
/// Most requests in flight at one member.
const PEER_DEPTH_MAX: u32 = 65_536;
/// Characters that separate, and how a path writes them.
const ESCAPES: [(char, &str); 3] = [('%', "%25"), (',', "%2C"), ('?', "%3F")];

/// How a stripe is written.
pub(super) const FORM: &str =
    "write stripe:MEMBER,MEMBER?unit=64KiB&peer_depth=N, each MEMBER a PATH or tcp://HOST:PORT/LAYER";

/// Several targets of one kind as one: unit i of an object is on member i modulo their number.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Stripe {
    members: Vec<Target>,
    unit_bytes: Bytes,
    peer_depth: Option<u32>,
}

impl Stripe {
    /// The unit where none is given: the usual one of striped file systems.
    pub const UNIT_BYTES: Bytes = Bytes(64 << 10);

    /// A stripe over `members` with units of `unit_bytes`; of `peer_depth` the most requests that one worker has in
    /// flight at one member, `None` for as many as its queue is deep.
    ///
    /// # Errors
    /// What is wrong with it, as a phrase: no member, more than 64, a stripe or a simulated machine among them, several
    /// kinds, one twice, a unit that is 0, above 1 GiB or no multiple of 512 bytes, a depth outside of 1 to 65536.
    pub fn new(members: Vec<Target>, unit_bytes: Bytes, peer_depth: Option<u32>) -> Result<Self, String> {
        check_members(&members)?;
        check_unit(unit_bytes)?;
        if let Some(depth) = peer_depth.filter(|depth| !(1..=PEER_DEPTH_MAX).contains(depth)) {
            return Err(format!("has a peer_depth of {depth} where 1 to {PEER_DEPTH_MAX} is allowed"));
        }
        Ok(Self { members, unit_bytes, peer_depth })
    }

    /// The targets, in the order in which units are distributed over them; at least one.
    #[must_use]
    pub fn members(&self) -> &[Target] {
        &self.members
    }

    /// Contiguous bytes on one member.
    #[must_use]
    pub fn unit_bytes(&self) -> Bytes {
        self.unit_bytes
    }

    /// Most requests that one worker has in flight at one member; `None` for as many as its queue is deep.
    #[must_use]
    pub fn peer_depth(&self) -> Option<u32> {
        self.peer_depth
    }

    /// What each member gets of `bytes` that are distributed evenly over all of them: at least a unit, at most all.
    #[must_use]
    pub fn member_share(&self, bytes: Bytes) -> Bytes {
        let rows = bytes.0 / self.unit_bytes.0.saturating_mul(self.members.len() as u64);
        Bytes(rows.max(1).saturating_mul(self.unit_bytes.0).min(bytes.0))
    }

    /// The same stripe over other members, one for each of these.
    ///
    /// # Errors
    /// As [`Stripe::new`].
    pub fn with_members(&self, other: impl FnMut(&Target) -> Target) -> Result<Self, String> {
        Self::new(self.members.iter().map(other).collect(), self.unit_bytes, self.peer_depth)
    }
}

fn check_members(members: &[Target]) -> Result<(), String> {
    let Some(first) = members.first() else { return Err("names no member".to_owned()) };
    if members.len() > MEMBERS_MAX {
        return Err(format!("has {} members where {MEMBERS_MAX} at most are allowed", members.len()));
    }
    for (index, member) in members.iter().enumerate() {
        let number = index + 1;
        let refused = |what: &str| Err(format!("has the member {number} `{member}`, {what}"));
        match member {
            Target::Stripe(_) => return refused("a stripe within a stripe"),
            Target::Tcp { via: Some(_), .. } => {
                return refused("behind a proxy, which leads to only one endpoint");
            }
            Target::Block(_) => return refused("a block device, which stripes do not support"),
            Target::Sim { .. } => return refused("a simulated machine, which is a whole path already"),
            Target::Scheme { engine, .. } if engine.declaration().in_stripes == StripeSupport::None => {
                return refused("whose engine does not support stripes");
            }
            _ => {}
        }
        if kind(member) != kind(first) {
            return Err(format!("has members of two kinds: 1 is `{first}` and {number} is `{member}`"));
        }
        // Two members at one place would write their units over each other; null: keeps nothing.
        let earlier = members[..index].iter().position(|other| other == member);
        if let (Some(earlier), true) = (earlier, member.is_storage()) {
            return Err(format!("has `{member}` twice, as member {} and {number}", earlier + 1));
        }
    }
    Ok(())
}

/// What members of one stripe have in common.
fn kind(target: &Target) -> (std::mem::Discriminant<Target>, Option<Layer>, Option<EngineId>, bool) {
    let layer = match target {
        Target::Tcp { layer, .. } => Some(*layer),
        _ => None,
    };
    let engine = match target {
        Target::Scheme { engine, .. } => Some(*engine),
        _ => None,
    };
    (discriminant(target), layer, engine, matches!(target, Target::Null { copy: true }))
}

fn check_unit(unit: Bytes) -> Result<(), String> {
    if unit.0 == 0 || unit.0 > UNIT_BYTES_MAX || !unit.0.is_multiple_of(SECTOR_BYTES) {
        return Err(format!(
            "has a unit of {unit} where a multiple of {SECTOR_BYTES} bytes up to 1GiB is allowed"
        ));
    }
    Ok(())
}

/// The stripe that follows `stripe:`.
pub(super) fn parse(rest: &str) -> Result<Stripe, String> {
    let (members, options) = match rest.split_once('?') {
        Some((members, options)) => (members, Some(options)),
        None => (rest, None),
    };
    if members.is_empty() {
        return Err("names no member".to_owned());
    }
    let members: Vec<Target> = members
        .split(',')
        .enumerate()
        .map(|(index, text)| member(index + 1, text))
        .collect::<Result<_, _>>()?;
    let (mut unit_bytes, mut peer_depth) = (None, None);
    for option in options.into_iter().flat_map(|options| options.split('&')) {
        let (key, value) = option.split_once('=').unwrap_or((option, ""));
        let again = match key {
            "unit" => {
                let size =
                    parse_size(value).map_err(|_| format!("has the unit `{value}`, which is not a size"))?;
                unit_bytes.replace(size).is_some()
            }
            "peer_depth" => {
                let depth = value.parse::<u32>();
                let depth =
                    depth.map_err(|_| format!("has the peer_depth `{value}`, which is not a number"))?;
                peer_depth.replace(depth).is_some()
            }
            _ => return Err(format!("has the key `{key}`, and only unit and peer_depth are known")),
        };
        if again {
            return Err(format!("has the key `{key}` twice"));
        }
    }
    Stripe::new(members, unit_bytes.unwrap_or(Stripe::UNIT_BYTES), peer_depth)
}

fn member(number: usize, text: &str) -> Result<Target, String> {
    if text.is_empty() {
        return Err(format!("has an empty member {number}"));
    }
    let plain = ESCAPES.iter().rev().fold(text.to_owned(), |text, (mark, code)| {
        // The sign of escapes last: what it yields is none.
        text.replace(code, &mark.to_string()).replace(&code.to_lowercase(), &mark.to_string())
    });
    plain
        .parse()
        .map_err(|error: super::TargetError| format!("has the member {number} `{text}`: {}", error.problem))
}

impl fmt::Display for Stripe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("stripe:")?;
        for (index, member) in self.members.iter().enumerate() {
            if index > 0 {
                f.write_char(',')?;
            }
            for letter in member.to_string().chars() {
                match ESCAPES.iter().find(|(mark, _)| *mark == letter) {
                    Some((_, code)) => f.write_str(code)?,
                    None => f.write_char(letter)?,
                }
            }
        }
        write!(f, "?unit={}", self.unit_bytes)?;
        match self.peer_depth {
            Some(depth) => write!(f, "&peer_depth={depth}"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stripe(text: &str) -> Stripe {
        match text.parse().unwrap() {
            Target::Stripe(stripe) => stripe,
            other => panic!("{other} is no stripe"),
        }
    }

    #[test]
    fn members_unit_and_peer_depth_are_read() {
        let found = stripe("stripe:tcp://a:7300/disk,tcp://[::1]:7301/disk?unit=128KiB&peer_depth=4");
        assert_eq!(found.members()[1], "tcp://[::1]:7301/disk".parse().unwrap());
        assert_eq!(
            (found.members().len(), found.unit_bytes(), found.peer_depth()),
            (2, Bytes(128 << 10), Some(4))
        );
        let plain = stripe("stripe:/a,file:b:c");
        assert_eq!((plain.unit_bytes(), plain.peer_depth()), (Bytes(64 << 10), None));
    }

    #[test]
    fn what_is_displayed_parses_to_the_same_stripe() {
        for text in [
            "stripe:tcp://a:7300/disk,tcp://b:7300/disk?unit=64KiB",
            "stripe:/a%2Cb,/c%3Fd,/e%25f,/g%252Ch?unit=512B&peer_depth=1",
            "stripe:/alone?unit=1GiB",
            "stripe:null:,null:?unit=4KiB",
        ] {
            assert_eq!(text.parse::<Target>().unwrap().to_string(), text);
        }
        let members = stripe("stripe:/a%2Cb,/c%3Fd,/e%25f,/g%252Ch");
        assert_eq!(members.members()[0], Target::File { path: "/a,b".into() });
        assert_eq!(members.members()[3], Target::File { path: "/g%2Ch".into() });
    }

    #[test]
    fn a_members_share_is_whole_units_and_never_more_than_the_whole() {
        let stripe = stripe("stripe:/a,/b,/c,/d?unit=64KiB");
        for (whole_kib, share_kib) in [(4, 4), (64, 64), (256, 64), (300, 64), (1024, 256)] {
            assert_eq!(
                stripe.member_share(Bytes(whole_kib << 10)),
                Bytes(share_kib << 10),
                "{whole_kib} KiB"
            );
        }
    }

    #[test]
    fn every_mistake_is_named_with_the_member_or_key_that_it_is_in() {
        for (text, part) in [
            ("stripe:", "names no member"),
            ("stripe:?unit=4KiB", "names no member"),
            ("stripe:/a,,/b", "an empty member 2"),
            ("stripe:/a,stripe:/b", "the member 2 `stripe:/b?unit=64KiB`, a stripe within a stripe"),
            ("stripe:/a,sim:disk", "a simulated machine"),
            ("stripe:tcp://a:1/disk%3Fvia=p:2,tcp://b:1/disk", "behind a proxy"),
            ("stripe:/a,tcp://b:1/disk", "members of two kinds"),
            ("stripe:tcp://a:1/disk,tcp://b:1/memory", "members of two kinds"),
            ("stripe:tcp://a:1/disk,tcp://b/disk", "the member 2 `tcp://b/disk`: names no port"),
            ("stripe:/a,/b,/a", "`/a` twice, as member 1 and 3"),
            ("stripe:/a,/b?units=4KiB", "the key `units`"),
            ("stripe:/a,/b?unit=4KiB&unit=4KiB", "the key `unit` twice"),
            ("stripe:/a,/b?unit=many", "`many`, which is not a size"),
            ("stripe:/a,/b?unit=0", "a unit of 0B"),
            ("stripe:/a,/b?unit=1000", "a unit of 1000B"),
            ("stripe:/a,/b?unit=2GiB", "a unit of 2GiB"),
            ("stripe:/a,/b?peer_depth=0", "a peer_depth of 0"),
            ("stripe:/a,/b?peer_depth=few", "`few`, which is not a number"),
        ] {
            let message = text.parse::<Target>().unwrap_err().to_string();
            assert!(message.contains(part) && message.contains("stripe:MEMBER"), "{text}: {message}");
        }
        let many = format!("stripe:{}", vec!["null:"; 65].join(","));
        assert!(many.parse::<Target>().unwrap_err().to_string().contains("65 members"));
    }
}
