//! `nfs://HOST[:PORT]/EXPORT/PATH`: what follows `nfs:`.
//!
//! Where the export ends and the path in it begins is the server's business.

use super::via;
use std::fmt;

/// The form for messages.
pub(crate) const FORM: &str = "nfs://HOST[:PORT]/EXPORT/PATH[?mountport=PORT&uid=N&gid=N]";

/// A folder of an NFS server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NfsAddress {
    /// Name or address of the host, without brackets.
    pub host: String,
    /// Port of the NFS server; `None` where its port mapper is asked.
    pub port: Option<u16>,
    /// The exported path and the path in it: from the root, without a slash at its end.
    pub path: String,
    /// Port of its MOUNT service; `None` where its port mapper is asked.
    pub mount_port: Option<u16>,
    /// The user that calls state; `None` for that of this process.
    pub user_id: Option<u32>,
    /// The group that calls state; `None` for that of this process.
    pub group_id: Option<u32>,
}

impl NfsAddress {
    /// The address in `rest`, which follows `nfs:`.
    ///
    /// # Errors
    /// What is wrong, as a phrase that follows the text.
    pub fn parse(rest: &str) -> Result<Self, String> {
        let rest = rest.strip_prefix("//").ok_or("misses `//` after `nfs:`")?;
        let (rest, options) = rest.split_once('?').map_or((rest, None), |(rest, o)| (rest, Some(o)));
        let (authority, path) = rest.split_once('/').ok_or("names no exported path")?;
        let path = path.trim_end_matches('/');
        if path.is_empty() {
            return Err("names no exported path".to_owned());
        }
        if path.split('/').any(|part| matches!(part, "" | "." | "..")) {
            return Err("has an empty part, `.` or `..` in its path".to_owned());
        }
        let (host, port) = host_and_port(authority)?;
        let mut address =
            Self { host, port, path: format!("/{path}"), mount_port: None, user_id: None, group_id: None };
        options
            .into_iter()
            .flat_map(|options| options.split('&'))
            .try_for_each(|option| address.set(option))?;
        Ok(address)
    }

    fn set(&mut self, option: &str) -> Result<(), String> {
        let (name, value) =
            option.split_once('=').ok_or_else(|| format!("has `{option}` where NAME=VALUE belongs"))?;
        let number = || value.parse::<u32>().map_err(|_| format!("has `{value}` where a number belongs"));
        match name {
            "mountport" => self.mount_port = Some(port_of(value)?),
            "uid" => self.user_id = Some(number()?),
            "gid" => self.group_id = Some(number()?),
            "version" if value == "3" => {}
            "version" => return Err(format!("asks for version {value}; version 3 is spoken")),
            _ => return Err(format!("has an unknown option `{name}`")),
        }
        Ok(())
    }

    /// The folder `name` in this one.
    #[must_use]
    pub fn within(&self, name: &str) -> Self {
        Self { path: format!("{}/{name}", self.path), ..self.clone() }
    }

    /// Host and port as people write them, the port where it is given.
    #[must_use]
    pub fn authority(&self) -> String {
        match self.port {
            Some(port) => via::address(&self.host, port),
            None if self.host.contains(':') => format!("[{}]", self.host),
            None => self.host.clone(),
        }
    }
}

/// What follows `nfs:`.
impl fmt::Display for NfsAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "//{}{}", self.authority(), self.path)?;
        let options =
            [("mountport", self.mount_port.map(u32::from)), ("uid", self.user_id), ("gid", self.group_id)];
        let mut separator = '?';
        for (name, value) in options {
            if let Some(value) = value {
                write!(f, "{separator}{name}={value}")?;
                separator = '&';
            }
        }
        Ok(())
    }
}

pub(super) fn host_and_port(authority: &str) -> Result<(String, Option<u16>), String> {
    let bare = authority.strip_prefix('[').and_then(|inner| inner.strip_suffix(']'));
    let host = match bare {
        Some(host) => host,
        None if authority.contains(':') => {
            return super::host_port(authority).map(|(host, port)| (host, Some(port)));
        }
        None => authority,
    };
    if host.is_empty() { Err("names no host".to_owned()) } else { Ok((host.to_owned(), None)) }
}

fn port_of(text: &str) -> Result<u16, String> {
    match text.parse::<u16>() {
        Ok(port) if port > 0 => Ok(port),
        _ => Err(format!("has `{text}` where a port from 1 to 65535 belongs")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_displayed_as_it_is_parsed() {
        for text in [
            "//h/data",
            "//h:2049/data/sub",
            "//[::1]:2049/data?mountport=20048",
            "//[fe80::1]/data",
            "//h/data?uid=7&gid=8",
        ] {
            assert_eq!(NfsAddress::parse(text).unwrap().to_string(), text);
        }
        let address = NfsAddress::parse("//h:1/data/?mountport=2").unwrap();
        assert_eq!((address.path.as_str(), address.mount_port), ("/data", Some(2)));
        assert_eq!(address.within("x").to_string(), "//h:1/data/x?mountport=2");
    }

    #[test]
    fn what_is_wrong_with_an_address_is_said() {
        for (text, part) in [
            ("h/data", "misses `//`"),
            ("//h", "no exported path"),
            ("//h/", "no exported path"),
            ("//h/a/../b", "`..`"),
            ("///data", "no host"),
            ("//h:0/data", "a port from 1"),
            ("//::1/data", "without brackets"),
            ("//h/data?mountport=x", "`x` where a port"),
            ("//h/data?uid=-1", "`-1` where a number"),
            ("//h/data?version=4", "version 3 is spoken"),
            ("//h/data?size=1", "unknown option `size`"),
            ("//h/data?uid", "NAME=VALUE"),
        ] {
            let problem = NfsAddress::parse(text).unwrap_err();
            assert!(problem.contains(part), "{text}: {problem}");
        }
    }
}
