//! The values of bonnie++'s letters `-s`, `-n` and `-f`: numbers with colons between them.
//!
//! Not here: whether the numbers make sense together, which is the request's.

use super::MIB;
use super::request::BonnieFiles;
use narrows_model::Bytes;
use narrows_study::Problem;

/// What `-s` says; `None` where it leaves something out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct SizeWord {
    /// Size of the file in MiB; 0 leaves the phases of data out.
    pub(super) file_mib: u64,
    /// Bytes of a block.
    pub(super) chunk: Option<Bytes>,
    /// Seeks.
    pub(super) seeks: Option<u64>,
    /// Processes that seek.
    pub(super) seekers: Option<u64>,
}

/// What `-s` takes.
const SIZE_FORM: &str = "MiB[:chunk[:seeks[:seekers]]]";
/// What `-n` takes.
const FILES_FORM: &str = "number[:max[:min[:directories[:chunk]]]]";

/// What is meant by `-s text`.
///
/// # Errors
/// When it is not a size in MiB (or with `g` in GiB), and up to three more numbers behind colons.
pub(super) fn size(text: &str) -> Result<SizeWord, Problem> {
    let wrong = || {
        let hint = "-s 4096 is a file of 4 GiB, as is -s 4g, and -s 4g:64k has chunks of 64 KiB";
        Problem::new("-s", found(text), SIZE_FORM, hint)
    };
    let parts = parts(text, 4).ok_or_else(wrong)?;
    let part = |index: usize| parts.get(index).copied().filter(|part| !part.is_empty());
    let counted = |index: usize| part(index).map(|part| plain(part).ok_or_else(wrong)).transpose();
    Ok(SizeWord {
        file_mib: part(0).and_then(mebibytes).ok_or_else(wrong)?,
        chunk: part(1).map(|part| bytes(part).ok_or_else(wrong)).transpose()?,
        seeks: counted(2)?,
        seekers: counted(3)?,
    })
}

/// What is meant by `-n text`.
///
/// # Errors
/// When it is not a number of thousands of 1024 files, and up to four more behind colons.
pub(super) fn files(text: &str) -> Result<BonnieFiles, Problem> {
    let wrong = |hint: &str| Problem::new("-n", found(text), FILES_FORM, hint);
    let usual =
        "-n 16 are 16 x 1024 empty files, and -n 16:10000:100:8 are files of 100 to 10000 bytes in 8 folders";
    let parts = parts(text, 5).ok_or_else(|| wrong(usual))?;
    let part = |index: usize| parts.get(index).copied().filter(|part| !part.is_empty());
    if part(1).is_some_and(|most| most.starts_with('-')) {
        return Err(wrong(
            "hard and symbolic links (-1, -2) are not created; give the maximum bytes of a file",
        ));
    }
    let sized = |index: usize| part(index).map(|part| bytes(part).ok_or_else(|| wrong(usual))).transpose();
    let counted = |index: usize| part(index).map(|part| plain(part).ok_or_else(|| wrong(usual))).transpose();
    let default = BonnieFiles::default();
    Ok(BonnieFiles {
        thousands: counted(0)?.ok_or_else(|| wrong(usual))?,
        max: sized(1)?.unwrap_or(default.max),
        min: sized(2)?.unwrap_or(default.min),
        folders: counted(3)?.unwrap_or(default.folders),
        chunk: sized(4)?.unwrap_or(default.chunk),
    })
}

/// MiB that are meant by `-f text`.
///
/// # Errors
/// When it is no size in MiB.
pub(super) fn chars(text: &str) -> Result<u64, Problem> {
    mebibytes(text).ok_or_else(|| {
        let hint = "-f without a number skips the character phases, and with -f 20 they transfer 20 MiB";
        Problem::new("-f", found(text), "nothing, or a size in MiB", hint)
    })
}

fn found(text: &str) -> String {
    format!("`{}`", text.escape_default())
}

/// The parts between colons, where there are `most` of them or fewer.
fn parts(text: &str, most: usize) -> Option<Vec<&str>> {
    let parts: Vec<&str> = text.split(':').collect();
    (parts.len() <= most).then_some(parts)
}

fn plain(text: &str) -> Option<u64> {
    (!text.starts_with('+')).then(|| text.parse().ok())?
}

/// A number with the factor of a letter behind it.
fn scaled(text: &str, factors: &[(char, u64)]) -> Option<u64> {
    let last = text.chars().last()?.to_ascii_lowercase();
    match factors.iter().find(|(letter, _)| *letter == last) {
        Some((_, factor)) => plain(&text[..text.len() - 1])?.checked_mul(*factor),
        None => plain(text),
    }
}

fn mebibytes(text: &str) -> Option<u64> {
    scaled(text, &[('m', 1), ('g', 1024)])
}

fn bytes(text: &str) -> Option<Bytes> {
    scaled(text, &[('k', 1024), ('m', MIB)]).map(Bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_is_in_mib_and_has_up_to_three_numbers_behind_it() {
        assert_eq!(size("300").unwrap(), SizeWord { file_mib: 300, ..SizeWord::default() });
        assert_eq!(size("10G:64k").unwrap().file_mib, 10 << 10);
        let all =
            SizeWord { file_mib: 64, chunk: Some(Bytes(16 << 10)), seeks: Some(1000), seekers: Some(2) };
        assert_eq!((size("64m:16K:1000:2").unwrap(), size("64:16384:1000:2").unwrap()), (all, all));
        assert_eq!(size("64::1000").unwrap().seeks, Some(1000));
        for text in ["", "x", "-1", "+1", "1.5", "1:2:3:4:5", ":8k", "99999999999999999999", "1t", "é"] {
            assert!(size(text).unwrap_err().to_string().starts_with("-s: found `"), "{text}");
        }
    }

    #[test]
    fn files_come_in_thousands_with_sizes_and_folders() {
        assert_eq!(files("16").unwrap(), BonnieFiles { thousands: 16, ..BonnieFiles::default() });
        let all = BonnieFiles {
            thousands: 4,
            max: Bytes(10_000),
            min: Bytes(1024),
            folders: 8,
            chunk: Bytes(4096),
        };
        assert_eq!(files("4:10000:1k:8:4096").unwrap(), all);
        for text in ["", "x", "1:x", "1:2:3:4:5:6", "-1", "1:1:1:1:1x"] {
            assert!(files(text).unwrap_err().to_string().contains("-n 16 are 16 x 1024"), "{text}");
        }
        assert!(files("16:-2").unwrap_err().to_string().contains("links"));
    }

    #[test]
    fn characters_have_a_size_of_their_own() {
        assert_eq!((chars("20").unwrap(), chars("1g").unwrap()), (20, 1024));
        assert!(chars("fast").unwrap_err().to_string().contains("-f without a number skips"));
    }
}
