//! A kernel that refuses certain calls of one thread, for tests of what happens then.
//!
//! The filter is the kernel's own (seccomp), as a container's would be; it stays for as long as the thread lives. It is
//! not for production: the feature `denied-calls` is off by default.

use crate::error::SysErrno;

/// A call that can be refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeniedCall {
    /// `io_uring_setup`: no ring at all.
    RingSetup,
    /// `io_uring_enter`: rings that cannot be used.
    RingEnter,
    /// `io_uring_register` of anything.
    RingRegister,
    /// `io_uring_register` of buffers.
    RingBuffers,
    /// `io_uring_register` of files.
    RingFiles,
    /// `write`, as on a file system without room.
    Write,
    /// `openat2`, as before Linux 5.6 and in older sandboxes.
    ConfinedOpen,
}

impl DeniedCall {
    /// The call's number and, where only one of its operations is refused, that operation, its second argument.
    fn number(self) -> (libc::c_long, Option<u32>) {
        match self {
            Self::RingSetup => (libc::SYS_io_uring_setup, None),
            Self::RingEnter => (libc::SYS_io_uring_enter, None),
            Self::RingRegister => (libc::SYS_io_uring_register, None),
            // IORING_REGISTER_BUFFERS and IORING_REGISTER_FILES.
            Self::RingBuffers => (libc::SYS_io_uring_register, Some(0)),
            Self::RingFiles => (libc::SYS_io_uring_register, Some(2)),
            Self::Write => (libc::SYS_write, None),
            Self::ConfinedOpen => (libc::SYS_openat2, None),
        }
    }
}

/// From now on `call` of this thread, and of threads and processes that it starts, fails with `errno`.
///
/// # Errors
/// Where the kernel takes no filter.
///
/// # Source
/// seccomp(2), `SECCOMP_SET_MODE_FILTER`; offsets are those of `struct seccomp_data` on a little-endian machine.
pub fn deny_in_this_thread(call: DeniedCall, errno: SysErrno) -> Result<(), SysErrno> {
    const NUMBER_AT: u32 = 0;
    const SECOND_ARGUMENT_AT: u32 = 24;
    let (number, operation) = call.number();
    let number = u32::try_from(number).map_err(|_| SysErrno::from_raw(libc::EINVAL))?;
    let refusal = libc::SECCOMP_RET_ERRNO | (errno.raw().unsigned_abs() & libc::SECCOMP_RET_DATA);
    // Each test that fails jumps to the last statement, which allows.
    let filter = match operation {
        None => vec![load(NUMBER_AT), unless(number, 1), answer(refusal), answer(libc::SECCOMP_RET_ALLOW)],
        Some(operation) => vec![
            load(NUMBER_AT),
            unless(number, 3),
            load(SECOND_ARGUMENT_AT),
            unless(operation, 1),
            answer(refusal),
            answer(libc::SECCOMP_RET_ALLOW),
        ],
    };
    install(filter)
}

fn load(at: u32) -> libc::sock_filter {
    statement(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, at, 0)
}

fn unless(equal_to: u32, skip: u8) -> libc::sock_filter {
    statement(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, equal_to, skip)
}

fn answer(value: u32) -> libc::sock_filter {
    statement(libc::BPF_RET | libc::BPF_K, value, 0)
}

fn statement(code: u32, k: u32, jf: u8) -> libc::sock_filter {
    // Codes of this machine have 16 bits.
    libc::sock_filter { code: u16::try_from(code).unwrap_or(0), jt: 0, jf, k }
}

fn install(mut filter: Vec<libc::sock_filter>) -> Result<(), SysErrno> {
    let program = libc::sock_fprog {
        len: u16::try_from(filter.len()).map_err(|_| SysErrno::from_raw(libc::EINVAL))?,
        filter: filter.as_mut_ptr(),
    };
    // SAFETY: this option takes four numbers and changes only what the thread may gain by exec.
    if unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) } != 0 {
        return Err(SysErrno::last());
    }
    // SAFETY: `program` names `filter` with its length, and both outlive the call, which copies them.
    let status =
        unsafe { libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, std::ptr::from_ref(&program)) };
    if status == 0 { Ok(()) } else { Err(SysErrno::last()) }
}
