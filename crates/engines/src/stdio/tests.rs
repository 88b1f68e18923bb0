//! What only `stdio` promises; the rest is in the conformance suite.

use super::*;
use crate::conformance::{self, BLOCK_BYTES, complete, request, spec, worker};
use crate::error::ErrorKind;
use crate::request::Slot;
use narrows_model::workload::Access;
use std::fs;

/// A folder on the build's file system.
fn folder() -> tempfile::TempDir {
    tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap()
}

fn at(folder: &tempfile::TempDir, op: Op, stdio: StdioOptions) -> OpenSpec {
    let mut spec = spec(folder.path().to_str().unwrap(), op, 1);
    spec.workload.stdio = stdio;
    spec
}

fn opened(spec: &OpenSpec) -> Box<dyn Engine> {
    StdioFactory::unconfined().open(spec, &worker()).unwrap()
}

fn length_bytes(folder: &tempfile::TempDir) -> u64 {
    fs::metadata(folder.path().join("conformance")).unwrap().len()
}

#[test]
fn it_conforms_with_blocks_and_with_characters() {
    let folder = folder();
    for calls in [StdioCalls::Block, StdioCalls::Character] {
        for op in [Op::Write, Op::Read] {
            // Without buffers: the suite looks at one object through several engines.
            let stdio = StdioOptions { calls, flush: StdioFlush::Fflush, buffer_bytes: Some(Bytes(0)) };
            conformance::run(&StdioFactory::unconfined(), &at(&folder, op, stdio));
        }
    }
}

#[test]
fn a_block_is_in_the_file_when_its_flush_says_so_and_else_when_the_worker_ends() {
    for calls in [StdioCalls::Block, StdioCalls::Character] {
        let folder = folder();
        let buffer_bytes = Some(Bytes(1 << 20));
        let mut writer =
            opened(&at(&folder, Op::Write, StdioOptions { calls, buffer_bytes, ..Default::default() }));
        complete(writer.as_mut(), &[request(Op::Write, 0, 0)]);
        assert_eq!(length_bytes(&folder), 0, "{calls:?}: held back");
        complete(writer.as_mut(), &[request(Op::Sync, 0, 0)]);
        assert_eq!(length_bytes(&folder), u64::from(BLOCK_BYTES), "{calls:?}: synced");
        complete(writer.as_mut(), &[request(Op::Write, 0, 1)]);
        writer.close().unwrap();
        assert_eq!(length_bytes(&folder), 2 * u64::from(BLOCK_BYTES), "{calls:?}: closed");
        for flush in [StdioFlush::Fflush, StdioFlush::Fdatasync, StdioFlush::Fsync] {
            let folder = self::folder();
            let mut engine = opened(&at(&folder, Op::Write, StdioOptions { calls, flush, buffer_bytes }));
            complete(engine.as_mut(), &[request(Op::Write, 0, 0)]);
            assert_eq!(length_bytes(&folder), u64::from(BLOCK_BYTES), "{calls:?} {flush:?}");
        }
    }
}

/// System calls that this thread wrote with.
fn write_calls() -> u64 {
    let text = fs::read_to_string("/proc/thread-self/io").unwrap();
    text.lines().find_map(|line| line.strip_prefix("syscw: ")).unwrap().parse().unwrap()
}

#[test]
fn a_block_is_flushed_once_by_characters_too() {
    for calls in [StdioCalls::Block, StdioCalls::Character] {
        let folder = folder();
        let buffer_bytes = Some(Bytes(u64::from(BLOCK_BYTES)));
        let stdio = StdioOptions { calls, flush: StdioFlush::Fflush, buffer_bytes };
        let mut engine = opened(&at(&folder, Op::Write, stdio));
        let before = write_calls();
        complete(engine.as_mut(), &[request(Op::Write, 0, 0), request(Op::Write, 0, 1)]);
        assert_eq!(write_calls() - before, 2, "{calls:?}");
    }
}

#[test]
fn where_a_write_is_when_it_is_complete_is_said() {
    let folder = folder();
    let said = |flush, sync| {
        let mut spec = at(&folder, Op::Write, StdioOptions { flush, ..Default::default() });
        spec.workload.sync = sync;
        opened(&spec).effective().write_completion
    };
    assert_eq!(said(StdioFlush::None, SyncPolicy::None), Completion::InStreamBuffer);
    assert_eq!(said(StdioFlush::None, SyncPolicy::AtEnd), Completion::InStreamBuffer);
    assert_eq!(said(StdioFlush::Fflush, SyncPolicy::None), Completion::InPageCache);
    assert_eq!(said(StdioFlush::Fsync, SyncPolicy::None), Completion::Durable);
    assert_eq!(said(StdioFlush::Fdatasync, SyncPolicy::None), Completion::Durable);
    assert_eq!(said(StdioFlush::None, SyncPolicy::Every(1)), Completion::Durable);
    assert_eq!(said(StdioFlush::None, SyncPolicy::Dsync), Completion::Durable);
}

#[test]
fn a_durable_write_stays_in_no_buffer() {
    let folder = folder();
    for sync in [SyncPolicy::Dsync, SyncPolicy::Every(1)] {
        let mut spec =
            at(&folder, Op::Write, StdioOptions { buffer_bytes: Some(Bytes(1 << 20)), ..Default::default() });
        spec.workload.sync = sync;
        let mut engine = opened(&spec);
        complete(engine.as_mut(), &[request(Op::Write, 0, 0)]);
        assert_eq!(length_bytes(&folder), u64::from(BLOCK_BYTES), "{sync:?}");
        drop(engine);
        fs::remove_file(folder.path().join("conformance")).unwrap();
    }
}

#[test]
fn a_full_device_fails_the_end_where_it_did_not_fail_the_request() {
    let mut spec = spec("/dev/full", Op::Write, 1);
    spec.objects = vec![String::new()];
    spec.create = false;
    spec.workload.stdio.buffer_bytes = Some(Bytes(1 << 20));
    let mut writer = opened(&spec);
    assert_eq!(complete(writer.as_mut(), &[request(Op::Write, 0, 0)]), [(0, Ok(BLOCK_BYTES))]);
    let error = writer.close().unwrap_err();
    assert_eq!(error.errno(), "ENOSPC");
    assert!(error.to_string().contains("flush a stream's buffer"), "{error}");
    spec.workload.stdio.flush = StdioFlush::Fflush;
    let mut flushed = opened(&spec);
    assert_eq!(complete(flushed.as_mut(), &[request(Op::Write, 0, 0)]), [(0, Err("ENOSPC".to_owned()))]);
}

#[test]
fn direct_access_and_trim_are_refused_and_declared_so() {
    let folder = folder();
    let mut spec = at(&folder, Op::Read, StdioOptions::default());
    let capabilities = StdioFactory::unconfined().capabilities(&spec.target).unwrap();
    assert!(!capabilities.direct.is_yes() && !capabilities.ops.contains(&Op::Trim));
    spec.workload.access = Access::Direct;
    let refused = StdioFactory::unconfined().open(&spec, &worker()).err().unwrap();
    assert_eq!(refused.kind, ErrorKind::Unsupported);
}

#[test]
fn the_content_read_by_characters_is_that_of_the_block() {
    let folder = folder();
    let stdio = StdioOptions { calls: StdioCalls::Character, ..Default::default() };
    let mut writer = opened(&at(&folder, Op::Write, stdio));
    for (byte, place) in writer.buffer(Slot(0)).iter_mut().zip(0_u32..) {
        *byte = u8::try_from(place % 251).unwrap();
    }
    complete(writer.as_mut(), &[request(Op::Write, 0, 3)]);
    writer.close().unwrap();
    let mut reader = opened(&at(&folder, Op::Read, stdio));
    reader.buffer(Slot(0)).fill(0);
    complete(reader.as_mut(), &[request(Op::Read, 0, 3)]);
    assert!(reader.buffer(Slot(0)).iter().zip(0_u32..).all(|(byte, place)| u32::from(*byte) == place % 251));
}
