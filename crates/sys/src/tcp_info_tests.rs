//! The counters of real loopback connections, and of kernels that answer less.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::net::UnixStream;

use super::*;
use crate::error::ErrorKind;
use narrows_testkit::tcp_pair;

const PAYLOAD_BYTES: usize = 3_000_017;

/// Sends the payload one way and one byte back, so that both sides know that all has arrived and was acknowledged.
fn exchanged() -> (TcpStream, TcpStream) {
    let (mut sender, mut receiver) = tcp_pair().unwrap();
    let reader = std::thread::spawn(move || {
        let mut payload = vec![0; PAYLOAD_BYTES];
        receiver.read_exact(&mut payload).unwrap();
        receiver.write_all(&[1]).unwrap();
        receiver
    });
    sender.write_all(&vec![7; PAYLOAD_BYTES]).unwrap();
    sender.read_exact(&mut [0]).unwrap();
    (sender, reader.join().unwrap())
}

#[test]
fn byte_counts_equal_what_was_sent() {
    let payload_bytes = PAYLOAD_BYTES as u64;
    let (sender, receiver) = exchanged();
    let (sent, received) = (TcpInfo::read(&sender).unwrap(), TcpInfo::read(&receiver).unwrap());
    assert_eq!(sent.bytes_sent.unwrap() - sent.bytes_retrans.unwrap(), payload_bytes);
    // The connecting side counts its SYN as one acknowledged byte.
    assert_eq!(sent.bytes_acked.unwrap(), payload_bytes + 1);
    assert_eq!(sent.bytes_received.unwrap(), 1);
    assert_eq!(received.bytes_received.unwrap(), payload_bytes);
    assert_eq!((sent.notsent_bytes, sent.unacked_segs), (Some(0), 0));
}

#[test]
fn a_connection_that_transferred_data_has_plausible_timing_and_segment_counts() {
    let (sender, _receiver) = exchanged();
    let read = TcpInfo::read(&sender).unwrap();
    assert_eq!(read.state, TcpState::Established);
    assert!(read.rtt_us > 0 && read.min_rtt_us.unwrap() < 1_000_000, "{read:?}");
    // A segment of the loopback interface has at most 64 KiB (its MTU is 65536 unless changed).
    let mss_bytes = u64::from(read.snd_mss_bytes);
    assert!(u64::from(read.data_segs_out.unwrap()) >= PAYLOAD_BYTES as u64 / mss_bytes, "{read:?}");
    assert!(read.segs_out.unwrap() >= read.data_segs_out.unwrap());
    assert_eq!(read.data_segs_in, Some(1));
    assert!(read.snd_cwnd_segs > 0 && read.snd_wnd_bytes.unwrap() > 0);
}

#[test]
fn a_receiver_that_does_not_read_leaves_bytes_unsent() {
    let (mut sender, receiver) = tcp_pair().unwrap();
    sender.set_nonblocking(true).unwrap();
    let chunk = vec![0; 1 << 20];
    while sender.write(&chunk).is_ok() {}
    let full = TcpInfo::read(&sender).unwrap();
    assert!(full.notsent_bytes.unwrap() > 0, "{full:?}");
    assert!(full.rcv_wnd_bytes.is_none_or(|window| window > 0));
    drop(receiver);
}

#[test]
fn a_peer_that_closed_is_seen_in_the_state() {
    let (sender, mut receiver) = exchanged();
    drop(sender);
    assert_eq!(receiver.read(&mut [0]).unwrap(), 0);
    let read = TcpInfo::read(&receiver).unwrap();
    assert_eq!(read.state, TcpState::CloseWait);
    // The FIN counts as one received byte.
    assert_eq!(read.bytes_received.unwrap(), PAYLOAD_BYTES as u64 + 1);
}

#[test]
fn a_listener_is_listening() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    assert_eq!(TcpInfo::read(&listener).unwrap().state, TcpState::Listening);
}

#[test]
fn what_is_not_tcp_is_refused_by_name() {
    let (one, _other) = UnixStream::pair().unwrap();
    assert_eq!(TcpInfo::read(&one).unwrap_err().kind(), ErrorKind::Unsupported);
    let file = std::fs::File::open("/proc/self/stat").unwrap();
    assert_eq!(TcpInfo::read(&file).unwrap_err().errno().name(), "ENOTSOCK");
}

#[test]
fn fields_beyond_an_older_kernels_answer_are_absent() {
    let raw = KernelTcpInfo {
        rtt: 250,
        bytes_acked: 9,
        busy_time: 8,
        snd_wnd: 7,
        flags: 0xff,
        ..Default::default()
    };
    // Linux 3.x answered 104 bytes, 4.8 ended at 160, 4.10 at 192, 5.4 at 232.
    let oldest = TcpInfo::from_kernel(&raw, 104);
    assert_eq!((oldest.rtt_us, oldest.bytes_acked, oldest.delivery_rate_app_limited), (250, None, None));
    let middle = TcpInfo::from_kernel(&raw, 192);
    assert_eq!((middle.bytes_acked, middle.busy_time_us, middle.bytes_sent), (Some(9), Some(8), None));
    assert_eq!(TcpInfo::from_kernel(&raw, 231).snd_wnd_bytes, None);
    assert_eq!(TcpInfo::from_kernel(&raw, 232).snd_wnd_bytes, Some(7));
}

#[test]
fn the_layout_is_the_kernels() {
    assert_eq!(offset_of!(KernelTcpInfo, total_retrans), 100);
    assert_eq!(offset_of!(KernelTcpInfo, bytes_acked), offset_of!(libc::tcp_info, tcpi_bytes_acked));
    assert_eq!(offset_of!(KernelTcpInfo, delivery_rate), offset_of!(libc::tcp_info, tcpi_delivery_rate));
    assert_eq!(offset_of!(KernelTcpInfo, bytes_sent), offset_of!(libc::tcp_info, tcpi_bytes_sent));
    assert_eq!(offset_of!(KernelTcpInfo, snd_wnd), offset_of!(libc::tcp_info, tcpi_snd_wnd));
    assert_eq!(offset_of!(KernelTcpInfo, rcv_wnd), offset_of!(libc::tcp_info, tcpi_rcv_wnd));
}
