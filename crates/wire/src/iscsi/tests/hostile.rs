//! PDUs of a hostile target: valid ones that are changed. None is a panic, and none decides how much memory is used.

use super::*;
use crate::hostile_memory::assert_bounded_memory;
use crate::iscsi::text::TEXT_BYTES_MAX;
use narrows_testkit::hostile::{HostileBytes, HostileCampaign};

/// A PDU of this kind with these data, and with numbers as targets send them.
fn pdu(kind: PduKind, fields: &[(usize, u8)], data: &[u8], digests: Digests) -> Vec<u8> {
    let mut header = BasicHeader::new(kind);
    for (at, word) in [(16, 7), (24, 5), (28, 6), (32, 38)] {
        header.put_u32(at, word);
    }
    for (at, byte) in fields {
        header.0[*at] = *byte;
    }
    sent(header, data, digests)
}

/// A kind of PDU, bytes of its header by their places, and its data.
type SentPdu<'a> = (PduKind, &'a [(usize, u8)], &'a [u8]);

/// Texts of the steps of logins, with CHAP both ways.
fn login_texts() -> Vec<&'static [u8]> {
    vec![
        b"AuthMethod=None\0TargetPortalGroupTag=1\0",
        b"AuthMethod=CHAP\0",
        b"CHAP_A=5\0CHAP_I=9\0CHAP_C=0x07070707070707070707070707070707\0",
        b"CHAP_A=5\0CHAP_I=9\0CHAP_C=0bBwcHBwcHBwcHBwcHBwcHBw==\0",
        b"CHAP_N=target\0CHAP_R=0x000102030405060708090a0b0c0d0e0f\0",
        b"HeaderDigest=CRC32C\0DataDigest=None\0MaxRecvDataSegmentLength=262144\0InitialR2T=Yes\0ImmediateData=Yes\0\
          FirstBurstLength=65536\0MaxBurstLength=262144\0MaxOutstandingR2T=1\0DataPDUInOrder=Yes\0\
          DataSequenceInOrder=Yes\0ErrorRecoveryLevel=0\0DefaultTime2Wait=2\0DefaultTime2Retain=0\0MaxConnections=1\0",
    ]
}

/// What a disk reports of itself, and sense data of both forms.
fn unit_reports() -> Vec<Vec<u8>> {
    let mut inquiry = vec![0, 0, 6, 2, 31, 0, 0, 2];
    inquiry.extend_from_slice(b"IET     VIRTUAL-DISK    0001");
    let mut capacity = vec![0; 32];
    (capacity[7], capacity[10], capacity[14]) = (9, 2, 0xc0);
    let mut limits = vec![0, 0xb0, 0, 60];
    limits.resize(64, 1);
    let mut units = vec![0, 0, 0, 24, 0, 0, 0, 0];
    for number in [0, 1, 300] {
        units.extend_from_slice(&unit_bytes(number).unwrap());
    }
    let fixed = vec![0, 18, 0x70, 0, 5, 0, 0, 0, 0, 10, 0, 0, 0, 0, 0x25, 0, 0, 0, 0, 0];
    vec![
        inquiry,
        b"\0\x80\0\x08 beaf123".to_vec(),
        b"\0\x83\0\x18\x02\x01\0\x04IET \x01\x03\0\x08\x60\x01\x02\x03\x04\x05\x06\x07".to_vec(),
        b"\0\0\0\x03\x00\x80\xb0".to_vec(),
        vec![0, 0, 0, 7, 0, 0, 2, 0],
        capacity,
        limits,
        units,
        fixed,
        vec![0, 8, 0x72, 7, 0x27, 7, 0, 0, 0, 0],
    ]
}

/// PDUs of every kind that a target sends, with and without digests, and what their data contain.
fn valid_messages() -> Vec<Vec<u8>> {
    let mut messages = unit_reports();
    messages.extend(login_texts().into_iter().map(<[u8]>::to_vec));
    let rejected = BasicHeader::new(PduKind::Command).0;
    let sense = &messages[8].clone();
    for digests in [Digests::default(), Digests { header: true, data: true }] {
        for (step, text) in login_texts().into_iter().enumerate() {
            // The first two steps stay in their stage, the others go on to the next.
            let stage = [0x00, 0x00, 0x00, 0x81, 0x87, 0x87][step];
            messages.push(pdu(PduKind::LoginResponse, &[(1, stage)], text, digests));
        }
        messages.push(pdu(PduKind::LoginResponse, &[(1, 0), (36, 2), (37, 1)], b"", digests));
        let kinds: [SentPdu<'_>; 8] = [
            (PduKind::Response, &[(1, 0x82), (3, 2), (47, 8)], sense),
            (PduKind::DataIn, &[(1, 0x81), (39, 1), (42, 2)], &[7; 64]),
            (PduKind::ReadyToTransfer, &[(1, 0x80), (23, 1), (42, 2), (46, 4)], b""),
            (PduKind::NopIn, &[(1, 0x80)], b"ping"),
            (PduKind::Reject, &[(1, 0x80), (2, 4)], &rejected),
            (PduKind::Async, &[(1, 0x80), (36, 1), (41, 3)], b""),
            (PduKind::LogoutResponse, &[(1, 0x80), (41, 2)], b""),
            (PduKind::Async, &[(1, 0x80)], sense),
        ];
        for (kind, fields, data) in kinds {
            messages.push(pdu(kind, fields, data, digests));
        }
    }
    messages
}

fn run(campaign: HostileCampaign) {
    HostileBytes::run(valid_messages(), campaign, |_, bytes| {
        // A login that is answered with the same step again and again has up to this much text.
        assert_bounded_memory(TEXT_BYTES_MAX + bytes.len(), || read_as_all(bytes));
    });
}

#[test]
fn every_valid_pdu_is_found_whole() {
    let without = Digests::default();
    let found = |bytes: &[u8]| {
        let head = read_head(bytes, without, 4096).ok().flatten();
        head.is_some_and(
            |head| matches!(whole(&head, bytes), Ok(Some(pdu)) if pdu.whole_bytes == bytes.len()),
        )
    };
    let count = valid_messages().iter().filter(|bytes| bytes.len() >= HEADER_BYTES && found(bytes)).count();
    assert!(count >= 15, "{count} PDUs without digests");
}

#[test]
fn changed_pdus_are_never_a_panic_and_use_no_memory_that_they_claim() {
    run(HostileCampaign::short(20_000));
}

#[test]
#[ignore = "campaign: ten million changed PDUs"]
fn ten_million_changed_pdus_are_never_a_panic() {
    run(HostileCampaign::from_environment());
}
