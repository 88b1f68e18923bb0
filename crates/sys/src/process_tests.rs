//! Facts about processor time, affinity and children.

use std::os::fd::AsRawFd;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};

use super::*;
use crate::error::ErrorKind;

/// Works until the calling thread has used 30 ms of processor time, whatever else the host does.
fn burn() {
    let before = cpu_times(CpuScope::Thread);
    let mut bytes = [0; 4096];
    while cpu_times(CpuScope::Thread).since(before).total_ns() < 30_000_000 {
        for seed in 0..64 {
            crate::entropy::fill_entropy(&mut bytes, seed);
        }
    }
}

#[test]
fn work_of_a_thread_is_charged_to_it_and_to_its_process() {
    std::thread::spawn(|| {
        let (thread, process) = (cpu_times(CpuScope::Thread), cpu_times(CpuScope::Process));
        burn();
        assert!(cpu_times(CpuScope::Process).since(process).total_ns() >= 29_000_000);
        assert!(cpu_times(CpuScope::Thread).since(thread).user_ns > 0);
    })
    .join()
    .unwrap();
}

#[test]
fn work_of_another_thread_is_not_charged_to_this_one() {
    let before = cpu_times(CpuScope::Thread);
    std::thread::spawn(burn).join().unwrap();
    assert!(cpu_times(CpuScope::Thread).since(before).total_ns() < 30_000_000);
}

#[test]
fn the_time_of_a_running_thread_is_that_of_its_clock_and_not_of_its_last_tick() {
    std::thread::spawn(|| {
        let clock_ns = || {
            let read = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
            u64::try_from(read.tv_sec * 1_000_000_000 + read.tv_nsec).unwrap()
        };
        let mut bytes = [0; 4096];
        for step in 1..=100 {
            while clock_ns() < step * 300_000 {
                crate::entropy::fill_entropy(&mut bytes, step);
            }
            // Microseconds are cut off, and a host may be slow between the two readings; a tick is 1 ms at least.
            let (early, used_ns, late) = (clock_ns(), cpu_times(CpuScope::Thread).total_ns(), clock_ns());
            assert!(used_ns + 20_000 >= early && used_ns <= late + 20_000, "{early} {used_ns} {late}");
        }
    })
    .join()
    .unwrap();
}

#[test]
fn what_a_thread_waited_for_a_processor_is_known_and_never_goes_back() {
    let before = thread_cpu_wait_ns();
    burn();
    let after = thread_cpu_wait_ns();
    // A kernel without these times has neither.
    assert_eq!(before.is_some(), after.is_some());
    assert!(after >= before, "{before:?} {after:?}");
}

#[test]
fn a_childs_time_counts_once_it_was_waited_for() {
    let before = cpu_times(CpuScope::Children);
    let status = Command::new("sh").args(["-c", "i=0; while [ $i -lt 50000 ]; do i=$((i+1)); done"]).status();
    assert!(status.unwrap().success());
    assert!(cpu_times(CpuScope::Children).since(before).total_ns() > 1_000_000);
}

#[test]
fn a_thread_bound_to_one_cpu_may_use_that_one_alone() {
    std::thread::spawn(|| {
        let allowed = affinity().unwrap();
        let last = *allowed.last().unwrap();
        set_affinity(&[last]).unwrap();
        assert_eq!(affinity().unwrap(), [last]);
        assert_eq!(rustix::thread::sched_getcpu(), last);
    })
    .join()
    .unwrap();
}

#[test]
fn binding_to_no_cpu_or_to_an_impossible_one_is_refused() {
    assert_eq!(set_affinity(&[]).unwrap_err().kind(), ErrorKind::Invalid);
    assert_eq!(set_affinity(&[1023]).unwrap_err().kind(), ErrorKind::Invalid);
    assert_eq!(set_affinity(&[1024]).unwrap_err().kind(), ErrorKind::Invalid);
}

#[test]
fn host_constants_are_those_of_linux() {
    assert!(page_bytes().is_power_of_two() && page_bytes() >= 4096);
    assert_eq!(clock_ticks_per_s(), 100, "USER_HZ is 100 on every architecture that narrows runs on");
}

fn sleeper() -> Command {
    let mut command = Command::new("sleep");
    command.arg("600").stdin(Stdio::null());
    command
}

#[test]
fn each_way_to_stop_a_child_sends_its_own_signal() {
    for (how, number) in [(StopSignal::Terminate, libc::SIGTERM), (StopSignal::Kill, libc::SIGKILL)] {
        let mut child = sleeper().spawn().unwrap();
        assert_eq!(stop_child(&mut child, how).unwrap(), StopOutcome::Signalled);
        assert_eq!(child.wait().unwrap().signal(), Some(number));
        assert_eq!(stop_child(&mut child, how).unwrap(), StopOutcome::AlreadyEnded);
    }
}

#[test]
fn a_stopped_child_runs_again_and_ends() {
    let mut child = sleeper().spawn().unwrap();
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, Signal::STOP).unwrap();
    stop_child(&mut child, StopSignal::Terminate).unwrap();
    stop_child(&mut child, StopSignal::Continue).unwrap();
    assert_eq!(child.wait().unwrap().signal(), Some(libc::SIGTERM));
}

#[test]
fn a_child_ends_with_the_thread_that_spawned_it() {
    let mut child = std::thread::spawn(|| {
        let mut command = sleeper();
        die_with_parent(&mut command);
        command.spawn().unwrap()
    })
    .join()
    .unwrap();
    assert_eq!(child.wait().unwrap().signal(), Some(libc::SIGTERM));
}

#[test]
fn a_thread_that_wakes_on_time_has_the_least_slack() {
    let slack_ns = std::thread::spawn(|| {
        wake_on_time().unwrap();
        rustix::thread::current_timer_slack().unwrap()
    });
    assert_eq!(slack_ns.join().unwrap(), 1);
}

#[test]
fn a_file_opened_with_a_table_of_its_own_is_the_threads_alone_and_those_from_before_are_there() {
    let before = tempfile::tempfile().unwrap();
    let is_open = |table: &str, file: &std::fs::File| {
        std::fs::symlink_metadata(format!("/proc/{table}/fd/{}", file.as_raw_fd())).is_ok()
    };
    std::thread::scope(|scope| {
        let life = || {
            // SAFETY: what is opened below is closed by this thread, and `before` is only looked at.
            unsafe { unshare_open_files() }.unwrap();
            // High enough that no other test of this process opens that many.
            let own = rustix::io::fcntl_dupfd_cloexec(&before, 900).map(std::fs::File::from).unwrap();
            assert!(is_open("thread-self", &before) && is_open("self", &before));
            assert!(is_open("thread-self", &own) && !is_open("self", &own));
            let found = std::fs::read_link(format!("/proc/thread-self/fd/{}", own.as_raw_fd())).unwrap();
            assert_eq!(crate::file::descriptor(&own), found.display().to_string());
        };
        scope.spawn(life).join().unwrap();
    });
}
