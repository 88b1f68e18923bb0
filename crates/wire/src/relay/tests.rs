//! Messages arrive as they were sent, what cannot be is refused, and nothing panics.

use super::*;
use crate::ErrorKind;
use crate::error::Refusal;
use crate::frame::{Decoder, PAYLOAD_BYTES_MAX};
use narrows_model::relay::{BUFFER_BYTES_MAX, CallSizes, RelayTransport, TOTAL_BYTES_MAX};
use proptest::prelude::*;
use std::collections::BTreeMap;

const SOCKETS: RelaySockets = RelaySockets {
    transport: RelayTransport::Tcp,
    no_delay: false,
    send_buffer: None,
    receive_buffer: None,
    wait_all: false,
};

fn hop() -> Hop {
    Hop { place: HopAddress::Tcp { host: "::1".into(), port: 7 }, ticket: Ticket([3; TICKET_BYTES]) }
}

fn prepare(role: Role) -> RoleSpec {
    RoleSpec {
        role,
        buffer: Bytes(64),
        total: Bytes(6400),
        sockets: SOCKETS,
        forward: ForwardMode::Copy,
        content_key: Some(1),
        next: (role != Role::Server).then(hop),
        silence_ns: Nanos(1),
    }
}

fn done(role: Role, reads: &[(u64, u64)], writes: &[(u64, u64)]) -> RoleReport {
    let calls =
        |sizes: &[(u64, u64)]| CallSizes { by_bytes: sizes.iter().copied().collect::<BTreeMap<_, _>>() };
    RoleReport {
        output: RelayRoleOutput {
            role,
            host: "h".into(),
            machine: None,
            reads: calls(reads),
            writes: calls(writes),
            elapsed_ns: Nanos(5),
            user_ns: Nanos(1),
            system_ns: Nanos(1),
            segments: None,
            granted_send_buffer: None,
            granted_receive_buffer: None,
        },
        trial_elapsed_ns: Some(Nanos(6)),
        content_fault: None,
    }
}

fn passed(bytes: &[u8]) -> Frame {
    let mut decoder = Decoder::new(PAYLOAD_BYTES_MAX);
    decoder.push(bytes);
    decoder.next().unwrap().unwrap()
}

#[test]
fn messages_arrive_as_they_were_sent() {
    let asked = RoleCommand::Prepare(Box::new(prepare(Role::Proxy)));
    assert_eq!(RoleCommand::decode(passed(&asked.encode().unwrap())).unwrap(), asked);
    for answer in [
        RoleReply::Ready { listens: Some(hop()) },
        RoleReply::Done(Box::new(done(Role::Server, &[(64, 100)], &[]))),
        RoleReply::Failed { message: "m".into() },
    ] {
        assert_eq!(RoleReply::decode(passed(&answer.encode().unwrap())).unwrap(), answer);
    }
    for word in [RelaySignal::Ready, RelaySignal::Received(Bytes(u64::MAX))] {
        assert_eq!(RelaySignal::decode(word.encode()).unwrap(), word);
    }
    assert!(RelaySignal::decode([0; SIGNAL_BYTES]).is_err());
    assert!(RelaySignal::decode(*b"HTTP/1.1 ").is_err());
}

#[test]
fn what_is_beyond_a_limit_is_refused_before_anything_is_made_of_it() {
    prepare(Role::Client).check().unwrap();
    let mut splices = prepare(Role::Proxy);
    (splices.forward, splices.sockets.wait_all) = (ForwardMode::Splice, true);
    assert!(splices.check().is_err(), "a proxy that splices has no buffer to fill");
    let wrong: [fn(&mut RoleSpec); 9] = [
        |p| p.buffer = Bytes(0),
        |p| p.buffer = Bytes(BUFFER_BYTES_MAX.0 + 1),
        |p| p.total = Bytes(0),
        |p| p.total = Bytes(TOTAL_BYTES_MAX.0 + 64),
        |p| p.total = Bytes(6401),
        |p| p.sockets.send_buffer = Some(Bytes(u64::MAX)),
        |p| p.next = None,
        |p| p.silence_ns = Nanos(u64::MAX),
        |p| p.role = Role::Server,
    ];
    for change in wrong {
        let mut asked = prepare(Role::Client);
        change(&mut asked);
        assert_eq!(asked.check().unwrap_err().kind(), ErrorKind::Refused(Refusal::Unsupported), "{asked:?}");
        let sent = RoleCommand::Prepare(Box::new(asked)).encode().unwrap();
        assert!(RoleCommand::decode(passed(&sent)).is_err());
    }
    let mut elsewhere = prepare(Role::Client);
    elsewhere.sockets.transport = RelayTransport::Unix;
    assert!(elsewhere.check().is_err(), "a TCP port is no Unix socket");
}

#[test]
fn a_report_that_contradicts_itself_is_found() {
    done(Role::Client, &[], &[(64, 100)]).check(&prepare(Role::Client)).unwrap();
    done(Role::Server, &[(32, 2), (64, 99)], &[]).check(&prepare(Role::Server)).unwrap();
    for (lie, word) in [
        (done(Role::Server, &[], &[(64, 100)]), "a different role"),
        (done(Role::Client, &[(64, 1)], &[(64, 100)]), "reads of a client"),
        (done(Role::Client, &[], &[(65, 1)]), "65 bytes with a buffer of 64"),
        (done(Role::Client, &[], &[(64, u64::MAX)]), "more bytes than there are"),
        (done(Role::Client, &[], &[(1, TOTAL_BYTES_MAX.0), (2, TOTAL_BYTES_MAX.0)]), "more bytes"),
    ] {
        let error = lie.check(&prepare(Role::Client)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Protocol);
        assert!(error.to_string().contains(word), "{error}");
    }
    assert!(done(Role::Proxy, &[(64, 2)], &[(64, 1)]).check(&prepare(Role::Proxy)).is_err());
    let mut early = done(Role::Client, &[], &[(64, 100)]);
    early.trial_elapsed_ns = Some(Nanos(4));
    assert!(early.check(&prepare(Role::Client)).is_err());
    let mut unprintable = done(Role::Server, &[], &[]);
    unprintable.output.host = "\u{1b}[2J".into();
    assert!(unprintable.check(&prepare(Role::Server)).is_err());
}

proptest! {
    #[test]
    fn arbitrary_payloads_never_panic(kind in 10_u8..14, payload in prop::collection::vec(any::<u8>(), 0..300)) {
        let frame = Frame { kind, payload };
        let _ = RoleCommand::decode(frame.clone());
        let _ = RoleReply::decode(frame);
    }

    #[test]
    fn a_message_with_a_byte_changed_never_panics(at in 0_usize..2000, byte: u8) {
        let mut frame = passed(&RoleReply::Done(Box::new(done(Role::Server, &[(64, 100)], &[]))).encode().unwrap());
        let at = at % frame.payload.len();
        frame.payload[at] = byte;
        if let Ok(RoleReply::Done(done)) = RoleReply::decode(frame) {
            let _ = done.check(&prepare(Role::Server));
        }
    }
}
