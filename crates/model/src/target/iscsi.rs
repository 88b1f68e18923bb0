//! `iscsi://HOST[:PORT]/IQN/LUN`: what follows `iscsi:`.
//!
//! Secrets are in files that it names: a target is printed and recorded.

use super::claim::UnitClaim;
use super::via;
use std::fmt;

/// The form for messages.
pub(crate) const FORM: &str = "iscsi://HOST[:PORT]/IQN/LUN[?chap_user=NAME&chap_secret_file=FILE&initiator=NAME\
    &target_user=NAME&target_secret_file=FILE&overwrite=SERIAL]";
/// The port that the standard gives to targets.
pub const ISCSI_PORT: u16 = 3260;
/// Numbers of units of one level end before it.
const UNIT_END: u16 = 16_384;
/// Longest name of a target or an initiator.
const NAME_BYTES_MAX: usize = 223;

/// Who proves by CHAP, and where the secret is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChapFile {
    /// The name.
    pub user: String,
    /// The file with the secret.
    pub secret_file: String,
}

/// A logical unit of an iSCSI target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IscsiAddress {
    /// Name or address of the host, without brackets.
    pub host: String,
    /// Port of the target.
    pub port: u16,
    /// Name of the target.
    pub target: String,
    /// Number of the unit.
    pub unit: u16,
    /// How this side proves who it is; `None` without a proof.
    pub chap: Option<ChapFile>,
    /// How the target proves who it is; `None` without a proof.
    pub target_chap: Option<ChapFile>,
    /// The name of this initiator; `None` for one made of the machine's name.
    pub initiator: Option<String>,
    /// Serial number of the unit whose content may be overwritten; `None` where nothing may.
    pub overwrite: Option<String>,
    /// What a run has claimed; `None` where the unit is only read. narrows sets it.
    pub claim: Option<UnitClaim>,
    /// By what the unit that was claimed is known from any other; `None` where the unit is only read. narrows sets it.
    pub identity: Option<String>,
}

/// Options as they are typed, until those that belong together are known.
#[derive(Default)]
struct TypedOptions<'a> {
    values: Vec<(&'a str, &'a str)>,
}

/// Names of options.
const OPTIONS: [&str; 9] = [
    "chap_user",
    "chap_secret_file",
    "target_user",
    "target_secret_file",
    "initiator",
    "overwrite",
    "claim",
    "stride",
    "identity",
];

impl<'a> TypedOptions<'a> {
    fn parse(text: Option<&'a str>) -> Result<Self, String> {
        let mut options = Self::default();
        for option in text.into_iter().flat_map(|text| text.split('&')) {
            let (name, value) =
                option.split_once('=').ok_or_else(|| format!("has `{option}` where NAME=VALUE belongs"))?;
            if !OPTIONS.contains(&name) {
                return Err(format!("has an unknown option `{name}`"));
            }
            if value.is_empty() || options.value(name).is_some() {
                return Err(format!("has no value of `{name}`, or two"));
            }
            options.values.push((name, value));
        }
        Ok(options)
    }

    fn value(&self, name: &str) -> Option<&'a str> {
        self.values.iter().find(|(known, _)| *known == name).map(|(_, value)| *value)
    }

    /// Two options that need each other.
    fn pair(&self, one: &str, other: &str) -> Result<Option<(&'a str, &'a str)>, String> {
        match (self.value(one), self.value(other)) {
            (Some(one), Some(other)) => Ok(Some((one, other))),
            (None, None) => Ok(None),
            (given, _) => {
                let missing = if given.is_some() { other } else { one };
                Err(format!("misses `{missing}=`, which `{one}` and `{other}` need each of the other"))
            }
        }
    }

    fn chap(&self, user: &str, file: &str) -> Result<Option<ChapFile>, String> {
        let found = self.pair(user, file)?;
        Ok(found.map(|(user, file)| ChapFile { user: user.to_owned(), secret_file: file.to_owned() }))
    }

    fn claim(&self) -> Result<Option<UnitClaim>, String> {
        let Some((nonce, stride)) = self.pair("claim", "stride")? else { return Ok(None) };
        UnitClaim::parse(nonce, stride).map(Some)
    }
}

impl IscsiAddress {
    /// The address in `rest`, which follows `iscsi:`.
    ///
    /// # Errors
    /// What is wrong, as a phrase that follows the text.
    pub fn parse(rest: &str) -> Result<Self, String> {
        let rest = rest.strip_prefix("//").ok_or("misses `//` after `iscsi:`")?;
        let (rest, options) = rest.split_once('?').map_or((rest, None), |(rest, o)| (rest, Some(o)));
        let mut parts = rest.split('/');
        let (Some(authority), Some(target), Some(unit), None) =
            (parts.next(), parts.next(), parts.next(), parts.next())
        else {
            return Err("is no HOST/IQN/LUN".to_owned());
        };
        let (host, port) = super::nfs::host_and_port(authority)?;
        let unit = match unit.parse() {
            Ok(unit) if unit < UNIT_END => unit,
            _ => {
                return Err(format!("has `{unit}` where the number of a LUN belongs, 0 to {}", UNIT_END - 1));
            }
        };
        let options = TypedOptions::parse(options)?;
        let address = Self {
            host,
            port: port.unwrap_or(ISCSI_PORT),
            target: name(target)?,
            unit,
            chap: options.chap("chap_user", "chap_secret_file")?,
            target_chap: options.chap("target_user", "target_secret_file")?,
            initiator: options.value("initiator").map(name).transpose()?,
            overwrite: options.value("overwrite").map(str::to_owned),
            claim: options.claim()?,
            identity: options.value("identity").map(from_hex).transpose()?,
        };
        if address.target_chap.is_some() && address.chap.is_none() {
            return Err("lets the target prove itself, and misses `chap_user=` of this side".to_owned());
        }
        Ok(address)
    }

    /// The same unit as a user names it: without what narrows sets, and without consent to overwrite it.
    #[must_use]
    pub fn plain(&self) -> Self {
        Self { claim: None, identity: None, overwrite: None, ..self.clone() }
    }
}

/// What a target says of itself may have any character: its bytes as digits.
fn to_hex(text: &str) -> String {
    let digit = |value: u8| char::from_digit(u32::from(value), 16).unwrap_or_default();
    text.bytes().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

fn from_hex(digits: &str) -> Result<String, String> {
    let foreign = || "has an identity that narrows did not write".to_owned();
    if !digits.is_ascii() {
        return Err(foreign());
    }
    let pairs = digits.as_bytes().chunks(2).map(|pair| std::str::from_utf8(pair).unwrap_or_default());
    let bytes: Result<Vec<u8>, _> = pairs.map(|pair| u8::from_str_radix(pair, 16)).collect();
    bytes.ok().and_then(|bytes| String::from_utf8(bytes).ok()).ok_or_else(foreign)
}

/// A name of a target or an initiator.
fn name(text: &str) -> Result<String, String> {
    let is_known = ["iqn.", "eui.", "naa."].iter().any(|prefix| text.starts_with(prefix));
    let is_text = text.bytes().all(|byte| byte.is_ascii_graphic());
    if is_known && is_text && text.len() <= NAME_BYTES_MAX {
        Ok(text.to_owned())
    } else {
        Err(format!("has `{text}` where a name that begins with iqn., eui. or naa. belongs"))
    }
}

/// What follows `iscsi:`.
impl fmt::Display for IscsiAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "//{}/{}/{}", via::address(&self.host, self.port), self.target, self.unit)?;
        let nonce = self.claim.map(UnitClaim::nonce_text);
        let stride = self.claim.map(|claim| claim.stride_bytes.to_string());
        let chap = |file: &Option<ChapFile>| match file {
            Some(file) => [Some(file.user.clone()), Some(file.secret_file.clone())],
            None => [None, None],
        };
        let [user, secret_file] = chap(&self.chap);
        let [target_user, target_secret_file] = chap(&self.target_chap);
        let (initiator, overwrite) = (self.initiator.clone(), self.overwrite.clone());
        let identity = self.identity.as_deref().map(to_hex);
        let values = [
            user,
            secret_file,
            target_user,
            target_secret_file,
            initiator,
            overwrite,
            nonce,
            stride,
            identity,
        ];
        let mut separator = '?';
        for (name, value) in OPTIONS.into_iter().zip(values) {
            if let Some(value) = value {
                write!(f, "{separator}{name}={value}")?;
                separator = '&';
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_displayed_as_it_is_parsed() {
        for text in [
            "//h:3260/iqn.2026-01.lab:t1/1",
            "//[::1]:860/eui.0123456789abcdef/0",
            "//h:3260/iqn.x/1?chap_user=me&chap_secret_file=/etc/secret",
            "//h:3260/iqn.x/1?chap_user=me&chap_secret_file=s&target_user=it&target_secret_file=t",
            "//h:3260/iqn.x/300?initiator=iqn.me&overwrite=beaf 11",
            "//h:3260/iqn.x/1?claim=00000000000000ff&stride=1048576",
            "//h:3260/iqn.x/1?claim=00000000000000ff&stride=1048576&identity=62656166",
        ] {
            assert_eq!(IscsiAddress::parse(text).unwrap().to_string(), text);
        }
        let address = IscsiAddress::parse("//h/iqn.x/1?overwrite=s&claim=1&stride=2&identity=6126").unwrap();
        assert_eq!(address.identity.as_deref(), Some("a&"));
        assert_eq!((address.port, address.unit), (3260, 1));
        assert_eq!(address.plain().to_string(), "//h:3260/iqn.x/1");
    }

    #[test]
    fn what_is_wrong_with_an_address_is_said() {
        for (text, part) in [
            ("h/iqn.x/1", "misses `//`"),
            ("//h", "is no HOST/IQN/LUN"),
            ("//h/iqn.x", "is no HOST/IQN/LUN"),
            ("//h/iqn.x/1/2", "is no HOST/IQN/LUN"),
            ("///iqn.x/1", "no host"),
            ("//h:0/iqn.x/1", "a port from 1"),
            ("//h/target/1", "begins with iqn."),
            ("//h/iqn.x/x", "`x` where the number of a LUN"),
            ("//h/iqn.x/16384", "0 to 16383"),
            ("//h/iqn.x/1?chap_user=me", "misses `chap_secret_file=`"),
            ("//h/iqn.x/1?chap_secret_file=f", "misses `chap_user=`"),
            ("//h/iqn.x/1?target_user=a&target_secret_file=b", "misses `chap_user=`"),
            ("//h/iqn.x/1?chap_secret=s", "unknown option `chap_secret`"),
            ("//h/iqn.x/1?initiator=me", "begins with iqn."),
            ("//h/iqn.x/1?overwrite=", "no value of `overwrite`"),
            ("//h/iqn.x/1?overwrite=a&overwrite=b", "or two"),
            ("//h/iqn.x/1?overwrite", "NAME=VALUE"),
            ("//h/iqn.x/1?claim=z&stride=1", "did not write"),
            ("//h/iqn.x/1?identity=6z", "an identity that narrows did not write"),
            ("//h/iqn.x/1?identity=ff", "an identity that narrows did not write"),
        ] {
            let problem = IscsiAddress::parse(text).unwrap_err();
            assert!(problem.contains(part), "{text}: {problem}");
        }
    }
}
