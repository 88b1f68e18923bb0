//! What the reading of requests promises.

use super::*;
use crate::error::ErrorKind;
use proptest::prelude::*;

const LIMITS: RequestLimits =
    RequestLimits { objects: 3, block_bytes: 100, credits: Credits { requests: 1000, bytes: 100_000 } };

#[derive(Debug, Clone, PartialEq)]
struct Whole {
    header: RequestHeader,
    payload: Vec<u8>,
}

fn header() -> impl Strategy<Value = RequestHeader> {
    let kind = prop::sample::select(vec![
        RequestKind::Read,
        RequestKind::Write,
        RequestKind::Sync,
        RequestKind::Remove,
    ]);
    (kind, any::<u32>(), 0_u32..3, 0_u32..=100, any::<u64>()).prop_map(
        |(kind, tag, object, length_bytes, offset_bytes)| RequestHeader {
            kind,
            tag,
            object,
            length_bytes,
            offset_bytes,
        },
    )
}

fn whole() -> impl Strategy<Value = Whole> {
    (header(), any::<u8>()).prop_map(|(header, fill)| Whole {
        header,
        payload: vec![fill; usize::try_from(header.payload_bytes()).unwrap()],
    })
}

/// Feeds portions, keeping what the decoder leaves, as a connection does.
fn read_all(decoder: &mut RequestDecoder, bytes: &[u8], portions: &[usize]) -> Result<Vec<Whole>> {
    let mut got: Vec<Whole> = Vec::new();
    let mut kept: Vec<u8> = Vec::new();
    let mut rest = bytes;
    for portion in portions.iter().cycle() {
        if rest.is_empty() {
            break;
        }
        let (now, later) = rest.split_at((*portion).min(rest.len()));
        kept.extend_from_slice(now);
        rest = later;
        let mut input = kept.as_slice();
        while let Some(piece) = decoder.next(&mut input)? {
            match piece {
                RequestPiece::Request(header) => got.push(Whole { header, payload: Vec::new() }),
                RequestPiece::Payload { bytes, at_bytes, last } => {
                    let whole = got.last_mut().unwrap();
                    assert_eq!(whole.payload.len(), usize::try_from(at_bytes).unwrap());
                    whole.payload.extend_from_slice(bytes);
                    assert_eq!(
                        last,
                        whole.payload.len() == usize::try_from(whole.header.length_bytes).unwrap()
                    );
                }
            }
        }
        assert!(input.len() < HEADER_BYTES);
        kept = input.to_vec();
    }
    Ok(got)
}

fn read(object: u32, length_bytes: u32) -> [u8; HEADER_BYTES] {
    RequestHeader { kind: RequestKind::Read, tag: 1, object, length_bytes, offset_bytes: 0 }.encode()
}

#[test]
fn an_object_that_was_not_opened_is_a_breach() {
    let mut decoder = RequestDecoder::new(LIMITS);
    assert_eq!(decoder.next(&mut &read(3, 1)[..]).unwrap_err().kind(), ErrorKind::Protocol);
}

#[test]
fn a_length_above_the_agreed_block_is_a_breach() {
    let mut decoder = RequestDecoder::new(LIMITS);
    assert!(decoder.next(&mut &read(0, 101)[..]).is_err());
}

#[test]
fn credits_are_used_up_by_requests_and_by_bytes_and_come_back_with_answers() {
    let limits = RequestLimits { credits: Credits { requests: 2, bytes: 150 }, ..LIMITS };
    let mut decoder = RequestDecoder::new(limits);
    assert!(decoder.next(&mut &read(0, 100)[..]).is_ok());
    assert!(decoder.next(&mut &read(0, 51)[..]).is_err());
    assert!(decoder.next(&mut &read(0, 50)[..]).is_ok());
    assert!(decoder.next(&mut &read(0, 0)[..]).is_err());
    decoder.answered(Credits { requests: 1, bytes: 100 });
    assert!(decoder.next(&mut &read(0, 100)[..]).is_ok());
}

proptest! {
    #[test]
    fn any_split_of_the_stream_gives_the_same_requests(
        sent in prop::collection::vec(whole(), 0..20),
        portions in prop::collection::vec(1_usize..60, 1..40),
    ) {
        let bytes: Vec<u8> = sent.iter().flat_map(|whole| [&whole.header.encode()[..], &whole.payload].concat()).collect();
        let got = read_all(&mut RequestDecoder::new(LIMITS), &bytes, &portions).unwrap();
        prop_assert_eq!(got, sent);
    }

    #[test]
    fn arbitrary_bytes_never_panic_and_never_pass_the_limits(
        bytes in prop::collection::vec(prop_oneof![4 => Just(0_u8), 1 => 0_u8..5, 1 => any::<u8>()], 0..600),
        portions in prop::collection::vec(1_usize..60, 1..40),
    ) {
        let limits = RequestLimits { credits: Credits { requests: 4, bytes: 200 }, ..LIMITS };
        let mut decoder = RequestDecoder::new(limits);
        if let Ok(got) = read_all(&mut decoder, &bytes, &portions) {
            prop_assert!(got.iter().all(|whole| whole.header.object < 3 && whole.header.length_bytes <= 100));
        }
        prop_assert!(decoder.in_flight().requests <= 4 && decoder.in_flight().bytes <= 200);
    }
}
