//! What the frame codec promises.

use super::*;
use proptest::prelude::*;

fn frames_of(decoder: &mut Decoder) -> Vec<Frame> {
    std::iter::from_fn(|| decoder.next().unwrap()).collect()
}

#[test]
fn a_frame_is_length_kind_and_payload() {
    let mut out = Vec::new();
    encode(7, b"abc", &mut out).unwrap();
    assert_eq!(out, [3, 0, 0, 0, 7, b'a', b'b', b'c']);
}

#[test]
fn a_claimed_length_above_the_limit_is_refused_at_once_and_for_good() {
    let mut decoder = Decoder::new(100);
    decoder.push(&101_u32.to_le_bytes());
    let error = decoder.next().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Protocol);
    decoder.push(&[0; 1000]);
    assert_eq!(decoder.next().unwrap_err(), error);
    assert_eq!(decoder.waiting_bytes(), 0);
}

#[test]
fn a_claimed_length_within_the_limit_allocates_nothing_before_its_bytes_arrive() {
    let mut decoder = Decoder::new(PAYLOAD_BYTES_MAX);
    decoder.push(&(1_u32 << 24).to_le_bytes());
    assert_eq!(decoder.next(), Ok(None));
    assert!(decoder.buffer.capacity() < 64);
}

#[test]
fn a_payload_above_the_limit_is_not_encoded() {
    let mut out = vec![1];
    let error = encode(0, &vec![0; PAYLOAD_BYTES_MAX + 1], &mut out).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TooLarge);
    assert_eq!(out, [1]);
}

#[test]
fn what_follows_the_last_frame_is_given_back() {
    let mut bytes = Vec::new();
    encode(1, b"x", &mut bytes).unwrap();
    bytes.extend_from_slice(b"raw");
    let mut decoder = Decoder::new(10);
    decoder.push(&bytes);
    assert!(decoder.next().unwrap().is_some());
    assert_eq!(decoder.into_rest(), b"raw");
}

proptest! {
    #[test]
    fn any_split_of_the_stream_gives_the_same_frames(
        sent in prop::collection::vec((any::<u8>(), prop::collection::vec(any::<u8>(), 0..200)), 0..20),
        portions in prop::collection::vec(1_usize..50, 1..50),
    ) {
        let mut bytes = Vec::new();
        for (kind, payload) in &sent {
            encode(*kind, payload, &mut bytes).unwrap();
        }
        let mut decoder = Decoder::new(200);
        let mut got = Vec::new();
        let mut rest = bytes.as_slice();
        for portion in portions.iter().cycle() {
            if rest.is_empty() {
                break;
            }
            let (now, later) = rest.split_at((*portion).min(rest.len()));
            decoder.push(now);
            got.extend(frames_of(&mut decoder));
            rest = later;
        }
        let sent: Vec<Frame> = sent.into_iter().map(|(kind, payload)| Frame { kind, payload }).collect();
        prop_assert_eq!(got, sent);
        prop_assert_eq!(decoder.waiting_bytes(), 0);
    }

    #[test]
    fn arbitrary_bytes_neither_panic_nor_outgrow_what_has_arrived(
        portions in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..300), 0..20),
    ) {
        let mut decoder = Decoder::new(128);
        let mut arrived = 0;
        for portion in &portions {
            decoder.push(portion);
            arrived += portion.len();
            while let Ok(Some(frame)) = decoder.next() {
                prop_assert!(frame.payload.len() <= 128);
            }
            prop_assert!(decoder.buffer.capacity() <= (2 * arrived).max(64));
        }
    }
}
