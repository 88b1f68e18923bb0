//! A client that is stopped gives its places at an endpoint to others.

use crate::support::running::{Running, waited};
use narrows_endpoint::{ServeOptions, Server};
use narrows_engines::endpoint::ControlClient;
use narrows_engines::{Clock, MonotonicClock, StopFlag, StopRequest, Tick};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// This machine's clock, which a test moves ahead.
struct ShiftedClock {
    clock: MonotonicClock,
    ahead_ns: AtomicU64,
}

impl Clock for ShiftedClock {
    fn now(&self) -> Tick {
        Tick(self.clock.now().0 + self.ahead_ns.load(Ordering::SeqCst))
    }

    fn wait_until(&self, deadline: Tick) {
        self.clock.wait_until(Tick(deadline.0.saturating_sub(self.ahead_ns.load(Ordering::SeqCst))));
    }
}

#[test]
fn a_stopped_client_gives_its_places_at_an_endpoint_after_a_minute() {
    let clock = Arc::new(ShiftedClock { clock: MonotonicClock::new(), ahead_ns: AtomicU64::new(0) });
    let listen = SocketAddr::from(([127, 0, 0, 1], 0));
    let mut options = ServeOptions::new(listen, Arc::clone(&clock) as Arc<dyn Clock>);
    // Its control connection, the one on which it asks, and its load's.
    options.connections_max = 3;
    let server = Server::bind(options).unwrap();
    let (address, stop) = (server.local_address(), StopFlag::default());
    let flag = stop.clone();
    let serving = std::thread::spawn(move || server.run(&flag));
    let places = || {
        let connect = || {
            let client = Arc::new(MonotonicClock::new());
            ControlClient::connect("127.0.0.1", address.port(), None, client, 5_000_000_000).ok()
        };
        (0..3).map_while(|_| connect()).collect::<Vec<_>>().len()
    };

    let folder = tempfile::tempdir().unwrap();
    let target = format!("tcp://{address}/memory");
    let words =
        ["check", &target, "--whole-plan", "--cell-seconds", "0.5", "--seconds", "300", "--out", "record"];
    let mut running =
        Running::start(folder.path(), &[&words[..], &["--op", "read", "--depth", "4"]].concat());
    running.wait_for("generator");
    running.signal("STOP");
    clock.ahead_ns.store(50_000_000_000, Ordering::SeqCst);
    assert!(places() < 3, "the stopped client has places");
    clock.ahead_ns.store(62_000_000_000, Ordering::SeqCst);
    let are_free = waited(Duration::from_secs(10), || places() == 3);
    running.signal("CONT");
    let seen = running.end();
    stop.ask(StopRequest::Now);
    serving.join().unwrap().unwrap();
    assert!(are_free, "the places of a stopped client were not given to another one");
    assert!(matches!(seen.code, Some(3 | 4)), "{seen:?}");
}
