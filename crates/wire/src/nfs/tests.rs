//! What is encoded and decoded, compared with an independent implementation (`nfs3_types`), and fed with random bytes.

use super::attributes::{FileHandle, FileKind};
use super::block::{
    ByteRange, Stability, WriteResult, put_commit, put_read, put_write, read_begun, read_commit, read_read,
    read_write,
};
use super::calls::{
    ListingPosition, put_create, put_handle, put_list, put_make_folder, put_name, put_rename, put_set_length,
};
use super::mount::{put_path, put_port_of, read_exports, read_mount, read_port};
use super::procedure::{MOUNT, NFS, Procedure};
use super::record::{MARK_BYTES, RecordReader, RpcRecord, mark};
use super::results::{
    read_attributes, read_changed, read_created, read_free_bytes, read_list, read_lookup, read_renamed,
    read_server_sizes,
};
use super::rpc::{AuthSys, CallTemplate, ReplyOutcome, RpcRefusal, end_call, read_reply};
use super::status::Status;
use super::xdr::{XdrError, XdrReader};
use nfs3_types::nfs3::{self as peer, Nfs3Option, Nfs3Result};
use nfs3_types::rpc as peer_rpc;
use nfs3_types::xdr_codec::{List, Opaque, Pack, Unpack};
use proptest::prelude::*;

mod hostile;

fn handle() -> FileHandle {
    FileHandle::new(b"handle").unwrap()
}

fn packed(value: &impl Pack) -> Vec<u8> {
    let mut out = Vec::new();
    value.pack(&mut out).unwrap();
    out
}

/// The whole of `bytes` as the other implementation reads it.
fn unpacked<T: Unpack>(bytes: &[u8]) -> T {
    let mut input = bytes;
    let (value, length) = T::unpack(&mut input).unwrap();
    assert_eq!((length, input.len()), (bytes.len(), 0), "all of it is read");
    value
}

fn put(fill: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut out = Vec::new();
    fill(&mut out);
    out
}

fn caller() -> AuthSys {
    AuthSys { machine: "client".to_owned(), user_id: 7, group_id: 8, groups: vec![9; 20] }
}

fn peer_attributes(type_: peer::ftype3, size: u64) -> peer::fattr3 {
    let time = |seconds| peer::nfstime3 { seconds, nseconds: 1 };
    peer::fattr3 {
        type_,
        mode: 0o600,
        nlink: 1,
        uid: 7,
        gid: 8,
        size,
        used: size,
        rdev: peer::specdata3 { specdata1: 0, specdata2: 0 },
        fsid: 3,
        fileid: 4,
        atime: time(5),
        mtime: time(6),
        ctime: time(7),
    }
}

fn peer_handle() -> peer::nfs_fh3 {
    peer::nfs_fh3 { data: Opaque::owned(b"handle".to_vec()) }
}

fn some_change() -> peer::wcc_data {
    let time = peer::nfstime3 { seconds: 1, nseconds: 2 };
    peer::wcc_data {
        before: Nfs3Option::Some(peer::wcc_attr { size: 1, mtime: time, ctime: time }),
        after: Nfs3Option::Some(peer_attributes(peer::ftype3::NF3REG, 9)),
    }
}

#[test]
fn a_call_is_read_as_it_was_meant() {
    let mut out = Vec::new();
    CallTemplate::new(Procedure::Read, Some(&caller())).begin(77, &mut out);
    put_read(&mut out, &handle(), ByteRange { offset_bytes: 1 << 40, length_bytes: 4096 });
    end_call(&mut out, 0);
    let (head, body) = out.split_first_chunk::<MARK_BYTES>().unwrap();
    let header = peer_rpc::fragment_header::from(*head);
    assert!(header.eof() && header.fragment_length() as usize == body.len());
    let mut input = body;
    let (message, _) = peer_rpc::rpc_msg::unpack(&mut input).unwrap();
    assert_eq!(message.xid, 77);
    let peer_rpc::msg_body::CALL(call) = message.body else { panic!("it is a call") };
    assert_eq!((call.rpcvers, call.prog, call.vers, call.proc), (2, NFS.number, 3, 6));
    let credentials: peer_rpc::auth_unix = unpacked(&call.cred.body);
    assert_eq!((credentials.uid, credentials.gid, credentials.gids.len()), (7, 8, 16), "16 groups at most");
    assert_eq!(&credentials.machinename[..], b"client");
    let arguments: peer::READ3args = unpacked(input);
    assert_eq!((arguments.offset, arguments.count), (1 << 40, 4096));
    assert_eq!(&arguments.file.data[..], b"handle");
}

#[test]
fn a_write_and_its_payload_are_one_record() {
    let payload = [5_u8; 6];
    let mut out = Vec::new();
    CallTemplate::new(Procedure::Write, None).begin(1, &mut out);
    let arguments_at = out.len();
    let range = ByteRange { offset_bytes: 3, length_bytes: 6 };
    put_write(&mut out, &handle(), range, Stability::DataSync);
    end_call(&mut out, payload.len());
    out.extend_from_slice(&payload);
    out.extend_from_slice(&[0; 2]);
    let length = u32::from_be_bytes(out[..4].try_into().unwrap()) & 0x7fff_ffff;
    assert_eq!(length as usize, out.len() - MARK_BYTES);
    let arguments: peer::WRITE3args<'_> = unpacked(&out[arguments_at..]);
    assert_eq!((arguments.offset, arguments.count), (3, 6));
    assert_eq!(arguments.stable, peer::stable_how::DATA_SYNC);
    assert_eq!(&arguments.data[..], payload);
}

#[test]
fn arguments_of_names_and_attributes_are_read_as_they_were_meant() {
    let named: peer::diropargs3<'_> = unpacked(&put(|out| put_name(out, &handle(), "name")));
    assert_eq!(&named.name.0[..], b"name");
    for is_new in [false, true] {
        let create: peer::CREATE3args<'_> =
            unpacked(&put(|out| put_create(out, &handle(), "file", 0o600, is_new)));
        let attributes = match create.how {
            peer::createhow3::UNCHECKED(attributes) if !is_new => attributes,
            peer::createhow3::GUARDED(attributes) if is_new => attributes,
            other => panic!("{other:?}"),
        };
        assert!(matches!(attributes.mode, Nfs3Option::Some(0o600)));
        assert!(matches!(attributes.size, Nfs3Option::None));
    }
    let folder: peer::MKDIR3args<'_> = unpacked(&put(|out| put_make_folder(out, &handle(), "d", 0o700)));
    assert!(matches!(folder.attributes.mode, Nfs3Option::Some(0o700)));
    let length: peer::SETATTR3args = unpacked(&put(|out| put_set_length(out, &handle(), 12)));
    assert!(matches!(length.new_attributes.size, Nfs3Option::Some(12)));
    let rename: peer::RENAME3args<'_, '_> = unpacked(&put(|out| put_rename(out, &handle(), "a", "bc")));
    assert_eq!((&rename.from.name.0[..], &rename.to.name.0[..]), (&b"a"[..], &b"bc"[..]));
    let from = ListingPosition { cookie: 5, verifier: [1; 8] };
    let list: peer::READDIRPLUS3args = unpacked(&put(|out| put_list(out, &handle(), from, 8192)));
    assert_eq!((list.cookie, list.maxcount, list.dircount), (5, 8192, 2048));
    let commit: peer::COMMIT3args = unpacked(&put(|out| put_commit(out, &handle())));
    assert_eq!((commit.offset, commit.count), (0, 0));
    let attributes: peer::GETATTR3args = unpacked(&put(|out| put_handle(out, &handle())));
    assert_eq!(&attributes.object.data[..], b"handle");
    let mapping: nfs3_types::portmap::mapping = unpacked(&put(|out| put_port_of(out, MOUNT)));
    assert_eq!((mapping.prog, mapping.vers, mapping.prot), (100_005, 3, 6));
    assert_eq!(put(|out| put_path(out, "/data")), [&[0, 0, 0, 5][..], b"/data", &[0; 3]].concat());
}

#[test]
fn results_of_blocks_are_read_as_they_were_meant() {
    let attributes = || Nfs3Option::Some(peer_attributes(peer::ftype3::NF3REG, 9));
    let read = peer::READ3res::Ok(peer::READ3resok {
        file_attributes: attributes(),
        count: 5,
        eof: true,
        data: Opaque::borrowed(b"abcde"),
    });
    let bytes = packed(&read);
    let mut reader = XdrReader::new(&bytes);
    let head = read_read(&mut reader).unwrap();
    assert_eq!((head.status, head.payload_bytes, head.is_end), (Status::OK, 5, true));
    assert_eq!(reader.rest(), b"abcde\0\0\0");
    let write = peer::WRITE3res::Ok(peer::WRITE3resok {
        file_wcc: some_change(),
        count: 5,
        committed: peer::stable_how::UNSTABLE,
        verf: peer::writeverf3([3; 8]),
    });
    let done = WriteResult { count: 5, stability: Stability::Unstable, verifier: [3; 8] };
    assert_eq!(read_write(&mut XdrReader::new(&packed(&write))), Ok(Ok(done)));
    let commit = peer::COMMIT3res::Ok(peer::COMMIT3resok {
        file_wcc: peer::wcc_data::default(),
        verf: peer::writeverf3([4; 8]),
    });
    assert_eq!(read_commit(&mut XdrReader::new(&packed(&commit))), Ok(Ok([4; 8])));
    let failed: peer::WRITE3res =
        Nfs3Result::Err((peer::nfsstat3::NFS3ERR_STALE, peer::WRITE3resfail { file_wcc: some_change() }));
    assert_eq!(read_write(&mut XdrReader::new(&packed(&failed))), Ok(Err(Status::STALE)));
}

#[test]
fn results_of_names_are_read_as_they_were_meant() {
    let folder = || Nfs3Option::Some(peer_attributes(peer::ftype3::NF3DIR, 4096));
    let lookup = peer::LOOKUP3res::Ok(peer::LOOKUP3resok {
        object: peer_handle(),
        obj_attributes: folder(),
        dir_attributes: folder(),
    });
    let found = read_lookup(&mut XdrReader::new(&packed(&lookup))).unwrap().unwrap();
    assert_eq!((found.handle, found.attributes.unwrap().kind), (handle(), FileKind::Folder));
    assert_eq!(found.attributes.map(|known| (known.user_id, known.modified_s)), Some((7, 6)));
    let created = peer::CREATE3res::Ok(peer::CREATE3resok {
        obj: Nfs3Option::Some(peer_handle()),
        obj_attributes: folder(),
        dir_wcc: some_change(),
    });
    assert_eq!(read_created(&mut XdrReader::new(&packed(&created))), Ok(Ok(Some(handle()))));
    let renamed =
        peer::RENAME3res::Ok(peer::RENAME3resok { fromdir_wcc: some_change(), todir_wcc: some_change() });
    assert_eq!(read_renamed(&mut XdrReader::new(&packed(&renamed))), Ok(Ok(())));
    let entry = |name: &'static [u8], cookie| peer::entryplus3 {
        fileid: 1,
        name: peer::filename3(Opaque::borrowed(name)),
        cookie,
        name_attributes: folder(),
        name_handle: Nfs3Option::Some(peer_handle()),
    };
    let list = peer::READDIRPLUS3res::Ok(peer::READDIRPLUS3resok {
        dir_attributes: folder(),
        cookieverf: peer::cookieverf3([2; 8]),
        reply: peer::dirlistplus3 { entries: List(vec![entry(b".", 3), entry(b"file", 4)]), eof: false },
    });
    let (bytes, mut names) = (packed(&list), Vec::new());
    let end = read_list(&mut XdrReader::new(&bytes), &mut |listed| names.push(listed.name)).unwrap().unwrap();
    assert_eq!(names, [&b"."[..], b"file"]);
    assert_eq!((end.next, end.is_end), (ListingPosition { cookie: 4, verifier: [2; 8] }, false));
}

#[test]
fn a_port_a_mount_and_its_exports_are_read() {
    let read = |number: u32| read_port(&mut XdrReader::new(&number.to_be_bytes()));
    assert_eq!((read(0), read(2049)), (Ok(None), Ok(Some(2049))));
    assert!(read(1 << 16).is_err());
    let mounted = nfs3_types::mount::mountres3::Ok(nfs3_types::mount::mountres3_ok {
        fhandle: nfs3_types::mount::fhandle3(Opaque::borrowed(b"handle")),
        auth_flavors: vec![1],
    });
    assert_eq!(read_mount(&mut XdrReader::new(&packed(&mounted))), Ok(Ok(handle())));
    let exports = put(|out| {
        for path in ["/a", "/b/c"] {
            super::xdr::put_u32(out, 1);
            put_path(out, path);
            super::xdr::put_u32(out, 1);
            put_path(out, "group");
            super::xdr::put_u32(out, 0);
        }
        super::xdr::put_u32(out, 0);
    });
    assert_eq!(read_exports(&mut XdrReader::new(&exports), 9), Ok(vec!["/a", "/b/c"]));
    assert_eq!(read_exports(&mut XdrReader::new(&exports), 1), Ok(vec!["/a"]));
}

fn reply_header(xid: u32, stat: peer_rpc::accept_stat_data) -> Vec<u8> {
    let accepted = peer_rpc::accepted_reply { verf: peer_rpc::opaque_auth::default(), reply_data: stat };
    packed(&peer_rpc::rpc_msg {
        xid,
        body: peer_rpc::msg_body::REPLY(peer_rpc::reply_body::MSG_ACCEPTED(accepted)),
    })
}

#[test]
fn replies_and_refusals_are_distinguished() {
    let read = |bytes: &[u8]| read_reply(&mut XdrReader::new(bytes));
    let accepted = reply_header(5, peer_rpc::accept_stat_data::SUCCESS);
    assert_eq!(read(&accepted), Ok((5, ReplyOutcome::Accepted)));
    let refused = reply_header(6, peer_rpc::accept_stat_data::PROG_UNAVAIL);
    assert_eq!(read(&refused), Ok((6, ReplyOutcome::Refused(RpcRefusal::NoProgram))));
    let denied = put(|out| [9, 1, 1, 1, 5].into_iter().for_each(|word| super::xdr::put_u32(out, word)));
    assert_eq!(read(&denied), Ok((9, ReplyOutcome::Refused(RpcRefusal::Credentials(5)))));
    assert!(RpcRefusal::Credentials(5).to_string().contains("AUTH_TOOWEAK"));
    for length in 0..accepted.len() {
        assert_eq!(read(&accepted[..length]), Err(XdrError::Short), "{length}");
    }
}

#[test]
fn a_status_has_the_name_of_the_rfc_and_an_error_number() {
    assert_eq!((Status(70).name().as_str(), Status(70).errno()), ("NFS3ERR_STALE", 116));
    assert_eq!((Status(66).errno(), Status(63).errno()), (39, 36));
    assert_eq!((Status(4711).name().as_str(), Status(4711).errno()), ("NFS status 4711", 5));
}

#[test]
fn no_two_procedures_are_one() {
    let mut known: Vec<(u32, u32)> =
        Procedure::ALL.iter().map(|one| (one.program().number, one.number())).collect();
    assert!(Procedure::ALL.iter().enumerate().all(|(index, one)| one.index() == index));
    known.sort_unstable();
    known.dedup();
    assert_eq!(known.len(), Procedure::ALL.len());
}

#[test]
fn a_record_above_the_limit_is_refused_before_it_arrives() {
    for bytes in
        [&mark(101)[..], &[0, 0, 0, 101], &[&[0, 0, 0, 60][..], &[0; 60], &[0x80, 0, 0, 41]].concat()]
    {
        let mut reader = RecordReader::new(100);
        let mut input = bytes;
        assert!(reader.next(&mut input).is_err(), "{bytes:?}");
    }
}

#[test]
fn fragments_without_a_byte_end_at_their_limit() {
    let endless = vec![0; 8 << 16];
    assert!(RecordReader::new(100).next(&mut endless.as_slice()).is_err());
}

/// All readers of results on the same bytes: none panics.
fn read_all(bytes: &[u8]) {
    let reader = || XdrReader::new(bytes);
    let _ = read_begun(bytes);
    let _ = read_reply(&mut reader());
    let _ = read_read(&mut reader());
    let _ = read_write(&mut reader());
    let _ = read_commit(&mut reader());
    let _ = read_attributes(&mut reader());
    let _ = read_lookup(&mut reader());
    let _ = read_created(&mut reader());
    let _ = read_changed(&mut reader());
    let _ = read_renamed(&mut reader());
    let _ = read_server_sizes(&mut reader());
    let _ = read_free_bytes(&mut reader());
    let _ = read_mount(&mut reader());
    let _ = read_port(&mut reader());
    assert!(read_exports(&mut reader(), 3).map_or(0, |paths| paths.len()) <= 3);
    let mut listed_bytes = 0;
    let _ = read_list(&mut reader(), &mut |listed| listed_bytes += listed.name.len());
    assert!(listed_bytes <= bytes.len());
}

fn hostile_bytes() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(
        prop_oneof![6 => Just(0_u8), 2 => Just(1_u8), 1 => 0_u8..6, 1 => any::<u8>()],
        0..400,
    )
}

proptest! {
    #[test]
    fn whatever_arrives_is_read_without_a_panic(bytes in hostile_bytes()) {
        read_all(&bytes);
    }

    #[test]
    fn a_stream_of_anything_gives_no_more_than_arrived(bytes in hostile_bytes(), portion in 1_usize..50) {
        let mut reader = RecordReader::new(300);
        let (mut kept, mut given) = (Vec::new(), 0);
        for part in bytes.chunks(portion) {
            kept.extend_from_slice(part);
            let mut input = kept.as_slice();
            loop {
                match reader.next(&mut input) {
                    Ok(Some(RpcRecord::Whole(record))) => given += record.len(),
                    Ok(Some(RpcRecord::Partial { bytes, record_bytes })) => {
                        prop_assert!(bytes.len() < record_bytes && record_bytes <= 300);
                        break;
                    }
                    Ok(None) => break,
                    Err(_) => return Ok(()),
                }
            }
            kept = input.to_vec();
        }
        prop_assert!(given <= bytes.len());
    }

    #[test]
    fn records_are_the_same_however_they_are_cut(
        records in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..60), 1..8),
        pieces in 1_usize..5,
        portion in 1_usize..40,
    ) {
        let mut stream = Vec::new();
        for record in &records {
            let parts: Vec<&[u8]> = if record.is_empty() { vec![&[]] } else {
                record.chunks(record.len().div_ceil(pieces)).collect()
            };
            for (index, part) in parts.iter().enumerate() {
                let mut head = mark(part.len());
                if index + 1 < parts.len() { head[0] &= 0x7f; }
                stream.extend_from_slice(&head);
                stream.extend_from_slice(part);
            }
        }
        let mut reader = RecordReader::new(100);
        let (mut kept, mut found) = (Vec::new(), Vec::new());
        for part in stream.chunks(portion) {
            kept.extend_from_slice(part);
            let mut input = kept.as_slice();
            while let Some(record) = reader.next(&mut input).unwrap() {
                match record {
                    RpcRecord::Whole(bytes) => found.push(bytes.to_vec()),
                    RpcRecord::Partial { .. } => break,
                }
            }
            kept = input.to_vec();
        }
        prop_assert_eq!(found, records);
    }
}
