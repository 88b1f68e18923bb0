//! `blk:DEVICE`: a block device of this machine, without a file system.

use super::claim::UnitClaim;
use std::fmt;
use std::path::PathBuf;

/// The form for messages.
pub(crate) const FORM: &str = "blk:/dev/NAME";

/// A block device of this machine.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct BlockAddress {
    /// Its node, or a link to it.
    pub path: PathBuf,
    /// What a run has claimed; `None` where the device is only read. narrows sets it.
    pub claim: Option<UnitClaim>,
}

impl BlockAddress {
    /// The address in `rest`, which follows `blk:`.
    ///
    /// # Errors
    /// What is wrong, as a phrase that follows the text.
    pub fn parse(rest: &str) -> Result<Self, String> {
        let (path, options) = rest.split_once('?').map_or((rest, None), |(path, o)| (path, Some(o)));
        if !path.starts_with('/') || path.ends_with('/') {
            return Err("names no device by its whole path".to_owned());
        }
        let claim = options.map(claim).transpose()?;
        Ok(Self { path: PathBuf::from(path), claim })
    }

    /// The same device as a user names it: without what narrows sets.
    #[must_use]
    pub fn plain(&self) -> Self {
        Self { path: self.path.clone(), claim: None }
    }
}

fn claim(options: &str) -> Result<UnitClaim, String> {
    let parts = options.split_once('&');
    let parts = parts
        .and_then(|(nonce, stride)| Some((nonce.strip_prefix("claim=")?, stride.strip_prefix("stride=")?)));
    let (nonce, stride) = parts.ok_or_else(|| format!("has unknown options `{options}`"))?;
    UnitClaim::parse(nonce, stride)
}

/// What follows `blk:`.
impl fmt::Display for BlockAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.path.display())?;
        self.claim.iter().try_for_each(|claim| write!(f, "?{claim}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_displayed_as_it_is_parsed() {
        for text in ["/dev/sda", "/dev/disk/by-id/x:1", "/dev/loop0?claim=00000000000000ff&stride=1048576"] {
            assert_eq!(BlockAddress::parse(text).unwrap().to_string(), text);
        }
        let claimed = BlockAddress::parse("/dev/loop0?claim=ff&stride=512").unwrap();
        assert_eq!(claimed.claim, Some(UnitClaim { nonce: 255, stride_bytes: 512 }));
        assert_eq!(claimed.plain().to_string(), "/dev/loop0");
    }

    #[test]
    fn what_is_wrong_with_an_address_is_said() {
        for (text, part) in [
            ("", "whole path"),
            ("sda", "whole path"),
            ("/dev/", "whole path"),
            ("/dev/sda?size=1", "unknown options `size=1`"),
            ("/dev/sda?claim=x&stride=1", "did not write"),
            ("/dev/sda?claim=1&stride=0", "did not write"),
        ] {
            let problem = BlockAddress::parse(text).unwrap_err();
            assert!(problem.contains(part), "{text}: {problem}");
        }
    }
}
