//! Tests with real files on the file system that contains the build folder.

use std::io::{Seek, SeekFrom};
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::PathBuf;

use tempfile::TempDir;

use super::*;
use crate::buffer::AlignedBuffer;
use crate::error::ErrorKind;

/// Under the build folder, because `/tmp` is often memory: no direct I/O there, and no cache to drop.
fn scratch() -> TempDir {
    let exe = std::env::current_exe().unwrap();
    tempfile::tempdir_in(exe.parent().unwrap()).unwrap()
}

const NEW: OpenMode = OpenMode {
    access: FileAccess::ReadWrite,
    caching: Caching::Buffered,
    write_done: WriteDone::Accepted,
    create: Create::New,
};

fn filled(folder: &TempDir, length_bytes: usize) -> (PathBuf, File) {
    let path = folder.path().join("data");
    let file = open(&path, NEW, 0o600).unwrap();
    let data = AlignedBuffer::with_entropy(length_bytes, 1).unwrap();
    assert_eq!(pwrite(&file, &data, 0).unwrap().done_bytes(), length_bytes);
    fdatasync(&file).unwrap();
    (path, file)
}

#[test]
fn a_written_file_is_cached_and_a_dropped_one_is_not() {
    let folder = scratch();
    let (_, file) = filled(&folder, 1_000_000);
    assert_eq!(resident_bytes(&file, 0, 1_000_000).unwrap(), 1_000_000);
    assert_eq!(resident_bytes(&file, 10, 100).unwrap(), 100);
    assert_eq!(resident_bytes(&file, 999_000, u64::MAX).unwrap(), 1_000);
    fadvise_dontneed(&file, 0, 0).unwrap();
    assert_eq!(resident_bytes(&file, 0, u64::MAX).unwrap(), 0);
}

#[test]
fn a_direct_read_leaves_nothing_in_the_cache_and_a_buffered_one_does() {
    let folder = scratch();
    let (path, file) = filled(&folder, 1 << 20);
    fadvise_dontneed(&file, 0, 0).unwrap();
    let direct = open(&path, OpenMode { caching: Caching::Direct, ..OpenMode::default() }, 0).unwrap();
    let mut buffer = AlignedBuffer::new(1 << 20).unwrap();
    assert!(!pread(&direct, &mut buffer, 0).unwrap().is_short());
    assert_eq!(*buffer, *AlignedBuffer::with_entropy(1 << 20, 1).unwrap());
    assert_eq!(resident_bytes(&file, 0, 1 << 20).unwrap(), 0);
    assert!(!pread(&file, &mut buffer, 0).unwrap().is_short());
    assert_eq!(resident_bytes(&file, 0, 1 << 20).unwrap(), 1 << 20);
}

#[test]
fn a_misaligned_direct_read_is_refused_and_not_served_from_the_cache() {
    let folder = scratch();
    let (path, _file) = filled(&folder, 8192);
    let direct = open(&path, OpenMode { caching: Caching::Direct, ..OpenMode::default() }, 0).unwrap();
    let mut buffer = AlignedBuffer::new(4096).unwrap();
    assert_eq!(pread(&direct, &mut buffer[..4095], 0).unwrap_err().name(), "EINVAL");
    let needed = direct_alignment(&direct).unwrap();
    let offset_bytes = u64::from(needed.offset_bytes);
    assert!(!pread(&direct, &mut buffer, offset_bytes).unwrap().is_short());
}

#[test]
fn a_read_across_the_end_is_short_and_one_past_it_is_empty() {
    let folder = scratch();
    let (_, file) = filled(&folder, 100);
    let mut buffer = [0; 64];
    let across = pread(&file, &mut buffer, 90).unwrap();
    assert_eq!((across.done_bytes(), across.asked_bytes(), across.is_short()), (10, 64, true));
    assert_eq!(pread(&file, &mut buffer, 100).unwrap().done_bytes(), 0);
}

#[test]
fn the_flags_asked_for_are_the_flags_the_kernel_holds() {
    let folder = scratch();
    let (path, _file) = filled(&folder, 1);
    let mode = OpenMode {
        access: FileAccess::Write,
        caching: Caching::Direct,
        write_done: WriteDone::Durable,
        create: Create::IfMissing,
    };
    let file = open(&path, mode, 0o600).unwrap();
    let flags = rustix::fs::fcntl_getfl(&file).unwrap();
    assert!(flags.contains(OFlags::WRONLY | OFlags::DIRECT | OFlags::DSYNC), "{flags:?}");
    let plain = open(&path, OpenMode::default(), 0).unwrap();
    let flags = rustix::fs::fcntl_getfl(&plain).unwrap();
    assert!(!flags.intersects(OFlags::WRONLY | OFlags::RDWR | OFlags::DIRECT | OFlags::DSYNC), "{flags:?}");
}

#[test]
fn a_name_that_must_be_new_is_not_overwritten() {
    let folder = scratch();
    let (path, _file) = filled(&folder, 10);
    let error = open(&path, NEW, 0o600).unwrap_err();
    assert_eq!((error.kind(), error.errno().name()), (ErrorKind::Invalid, "EEXIST"));
    assert_eq!(std::fs::metadata(&path).unwrap().len(), 10);
}

#[test]
fn a_confined_open_reaches_what_is_inside_and_makes_it_with_its_permissions() {
    let folder = scratch();
    std::fs::create_dir(folder.path().join("inner")).unwrap();
    let root = File::open(folder.path()).unwrap();
    let made = open_beneath(&root, Path::new("inner/../inner/new"), NEW, 0o600).unwrap();
    assert_eq!(made.metadata().unwrap().mode() & 0o777, 0o600);
    let found = std::fs::metadata(folder.path().join("inner/new")).unwrap();
    assert_eq!(found.ino(), made.metadata().unwrap().ino());
}

#[test]
fn a_confined_open_never_leaves_its_folder() {
    let folder = scratch();
    let root_path = folder.path().join("root");
    std::fs::create_dir(&root_path).unwrap();
    std::fs::write(folder.path().join("secret"), "x").unwrap();
    symlink("../secret", root_path.join("link")).unwrap();
    symlink(".", root_path.join("folder-link")).unwrap();
    let root = File::open(&root_path).unwrap();
    for (path, name) in [
        ("../secret", "EXDEV"),
        ("/etc/passwd", "EXDEV"),
        ("link", "ELOOP"),
        ("folder-link/link", "ELOOP"),
        ("missing", "ENOENT"),
    ] {
        let error = open_beneath(&root, Path::new(path), OpenMode::default(), 0).unwrap_err();
        assert_eq!(error.errno().name(), name, "{path}: {error}");
    }
    let through_link =
        OpenMode { access: FileAccess::Write, create: Create::IfMissing, ..OpenMode::default() };
    assert!(open_beneath(&root, Path::new("link"), through_link, 0o600).is_err());
    assert_eq!(std::fs::read_to_string(folder.path().join("secret")).unwrap(), "x");
}

#[test]
fn a_confined_open_neither_waits_for_a_pipe_nor_gives_one() {
    let folder = scratch();
    let root = File::open(folder.path()).unwrap();
    rustix::fs::mknodat(&root, "pipe", FileType::Fifo, Mode::RWXU, 0).unwrap();
    for (access, name) in
        [(FileAccess::Read, "EINVAL"), (FileAccess::ReadWrite, "EINVAL"), (FileAccess::Write, "ENXIO")]
    {
        let mode = OpenMode { access, ..OpenMode::default() };
        let error = open_beneath(&root, Path::new("pipe"), mode, 0).unwrap_err();
        assert_eq!(error.errno().name(), name, "{error}");
    }
}

#[test]
fn a_confined_open_leaves_the_flags_asked_for() {
    let folder = scratch();
    let (path, _file) = filled(&folder, 1);
    let root = File::open(folder.path()).unwrap();
    let mode = OpenMode { caching: Caching::Direct, write_done: WriteDone::Durable, ..OpenMode::default() };
    let file = open_beneath(&root, Path::new(path.file_name().unwrap()), mode, 0).unwrap();
    let flags = rustix::fs::fcntl_getfl(&file).unwrap();
    assert!(flags.contains(OFlags::DIRECT | OFlags::DSYNC) && !flags.contains(OFlags::NONBLOCK), "{flags:?}");
}

#[test]
fn holes_and_data_are_distinguished_and_the_position_stays() {
    const MIB: u64 = 1 << 20;
    let folder = scratch();
    let mut file = open(&folder.path().join("sparse"), NEW, 0o600).unwrap();
    assert!(!has_holes(&file).unwrap(), "an empty file has no hole before its end");
    file.set_len(4 * MIB).unwrap();
    let data = AlignedBuffer::with_entropy(1 << 16, 1).unwrap();
    for offset_bytes in [MIB, 3 * MIB] {
        assert!(!pwrite(&file, &data, offset_bytes).unwrap().is_short());
    }
    file.seek(SeekFrom::Start(77)).unwrap();
    let layout = allocated_extents(&file, 10).unwrap();
    let part = |offset_bytes| FileExtent { offset_bytes, length_bytes: 1 << 16 };
    assert_eq!(layout, FileExtentMap { extents: vec![part(MIB), part(3 * MIB)], complete: true });
    assert_eq!(
        allocated_extents(&file, 1).unwrap(),
        FileExtentMap { extents: vec![part(MIB)], complete: false }
    );
    assert!(has_holes(&file).unwrap());
    assert_eq!(file.stream_position().unwrap(), 77);
}

#[test]
fn a_fully_written_file_is_one_part_without_holes() {
    let folder = scratch();
    let (_, file) = filled(&folder, 1 << 20);
    assert!(!has_holes(&file).unwrap());
    let whole = FileExtent { offset_bytes: 0, length_bytes: 1 << 20 };
    assert_eq!(allocated_extents(&file, 4).unwrap(), FileExtentMap { extents: vec![whole], complete: true });
}

#[test]
fn a_hole_gives_its_room_back_and_reads_as_zeroes() {
    use std::os::unix::fs::FileExt;
    let folder = scratch();
    assert_eq!(grants_holes(File::open(folder.path()).unwrap()), Some(true), "this file system keeps holes");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "the trial leaves nothing behind");
    let (_, file) = filled(&folder, 1 << 20);
    let before = file.metadata().unwrap().blocks();
    punch_hole(&file, 1 << 18, 1 << 19).unwrap();
    let after = file.metadata().unwrap();
    assert_eq!((after.len(), before - after.blocks()), (1 << 20, (1 << 19) / 512));
    let mut inside = [1; 512];
    file.read_exact_at(&mut inside, 1 << 18).unwrap();
    assert_eq!(inside, [0; 512]);
    assert_eq!(punch_hole(&file, 0, 0), Err(SysErrno::from_raw(libc::EINVAL)));
}

#[test]
fn reserved_room_is_taken_at_once_and_too_much_is_refused() {
    let folder = scratch();
    let file = open(&folder.path().join("reserved"), NEW, 0o600).unwrap();
    reserve(&file, 1 << 20).unwrap();
    let status = file.metadata().unwrap();
    assert!(status.len() == 1 << 20 && status.blocks() >= (1 << 20) / 512, "{status:?}");
    let refused = reserve(&file, 1 << 60).unwrap_err();
    assert!(["ENOSPC", "EFBIG"].contains(&refused.name()), "{refused:?}");
}

#[test]
fn whether_a_folder_grants_holes_is_unknown_where_nothing_may_be_made() {
    assert_eq!(grants_holes(File::open("/proc").unwrap()), None);
}

#[test]
fn an_alignment_that_was_assumed_says_so() {
    let unseen = layout::assumed_alignment(0, 0);
    assert_eq!(
        (unseen.source, unseen.offset_bytes as usize),
        (AlignmentSource::Page, crate::process::page_bytes())
    );
}

#[test]
fn a_file_that_takes_no_direct_io_is_not_given_an_alignment_from_its_file_system() {
    let file = File::open("/proc/self/status").unwrap();
    let answer = direct_alignment(&file);
    assert!(answer.is_err() || answer.unwrap().source != AlignmentSource::FileSystem);
}

#[test]
fn residency_of_a_file_that_was_not_opened_for_reading_is_refused() {
    let folder = scratch();
    let (path, _file) = filled(&folder, 10);
    let writer = open(&path, OpenMode { access: FileAccess::Write, ..OpenMode::default() }, 0).unwrap();
    let error = resident_bytes(&writer, 0, 10).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Denied);
    assert!(error.to_string().contains("data"), "the message names the file: {error}");
}

#[test]
fn residency_of_a_strangers_file_is_refused_instead_of_called_complete() {
    let file = File::open("/etc/passwd").unwrap();
    assert_eq!(file.metadata().unwrap().uid(), 0);
    std::thread::spawn(move || {
        if rustix::process::geteuid().is_root() {
            // Of this thread alone; it ends with the test.
            rustix::thread::set_thread_uid(rustix::process::Uid::from_raw(65_534)).unwrap();
        }
        let error = resident_bytes(&file, 0, 1).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Denied);
        assert!(error.to_string().contains("only to the file's owner"), "{error}");
    })
    .join()
    .unwrap();
}
