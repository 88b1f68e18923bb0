//! What the hello promises.

use super::*;
use crate::frame::Decoder;
use proptest::prelude::*;

const CLIENT: Nonce = Nonce([1; 32]);
const SERVER: Nonce = Nonce([2; 32]);

fn key(text: &str) -> impl Into<Option<TokenKey>> + use<> {
    TokenKey::from_token(text.as_bytes())
}

fn frame(bytes: &[u8]) -> Frame {
    let mut decoder = Decoder::new(PAYLOAD_BYTES_MAX);
    decoder.push(bytes);
    decoder.next().unwrap().unwrap()
}

/// Both sides' ends, and every byte that passed.
fn talk(
    client_key: impl Into<Option<TokenKey>>,
    server_key: impl Into<Option<TokenKey>>,
) -> (Result<()>, Result<()>, Vec<u8>) {
    let (client_key, server_key) = (client_key.into(), server_key.into());
    let (mut client, first) = ClientHello::start(Purpose::Data, CLIENT, client_key);
    let mut server = ServerHello::new(SERVER, server_key);
    let mut wire = first.clone();
    let mut to_server = first;
    let mut server_done;
    loop {
        let to_client = match server.receive(frame(&to_server)) {
            Ok(step) => {
                server_done = step.done;
                step.send
            }
            Err(error) => {
                let outcome = client.receive(frame(&refuse::encode(&error))).map(|_| ());
                return (outcome, Err(error), wire);
            }
        };
        wire.extend_from_slice(&to_client);
        match client.receive(frame(&to_client)) {
            Ok(HelloStep { done: true, .. }) => {
                assert_eq!(server.purpose(), Some(Purpose::Data));
                return (Ok(()), if server_done { Ok(()) } else { Err(Error::protocol("unfinished")) }, wire);
            }
            Ok(step) => to_server = step.send,
            Err(error) => return (Err(error), Ok(()), wire),
        }
        wire.extend_from_slice(&to_server);
    }
}

#[test]
fn without_tokens_two_frames_are_enough() {
    let (client, server, wire) = talk(None, None);
    assert_eq!((client, server), (Ok(()), Ok(())));
    assert_eq!(wire.len(), 2 * (frame::HEADER_BYTES + 44));
}

#[test]
fn the_same_token_lets_both_sides_in_and_is_not_on_the_wire() {
    let token = "correct horse battery";
    let (client, server, wire) = talk(key(token), key(token));
    assert_eq!((client, server), (Ok(()), Ok(())));
    assert!(!wire.windows(token.len()).any(|part| part == token.as_bytes()));
}

#[test]
fn a_wrong_token_is_refused_and_both_sides_know_why() {
    let (client, server, _) = talk(key("one"), key("two"));
    assert_eq!(client.unwrap_err().kind(), ErrorKind::Token);
    assert_eq!(server.unwrap_err().kind(), ErrorKind::Token);
}

#[test]
fn a_missing_token_is_an_error_of_the_side_that_misses_it() {
    assert_eq!(talk(None, key("x")).0.unwrap_err().kind(), ErrorKind::Token);
    assert_eq!(talk(key("x"), None).0.unwrap_err().kind(), ErrorKind::Token);
}

#[test]
fn a_proof_sent_back_to_its_sender_is_refused() {
    let (mut client, _) = ClientHello::start(Purpose::Control, CLIENT, key("x").into());
    let step = client.receive(frame(&greeting(CHALLENGE, VERSION, 1, SERVER))).unwrap();
    let mut echoed = frame(&step.send);
    echoed.kind = SERVER_PROOF;
    assert_eq!(client.receive(echoed).unwrap_err().kind(), ErrorKind::Token);
}

#[test]
fn another_version_is_a_clear_error_on_both_sides() {
    let mut server = ServerHello::new(SERVER, None);
    let error = server.receive(frame(&greeting(HELLO, 9, 1, CLIENT))).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Version);
    assert!(error.to_string().contains("version 9") && error.to_string().contains("version 2"), "{error}");
    let (mut client, _) = ClientHello::start(Purpose::Data, CLIENT, None);
    assert_eq!(client.receive(frame(&refuse::encode(&error))).unwrap_err(), error);
    let (mut client, _) = ClientHello::start(Purpose::Data, CLIENT, None);
    assert_eq!(
        client.receive(frame(&greeting(CHALLENGE, 9, 0, SERVER))).unwrap_err().kind(),
        ErrorKind::Version
    );
}

#[test]
fn a_proof_is_the_hmac_of_label_version_purpose_and_nonces() {
    // Python: hmac.new(sha256(b"narrows endpoint token key 1\0" + b"x").digest(),
    //   b"narrows endpoint proof of client\0" + b"\x02\x00" + b"\x02" + b"\x01" * 32 + b"\x02" * 32, sha256)
    let transcript = Transcript { purpose: Purpose::Data, client_nonce: CLIENT, server_nonce: SERVER };
    let proof = TokenKey::from_token(b"x").proof(Prover::Client, &transcript);
    assert_eq!(
        proof,
        [
            0xcb, 0xf6, 0x49, 0xb7, 0xba, 0xf3, 0x62, 0xb4, 0x74, 0xb3, 0x86, 0xff, 0x1e, 0x87, 0xd1, 0x0d,
            0x99, 0xac, 0x5f, 0xfb, 0x26, 0x2d, 0x40, 0xe4, 0x47, 0x98, 0xdb, 0x3d, 0xdb, 0xf4, 0xc0, 0xe3
        ]
    );
}

proptest! {
    #[test]
    fn arbitrary_frames_never_panic_and_never_let_anyone_in(
        frames in prop::collection::vec((0_u8..8, prop::collection::vec(any::<u8>(), 0..80)), 0..6),
    ) {
        let mut server = ServerHello::new(SERVER, key("x").into());
        let (mut client, _) = ClientHello::start(Purpose::Data, CLIENT, key("x").into());
        for (kind, payload) in frames {
            let frame = Frame { kind, payload };
            let let_in = server.receive(frame.clone()).is_ok_and(|step| step.done);
            prop_assert!(!let_in);
            prop_assert!(!client.receive(frame).is_ok_and(|step| step.done));
        }
    }

    #[test]
    fn a_hello_with_one_bit_changed_never_ends_with_both_sides_in(bit in 0_usize..(37 * 8)) {
        let (mut client, _) = ClientHello::start(Purpose::Data, CLIENT, key("x").into());
        let mut server = ServerHello::new(SERVER, key("x").into());
        let (_, first) = ClientHello::start(Purpose::Data, CLIENT, None);
        let challenge = server.receive(frame(&first)).unwrap();
        let mut proof = frame(&client.receive(frame(&challenge.send)).unwrap().send);
        prop_assume!(bit / 8 < proof.payload.len());
        proof.payload[bit / 8] ^= 1 << (bit % 8);
        prop_assert_eq!(server.receive(proof).unwrap_err().kind(), ErrorKind::Token);
    }
}
