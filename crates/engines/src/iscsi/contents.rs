//! What is on a unit, by the marks that file systems, partition tables and volume managers leave in its first MiB.
//!
//! Only for words: any byte that is not zero counts as content, known or not.

/// Where a mark is, and whose it is.
const MARKS: &[(usize, &[u8], &str)] = &[
    (512, b"EFI PART", "a GPT partition table"),
    (4096, b"EFI PART", "a GPT partition table"),
    (0, b"XFSB", "an XFS file system"),
    (1080, b"\x53\xef", "an ext2, ext3 or ext4 file system"),
    (65_600, b"_BHRfS_M", "a btrfs file system"),
    (512, b"LABELONE", "an LVM physical volume"),
    (0, b"LUKS\xba\xbe", "a LUKS volume"),
    (4086, b"SWAPSPACE2", "swap space"),
    (4096, b"\xfc\x4e\x2b\xa9", "a member of a RAID"),
    (1024, b"\x10\x20\xf5\xf2", "an F2FS file system"),
    (32_769, b"CD001", "an ISO 9660 file system"),
    (3, b"NTFS    ", "an NTFS file system"),
    (3, b"EXFAT   ", "an exFAT file system"),
    (82, b"FAT32   ", "a FAT file system"),
    (54, b"FAT16   ", "a FAT file system"),
    (0, b"bluestore block device", "a Ceph OSD"),
    (510, b"\x55\xaa", "an MBR partition table or a boot sector"),
];

/// What the first MiB of a unit shows, in words; `None` where all of it is zero.
pub(super) fn describe(head: &[u8]) -> Option<&'static str> {
    let known = MARKS.iter().find(|(at, mark, _)| head.get(*at..).is_some_and(|rest| rest.starts_with(mark)));
    let any = head.iter().any(|byte| *byte != 0);
    any.then(|| known.map_or("data of an unknown kind", |(_, _, words)| *words))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_mark_is_named_and_an_unknown_byte_is_content_too() {
        assert_eq!(describe(&[0; 4096]), None);
        let mut head = vec![0; 1 << 20];
        head[77_777] = 1;
        assert_eq!(describe(&head), Some("data of an unknown kind"));
        for (at, mark, words) in MARKS {
            let mut head = vec![0; 1 << 20];
            head[*at..at + mark.len()].copy_from_slice(mark);
            assert_eq!(describe(&head), Some(*words));
        }
    }
}
