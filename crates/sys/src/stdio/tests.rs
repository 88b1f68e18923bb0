//! What is in the file when, and what is read back; not how fast.

use super::{StdioStream, StreamMode};
use crate::SysErrno;
use std::fs::{self, File, OpenOptions};
use std::path::Path;

fn updated(path: &Path) -> File {
    OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path).unwrap()
}

fn length_bytes(path: &Path) -> u64 {
    fs::metadata(path).unwrap().len()
}

#[test]
fn what_is_written_stays_in_the_buffer_until_it_is_flushed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f");
    let mut stream = StdioStream::new(updated(&path), StreamMode::Update, None).unwrap();
    assert_eq!(stream.write_at(b"abc", 0), Ok(3));
    assert_eq!(length_bytes(&path), 0);
    stream.flush().unwrap();
    assert_eq!(length_bytes(&path), 3);
    assert_eq!(stream.write_chars_at(b"de", 3), Ok(2));
    assert_eq!(length_bytes(&path), 3);
    stream.flush().unwrap();
    assert_eq!(length_bytes(&path), 5);
    stream.write_at(b"f", 5).unwrap();
    stream.close().unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"abcdef", "closing writes what is left");
}

#[test]
fn a_stream_without_buffer_writes_at_once_and_one_of_64_bytes_after_64() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f");
    let mut bare = StdioStream::new(updated(&path), StreamMode::Update, Some(0)).unwrap();
    bare.write_chars_at(b"x", 0).unwrap();
    assert_eq!(length_bytes(&path), 1);
    drop(bare);
    let mut small = StdioStream::new(updated(&path), StreamMode::Update, Some(64)).unwrap();
    small.write_chars_at(&[b'y'; 64], 0).unwrap();
    small.write_chars_at(b"z", 64).unwrap();
    assert_eq!(length_bytes(&path), 64);
}

#[test]
fn reading_gives_what_was_written_in_any_order_and_less_at_the_end() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f");
    let content: Vec<u8> = (0..100_000_u32).map(|place| u8::try_from(place * 7 % 251).unwrap()).collect();
    fs::write(&path, &content).unwrap();
    let mut stream = StdioStream::new(File::open(&path).unwrap(), StreamMode::Read, None).unwrap();
    let mut block = [0; 300];
    for place in [0_usize, 300, 99_000, 5, 70_000] {
        let offset = place as u64;
        assert_eq!(stream.read_at(&mut block, offset), Ok(300));
        assert_eq!(block[..], content[place..][..300], "fread at {offset}");
        block.fill(0);
        assert_eq!(stream.read_chars_at(&mut block, offset + 1), Ok(300));
        assert_eq!(block[..], content[place + 1..][..300], "getc at {}", offset + 1);
    }
    assert_eq!(stream.read_at(&mut block, 99_900), Ok(100));
    assert_eq!(stream.read_chars_at(&mut block, 99_999), Ok(1));
    assert_eq!(stream.read_chars_at(&mut block, 100_000), Ok(0));
    assert_eq!(stream.read_at(&mut block, 0), Ok(300), "the end is no failure to stay in");
}

#[test]
fn reads_and_writes_take_turns_at_one_place() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f");
    fs::write(&path, b"0123456789").unwrap();
    let mut stream = StdioStream::new(updated(&path), StreamMode::Update, None).unwrap();
    let mut two = [0; 2];
    stream.read_at(&mut two, 2).unwrap();
    stream.write_at(b"ab", 4).unwrap();
    stream.read_at(&mut two, 4).unwrap();
    assert_eq!(&two, b"ab");
    stream.write_at(b"cd", 6).unwrap();
    stream.close().unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"0123abcd89");
}

#[test]
fn a_full_device_is_reported_by_the_call_that_reaches_it() {
    const FULL: SysErrno = SysErrno::from_raw(libc::ENOSPC);
    let full = || OpenOptions::new().read(true).write(true).open("/dev/full").unwrap();
    let mut stream = StdioStream::new(full(), StreamMode::Update, None).unwrap();
    assert_eq!(stream.write_at(b"abc", 0), Ok(3), "into the buffer");
    assert_eq!(stream.flush(), Err(FULL));
    let mut bare = StdioStream::new(full(), StreamMode::Update, Some(0)).unwrap();
    assert_eq!(bare.write_at(b"abc", 0), Err(FULL));
    assert_eq!(bare.write_chars_at(b"abc", 0), Err(FULL));
}

#[test]
fn a_file_that_is_not_open_for_writing_is_refused_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f");
    fs::write(&path, b"x").unwrap();
    let refused = StdioStream::new(File::open(&path).unwrap(), StreamMode::Update, None).unwrap_err();
    assert_eq!(refused.errno().raw(), libc::EINVAL, "{refused}");
}
