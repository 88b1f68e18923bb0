//! The least that random reads with `pread` can cost: a loop over the system call and nothing else.
//!
//! `bare_pread FILE SECONDS [unstamped|inlined]` reads random 4 KiB blocks of FILE through the page cache and prints
//! `{"ops_per_s":...,"ns_per_op":...}`. Reads go through the C library's `pread`, as in any program. The clock is read
//! once for each read and its latency is formed, as in a worker of narrows at depth 1; with `unstamped` it is read once
//! for 1024 reads. With `inlined` the system call is in the loop itself, so that no function returns after it,
//! which is the least that is possible and what no program is built like (see `return_stack` in the library).
//! Histograms, samples and stop requests are what the loop leaves out. Blocks are drawn with replacement, by a
//! generator of three shifts.

use std::error::Error;
use std::fs::File;
use std::io::Write as _;
use std::os::unix::fs::FileExt;

use narrows_sys::buffer::AlignedBuffer;
use narrows_sys::clock::Monotonic;
use narrows_sys::file::pread;

const BLOCK_BYTES: usize = 4096;
const USAGE: &str = "usage: bare_pread FILE SECONDS [unstamped|inlined]";

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [name, seconds, stamps @ ..] = words.as_slice() else { return Err(USAGE.into()) };
    let (reads_per_stamp, inlined) = match stamps {
        [] => (1, false),
        [word] if word == "unstamped" => (1024, false),
        [word] if word == "inlined" => (1, true),
        _ => return Err(USAGE.into()),
    };
    let seconds: u64 = seconds.parse()?;
    let file = File::open(name)?;
    let block_count = file.metadata()?.len() / BLOCK_BYTES as u64;
    if block_count == 0 {
        return Err("FILE holds no block of 4096 bytes".into());
    }
    let mut block = AlignedBuffer::new(BLOCK_BYTES)?;
    let clock = Monotonic::new();
    let started_ns = clock.now_ns();
    let until_ns = started_ns.saturating_add(seconds.saturating_mul(1_000_000_000));
    let (mut stamp_ns, mut latency_sum_ns, mut op_count) = (started_ns, 0, 0_u64);
    let mut state: u64 = 0x9e37_79b9_7f4a_7c15;
    while stamp_ns < until_ns {
        for _ in 0..reads_per_stamp {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            let index = u64::try_from((u128::from(state) * u128::from(block_count)) >> 64)?;
            let offset_bytes = index * BLOCK_BYTES as u64;
            let read_bytes = if inlined {
                pread(&file, &mut block, offset_bytes).map_err(std::io::Error::from)?.done_bytes()
            } else {
                file.read_at(&mut block, offset_bytes)?
            };
            if read_bytes < BLOCK_BYTES {
                return Err("a read was short".into());
            }
        }
        op_count += reads_per_stamp;
        let now_ns = clock.now_ns();
        latency_sum_ns += now_ns - stamp_ns;
        stamp_ns = now_ns;
    }
    let ns_per_op = (stamp_ns - started_ns) as f64 / op_count as f64;
    let mut stdout = std::io::stdout().lock();
    writeln!(
        stdout,
        "{{\"ops_per_s\":{:.1},\"ns_per_op\":{ns_per_op:.2},\"latency_ns_mean\":{:.1}}}",
        1e9 / ns_per_op,
        f64::from(u32::try_from(latency_sum_ns / op_count).unwrap_or(u32::MAX)),
    )?;
    Ok(())
}
