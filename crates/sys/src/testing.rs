//! Safe forms of unsafe calls for tests, whose closures keep what the calls ask for.
//!
//! Not for production: the feature `testing` is off by default.

/// Runs `test` in a new thread that has a table of open files of its own; what `test` opens it also closes.
///
/// # Panics
/// If the kernel refuses the table, or `test` panics.
pub fn in_own_file_table(test: impl FnOnce() + Send) {
    let life = || {
        // SAFETY: the thread ends with `test`, which returns nothing, so that no descriptor opened in it leaves it.
        let unshared = unsafe { crate::process::unshare_open_files() };
        assert!(unshared.is_ok(), "the kernel refuses a table of open files for one thread: {unshared:?}");
        test();
    };
    let outcome = std::thread::scope(|scope| scope.spawn(life).join());
    if let Err(panic) = outcome {
        std::panic::resume_unwind(panic);
    }
}
