//! The handler of SIGBUS: keeps a page of a mapped file that cannot be had from ending the process.
//!
//! It looks the address up in a table of live mappings, puts a page of zeroes there, counts the fault and returns,
//! after which the access continues. A signal about any other address is passed to the previous handler, so that a
//! defect of the program still ends it. The handler uses atomics and one mmap(2) alone: no lock, no allocation.

use std::ffi::{c_int, c_void};
use std::ptr::NonNull;
use std::sync::Once;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, AtomicUsize, Ordering};

use crate::error::SysErrno;

/// Mappings at a time: sixty-four workers with sixty-four files each.
const MAPPINGS_MAX: usize = 4096;

static MAPPINGS: [MappingEntry; MAPPINGS_MAX] = [const { MappingEntry::free() }; MAPPINGS_MAX];
/// Entries beyond this were never used: the handler need not look at them.
static USED_COUNT: AtomicUsize = AtomicUsize::new(0);
/// Who handled the signal before; set before the handler is, and never freed.
static FORMER: AtomicPtr<libc::sigaction> = AtomicPtr::new(std::ptr::null_mut());
static PAGE_BYTES: AtomicUsize = AtomicUsize::new(0);

/// One live mapping.
struct MappingEntry {
    is_taken: AtomicBool,
    /// The first address; 0 while the rest of the entry is not valid.
    start: AtomicUsize,
    /// The first address past the last page.
    end: AtomicUsize,
    fault_count: AtomicU64,
}

impl MappingEntry {
    const fn free() -> Self {
        Self {
            is_taken: AtomicBool::new(false),
            start: AtomicUsize::new(0),
            end: AtomicUsize::new(0),
            fault_count: AtomicU64::new(0),
        }
    }

    /// Whether the mapping contains `address`, whose own entry cannot change meanwhile: its mapping is being accessed.
    ///
    /// Another entry may change during the check. Its start is read twice: if it stayed the same, the end read between
    /// belongs to a mapping with that start, which did not overlap the one that contains `address`.
    fn holds(&self, address: usize) -> bool {
        let start = self.start.load(Ordering::SeqCst);
        let end = self.end.load(Ordering::SeqCst);
        start != 0 && (start..end).contains(&address) && self.start.load(Ordering::SeqCst) == start
    }
}

/// A mapping whose faults are mended and counted, until [`WatchedMapping::end`].
pub(super) struct WatchedMapping {
    entry: &'static MappingEntry,
}

impl WatchedMapping {
    /// Faults mended so far.
    #[inline]
    pub(super) fn fault_count(&self) -> u64 {
        self.entry.fault_count.load(Ordering::Relaxed)
    }

    /// Ends the watch, before the file is unmapped.
    pub(super) fn end(&mut self) {
        self.entry.start.store(0, Ordering::SeqCst);
        self.entry.is_taken.store(false, Ordering::SeqCst);
    }
}

/// Mends and counts faults in the live mapping of `length_bytes` at `start`, which is the caller's own.
///
/// # Errors
/// `ENOMEM` when the table is full; what sigaction(2) says.
pub(super) fn watch(start: NonNull<u8>, length_bytes: usize) -> Result<WatchedMapping, SysErrno> {
    handle()?;
    let free = |entry: &&MappingEntry| {
        entry.is_taken.compare_exchange(false, true, Ordering::SeqCst, Ordering::SeqCst).is_ok()
    };
    let (index, entry) =
        MAPPINGS.iter().enumerate().find(|(_, entry)| free(entry)).ok_or(SysErrno::from_raw(libc::ENOMEM))?;
    USED_COUNT.fetch_max(index + 1, Ordering::SeqCst);
    let start = start.addr().get();
    let pages_bytes = length_bytes.next_multiple_of(rustix::param::page_size());
    entry.fault_count.store(0, Ordering::SeqCst);
    entry.end.store(start.saturating_add(pages_bytes), Ordering::SeqCst);
    entry.start.store(start, Ordering::SeqCst);
    Ok(WatchedMapping { entry })
}

/// Sets the handler, once a process.
fn handle() -> Result<(), SysErrno> {
    static ONCE: Once = Once::new();
    static ERRNO: AtomicUsize = AtomicUsize::new(0);
    ONCE.call_once(|| {
        if let Err(errno) = set_handler() {
            ERRNO.store(usize::try_from(errno.raw()).unwrap_or(0), Ordering::SeqCst);
        }
    });
    match i32::try_from(ERRNO.load(Ordering::SeqCst)) {
        Ok(0) => Ok(()),
        Ok(number) => Err(SysErrno::from_raw(number)),
        Err(_) => Err(SysErrno::from_raw(libc::EINVAL)),
    }
}

fn set_handler() -> Result<(), SysErrno> {
    PAGE_BYTES.store(rustix::param::page_size(), Ordering::SeqCst);
    let former = Box::leak(Box::new(default_action()));
    // SAFETY: `former` is writable and of the right type; no action is given, so none is set.
    if unsafe { libc::sigaction(libc::SIGBUS, std::ptr::null(), former) } != 0 {
        return Err(SysErrno::last());
    }
    FORMER.store(former, Ordering::SeqCst);
    let mut action = default_action();
    action.sa_sigaction = on_bus_error as *const () as usize;
    // On the alternate stack where a thread has one; a call that the signal broke off is made again.
    action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_RESTART;
    // SAFETY: the action is whole, and its handler has the form that SA_SIGINFO promises.
    if unsafe { libc::sigaction(libc::SIGBUS, &raw const action, std::ptr::null_mut()) } != 0 {
        return Err(SysErrno::last());
    }
    Ok(())
}

fn default_action() -> libc::sigaction {
    // SAFETY: a sigaction of zeroes is valid: SIG_DFL, no flags, an empty mask.
    unsafe { std::mem::zeroed() }
}

/// Runs on the thread that made the access, in its midst.
extern "C" fn on_bus_error(signal: c_int, facts: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: the kernel gives a handler set with SA_SIGINFO a whole siginfo; for a positive code of this signal its
    // address is that of the access.
    let (code, address) = unsafe { ((*facts).si_code, (*facts).si_addr()) };
    // Zero and less is a signal that somebody sent, about no address at all.
    if code <= 0 || !mend(address) {
        pass_on(code, signal, facts, context);
    }
}

/// Puts a page of zeroes at `address` if a watched mapping contains it, and counts that.
fn mend(address: *mut c_void) -> bool {
    let used = MAPPINGS.iter().take(USED_COUNT.load(Ordering::SeqCst));
    let Some(entry) = used.into_iter().find(|entry| entry.holds(address.addr())) else { return false };
    let page_bytes = PAGE_BYTES.load(Ordering::SeqCst);
    let page_start = address.map_addr(|address| address - address % page_bytes);
    let flags = libc::MAP_PRIVATE | libc::MAP_FIXED | libc::MAP_ANONYMOUS;
    // SAFETY: errno is this thread's own; whoever was interrupted must find its own value again.
    let errno = unsafe { *libc::__errno_location() };
    // SAFETY: MAP_FIXED replaces one whole page of a watched mapping, whose owner makes no reference to it and cannot
    // unmap it meanwhile: it is in the midst of the access.
    let mapped =
        unsafe { libc::mmap(page_start, page_bytes, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0) };
    // SAFETY: as above.
    unsafe { *libc::__errno_location() = errno };
    if mapped == libc::MAP_FAILED {
        return false;
    }
    entry.fault_count.fetch_add(1, Ordering::SeqCst);
    true
}

/// Does with the signal what was done with it before this handler was set.
fn pass_on(code: c_int, signal: c_int, facts: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: it is null or points to an action that was set before this handler was, and is never freed.
    let former = unsafe { FORMER.load(Ordering::SeqCst).as_ref() };
    let Some(former) = former else { return die(code, signal) };
    match former.sa_sigaction {
        libc::SIG_DFL => die(code, signal),
        // The kernel lets nobody ignore an access that cannot go on.
        libc::SIG_IGN if code > 0 => die(code, signal),
        libc::SIG_IGN => {}
        handler if former.sa_flags & libc::SA_SIGINFO != 0 => {
            // SAFETY: an action with SA_SIGINFO points to a function of this type.
            let handler: extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void) =
                unsafe { std::mem::transmute(handler) };
            handler(signal, facts, context);
            end_if_wanted(code, signal);
        }
        handler => {
            // SAFETY: an action without SA_SIGINFO, neither default nor ignored, points to a function of this type.
            let handler: extern "C" fn(c_int) = unsafe { std::mem::transmute(handler) };
            handler(signal);
            end_if_wanted(code, signal);
        }
    }
}

/// Sends a sent signal again when the handler before this one has left it to the default action: Rust's own does so
/// for what is no overflow of a stack, and counts on an access that is made again.
fn end_if_wanted(code: c_int, signal: c_int) {
    let mut now = default_action();
    // SAFETY: `now` is writable and of the right type; sigaction(2) may be called in a handler.
    let status = unsafe { libc::sigaction(signal, std::ptr::null(), &raw mut now) };
    if status == 0 && now.sa_sigaction == libc::SIG_DFL {
        die(code, signal);
    }
}

/// Lets the signal end the process: the access is made again after the return, a sent signal is sent again.
fn die(code: c_int, signal: c_int) {
    let action = default_action();
    // SAFETY: the action is whole; sigaction(2) and raise(3) may be called in a handler.
    unsafe {
        libc::sigaction(signal, &raw const action, std::ptr::null_mut());
        if code <= 0 {
            libc::raise(signal);
        }
    }
}
