//! Which loader an ELF file of 64 bits asks for.

use anyhow::{Context, ensure};

/// Type of the program header that names the loader.
const PT_INTERP: u32 = 3;
/// More program headers than any linker writes.
const HEADERS_MAX: u16 = 256;

/// The loader that `content` asks for; `None` of a static file.
///
/// # Errors
/// What is no ELF file of 64 bits, little-endian, or is cut off.
///
/// # Source
/// The System V ABI, chapter 4 and 5: `e_phoff` at 32, `e_phentsize` at 54, `e_phnum` at 56; `p_offset` at 8, `p_filesz` at
/// 32 of a program header.
pub(super) fn interpreter(content: &[u8]) -> anyhow::Result<Option<String>> {
    ensure!(content.starts_with(b"\x7fELF\x02\x01"), "its first bytes are others");
    let table = usize::try_from(u64_at(content, 32)?)?;
    let (header_bytes, count) = (u16_at(content, 54)?, u16_at(content, 56)?);
    ensure!(count <= HEADERS_MAX, "{count} program headers");
    for index in 0..count {
        let header = table.saturating_add(usize::from(index) * usize::from(header_bytes));
        if u32_at(content, header)? != PT_INTERP {
            continue;
        }
        let start = usize::try_from(u64_at(content, header.saturating_add(8))?)?;
        let length = usize::try_from(u64_at(content, header.saturating_add(32))?)?;
        let name = content.get(start..start.saturating_add(length)).context("it is cut off")?;
        return Ok(Some(String::from_utf8_lossy(name).trim_end_matches('\0').to_owned()));
    }
    Ok(None)
}

fn bytes_at<const N: usize>(content: &[u8], at: usize) -> anyhow::Result<[u8; N]> {
    let bytes = content.get(at..at.saturating_add(N)).context("it is cut off")?;
    Ok(bytes.try_into()?)
}

fn u16_at(content: &[u8], at: usize) -> anyhow::Result<u16> {
    Ok(u16::from_le_bytes(bytes_at(content, at)?))
}

fn u32_at(content: &[u8], at: usize) -> anyhow::Result<u32> {
    Ok(u32::from_le_bytes(bytes_at(content, at)?))
}

fn u64_at(content: &[u8], at: usize) -> anyhow::Result<u64> {
    Ok(u64::from_le_bytes(bytes_at(content, at)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_test_names_its_loader_and_no_cut_of_it_panics() {
        let this = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        let loader = interpreter(&this).unwrap().unwrap();
        assert!(loader.starts_with('/') && loader.contains("ld"), "{loader}");
        for length in 0..600 {
            let _ = interpreter(&this[..length]);
        }
        assert!(interpreter(&this[..70]).is_err());
    }
}
