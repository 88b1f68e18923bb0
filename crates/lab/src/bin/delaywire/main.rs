//! A wire between two TAP devices that delays every frame by a fixed time in each direction.
//!
//! `delaywire TAP_A TAP_B ONE_WAY_US LOSS_EVERY` creates both devices, prints `ready` and forwards frames until SIGTERM
//! or until a device is removed. One thread, one first-in-first-out queue a direction; frames that find a full queue
//! are dropped, as in a real switch. Of `LOSS_EVERY` frames of data one is dropped in each direction (0: none). It sets
//! no address, drops nothing at random and reorders nothing. For tests only.
//!
//! Unsafe code is confined to the module `tap`.

mod frame_queue;
mod tap;

use std::io::Write;
use std::num::NonZeroU64;
use std::os::fd::OwnedFd;
use std::process::ExitCode;

use frame_queue::FrameQueue;
use narrows_lab::clock::monotonic_ns;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

/// The kernel may otherwise be 50 us late with every wake-up, which is as much as a short wire's delay.
const TIMER_SLACK_NS: NonZeroU64 = NonZeroU64::new(1000).unwrap();

/// At most so many frames are taken from one side before the other side is served.
const BATCH_COUNT: usize = 64;

type DelayWireError = Box<dyn std::error::Error>;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            // Where it cannot be said it can only be returned.
            let _unheard = writeln!(std::io::stderr(), "delaywire: {failure}");
            ExitCode::from(3)
        }
    }
}

fn run() -> Result<(), DelayWireError> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [first, second, one_way_us, loss_every] = arguments.as_slice() else {
        return Err("usage: delaywire TAP_A TAP_B ONE_WAY_US LOSS_EVERY".into());
    };
    let loss_every: u64 = loss_every.parse().map_err(|_| format!("'{loss_every}' is no number of frames"))?;
    let delay_us: u64 = one_way_us.parse().map_err(|_| format!("'{one_way_us}' is no number of us"))?;
    let delay_ns = delay_us.checked_mul(1000).ok_or("the delay is beyond all bounds")?;
    let open = |name: &str| tap::open(name).map_err(|errno| format!("make the TAP {name}: {errno}"));
    let (a, b) = (open(first)?, open(second)?);
    rustix::thread::set_current_timer_slack(Some(TIMER_SLACK_NS))?;
    let mut stdout = std::io::stdout();
    writeln!(stdout, "ready")?;
    stdout.flush()?;
    forward_frames([&a, &b], || FrameQueue::new(delay_ns, loss_every))
        .map_err(|errno| format!("wait for frames: {errno}").into())
}

/// Forwards frames both ways until a device is removed.
fn forward_frames([a, b]: [&OwnedFd; 2], queue: impl Fn() -> FrameQueue) -> Result<(), Errno> {
    let (mut forth, mut back) = (queue(), queue());
    loop {
        let now_ns = monotonic_ns();
        forth.deliver(now_ns, |frame| send(b, frame));
        back.deliver(now_ns, |frame| send(a, frame));
        let next_ns = [forth.next_due_ns(), back.next_due_ns()].into_iter().flatten().min();
        let events = wait(a, b, next_ns)?;
        for (events, source, queue) in [(events[0], a, &mut forth), (events[1], b, &mut back)] {
            if events.intersects(PollFlags::ERR | PollFlags::HUP) {
                return Ok(());
            }
            if events.contains(PollFlags::IN) {
                take(source, queue);
            }
        }
    }
}

/// Waits for a frame on either side, or until the next one is due.
fn wait(a: &OwnedFd, b: &OwnedFd, next_due_ns: Option<u64>) -> Result<[PollFlags; 2], Errno> {
    let timeout = next_due_ns.map(|due_ns| {
        let left = std::time::Duration::from_nanos(due_ns.saturating_sub(monotonic_ns()));
        Timespec {
            tv_sec: i64::try_from(left.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: left.subsec_nanos().into(),
        }
    });
    let mut sides = [PollFd::new(a, PollFlags::IN), PollFd::new(b, PollFlags::IN)];
    match poll(&mut sides, timeout.as_ref()) {
        Ok(_) => Ok([sides[0].revents(), sides[1].revents()]),
        Err(Errno::INTR) => Ok([PollFlags::empty(); 2]),
        Err(errno) => Err(errno),
    }
}

fn take(source: &OwnedFd, queue: &mut FrameQueue) {
    for _ in 0..BATCH_COUNT {
        // Nothing to read is the usual end; a device that is down delivers nothing either.
        if !queue.accept(monotonic_ns(), |space| rustix::io::read(source, space).unwrap_or(0)) {
            return;
        }
    }
}

/// A side that is down or full loses the frame, as a cable does.
fn send(side: &OwnedFd, frame: &[u8]) {
    let _lost = rustix::io::write(side, frame);
}
