//! Where a proxy forwards to: looked up once, and never its own address.

use crate::error::{ServeError, ServeErrorKind};
use narrows_engines::host_lookup::{LOOKUP_TIMEOUT, look_up};
use narrows_model::target::host_port;
use std::net::{IpAddr, SocketAddr, UdpSocket};

/// The addresses of `to`, in the order of the system's choice.
///
/// # Errors
/// `Options` where it is no `HOST:PORT` or the name has no address.
pub(super) fn look_up_forward(to: &str) -> Result<Vec<SocketAddr>, ServeError> {
    let refused = |detail: String| {
        let hint = "give --to HOST:PORT, with a name that this machine can resolve and a port above 0";
        ServeError::new(ServeErrorKind::Options, "forward to", to, detail, hint)
    };
    let (host, port) = host_port(to).map_err(|problem| refused(format!("it {problem}")))?;
    let found = look_up(&host, port, LOOKUP_TIMEOUT, &|| false);
    let all = found.map_err(|error| refused(error.to_string()))?;
    if all.is_empty() {
        return Err(refused("the name has no address".to_owned()));
    }
    Ok(all)
}

/// Refuses to forward to where the proxy itself listens.
///
/// # Errors
/// `Options` when one of `to` is `own`.
pub(super) fn check_not_own(own: SocketAddr, to: &[SocketAddr]) -> Result<(), ServeError> {
    let same = |address: &&SocketAddr| address.port() == own.port() && reaches(own.ip(), address.ip());
    match to.iter().find(same) {
        None => Ok(()),
        Some(address) => Err(ServeError::new(
            ServeErrorKind::Options,
            "forward to",
            address.to_string(),
            "that is the proxy's own listening address",
            "give --to the address of the server behind it",
        )),
    }
}

/// Whether a connection to `asked` may come to who listens at `own`, with the ports equal.
fn reaches(own: IpAddr, asked: IpAddr) -> bool {
    let (own, asked) = (own.to_canonical(), asked.to_canonical());
    if own == asked || (own.is_unspecified() && is_of_this_machine(asked)) {
        return true;
    }
    // A connection to the unspecified address reaches loopback.
    asked.is_unspecified() && own.is_loopback()
}

/// Whether `address` is one of this machine's: only those can be bound.
fn is_of_this_machine(address: IpAddr) -> bool {
    UdpSocket::bind((address, 0)).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(own: &str, to: &str) -> bool {
        check_not_own(own.parse().unwrap(), &look_up_forward(to).unwrap()).is_ok()
    }

    #[test]
    fn the_own_address_is_refused_in_every_form() {
        assert!(!check("127.0.0.1:7301", "127.0.0.1:7301"));
        assert!(!check("127.0.0.1:7301", "localhost:7301"));
        assert!(!check("0.0.0.0:7301", "127.0.0.1:7301"));
        assert!(!check("[::]:7301", "127.0.0.1:7301"));
        assert!(!check("127.0.0.1:7301", "0.0.0.0:7301"));
        assert!(!check("127.0.0.1:7301", "[::ffff:127.0.0.1]:7301"));
    }

    #[test]
    fn another_port_or_machine_is_not_the_own() {
        assert!(check("127.0.0.1:7301", "127.0.0.1:7300"));
        assert!(check("127.0.0.1:7301", "127.0.0.2:7301"));
        assert!(check("0.0.0.0:7301", "192.0.2.1:7301"));
    }

    #[test]
    fn what_is_no_address_is_refused() {
        for to in ["", "host", "127.0.0.1", "127.0.0.1:99999", "127.0.0.1:0", "no.such.host.invalid:80"] {
            assert_eq!(look_up_forward(to).unwrap_err().kind, ServeErrorKind::Options, "{to}");
        }
    }
}
