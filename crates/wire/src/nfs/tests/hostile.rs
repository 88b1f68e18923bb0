//! Replies of a hostile server: valid ones that are changed. None is a panic, and none decides how much memory is used.

use super::*;
use crate::hostile_memory::assert_bounded_memory;
use narrows_testkit::hostile::{HostileBytes, HostileCampaign};

/// Longest record of the readers here.
const RECORD_BYTES_MAX: usize = 4096;

/// An accepted reply with these results, as it is sent.
fn reply(results: &[u8]) -> Vec<u8> {
    framed(&[&reply_header(9, peer_rpc::accept_stat_data::SUCCESS), results].concat())
}

/// A record in one fragment.
fn framed(record: &[u8]) -> Vec<u8> {
    [&mark(record.len())[..], record].concat()
}

/// The same in fragments of `piece` bytes.
fn in_fragments(record: &[u8], piece: usize) -> Vec<u8> {
    let mut out = Vec::new();
    for part in record.chunks(piece) {
        let mut head = mark(part.len());
        head[0] &= 0x7f;
        out.extend_from_slice(&head);
        out.extend_from_slice(part);
    }
    out.extend_from_slice(&mark(0));
    out
}

fn attributes() -> Nfs3Option<peer::fattr3> {
    Nfs3Option::Some(peer_attributes(peer::ftype3::NF3REG, 9))
}

fn replies_of_names() -> Vec<Vec<u8>> {
    let found = peer::LOOKUP3res::Ok(peer::LOOKUP3resok {
        object: peer_handle(),
        obj_attributes: attributes(),
        dir_attributes: attributes(),
    });
    let created = peer::CREATE3res::Ok(peer::CREATE3resok {
        obj: Nfs3Option::Some(peer_handle()),
        obj_attributes: attributes(),
        dir_wcc: some_change(),
    });
    let renamed =
        peer::RENAME3res::Ok(peer::RENAME3resok { fromdir_wcc: some_change(), todir_wcc: some_change() });
    let entry = |name: &'static [u8], cookie| peer::entryplus3 {
        fileid: 1,
        name: peer::filename3(Opaque::borrowed(name)),
        cookie,
        name_attributes: attributes(),
        name_handle: Nfs3Option::Some(peer_handle()),
    };
    let list = peer::READDIRPLUS3res::Ok(peer::READDIRPLUS3resok {
        dir_attributes: attributes(),
        cookieverf: peer::cookieverf3([2; 8]),
        reply: peer::dirlistplus3 { entries: List(vec![entry(b".", 3), entry(b"file", 4)]), eof: true },
    });
    let removed = put(|out| [0, 0, 0].into_iter().for_each(|word| super::super::xdr::put_u32(out, word)));
    vec![packed(&found), packed(&created), packed(&renamed), packed(&list), removed]
}

fn replies_of_files() -> Vec<Vec<u8>> {
    let read = peer::READ3res::Ok(peer::READ3resok {
        file_attributes: attributes(),
        count: 5,
        eof: true,
        data: Opaque::borrowed(b"abcde"),
    });
    let write = peer::WRITE3res::Ok(peer::WRITE3resok {
        file_wcc: some_change(),
        count: 5,
        committed: peer::stable_how::UNSTABLE,
        verf: peer::writeverf3([3; 8]),
    });
    let failed: peer::WRITE3res =
        Nfs3Result::Err((peer::nfsstat3::NFS3ERR_STALE, peer::WRITE3resfail { file_wcc: some_change() }));
    let commit =
        peer::COMMIT3res::Ok(peer::COMMIT3resok { file_wcc: some_change(), verf: peer::writeverf3([4; 8]) });
    let examined = put(|out| {
        super::super::xdr::put_u32(out, 0);
        out.extend_from_slice(&packed(&peer_attributes(peer::ftype3::NF3DIR, 4096)));
    });
    let words =
        |words: &[u32]| put(|out| words.iter().for_each(|word| super::super::xdr::put_u32(out, *word)));
    // FSINFO and FSSTAT without attributes.
    let sizes = words(&[0, 0, 65_536, 65_536, 1, 65_536, 65_536, 1, 8192, 1, 0, 0, 1, 0, 31]);
    let space = words(&[0, 0, 0, 9, 0, 8, 0, 7, 0, 6, 0, 5, 0, 4, 0]);
    vec![packed(&read), packed(&write), packed(&failed), packed(&commit), examined, sizes, space]
}

fn replies_of_services() -> Vec<Vec<u8>> {
    let mounted = nfs3_types::mount::mountres3::Ok(nfs3_types::mount::mountres3_ok {
        fhandle: nfs3_types::mount::fhandle3(Opaque::borrowed(b"handle")),
        auth_flavors: vec![1, 390_003],
    });
    let exports = put(|out| {
        for path in ["/a", "/b/c"] {
            super::super::xdr::put_u32(out, 1);
            put_path(out, path);
            super::super::xdr::put_u32(out, 1);
            put_path(out, "group");
            super::super::xdr::put_u32(out, 0);
        }
        super::super::xdr::put_u32(out, 0);
    });
    vec![packed(&mounted), exports, 2049_u32.to_be_bytes().to_vec()]
}

/// Replies of all services, refusals, and several in one stream, whole and in fragments.
fn valid_streams() -> Vec<Vec<u8>> {
    let results = [replies_of_names(), replies_of_files(), replies_of_services()].concat();
    let mut streams: Vec<Vec<u8>> = results.iter().map(|results| reply(results)).collect();
    for stat in [peer_rpc::accept_stat_data::PROG_UNAVAIL, peer_rpc::accept_stat_data::GARBAGE_ARGS] {
        streams.push(framed(&reply_header(9, stat)));
    }
    let words = |words: &[u32]| framed(&words.iter().flat_map(|word| word.to_be_bytes()).collect::<Vec<_>>());
    // Other versions of the program; credentials; another RPC.
    streams.extend([words(&[9, 1, 0, 0, 0, 2, 4, 4]), words(&[9, 1, 1, 1, 5]), words(&[9, 1, 1, 0, 2, 2])]);
    streams.push(in_fragments(&reply(&results[3])[MARK_BYTES..], 24));
    streams.push(streams.concat());
    streams
}

/// Reads a stream as connections do, a portion at a time, and each record as the reply to every call.
fn read_stream(stream: &[u8]) {
    let mut records = RecordReader::new(RECORD_BYTES_MAX);
    let portion = 1 + stream.first().map_or(0, |byte| usize::from(*byte)) * 7;
    let (mut arrived, mut taken) = (0, 0);
    while arrived < stream.len() {
        arrived = stream.len().min(arrived + portion);
        let mut input = &stream[taken..arrived];
        loop {
            match records.next(&mut input) {
                Ok(Some(RpcRecord::Whole(record))) => read_record(record),
                Ok(Some(RpcRecord::Partial { bytes, record_bytes })) => {
                    assert!(bytes.len() < record_bytes && record_bytes <= RECORD_BYTES_MAX);
                    let _ = read_begun(bytes);
                    break;
                }
                Ok(None) => break,
                Err(_) => return,
            }
        }
        taken = arrived - input.len();
    }
}

/// Reads a record as a reply to every call.
fn read_record(record: &[u8]) {
    assert!(record.len() <= RECORD_BYTES_MAX);
    let mut reader = XdrReader::new(record);
    if read_reply(&mut reader).is_ok_and(|(_, outcome)| outcome == ReplyOutcome::Accepted) {
        read_all(reader.rest());
    }
}

fn run(campaign: HostileCampaign) {
    HostileBytes::run(valid_streams(), campaign, |_, stream| {
        assert_bounded_memory(stream.len(), || {
            read_stream(stream);
            // As if the mark and the header of RPC were right.
            read_all(stream.get(MARK_BYTES + 24..).unwrap_or(stream));
        });
    });
}

#[test]
fn every_valid_reply_is_read_as_what_it_is() {
    let results = [replies_of_names(), replies_of_files(), replies_of_services()].concat();
    let reader = |index: usize| XdrReader::new(&results[index]);
    assert!(read_lookup(&mut reader(0)).unwrap().is_ok() && read_created(&mut reader(1)).unwrap().is_ok());
    assert!(read_renamed(&mut reader(2)).unwrap().is_ok());
    assert!(read_list(&mut reader(3), &mut |_| ()).unwrap().unwrap().is_end);
    assert!(read_changed(&mut reader(4)).unwrap().is_ok());
    assert_eq!(read_read(&mut reader(5)).unwrap().payload_bytes, 5);
    assert!(read_write(&mut reader(6)).unwrap().is_ok() && read_write(&mut reader(7)).unwrap().is_err());
    assert!(read_commit(&mut reader(8)).unwrap().is_ok() && read_attributes(&mut reader(9)).unwrap().is_ok());
    assert_eq!(read_server_sizes(&mut reader(10)).unwrap().unwrap().write_bytes_max, 65_536);
    assert_eq!(read_free_bytes(&mut reader(11)), Ok(Ok(7)));
    assert!(read_mount(&mut reader(12)).unwrap().is_ok());
    assert_eq!(read_exports(&mut reader(13), 3).unwrap().len(), 2);
    assert_eq!(read_port(&mut reader(14)), Ok(Some(2049)));
}

#[test]
fn changed_replies_are_never_a_panic_and_use_no_memory_that_they_claim() {
    run(HostileCampaign::short(20_000));
}

#[test]
#[ignore = "campaign: ten million changed replies"]
fn ten_million_changed_replies_are_never_a_panic() {
    run(HostileCampaign::from_environment());
}
