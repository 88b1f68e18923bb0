//! Makes a TAP device: the one unsafe call of this package.
//!
//! The device lives as long as its descriptor. Source: Linux `Documentation/networking/tuntap.rst`.

use std::os::fd::OwnedFd;

use rustix::fs::{Mode, OFlags, open as open_file};
use rustix::io::Errno;
use rustix::ioctl::{Opcode, Setter, ioctl, opcode};

/// `TUNSETIFF` of `linux/if_tun.h`, declared there with the size of an int although it takes an `ifreq`.
const TUNSETIFF: Opcode = opcode::write::<i32>(b'T', 202);
/// Ethernet frames, without the four bytes of packet information in front (`linux/if_tun.h`).
const IFF_TAP_AND_NO_PI: u16 = 0x0002 | 0x1000;
/// `IFNAMSIZ`, with the closing zero.
const NAME_BYTES: usize = 16;

/// `struct ifreq` of linux/if.h, as far as this call uses its union.
#[repr(C, align(8))]
#[derive(Debug)]
struct InterfaceRequest {
    name: [u8; NAME_BYTES],
    flags: u16,
    unused: [u8; 22],
}

const _: () = assert!(size_of::<InterfaceRequest>() == 40, "struct ifreq has 40 bytes on 64-bit machines");

/// A new TAP device of this name, as a descriptor that does not block.
pub(crate) fn open(name: &str) -> Result<OwnedFd, Errno> {
    let mut request = InterfaceRequest { name: [0; NAME_BYTES], flags: IFF_TAP_AND_NO_PI, unused: [0; 22] };
    if name.is_empty() || name.len() >= NAME_BYTES {
        return Err(Errno::INVAL);
    }
    request.name[..name.len()].copy_from_slice(name.as_bytes());
    let device = open_file("/dev/net/tun", OFlags::RDWR | OFlags::NONBLOCK | OFlags::CLOEXEC, Mode::empty())?;
    // SAFETY: TUNSETIFF reads a `struct ifreq` (asserted: its size) through the pointer and copies one back.
    // `Setter` owns the value for the whole call and passes a pointer derived from a mutable reference.
    unsafe { ioctl(&device, Setter::<TUNSETIFF, InterfaceRequest>::new(request))? };
    Ok(device)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_request_number_is_the_kernels() {
        // printf of TUNSETIFF compiled against linux/if_tun.h on x86-64.
        assert_eq!(TUNSETIFF, 0x4004_54ca);
    }

    #[test]
    fn a_name_of_sixteen_bytes_is_refused() {
        assert_eq!(open("a234567890123456").unwrap_err(), Errno::INVAL);
    }
}
