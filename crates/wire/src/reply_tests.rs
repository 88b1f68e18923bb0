//! What the reading of replies promises.

use super::*;
use proptest::prelude::*;

fn reply(kind: RequestKind, tag: u32, status: u32, length_bytes: u32) -> [u8; HEADER_BYTES] {
    ReplyHeader { kind, tag, status, length_bytes }.encode()
}

fn decoder_of(asked: &[(RequestKind, u32)]) -> (ReplyDecoder, Vec<u32>) {
    let mut decoder = ReplyDecoder::new(u32::try_from(asked.len()).unwrap());
    let tags = asked.iter().map(|(kind, length)| decoder.sent(*kind, *length).unwrap()).collect();
    (decoder, tags)
}

#[test]
fn no_more_may_be_sent_than_was_granted() {
    let (mut decoder, tags) = decoder_of(&[(RequestKind::Sync, 0)]);
    assert_eq!((decoder.room(), decoder.in_flight()), (0, 1));
    assert_eq!(decoder.sent(RequestKind::Sync, 0), None);
    decoder.next(&mut &reply(RequestKind::Sync, tags[0], 0, 0)[..]).unwrap();
    assert!(decoder.sent(RequestKind::Sync, 0).is_some());
}

#[test]
fn what_was_not_asked_is_a_breach() {
    for (kind, tag, status, length) in [
        (RequestKind::Read, 7, 0, 1),
        (RequestKind::Write, 0, 0, 1),
        (RequestKind::Read, 0, 0, 11),
        (RequestKind::Read, 0, 5, 1),
    ] {
        let (mut decoder, _) = decoder_of(&[(RequestKind::Read, 10)]);
        let error = decoder.next(&mut &reply(kind, tag, status, length)[..]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Protocol);
        assert_eq!(decoder.next(&mut &[0; 64][..]).unwrap_err(), error, "a breach stays");
    }
}

#[test]
fn the_same_reply_twice_is_a_breach() {
    let (mut decoder, tags) = decoder_of(&[(RequestKind::Write, 10)]);
    let bytes = reply(RequestKind::Write, tags[0], 0, 10);
    assert!(decoder.next(&mut &bytes[..]).is_ok());
    assert!(decoder.next(&mut &bytes[..]).is_err());
}

#[test]
fn a_farewell_is_reported_in_the_servers_words() {
    let (mut decoder, _) = decoder_of(&[(RequestKind::Read, 10)]);
    let bytes = encode_farewell("the time is over");
    assert_eq!(decoder.next(&mut &bytes[..20]), Ok(None));
    let error = decoder.next(&mut bytes.as_slice()).unwrap_err();
    assert_eq!(
        (error.kind(), error.to_string().as_str()),
        (ErrorKind::Refused(Refusal::Ended), "the time is over")
    );
}

proptest! {
    #[test]
    fn any_split_of_the_stream_gives_the_same_replies(
        asked in prop::collection::vec((prop::sample::select(vec![RequestKind::Read, RequestKind::Write, RequestKind::Sync]), 0_u32..80), 1..20),
        portions in prop::collection::vec(1_usize..60, 1..40),
    ) {
        let (mut decoder, tags) = decoder_of(&asked);
        let mut bytes = Vec::new();
        for ((kind, length), tag) in asked.iter().zip(&tags) {
            bytes.extend_from_slice(&reply(*kind, *tag, 0, *length));
            if *kind == RequestKind::Read {
                bytes.extend(vec![u8::try_from(*tag).unwrap(); index(*length)]);
            }
        }
        let mut done = vec![0; asked.len()];
        let mut kept: Vec<u8> = Vec::new();
        let mut rest = bytes.as_slice();
        for portion in portions.iter().cycle() {
            if rest.is_empty() { break; }
            let (now, later) = rest.split_at((*portion).min(rest.len()));
            kept.extend_from_slice(now);
            rest = later;
            let mut input = kept.as_slice();
            while let Some(piece) = decoder.next(&mut input).unwrap() {
                match piece {
                    ReplyPiece::Reply { header, complete } => {
                        prop_assert_eq!((header.kind, header.length_bytes), asked[index(header.tag)]);
                        done[index(header.tag)] += u32::from(complete);
                    }
                    ReplyPiece::Payload { bytes, tag, last, .. } => {
                        prop_assert!(bytes.iter().all(|byte| u32::from(*byte) == tag));
                        done[index(tag)] += u32::from(last);
                    }
                }
            }
            kept = input.to_vec();
        }
        prop_assert!(done.iter().all(|count| *count == 1));
        prop_assert_eq!(decoder.in_flight(), 0);
    }

    #[test]
    fn arbitrary_bytes_never_panic_and_never_give_more_than_was_asked(
        bytes in prop::collection::vec(prop_oneof![4 => Just(0_u8), 1 => 0_u8..5, 1 => any::<u8>()], 0..400),
    ) {
        let (mut decoder, _) = decoder_of(&[(RequestKind::Read, 40), (RequestKind::Write, 9), (RequestKind::Read, 3), (RequestKind::Sync, 0)]);
        let mut input = bytes.as_slice();
        let mut payload = 0;
        while let Ok(Some(piece)) = decoder.next(&mut input) {
            if let ReplyPiece::Payload { bytes, .. } = piece {
                payload += bytes.len();
            }
        }
        prop_assert!(payload <= 43);
    }
}
