//! What the pool of workers promises about acknowledged writes and buffers.

use super::*;
use crate::unwritten::UnwrittenRanges;
use std::net::TcpListener;
use std::sync::LazyLock;

const ENOSPC: u32 = 28;

fn sender() -> TcpStream {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    TcpStream::connect(listener.local_addr().unwrap()).unwrap()
}

fn pool_context() -> PoolContext<'static> {
    static CLOCK: LazyLock<narrows_engines::VirtualClock> = LazyLock::new(Default::default);
    static WORKERS: LazyLock<Workers> = LazyLock::new(Workers::default);
    PoolContext { workers: &WORKERS, clock: &*CLOCK }
}

fn unwritten() -> ConnectionWrites<'static> {
    static UNWRITTEN: LazyLock<UnwrittenRanges> = LazyLock::new(Default::default);
    UNWRITTEN.join(&["a".to_owned()])
}

fn header(kind: RequestKind, object: u32, offset_bytes: u64) -> RequestHeader {
    RequestHeader { kind, tag: 0, object, length_bytes: 100, offset_bytes }
}

fn full_device() -> [File; 1] {
    [File::options().read(true).write(true).open("/dev/full").unwrap()]
}

#[test]
fn the_failure_of_an_acknowledged_write_is_reported_once() {
    let files = full_device();
    let pool = JobPool::new(&files, pool_context(), unwritten(), sender(), 4096, 2);
    let write = header(RequestKind::Write, 0, 0);
    std::thread::scope(|scope| {
        scope.spawn(|| pool.work());
        let buffer = pool.try_buffer().unwrap();
        pool.push(Job { header: write, buffer, acknowledged: true, queued_at_ns: 0 });
        pool.wait_for_early(&header(RequestKind::Sync, 0, 0));
        assert_eq!(pool.take_early_status(), ENOSPC);
        assert_eq!(pool.take_early_status(), 0);
        pool.close();
    });
}

#[test]
fn no_more_buffers_are_made_than_were_allowed() {
    let files = full_device();
    let pool = JobPool::new(&files, pool_context(), unwritten(), sender(), 4096, 2);
    let first = pool.try_buffer().unwrap().unwrap();
    let _second = pool.try_buffer().unwrap().unwrap();
    assert!(pool.try_buffer().unwrap().is_none());
    pool.give_back(first);
    assert!(pool.try_buffer().unwrap().is_some());
}

#[test]
fn what_is_queued_is_done_before_the_workers_leave() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x");
    let files = [File::options().read(true).write(true).create_new(true).open(&path).unwrap()];
    let pool = JobPool::new(&files, pool_context(), unwritten(), sender(), 4096, 8);
    for index in 0..8 {
        let mut buffer = pool.try_buffer().unwrap().unwrap();
        buffer.fill(1);
        let header = header(RequestKind::Write, 0, index * 100);
        pool.push(Job { header, buffer: Some(buffer), acknowledged: true, queued_at_ns: 0 });
    }
    pool.close();
    std::thread::scope(|scope| {
        scope.spawn(|| pool.work());
        scope.spawn(|| pool.work());
    });
    assert_eq!(std::fs::read(path).unwrap(), vec![1; 800]);
}

#[test]
fn an_abandoned_pool_drops_what_is_queued_and_a_closed_one_does_it() {
    for (abandoned, status) in [(true, 0), (false, ENOSPC)] {
        let files = full_device();
        let pool = JobPool::new(&files, pool_context(), unwritten(), sender(), 4096, 2);
        let buffer = pool.try_buffer().unwrap();
        pool.push(Job {
            header: header(RequestKind::Write, 0, 0),
            buffer,
            acknowledged: true,
            queued_at_ns: 0,
        });
        if abandoned {
            pool.abandon();
        } else {
            drop(pool.close_guard());
        }
        pool.work();
        assert_eq!(pool.take_early_status(), status);
    }
}
