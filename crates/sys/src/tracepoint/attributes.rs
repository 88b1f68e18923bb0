//! What `perf_event_open` is asked for: `struct perf_event_attr`, as far as it is used here.

/// The kernel's `struct perf_event_attr` up to version 5 (Linux 4.1), which all later kernels take.
///
/// # Source
/// `include/uapi/linux/perf_event.h`; `perf_event_open(2)`.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct TracepointAttributes {
    kind: u32,
    size_bytes: u32,
    config: u64,
    sample_period: u64,
    sample_type: u64,
    read_format: u64,
    flags: u64,
    wakeup_watermark: u32,
    breakpoint_type: u32,
    config_1: u64,
    config_2: u64,
    branch_sample_type: u64,
    user_registers: u64,
    user_stack: u32,
    clock_id: i32,
    interrupt_registers: u64,
    aux_watermark: u32,
    max_stack: u16,
    reserved: u16,
}

const SIZE_BYTES: u32 = 112;
const _: () = assert!(size_of::<TracepointAttributes>() == SIZE_BYTES as usize);

const TYPE_TRACEPOINT: u32 = 2;
const SAMPLE_TIME: u64 = 1 << 2;
const SAMPLE_RAW: u64 = 1 << 10;
// Bits of the flags, from the first bit of the field on.
const DISABLED: u32 = 0;
const WATERMARK: u32 = 14;
const USE_CLOCK_ID: u32 = 25;

impl TracepointAttributes {
    /// Every event of the tracepoint with this number, with its time on the monotonic clock and its fields.
    pub(super) fn tracepoint(id: u64, is_disabled: bool) -> Self {
        // With a watermark, half a ring by default, nobody is woken for a single event.
        let flags = [DISABLED].into_iter().filter(|_| is_disabled).chain([WATERMARK, USE_CLOCK_ID]);
        Self {
            kind: TYPE_TRACEPOINT,
            size_bytes: SIZE_BYTES,
            config: id,
            sample_period: 1,
            sample_type: SAMPLE_TIME | SAMPLE_RAW,
            flags: flags.map(flag).fold(0, |all, one| all | one),
            clock_id: libc::CLOCK_MONOTONIC,
            ..Self::default()
        }
    }
}

/// Bit fields begin at the lowest bit on machines with the lowest byte first, else at the highest.
const fn flag(bit: u32) -> u64 {
    if cfg!(target_endian = "big") { 1 << (63 - bit) } else { 1 << bit }
}
