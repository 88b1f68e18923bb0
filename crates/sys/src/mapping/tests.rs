//! Facts about mappings of real files, and about what becomes of a process whose accesses fail.

use std::os::unix::fs::FileExt;
use std::os::unix::process::ExitStatusExt;
use std::process::Command;

use super::*;
use crate::entropy;

const PAGE: usize = 4096;
const LENGTH: usize = 16 * PAGE;

/// A file of sixteen pages of entropy, mapped; the second handle is for what others do to it.
fn mapped(access: MappingAccess) -> (FileMapping, File, Vec<u8>) {
    let file = tempfile::tempfile().unwrap();
    let mut content = vec![0; LENGTH];
    entropy::fill_entropy(&mut content, 5);
    file.write_all_at(&content, 0).unwrap();
    let mapping = FileMapping::new(file.try_clone().unwrap(), LENGTH as u64, access).unwrap();
    (mapping, file, content)
}

#[test]
fn what_is_read_is_the_file_and_stops_at_its_end() {
    let (mut mapping, _, content) = mapped(MappingAccess::Read);
    for order in [VisitOrder::Random, VisitOrder::Normal, VisitOrder::Sequential] {
        mapping.advise(order).unwrap();
        let mut into = vec![0; 3 * PAGE];
        assert_eq!(mapping.copy_out(100, &mut into), Ok(into.len()));
        assert_eq!(into, content[100..100 + 3 * PAGE]);
    }
    let mut into = [0; 64];
    assert_eq!(mapping.copy_out(LENGTH as u64 - 10, &mut into), Ok(10));
    assert_eq!(into[..10], content[LENGTH - 10..]);
    assert_eq!(mapping.copy_out(LENGTH as u64, &mut into), Ok(0));
    assert_eq!(mapping.copy_out(u64::MAX, &mut into), Ok(0));
}

#[test]
fn what_is_written_is_in_the_file_and_can_be_synced() {
    let (mut mapping, file, _) = mapped(MappingAccess::ReadWrite);
    assert_eq!(mapping.copy_in(PAGE as u64 + 1, b"narrow"), Ok(6));
    let mut seen = [0; 6];
    file.read_exact_at(&mut seen, PAGE as u64 + 1).unwrap();
    assert_eq!(&seen, b"narrow");
    for (offset_bytes, length_bytes) in [(0, 0), (PAGE as u64 + 1, 6), (LENGTH as u64 - 1, u64::MAX)] {
        mapping.sync(offset_bytes, length_bytes).unwrap();
    }
    mapping.sync(u64::MAX, 1).unwrap();
}

#[test]
fn what_is_mapped_for_reading_is_not_written() {
    let (mut mapping, file, content) = mapped(MappingAccess::Read);
    assert_eq!(mapping.copy_in(0, b"x"), Err(SysErrno::from_raw(libc::EBADF)));
    let mut seen = [0; 1];
    file.read_exact_at(&mut seen, 0).unwrap();
    assert_eq!(seen[0], content[0]);
}

#[test]
fn a_file_that_was_shortened_is_an_error_beyond_its_end_and_itself_before_it() {
    let (mut mapping, file, content) = mapped(MappingAccess::ReadWrite);
    file.set_len(2 * PAGE as u64).unwrap();
    let eio = SysErrno::from_raw(libc::EIO);
    let mut into = vec![1; PAGE];
    // Twice: the page that let the first copy end is not taken for the file's.
    for _ in 0..2 {
        assert_eq!(mapping.copy_out(3 * PAGE as u64, &mut into), Err(eio));
        assert_eq!(mapping.copy_in(4 * PAGE as u64 + 7, &into), Err(eio), "across two pages");
        assert_eq!(mapping.copy_out(PAGE as u64, &mut into), Ok(PAGE));
        assert_eq!(into, content[PAGE..2 * PAGE]);
    }
    let mut all = vec![0; LENGTH];
    assert_eq!(mapping.copy_out(0, &mut all), Err(eio));
    // Grown again, it is the file again, and nothing of the failed writes came into it.
    file.set_len(LENGTH as u64).unwrap();
    assert_eq!(mapping.copy_out(0, &mut all), Ok(LENGTH));
    assert_eq!(all[..2 * PAGE], content[..2 * PAGE]);
    assert!(all[2 * PAGE..].iter().all(|byte| *byte == 0));
}

#[test]
fn a_fault_of_one_mapping_is_none_of_another() {
    let (mut short, file, _) = mapped(MappingAccess::Read);
    let (mut whole, _other, content) = mapped(MappingAccess::Read);
    file.set_len(0).unwrap();
    std::thread::scope(|scope| {
        let failing = scope.spawn(|| {
            let mut into = vec![0; LENGTH];
            (0..50).all(|_| short.copy_out(0, &mut into) == Err(SysErrno::from_raw(libc::EIO)))
        });
        let working = scope.spawn(|| {
            let mut into = vec![0; LENGTH];
            (0..50).all(|_| whole.copy_out(0, &mut into) == Ok(LENGTH) && into == content)
        });
        assert!(failing.join().unwrap() && working.join().unwrap());
    });
    assert_eq!((short.watched.fault_count(), whole.watched.fault_count()), (50 * 16, 0));
}

#[test]
fn an_entry_of_the_table_is_used_again() {
    for _ in 0..5000 {
        drop(mapped_page());
    }
}

fn mapped_page() -> FileMapping {
    let file = tempfile::tempfile().unwrap();
    file.set_len(PAGE as u64).unwrap();
    FileMapping::new(file, PAGE as u64, MappingAccess::Read).unwrap()
}

#[test]
fn an_empty_file_and_one_not_open_for_it_are_refused_with_the_reason() {
    let empty = FileMapping::new(tempfile::tempfile().unwrap(), 0, MappingAccess::Read).unwrap_err();
    assert!(empty.to_string().contains("empty file"), "{empty}");
    let read_only = File::open(std::env::current_exe().unwrap()).unwrap();
    let denied = FileMapping::new(read_only, 4096, MappingAccess::ReadWrite).unwrap_err();
    assert_eq!(denied.errno().name(), "EACCES", "{denied}");
}

/// How the ignored test `name` of this file ends in a process of its own.
fn signal_of(name: &str) -> Option<i32> {
    let mut child = Command::new(std::env::current_exe().unwrap());
    let output = child.args(["--exact", &format!("mapping::tests::{name}"), "--ignored"]).output().unwrap();
    output.status.signal()
}

#[test]
fn a_fault_outside_of_all_mappings_and_a_signal_that_was_sent_still_end_the_process() {
    assert_eq!(signal_of("faults_outside"), Some(libc::SIGBUS));
    assert_eq!(signal_of("is_sent_the_signal"), Some(libc::SIGBUS));
}

/// Mends a fault, so that the handler is known to be set.
fn fault_that_is_mended() {
    let (mut mapping, file, _) = mapped(MappingAccess::Read);
    file.set_len(0).unwrap();
    assert!(mapping.copy_out(0, &mut [0; 8]).is_err());
}

#[test]
#[ignore = "it ends its process; another test runs it in one of its own"]
fn faults_outside() {
    fault_that_is_mended();
    let file = tempfile::tempfile().unwrap();
    // SAFETY: no address is asked for, so no existing mapping is touched.
    let start =
        unsafe { mmap(std::ptr::null_mut(), PAGE, ProtFlags::READ, MapFlags::SHARED, &file, 0) }.unwrap();
    // SAFETY: the address is mapped; that the file is empty raises the signal that is wanted.
    let byte = unsafe { start.cast::<u8>().read_volatile() };
    unreachable!("an access past the end of a file gave {byte}");
}

#[test]
#[ignore = "it ends its process; another test runs it in one of its own"]
fn is_sent_the_signal() {
    fault_that_is_mended();
    // SAFETY: raise has no conditions.
    unsafe { libc::raise(libc::SIGBUS) };
}
