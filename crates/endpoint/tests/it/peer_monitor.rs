//! A run that asks its peer all the while whether it answers, against a server that ends.

use crate::support::{Running, TIMEOUT_NS, eventually, options};
use narrows_engines::endpoint::PeerProbe;
use narrows_run::{PeerLoss, PeerMonitor, StopFlag};

/// Threads of this process that ask a peer; the kernel's list has their names.
fn asking_threads() -> usize {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap();
    let names = tasks.filter_map(|task| std::fs::read_to_string(task.unwrap().path().join("comm")).ok());
    names.filter(|name| name.trim_end() == "peer-monitor").count()
}

/// Starts a monitor of a server, does `before` with it, and ends the server; what the run noted of it.
fn end_server_after(before: impl FnOnce(&PeerMonitor)) -> (StopFlag, PeerLoss) {
    let server = Running::start(options());
    let client = server.control();
    let (stop, loss) = (StopFlag::default(), PeerLoss::default());
    let probes = |ending: &StopFlag| Ok(vec![PeerProbe::beside(&client, None, TIMEOUT_NS, ending)?]);
    let monitor = PeerMonitor::start(probes, &stop, &loss).unwrap();
    eventually("a thread asks, by its name", || asking_threads() == 1);
    before(&monitor);
    server.stop().unwrap();
    eventually("the thread that asks has noticed the end", || asking_threads() == 0);
    (stop, loss)
}

/// One test, since the threads of another would be counted too.
#[test]
fn the_loss_of_a_peer_stops_a_run_until_its_load_is_over() {
    let (stop, loss) = end_server_after(|_| ());
    assert!(stop.is_now());
    assert!(loss.message().is_some());

    let (stop, loss) = end_server_after(PeerMonitor::ignore_losses);
    assert!(!stop.is_now(), "files are removed in peace");
    assert_eq!(loss.message(), None);
}
