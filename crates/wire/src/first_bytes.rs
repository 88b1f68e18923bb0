//! What the first bytes of a connection show a proxy: whether they are a hello, to whom, and of which connection.
//!
//! A proxy looks at them without taking them. It checks no version and no token, which the hello does itself: the form
//! up to the nonce is the same in every version.

use crate::frame::HEADER_BYTES;
use crate::hello::{HELLO, MAGIC, Nonce, Purpose};

const VERSION_BYTES: usize = 2;
const FLAG_BYTES: usize = 2;
const NONCE_BYTES: usize = 32;
const PAYLOAD_BYTES: usize = MAGIC.len() + VERSION_BYTES + FLAG_BYTES + NONCE_BYTES;

/// Bytes of a client's hello: no more are looked at.
pub const HELLO_BYTES: usize = HEADER_BYTES + PAYLOAD_BYTES;

/// Bytes that every hello begins with: a length, a kind, the magic.
const PREFIX_BYTES: usize = HEADER_BYTES + MAGIC.len();

/// What the first bytes of a connection are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FirstBytes {
    /// They begin no hello, whatever follows.
    Other,
    /// They may begin a hello: more must arrive before it is known.
    Unclear,
    /// A whole hello.
    Hello {
        /// Whether it is for a proxy itself.
        for_proxy: bool,
        /// The number that is its connection's alone.
        nonce: Nonce,
    },
}

/// What `bytes`, the first of a connection, are.
#[must_use]
pub fn classify_first_bytes(bytes: &[u8]) -> FirstBytes {
    let prefix = prefix();
    let common = bytes.len().min(PREFIX_BYTES);
    if bytes[..common] != prefix[..common] {
        return FirstBytes::Other;
    }
    let Some((greeting, _)) = bytes.split_first_chunk::<HELLO_BYTES>() else { return FirstBytes::Unclear };
    let for_proxy = greeting[PREFIX_BYTES + VERSION_BYTES] == Purpose::Proxy.code();
    let mut nonce = [0; NONCE_BYTES];
    nonce.copy_from_slice(&greeting[HELLO_BYTES - NONCE_BYTES..]);
    FirstBytes::Hello { for_proxy, nonce: Nonce(nonce) }
}

fn prefix() -> [u8; PREFIX_BYTES] {
    let mut prefix = [0; PREFIX_BYTES];
    // A hello is far shorter than 256 bytes.
    prefix[0] = u8::try_from(PAYLOAD_BYTES).unwrap_or(u8::MAX);
    prefix[HEADER_BYTES - 1] = HELLO;
    prefix[HEADER_BYTES..].copy_from_slice(&MAGIC);
    prefix
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hello::ClientHello;

    const NONCE: Nonce = Nonce([7; 32]);

    fn hello(purpose: Purpose) -> Vec<u8> {
        ClientHello::start(purpose, NONCE, None).1
    }

    #[test]
    fn a_hello_is_known_by_its_purpose_and_nonce() {
        for (purpose, for_proxy) in
            [(Purpose::Control, false), (Purpose::Data, false), (Purpose::Proxy, true)]
        {
            let bytes = hello(purpose);
            assert_eq!(bytes.len(), HELLO_BYTES);
            assert_eq!(classify_first_bytes(&bytes), FirstBytes::Hello { for_proxy, nonce: NONCE });
            let longer = [&bytes[..], b"more"].concat();
            assert_eq!(classify_first_bytes(&longer), FirstBytes::Hello { for_proxy, nonce: NONCE });
        }
    }

    #[test]
    fn every_shorter_part_of_a_hello_is_unclear() {
        let bytes = hello(Purpose::Proxy);
        for length in 0..HELLO_BYTES {
            assert_eq!(classify_first_bytes(&bytes[..length]), FirstBytes::Unclear, "{length}");
        }
    }

    #[test]
    fn other_protocols_are_known_by_their_first_wrong_byte() {
        for bytes in [&b"GET / HTTP/1.1"[..], b"S", b"\x16\x03\x01", b"SSH-2.0-x", b"\x80\0\0\x28"] {
            assert_eq!(classify_first_bytes(bytes), FirstBytes::Other, "{bytes:?}");
        }
        for wrong in 0..PREFIX_BYTES {
            let mut bytes = hello(Purpose::Proxy);
            bytes[wrong] ^= 1;
            assert_eq!(classify_first_bytes(&bytes), FirstBytes::Other, "{wrong}");
        }
    }

    #[test]
    fn a_hello_of_another_version_is_still_one() {
        let mut bytes = hello(Purpose::Proxy);
        bytes[PREFIX_BYTES] ^= 0xff;
        assert_eq!(classify_first_bytes(&bytes), FirstBytes::Hello { for_proxy: true, nonce: NONCE });
    }
}
