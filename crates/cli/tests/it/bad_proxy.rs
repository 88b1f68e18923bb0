//! `narrows proxy` with impossible options, and peers that are not what they should be: each is reported with what to
//! do, and ends with its code.

use crate::support::running::Served;
use crate::support::{Surroundings, run, strangers_folder};
use narrows_testkit::closed_port::ClosedPort;
use narrows_wire::hello::{ClientHello, Nonce, Purpose};
use std::fs;
use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::Stdio;
use std::thread::JoinHandle;
use std::time::Duration;

#[test]
fn bad_words_end_with_code_2_and_say_what_to_do() {
    let folder = strangers_folder();
    fs::write(folder.path().join("short"), "x").unwrap();
    let cases: [(&[&str], &[&str]); 10] = [
        (&[], &["--to"]),
        (&["--to", "nowhere"], &["nowhere", "HOST:PORT"]),
        (&["--to", "no.such.host.invalid:80"], &["no.such.host.invalid", "HOST:PORT"]),
        (&["--to", "127.0.0.1:0"], &["a port from 1 to 65535"]),
        (&["--to", "127.0.0.1:9", "--listen", "127.0.0.1:9"], &["own listening address", "behind it"]),
        (&["--to", "127.0.0.1:9", "--listen", "0.0.0.0:0"], &["--token-file", "--open"]),
        (&["--to", "127.0.0.1:9", "--buffer", "0"], &["--buffer", "above 0"]),
        (&["--to", "127.0.0.1:9", "--buffer", "65MiB"], &["64 MiB"]),
        (&["--to", "127.0.0.1:9", "--token-file", "short"], &["token", "16"]),
        (&["--to", "127.0.0.1:9", "--send-buffer", "2GiB"], &["socket buffer", "1 GiB"]),
    ];
    for (words, parts) in cases {
        let seen = run(folder.path(), &[&["proxy"], words].concat());
        seen.assert_said(2, parts);
        assert_eq!(seen.stdout, "", "{words:?}");
    }
}

#[test]
fn a_port_in_use_ends_with_code_3() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let folder = strangers_folder();
    let seen = run(folder.path(), &["proxy", "--listen", &address, "--to", "127.0.0.1:9"]);
    seen.assert_said(3, &[&address, "choose another port"]);
}

#[test]
fn a_next_hop_that_refuses_is_reported_to_who_asked_with_its_address() {
    let folder = strangers_folder();
    let closed_port = ClosedPort::bind().unwrap();
    let closed = closed_port.address().to_string();
    let proxy = Served::of("proxy", folder.path(), &["--to", &closed]);
    let before = Surroundings::of(folder.path());
    let target = format!("tcp://{}/memory", proxy.address);
    for words in [&["check", &target][..], &["relay", "--server", &proxy.address]] {
        let seen = run(folder.path(), words);
        seen.assert_said(3, &[&proxy.address, "the proxy cannot connect to", &closed, "Connection refused"]);
        seen.assert_no_result();
    }
    before.assert_same(folder.path());
}

#[test]
fn proxies_that_lead_to_each_other_are_reported_as_a_loop() {
    let folder = strangers_folder();
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    let first = Served::of("proxy", folder.path(), &["--to", &free]);
    let back = ["--to", first.address.as_str()];
    let _second = Served::at(&free, "proxy", folder.path(), &back, Stdio::inherit());
    let seen = run(folder.path(), &["check", &format!("tcp://{}/memory", first.address)]);
    seen.assert_said(2, &[&first.address, "leads back to itself", "--to"]).assert_no_result();
}

/// `VmRSS` of proc(5).
fn resident_bytes(pid: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().strip_suffix(" kB").unwrap().parse::<u64>().unwrap() * 1024
}

/// Connects, sends a byte, and gets it back: whether the whole path was there.
fn passes(proxy: &str, listener: &TcpListener) -> bool {
    let mut client = TcpStream::connect(proxy).unwrap();
    if client.write_all(b"x").is_err() {
        return false;
    }
    (0..1000).any(|_| {
        std::thread::yield_now();
        listener.accept().is_ok()
    })
}

#[test]
fn a_flood_of_connections_is_reported_in_few_lines_and_takes_little_memory() {
    const FLOOD: usize = 2000;
    let folder = strangers_folder();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let to = listener.local_addr().unwrap().to_string();
    let heard = fs::File::create(folder.path().join("heard")).unwrap();
    let words = ["--to", &to, "--max-connections", "8", "--mode", "copy"];
    let proxy = Served::at("127.0.0.1:0", "proxy", folder.path(), &words, heard.into());
    let idle_bytes = resident_bytes(proxy.pid());
    let flood: Vec<_> = (0..FLOOD).filter_map(|_| TcpStream::connect(&proxy.address).ok()).collect();
    let refused_count = flood.iter().filter(|socket| is_reset(socket)).count();
    assert!(refused_count >= flood.len() - 8, "{refused_count} of {}", flood.len());
    let grown_bytes = resident_bytes(proxy.pid()).saturating_sub(idle_bytes);
    assert!(grown_bytes < 8 << 20, "grown by {grown_bytes} bytes");
    drop(flood);
    let has_room = (0..5000).any(|_| {
        while listener.accept().is_ok() {}
        passes(&proxy.address, &listener)
    });
    assert!(has_room, "the proxy takes nobody any more");
    let heard = fs::read_to_string(folder.path().join("heard")).unwrap();
    for words in ["--max-connections", "check that the proxies do not form a loop"] {
        assert!(heard.contains(words), "{heard}");
    }
    assert!(heard.lines().count() < FLOOD / 10, "{heard}");
}

/// Whether the connection is reset within a second.
fn is_reset(socket: &TcpStream) -> bool {
    socket.set_read_timeout(Some(Duration::from_secs(1))).unwrap();
    let mut socket = socket;
    socket.read(&mut [0]).is_err_and(|error| error.kind() == ErrorKind::ConnectionReset)
}

/// A peer that answers a hello with what `answer` makes of it, and then reads to the end.
fn peer(answer: impl FnOnce(Vec<u8>) -> Vec<u8> + Send + 'static) -> (String, JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let thread = std::thread::spawn(move || {
        let (mut socket, _) = listener.accept().unwrap();
        let mut hello = vec![0; 512];
        let length = socket.read(&mut hello).unwrap();
        hello.truncate(length);
        drop(socket.write_all(&answer(hello)));
        drop(socket.read_to_end(&mut Vec::new()));
    });
    (address, thread)
}

#[test]
fn a_proxy_of_another_version_is_reported_with_both_versions() {
    let (address, thread) = peer(|mut hello| {
        // The same greeting as a challenge, of version 999.
        hello[4] = 2;
        hello[13..15].copy_from_slice(&999_u16.to_le_bytes());
        hello[15] = 0;
        hello
    });
    let folder = strangers_folder();
    let seen = run(folder.path(), &["relay", "--proxy", &address]);
    seen.assert_said(3, &[&address, "version 999", "use the same version of narrows on both sides"])
        .assert_no_result();
    thread.join().unwrap();
}

#[test]
fn a_proxy_that_misreports_a_length_or_is_none_is_reported() {
    for answer in
        [[0xff; 64], [0; 64], *b"HTTP/1.1 400 Bad Request\r\n\r\nThis is a server of another kind...."]
    {
        let (address, thread) = peer(move |_| answer.to_vec());
        let folder = strangers_folder();
        let before = Surroundings::of(folder.path());
        let seen = run(folder.path(), &["relay", "--proxy", &address]);
        seen.assert_said(3, &[&address, "is that of a `narrows proxy`"]).assert_no_result();
        before.assert_same(folder.path());
        thread.join().unwrap();
    }
}

/// A client's hello for a proxy itself, of a version.
fn hello(version: u16) -> Vec<u8> {
    let (_, mut hello) = ClientHello::start(Purpose::Proxy, Nonce([5; 32]), None);
    hello[13..15].copy_from_slice(&version.to_le_bytes());
    hello
}

/// What the proxy says until it closes.
fn last_words(proxy: &str, said: &[&[u8]]) -> String {
    let mut client = TcpStream::connect(proxy).unwrap();
    client.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    for bytes in said {
        // It may have closed before all was said.
        drop(client.write_all(bytes));
    }
    let mut words = Vec::new();
    client.read_to_end(&mut words).unwrap();
    String::from_utf8_lossy(&words).into_owned()
}

#[test]
fn a_client_of_another_version_or_that_misreports_a_length_is_reported_and_stored_in_no_memory() {
    let folder = strangers_folder();
    let proxy = Served::of("proxy", folder.path(), &["--to", "127.0.0.1:9"]);
    let words = last_words(&proxy.address, &[&hello(999)]);
    assert!(words.contains("version 999"), "{words}");
    let idle_bytes = resident_bytes(proxy.pid());
    let whole = hello(narrows_wire::hello::VERSION);
    for header in [[0xff, 0xff, 0xff, 0xff, 16], [0, 0, 0, 0x40, 16], [0xff, 0xff, 0xff, 0x7f, 32]] {
        let words = last_words(&proxy.address, &[&whole, &header, &vec![0; 100_000]]);
        assert!(words.contains("allowed"), "{words:?}");
    }
    let grown_bytes = resident_bytes(proxy.pid()).saturating_sub(idle_bytes);
    assert!(grown_bytes < 8 << 20, "grown by {grown_bytes} bytes");
    // It keeps running: the next client that asks is answered.
    let words = last_words(&proxy.address, &[&hello(999)]);
    assert!(words.contains("version 999"), "{words}");
}
