//! Layouts as RFC 7143, SPC-4 and SBC-3 print them, logins played by both sides, and random bytes. A real target is in the
//! lab.

use super::chap::{ChapCredentials, ChapEntropy, ChapSecret, hex};
use super::digest::{Digests, digest};
use super::header::{BasicHeader, HEADER_BYTES, NO_TAG, PduKind, is_before};
use super::login::{LoginConversation, LoginOutcome, LoginRequest, LoginStep};
use super::negotiation::SessionOptions;
use super::pdu::{Pdu, PduFault, read_head, whole};
use super::request::{CommandRequest, DataDirection, DataOutPart, SendNumbers, command, data_out, pong};
use super::response::{
    CommandStatus, Residual, TransferWish, command_status, data_in, numbers, reject_reason, rejected_header,
    seconds_to_wait, target_event, transfer_wish,
};
use super::scsi::cdb::{BlockRange, ScsiCdb, WriteDurability, unmap_list};
use super::scsi::identity::{read_identity, read_name, read_pages, read_serial};
use super::scsi::sense::{CHECK_CONDITION, ScsiFailure, ScsiSense};
use super::scsi::sizes::{read_capacity_10, read_capacity_16, read_limits};
use super::scsi::unit::{read_units, unit_bytes};
use super::text::{put_pair, read_pairs, value};
use crate::error::{Error, ErrorKind, Refusal};
use login::{asked, secrets};
use proptest::prelude::*;

mod hostile;
mod login;

const NUMBERS: SendNumbers = SendNumbers { command: 0x0102_0304, status: 0x0506_0708 };

fn options() -> SessionOptions {
    SessionOptions {
        digests: Digests { header: true, data: false },
        initial_r2t: false,
        immediate_data: true,
        first_burst_bytes: 65_536,
        max_burst_bytes: 262_144,
        receive_bytes_max: 262_144,
    }
}

#[test]
fn a_command_has_the_layout_of_the_standard() {
    let cdb = ScsiCdb::write(BlockRange { first: 0x11, count: 8 }, WriteDurability::Immediate);
    let request = CommandRequest {
        tag: 0xa1a2_a3a4,
        unit: unit_bytes(1).unwrap(),
        cdb: &cdb,
        direction: DataDirection::Out,
        expected_bytes: 4096,
        immediate_bytes: 512,
        is_continued: false,
    };
    let header = command(&request, NUMBERS).0;
    let mut expected = [0; HEADER_BYTES];
    expected[..8].copy_from_slice(&[0x01, 0xa1, 0, 0, 0, 0, 2, 0]);
    expected[8..16].copy_from_slice(&[0, 1, 0, 0, 0, 0, 0, 0]);
    expected[16..24].copy_from_slice(&[0xa1, 0xa2, 0xa3, 0xa4, 0, 0, 0x10, 0]);
    expected[24..32].copy_from_slice(&[1, 2, 3, 4, 5, 6, 7, 8]);
    expected[32..48].copy_from_slice(&[0x2a, 8, 0, 0, 0, 0x11, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0]);
    assert_eq!(header, expected);
    let read = CommandRequest { direction: DataDirection::In, is_continued: true, ..request };
    assert_eq!(command(&read, NUMBERS).0[1], 0x41);
}

#[test]
fn data_and_pongs_have_the_layout_of_the_standard() {
    let part = DataOutPart {
        tag: 1,
        transfer_tag: 2,
        unit: [3; 8],
        number: 4,
        offset_bytes: 5,
        data_bytes: 0x01_0203,
        is_last: true,
    };
    let header = data_out(&part, 6);
    assert_eq!(header.0[..8], [0x05, 0x80, 0, 0, 0, 1, 2, 3]);
    assert_eq!((header.task_tag(), header.transfer_tag(), header.data_bytes()), (1, 2, 0x01_0203));
    assert_eq!([header.u32_at(24), header.u32_at(28), header.u32_at(36), header.u32_at(40)], [0, 6, 4, 5]);
    let header = pong(9, [3; 8], NUMBERS);
    assert_eq!(header.0[..2], [0x40, 0x80]);
    assert_eq!((header.task_tag(), header.transfer_tag(), header.unit()), (NO_TAG, 9, [3; 8]));
}

#[test]
fn long_ranges_take_commands_of_sixteen_bytes() {
    let short = ScsiCdb::read(BlockRange { first: u64::from(u32::MAX), count: 0xffff });
    assert_eq!(short.0[..10], [0x28, 0, 0xff, 0xff, 0xff, 0xff, 0, 0xff, 0xff, 0]);
    let far = ScsiCdb::read(BlockRange { first: 1 << 32, count: 1 });
    assert_eq!(far.0[..14], [0x88, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1]);
    let long = ScsiCdb::write(BlockRange { first: 0, count: 0x1_0000 }, WriteDurability::Deferred);
    assert_eq!(long.0[..14], [0x8a, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0]);
    assert_eq!(ScsiCdb::synchronize(BlockRange { first: 2, count: 0 }).0[0], 0x35);
    assert_eq!(ScsiCdb::synchronize(BlockRange { first: 1 << 33, count: 0 }).0[0], 0x91);
    assert_eq!(unmap_list(BlockRange { first: 7, count: 9 })[..20], {
        let mut list = [0; 20];
        (list[1], list[3], list[15], list[19]) = (22, 16, 7, 9);
        list
    });
}

#[test]
fn numbers_of_units_are_eight_bytes() {
    assert_eq!(unit_bytes(255), Some([0, 255, 0, 0, 0, 0, 0, 0]));
    assert_eq!(unit_bytes(256), Some([0x41, 0, 0, 0, 0, 0, 0, 0]));
    assert_eq!(unit_bytes(16_384), None);
    let mut list = vec![0, 0, 0, 24, 0, 0, 0, 0];
    for number in [0, 1, 300] {
        list.extend_from_slice(&unit_bytes(number).unwrap());
    }
    assert_eq!(read_units(&list), [0, 1, 300]);
    // Cut off, and with a length that is too large.
    assert_eq!(read_units(&list[..20]), [0]);
    list[0] = 0xff;
    assert_eq!(read_units(&list), [0, 1, 300]);
}

#[test]
fn serial_numbers_are_compared_on_a_circle() {
    assert!(is_before(1, 2) && is_before(u32::MAX, 0) && is_before(u32::MAX - 1, 5));
    assert!(!is_before(2, 2) && !is_before(3, 2) && !is_before(0, u32::MAX));
}

#[test]
fn what_a_unit_reports_is_read() {
    let mut inquiry = vec![0_u8; 36];
    inquiry[8..16].copy_from_slice(b"IET     ");
    inquiry[16..32].copy_from_slice(b"VIRTUAL-DISK\0\0\0\0");
    let identity = read_identity(&inquiry);
    assert!(identity.is_disk && identity.is_there);
    assert_eq!((identity.vendor.as_str(), identity.product.as_str()), ("IET", "VIRTUAL-DISK"));
    assert!(!read_identity(&[0x7f]).is_there && !read_identity(&[]).is_there && !read_identity(&[5]).is_disk);
    assert_eq!(read_serial(b"\0\x80\0\x06 beaf\x1b").as_deref(), Some("beaf?"));
    assert_eq!((read_serial(b"\0\x80\0\0"), read_serial(b"\0\x83\0\x01x")), (None, None));
    let names = b"\0\x83\0\x18\x02\x01\0\x04IET \x01\x03\0\x08\x60\x01\x02\x03\x04\x05\x06\x07";
    assert_eq!(read_name(names).as_deref(), Some("naa.6001020304050607"));
    assert_eq!(read_pages(b"\0\0\0\x02\x00\x80"), [0, 0x80]);
    assert_eq!(read_capacity_10(&[0, 0, 0, 7, 0, 0, 2, 0]).unwrap().block_count, 8);
    assert_eq!(read_capacity_10(&[0xff, 0xff, 0xff, 0xff, 0, 0, 2, 0]), None);
    let mut long = [0; 32];
    (long[3], long[11], long[14]) = (1, 7, 0xc0);
    long[10] = 2;
    let capacity = read_capacity_16(&long).unwrap();
    assert_eq!((capacity.block_count, capacity.block_bytes), ((1 << 32) + 1, 0x0207));
    assert!(capacity.can_unmap && capacity.unmapped_is_zero);
    let mut limits = vec![0, 0xb0, 0, 60];
    limits.resize(64, 0);
    (limits[11], limits[23]) = (9, 5);
    let limits = read_limits(&limits);
    assert_eq!((limits.transfer_blocks_max, limits.unmap_blocks_max), (9, 5));
}

#[test]
fn why_a_command_failed_is_read_from_both_forms_of_sense_data() {
    let fixed = [0, 18, 0x70, 0, 5, 0, 0, 0, 0, 10, 0, 0, 0, 0, 0x25, 0, 0, 0, 0, 0];
    let sense = ScsiSense::from_response(&fixed);
    assert!(sense.is_no_unit(), "{sense:?}");
    let failure = ScsiFailure { status: CHECK_CONDITION, sense };
    assert_eq!(failure.errno(), 19);
    assert_eq!(failure.to_string(), "ILLEGAL REQUEST, ASC 25h/00h: there is no such logical unit");
    let descriptor = [0, 8, 0x72, 7, 0x27, 7, 0, 0, 0, 0];
    let sense = ScsiSense::from_response(&descriptor);
    assert_eq!((sense.key, sense.code, sense.qualifier), (7, 0x27, 7));
    assert_eq!(ScsiFailure { status: CHECK_CONDITION, sense }.errno(), 28);
    assert!(ScsiSense::from_response(&[0, 18, 0x70, 0, 6]).is_attention());
    assert_eq!(ScsiSense::from_response(&[0]), ScsiSense::default());
    for (status, errno) in [(0x08, 16), (0x18, 52), (0x28, 11), (0x40, 125), (0x77, 5)] {
        assert_eq!(ScsiFailure { status, sense: ScsiSense::default() }.errno(), errno);
    }
}

/// A PDU as a target sends it.
fn sent(header: BasicHeader, data: &[u8], digests: Digests) -> Vec<u8> {
    let mut header = header;
    header.set_data_bytes(u32::try_from(data.len()).unwrap());
    let mut out = header.0.to_vec();
    if digests.header {
        out.extend_from_slice(&digest(&[&header.0]));
    }
    let pad = &[0; 3][..data.len().wrapping_neg() & 3];
    out.extend_from_slice(data);
    out.extend_from_slice(pad);
    if digests.data && !data.is_empty() {
        out.extend_from_slice(&digest(&[data, pad]));
    }
    out
}

#[test]
fn a_pdu_is_found_once_it_is_whole_and_its_digests_are_checked() {
    for digests in [(false, false), (true, false), (false, true), (true, true)]
        .map(|(header, data)| Digests { header, data })
    {
        let mut header = BasicHeader::new(PduKind::DataIn);
        header.put_u32(40, 8192);
        let bytes = sent(header, b"hello", digests);
        for cut in 0..bytes.len() {
            let head = read_head(&bytes[..cut], digests, 5).unwrap();
            assert!(head.is_none_or(|head| whole(&head, &bytes[..cut]).unwrap().is_none()), "{cut}");
        }
        let head = read_head(&bytes, digests, 5).unwrap().unwrap();
        let pdu = whole(&head, &bytes).unwrap().unwrap();
        assert_eq!((pdu.data, pdu.whole_bytes), (&b"hello"[..], bytes.len()));
        assert_eq!(data_in(&pdu.header).offset_bytes, 8192);
        assert!(matches!(read_head(&bytes, digests, 4), Err(PduFault::Malformed(_))));
        for at in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[at] ^= 1;
            let found = read_head(&changed, digests, 4096).and_then(|head| whole(&head.unwrap(), &changed));
            let in_header = at < HEADER_BYTES + if digests.header { 4 } else { 0 };
            if (in_header && digests.header) || (!in_header && digests.data) {
                assert!(matches!(found, Err(PduFault::Digest(_))), "byte {at} with {digests:?}: {found:?}");
            }
        }
    }
}

#[test]
fn what_a_target_sends_is_read() {
    let mut header = BasicHeader::new(PduKind::Response);
    (header.0[1], header.0[3]) = (0x82, 2);
    header.put_u32(24, 5);
    header.put_u32(28, 6);
    header.put_u32(32, 7);
    header.put_u32(44, 100);
    assert_eq!(
        command_status(&header),
        Some(CommandStatus { status: 2, residual: Residual::Underflow(100) })
    );
    let known = numbers(PduKind::Response, &header);
    assert_eq!((known.status, known.expected_command, known.max_command), (Some(5), 6, 7));
    header.0[2] = 1;
    assert_eq!(command_status(&header), None, "the target failed");
    let mut header = BasicHeader::new(PduKind::DataIn);
    header.0[1] = 0x81;
    assert_eq!(data_in(&header).status, Some(CommandStatus { status: 0, residual: Residual::None }));
    header.0[1] = 0x80;
    assert_eq!(data_in(&header).status, None);
    assert_eq!(numbers(PduKind::DataIn, &header).status, None);
    let mut header = BasicHeader::new(PduKind::ReadyToTransfer);
    header.put_u32(20, 1);
    header.put_u32(40, 2);
    header.put_u32(44, 3);
    let wish = TransferWish { transfer_tag: 1, offset_bytes: 2, data_bytes: 3 };
    assert_eq!(transfer_wish(&header), wish);
    assert!(!numbers(PduKind::ReadyToTransfer, &header).is_used);
}

/// Reads `bytes` as everything that a target may send.
fn read_as_all(bytes: &[u8]) {
    for digests in [Digests::default(), Digests { header: true, data: true }] {
        if let Ok(Some(head)) = read_head(bytes, digests, 4096) {
            drop(whole(&head, bytes));
        }
    }
    if let Some(header) = rejected_header(bytes) {
        for kind in PduKind::ALL {
            let _ = numbers(*kind, &header);
        }
        let _ = (header.kind(), header.additional_bytes(), header.data_bytes(), header.unit());
        let _ = (command_status(&header), data_in(&header), transfer_wish(&header), target_event(&header));
        let _ = (seconds_to_wait(&header), reject_reason(&header));
        let data = &bytes[HEADER_BYTES..];
        let pdu = Pdu { header, data, whole_bytes: bytes.len() };
        for credentials in [None, Some(secrets("right", Some("theirs")))] {
            let (mut conversation, _) = LoginConversation::start(asked(credentials));
            while conversation.next(&pdu).is_ok_and(|step| matches!(step, LoginStep::Send { .. })) {}
        }
    }
    drop(read_pairs(bytes));
    drop((read_identity(bytes), read_serial(bytes), read_name(bytes), read_units(bytes)));
    let _ = (read_pages(bytes), read_capacity_10(bytes), read_capacity_16(bytes), read_limits(bytes));
    let sense = ScsiSense::from_response(bytes);
    for status in [0, CHECK_CONDITION, 0x28] {
        let failure = ScsiFailure { status, sense };
        assert!(failure.errno() > 0 && !failure.to_string().is_empty());
    }
}

/// Bytes of a target: wholly random, or a login response with keys that are nearly right.
fn bytes_of_targets() -> impl Strategy<Value = Vec<u8>> {
    let text = proptest::collection::vec(
        prop_oneof![
            Just(&b"AuthMethod=CHAP\0"[..]),
            Just(&b"AuthMethod=None\0"[..]),
            Just(&b"CHAP_A=5\0CHAP_I=300\0"[..]),
            Just(&b"CHAP_A=5\0CHAP_I=3\0CHAP_C=0x"[..]),
            Just(&b"0123456789abcdef\0"[..]),
            Just(&b"CHAP_C=0bAAAA=\0"[..]),
            Just(&b"CHAP_N=it\0CHAP_R=0x00\0"[..]),
            Just(&b"HeaderDigest=CRC32C\0"[..]),
            Just(&b"MaxBurstLength=0xffffffff\0"[..]),
            Just(&b"FirstBurstLength=512\0"[..]),
            Just(&b"=\0\0\xff"[..]),
        ],
        0..6,
    );
    let login = (any::<u8>(), 0..3_u8, any::<[u8; 8]>(), text).prop_map(|(flags, class, tail, text)| {
        let mut header = BasicHeader::new(PduKind::LoginResponse);
        (header.0[1], header.0[36]) = (flags, class);
        header.put(24, &tail);
        [&header.0[..], &text.concat()].concat()
    });
    prop_oneof![proptest::collection::vec(any::<u8>(), 0..300), login]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn random_bytes_are_never_a_panic(bytes in bytes_of_targets()) {
        read_as_all(&bytes);
    }
}
