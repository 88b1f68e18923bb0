//! The least that random reads through `io_uring` can cost: a loop over the crate `io-uring` and nothing else.
//!
//! `bare_uring FILE SECONDS DEPTH BATCH [CPU]` reads random 4 KiB blocks of FILE through the page cache with registered
//! buffers and one registered file, and prints `{"ops_per_s":...,"ns_per_op":...}`. It waits for BATCH completions, then
//! refills all free places with one submission; the clock is read once for each submission and once for each batch of
//! completions, and every latency is formed, as in a worker of narrows. Histograms, samples and stop requests are what
//! the loop leaves out. Blocks are drawn with replacement.

use std::error::Error;
use std::fs::File;
use std::io::Write as _;
use std::os::fd::AsRawFd;

use io_uring::{IoUring, opcode, types};
use narrows_sys::buffer::AlignedBuffer;
use narrows_sys::clock::Monotonic;
use rustix::thread::{CpuSet, sched_setaffinity};

const BLOCK_BYTES: u32 = 4096;
const NS_PER_S: f64 = 1e9;

struct Arguments {
    file: File,
    seconds: f64,
    depth: u32,
    batch: u32,
}

struct Outcome {
    op_count: u64,
    elapsed_ns: u64,
    latency_sum_ns: u64,
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments = arguments()?;
    let block_count = arguments.file.metadata()?.len() / u64::from(BLOCK_BYTES);
    if block_count == 0 {
        return Err("FILE holds no block of 4096 bytes".into());
    }
    let outcome = Loop::new(&arguments, block_count)?.run(arguments.seconds)?;
    let ns_per_op = outcome.elapsed_ns as f64 / outcome.op_count as f64;
    let mut stdout = std::io::stdout().lock();
    writeln!(
        stdout,
        "{{\"ops_per_s\":{:.1},\"ns_per_op\":{ns_per_op:.2},\"latency_ns_mean\":{:.1}}}",
        NS_PER_S / ns_per_op,
        outcome.latency_sum_ns as f64 / outcome.op_count as f64,
    )?;
    Ok(())
}

fn arguments() -> Result<Arguments, Box<dyn Error>> {
    const USAGE: &str = "usage: bare_uring FILE SECONDS DEPTH BATCH [CPU], 1 <= BATCH <= DEPTH <= 4096";
    let given: Vec<String> = std::env::args().skip(1).collect();
    let [file, seconds, depth, batch, cpu @ ..] = given.as_slice() else { return Err(USAGE.into()) };
    let (depth, batch) = (depth.parse()?, batch.parse()?);
    if !(1..=4096).contains(&depth) || !(1..=depth).contains(&batch) || cpu.len() > 1 {
        return Err(USAGE.into());
    }
    if let [cpu] = cpu {
        let mut only = CpuSet::new();
        only.set(cpu.parse()?);
        sched_setaffinity(None, &only)?;
    }
    Ok(Arguments { file: File::open(file)?, seconds: seconds.parse()?, depth, batch })
}

struct Loop {
    // Before the buffers, so that the ring is gone when they are freed.
    ring: IoUring,
    // Kept mapped, and reached through `start` alone while the kernel writes into them.
    _buffers: AlignedBuffer,
    start: *mut u8,
    batch: usize,
    free: Vec<u16>,
    submitted_ns: Vec<u64>,
    random: u64,
    block_count: u64,
    clock: Monotonic,
}

impl Loop {
    fn new(arguments: &Arguments, block_count: u64) -> Result<Self, Box<dyn Error>> {
        let depth = usize::try_from(arguments.depth)?;
        let block_bytes = usize::try_from(BLOCK_BYTES)?;
        let mut buffers = AlignedBuffer::new(depth * block_bytes)?;
        let ring = IoUring::builder()
            .setup_single_issuer()
            .setup_defer_taskrun()
            .build(arguments.depth.next_power_of_two())?;
        let start = buffers.as_mut_ptr();
        let vectors = [libc::iovec { iov_base: start.cast(), iov_len: depth * block_bytes }];
        // SAFETY: the vector covers one live mapping, which `Loop` keeps until the ring is dropped.
        unsafe { ring.submitter().register_buffers(&vectors) }?;
        ring.submitter().register_files(&[arguments.file.as_raw_fd()])?;
        Ok(Self {
            ring,
            _buffers: buffers,
            start,
            batch: usize::try_from(arguments.batch)?,
            free: (0..u16::try_from(depth)?).collect(),
            submitted_ns: vec![0; depth],
            random: 0x9e37_79b9_7f4a_7c15,
            block_count,
            clock: Monotonic::new(),
        })
    }

    fn run(&mut self, seconds: f64) -> Result<Outcome, Box<dyn Error>> {
        let started_ns = self.clock.now_ns();
        let until_ns = started_ns + duration_ns(seconds)?;
        let mut outcome = Outcome { op_count: 0, elapsed_ns: 0, latency_sum_ns: 0 };
        let mut now_ns = started_ns;
        while now_ns < until_ns {
            self.refill()?;
            if self.ring.completion().len() < self.batch {
                self.ring.submit_and_wait(self.batch)?;
            }
            now_ns = self.clock.now_ns();
            for done in self.ring.completion() {
                if done.result() != i32::try_from(BLOCK_BYTES)? {
                    return Err(format!("a read gave {}", done.result()).into());
                }
                let slot = u16::try_from(done.user_data())?;
                outcome.latency_sum_ns += now_ns - self.submitted_ns[usize::from(slot)];
                outcome.op_count += 1;
                self.free.push(slot);
            }
        }
        outcome.elapsed_ns = now_ns - started_ns;
        Ok(outcome)
    }

    fn refill(&mut self) -> Result<(), Box<dyn Error>> {
        let stamp_ns = self.clock.now_ns();
        let block_bytes = usize::try_from(BLOCK_BYTES)?;
        let mut queue = self.ring.submission();
        for slot in self.free.drain(..) {
            self.submitted_ns[usize::from(slot)] = stamp_ns;
            let block = self.start.wrapping_add(usize::from(slot) * block_bytes);
            // xorshift64 (Marsaglia 2003); the high half scales it to the count of blocks.
            self.random ^= self.random << 13;
            self.random ^= self.random >> 7;
            self.random ^= self.random << 17;
            let index = (u128::from(self.random) * u128::from(self.block_count)) >> 64;
            let entry = opcode::ReadFixed::new(types::Fixed(0), block, BLOCK_BYTES, 0)
                .offset(u64::try_from(index)? * u64::from(BLOCK_BYTES))
                .build()
                .user_data(u64::from(slot));
            // SAFETY: the block belongs to the slot, which is free, and lives as long as the ring; nothing reads it.
            unsafe { queue.push(&entry) }?;
        }
        drop(queue);
        self.ring.submit()?;
        Ok(())
    }
}

/// Nanoseconds in `seconds`.
fn duration_ns(seconds: f64) -> Result<u64, Box<dyn Error>> {
    Ok(u64::try_from(std::time::Duration::try_from_secs_f64(seconds)?.as_nanos())?)
}
