//! Claims one subnet 10.77.x.0/24 of this network namespace, and with it a prefix for every name a lab makes.
//!
//! The claim is an abstract socket address: the kernel grants it to one process, keeps it exactly as long as that
//! process lives, and scopes it to the network namespace, as the links that it protects are scoped. Names therefore
//! contain x and the process id, and anything named with a claimed x and another process id was left by a lab that was
//! killed: it is removed here. Scratch folders are not: they are not scoped to the network.

use std::fs;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};

use crate::error::{Error, LabErrorKind, Result};
use crate::tool::ip;

/// 10.77.255.0/24 is left out, so that x, printed, and a host's number always fit an interface name.
const SUBNET_COUNT: u32 = 255;

/// A subnet and a prefix of names that no other living lab in this network namespace has.
#[derive(Debug)]
pub(crate) struct SubnetClaim {
    subnet: u8,
    prefix: String,
    _listener: UnixListener,
}

impl SubnetClaim {
    /// The first free subnet, searched from a place that depends on the process.
    pub(crate) fn take() -> Result<Self> {
        let pid = std::process::id();
        for step in 0..SUBNET_COUNT {
            let Ok(subnet) = u8::try_from((pid + step) % SUBNET_COUNT) else { continue };
            let Some(listener) = bind_subnet(subnet)? else { continue };
            remove_leftovers(subnet);
            if !is_in_use(subnet)? {
                let prefix = format!("{}{}", family(subnet), base36(pid));
                return Ok(Self { subnet, prefix, _listener: listener });
            }
        }
        Err(Error::new(LabErrorKind::Refused, "claim", "10.77.x.0/24", "all 255 subnets are in use"))
    }

    /// The third number of the addresses.
    pub(crate) fn subnet(&self) -> u8 {
        self.subnet
    }

    /// At most 11 characters: a letter and two digits after it stay below the 15 of an interface name.
    pub(crate) fn prefix(&self) -> &str {
        &self.prefix
    }

    pub(crate) fn bridge(&self) -> String {
        format!("{}b", self.prefix)
    }
}

fn bind_subnet(subnet: u8) -> Result<Option<UnixListener>> {
    let name = format!("narrows-lab/subnet/{subnet}");
    let address =
        SocketAddr::from_abstract_name(&name).map_err(|source| Error::os("name the claim", &name, source))?;
    match UnixListener::bind_addr(&address) {
        Ok(listener) => Ok(Some(listener)),
        Err(source) if source.kind() == std::io::ErrorKind::AddrInUse => Ok(None),
        Err(source) => Err(Error::os("claim", name, source)),
    }
}

/// What every name of a lab on this subnet begins with.
fn family(subnet: u8) -> String {
    format!("nl{subnet}-")
}

/// Best effort: what cannot be removed shows in [`is_in_use`], and then another subnet is taken.
fn remove_leftovers(subnet: u8) {
    let family = family(subnet);
    for link in names_in("/sys/class/net", &family) {
        let _refused = ip(&["link", "del", &link]);
    }
    for namespace in names_in("/run/netns", &family) {
        let _refused = ip(&["netns", "del", &namespace]);
    }
}

/// Whether an address or a route of this namespace already belongs to the subnet.
fn is_in_use(subnet: u8) -> Result<bool> {
    let mark = format!("10.77.{subnet}.");
    let addresses = ip(&["-4", "-o", "addr", "show"])?;
    let routes = ip(&["-4", "route", "show"])?;
    Ok(addresses.split_whitespace().chain(routes.split_whitespace()).any(|word| word.starts_with(&mark)))
}

/// The names in a folder that begin with `beginning`; none if the folder is not there.
pub(crate) fn names_in(folder: &str, beginning: &str) -> Vec<String> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let names = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok());
    names.filter(|name| name.starts_with(beginning)).collect()
}

/// A number in few characters: the largest process id, 2^22, takes five.
fn base36(mut number: u32) -> String {
    let mut digits = Vec::new();
    loop {
        digits.push(char::from_digit(number % 36, 36).unwrap_or('0'));
        number /= 36;
        if number == 0 {
            return digits.into_iter().rev().collect();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base36_agrees_with_the_standard_parser() {
        for number in [0, 1, 35, 36, 1295, 4_194_304, u32::MAX] {
            assert_eq!(u32::from_str_radix(&base36(number), 36), Ok(number));
        }
    }

    #[test]
    fn longest_interface_name_fits_the_kernels_fifteen_characters() {
        let longest = format!("{}{}v{}", family(254), base36(4_194_304), crate::host::HOST_INDEX_MAX);
        assert!(longest.len() <= 15, "{longest}");
    }

    #[test]
    fn a_held_subnet_is_not_handed_out_twice_and_is_free_after_drop() {
        // 255 is never given to a lab, so this test meets no running one.
        let first = bind_subnet(255).unwrap();
        assert!(first.is_some());
        assert!(bind_subnet(255).unwrap().is_none());
        drop(first);
        assert!(bind_subnet(255).unwrap().is_some());
    }
}
