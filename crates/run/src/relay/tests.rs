//! Trials with roles that the tests play themselves: honest ones, liars, and ones that go away.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

use super::*;
use narrows_model::CellId;
use narrows_model::counters::Role;
use narrows_model::relay::{
    CallSizes, ForwardMode, RelayRoleOutput, RelaySockets, RelaySweep, RelayTransport,
};
use narrows_model::units::Bytes;
use narrows_wire::relay::{Hop, HopAddress, RoleCommand, RoleReply, RoleReport, RoleSpec, Ticket};
use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

const TOTAL: u64 = 6400;

fn plan(sweep: RelaySweep, trials: u32, points: u32) -> RelayPlan {
    let cell = |point: u32| RelayCell {
        id: CellId(format!("relay/{}/{point}", sweep.name())),
        sweep,
        shrunk: Bytes(64),
        buffers: sweep.buffers(Bytes(64), Bytes(128)),
        trials,
    };
    RelayPlan {
        total: Bytes(TOTAL),
        sockets: RelaySockets {
            transport: RelayTransport::Tcp,
            no_delay: false,
            send_buffer: None,
            receive_buffer: None,
            wait_all: false,
        },
        forward: ForwardMode::Copy,
        verify: false,
        cells: (0..points).map(cell).collect(),
    }
}

/// What a role that does what it is asked reports.
fn honest(asked: &RoleSpec) -> RoleReport {
    let whole = CallSizes { by_bytes: BTreeMap::from([(asked.buffer.0, TOTAL / asked.buffer.0)]) };
    let of = |wanted: bool| if wanted { whole.clone() } else { CallSizes::default() };
    RoleReport {
        output: RelayRoleOutput {
            role: asked.role,
            host: "h".into(),
            machine: None,
            reads: of(asked.role != Role::Client),
            writes: of(asked.role != Role::Server),
            elapsed_ns: Nanos(7),
            user_ns: Nanos(1),
            system_ns: Nanos(2),
            segments: None,
            granted_send_buffer: None,
            granted_receive_buffer: None,
        },
        trial_elapsed_ns: (asked.role == Role::Client).then_some(Nanos(8)),
        content_fault: None,
    }
}

type Answers = fn(&RoleSpec) -> Vec<Result<RoleReply, String>>;

/// A role that answers each question as it was taught to, and then says nothing.
struct ScriptedRole {
    answers: Answers,
    said: VecDeque<Result<RoleReply, String>>,
    lost: bool,
}

impl RoleLink for ScriptedRole {
    fn send(&mut self, message: &RoleCommand) -> Result<(), String> {
        if let RoleCommand::Prepare(asked) = message {
            asked.check().unwrap();
            self.said.extend((self.answers)(asked));
        }
        Ok(())
    }

    fn receive(&mut self, _wait: Duration) -> Result<Option<RoleReply>, String> {
        self.said.pop_front().transpose()
    }

    fn abandon(&mut self) {
        self.said.clear();
    }

    fn is_lost(&self) -> bool {
        self.lost
    }
}

fn ready(asked: &RoleSpec) -> RoleReply {
    let place = HopAddress::Tcp { host: "127.0.0.1".into(), port: 7 };
    let listens = (asked.role != Role::Client).then_some(Hop { place, ticket: Ticket([1; 16]) });
    RoleReply::Ready { listens }
}

fn well(asked: &RoleSpec) -> Vec<Result<RoleReply, String>> {
    vec![Ok(ready(asked)), Ok(RoleReply::Done(Box::new(honest(asked))))]
}

fn scripted_role(answers: Answers) -> Box<dyn RoleLink> {
    Box::new(ScriptedRole { answers, said: VecDeque::new(), lost: false })
}

fn site([client, proxy, server]: [Answers; 3]) -> RelaySite {
    RelaySite {
        stop: StopFlag::default(),
        peer_loss: PeerLoss::default(),
        seed: 1,
        silence_ns: Nanos(1_000_000),
        client: scripted_role(client),
        proxy: scripted_role(proxy),
        server: scripted_role(server),
    }
}

fn run(plan: &RelayPlan, site: &mut RelaySite) -> (RunOutput, Vec<RelayTrial>) {
    let mut events: Vec<Event> = Vec::new();
    let output = execute_relay(plan, site, &mut events).unwrap();
    let trials = events.into_iter().map(|event| match event {
        Event::RelayTrialFinished(trial) => *trial,
        other => unreachable!("{other:?}"),
    });
    (output, trials.collect())
}

#[test]
fn trials_of_all_points_are_reported_in_the_planned_order_with_their_roles_client_first() {
    let (output, trials) = run(&plan(RelaySweep::All3, 2, 2), &mut site([well; 3]));
    assert_eq!((output.reason, output.done_count, output.failed.len()), (EndReason::Finished, 2, 0));
    let order: Vec<_> = trials.iter().map(|trial| (trial.cell.0.clone(), trial.trial)).collect();
    assert_eq!(order[1], ("relay/all-3/0".to_owned(), 1));
    for trial in &trials {
        let roles: Vec<_> = trial.roles.iter().map(|output| output.role).collect();
        assert_eq!(roles, [Role::Client, Role::Proxy, Role::Server]);
        assert!(trial.whole && trial.problem.is_none());
        assert_eq!((trial.elapsed_ns, trial.received), (Nanos(8), Bytes(TOTAL)));
    }
}

#[test]
fn a_point_of_two_nodes_asks_no_proxy() {
    let (_, trials) =
        run(&plan(RelaySweep::Both, 1, 1), &mut site([well, |_| vec![Err("not asked".into())], well]));
    assert!(trials[0].whole, "{:?}", trials[0]);
    assert_eq!(trials[0].roles.len(), 2);
}

#[test]
fn a_peer_that_misreports_counts_makes_no_whole_trial() {
    let false_reports: [(Answers, &str); 4] = [
        (
            |asked| changed_report(asked, |done| done.output.reads.by_bytes = BTreeMap::from([(65_536, 1)])),
            "65536 bytes",
        ),
        (
            |asked| {
                changed_report(asked, |done| done.output.reads.by_bytes = BTreeMap::from([(1, u64::MAX)]))
            },
            "more bytes",
        ),
        (
            |asked| changed_report(asked, |done| done.output.reads.by_bytes = BTreeMap::from([(1, 5)])),
            "received 5 bytes of",
        ),
        (|asked| changed_report(asked, |done| done.output.role = Role::Proxy), "a different role"),
    ];
    for (server, word) in false_reports {
        let (output, trials) = run(&plan(RelaySweep::Both, 1, 1), &mut site([well, well, server]));
        let problem = trials[0].problem.as_ref().unwrap();
        assert!(!trials[0].whole && problem.contains(word), "{problem}");
        assert_eq!(output.failed.len(), 1);
    }
}

fn changed_report(asked: &RoleSpec, change: fn(&mut RoleReport)) -> Vec<Result<RoleReply, String>> {
    let mut done = honest(asked);
    change(&mut done);
    vec![Ok(ready(asked)), Ok(RoleReply::Done(Box::new(done)))]
}

#[test]
fn content_that_arrived_otherwise_makes_no_whole_trial() {
    let (_, trials) = run(
        &plan(RelaySweep::Both, 1, 1),
        &mut site([well, well, |asked| {
            changed_report(asked, |done| done.content_fault = Some("byte 7\u{1b}[2J".into()))
        }]),
    );
    let problem = trials[0].problem.as_ref().unwrap();
    assert!(!trials[0].whole && problem.contains("byte 7[2J"), "{problem}");
}

#[test]
fn a_role_that_cannot_take_part_is_reported_by_name_and_the_next_point_has_one_try() {
    let refuses: Answers = |_| vec![Ok(RoleReply::Failed { message: "connect to h:7: refused".into() })];
    let (output, trials) = run(&plan(RelaySweep::Proxy, 5, 3), &mut site([well, refuses, well]));
    let points: Vec<&str> = trials.iter().map(|trial| trial.cell.0.as_str()).collect();
    let [first, next, last] = ["relay/proxy/0", "relay/proxy/1", "relay/proxy/2"];
    assert_eq!(points, [first, first, first, next, last]);
    assert_eq!((output.reason, output.failed.len()), (EndReason::Finished, 3));
    assert!(trials.iter().all(|trial| trial.problem.as_deref() == Some("proxy: connect to h:7: refused")));
}

#[test]
fn one_bad_point_leaves_the_others_all_their_trials() {
    let mut plan = plan(RelaySweep::Both, 4, 3);
    plan.cells[0].buffers.server = Bytes(32);
    let server: Answers = |asked| match asked.buffer {
        Bytes(32) => vec![Ok(RoleReply::Failed { message: "no".into() })],
        _ => well(asked),
    };
    let (output, trials) = run(&plan, &mut site([well, well, server]));
    assert_eq!((output.reason, output.done_count, output.failed.len()), (EndReason::Finished, 2, 1));
    assert_eq!((trials.len(), trials.iter().filter(|trial| trial.whole).count()), (3 + 4 + 4, 8));
}

#[test]
fn points_of_a_role_that_is_gone_are_left_out_with_the_reason_and_others_are_tried() {
    let mut both = plan(RelaySweep::Both, 1, 1);
    both.cells.splice(0..0, plan(RelaySweep::Proxy, 1, 2).cells);
    let mut lost = site([well; 3]);
    lost.proxy = Box::new(ScriptedRole { answers: well, said: VecDeque::new(), lost: true });
    let mut events: Vec<Event> = Vec::new();
    let output = execute_relay(&both, &mut lost, &mut events).unwrap();
    assert_eq!((output.reason, output.done_count), (EndReason::Failed, 1));
    let left_out = events.iter().filter_map(|event| match event {
        Event::CellSkipped(skipped) => Some(skipped.reason.as_str()),
        _ => None,
    });
    assert_eq!(left_out.collect::<Vec<_>>(), ["the proxy ended because an earlier trial failed"; 2]);
}

#[test]
fn roles_that_say_nothing_or_go_away_are_given_up() {
    let silent: Answers = |asked| vec![Ok(ready(asked))];
    let (_, trials) = run(&plan(RelaySweep::Both, 1, 1), &mut site([well, well, silent]));
    assert_eq!(trials[0].problem.as_deref(), Some("server did not answer"));
    assert_eq!(trials[0].roles.len(), 1, "what the client said stays in the record");
    let gone: Answers = |asked| vec![Ok(ready(asked)), Err("its process ended (signal: 9)".into())];
    let (_, trials) = run(&plan(RelaySweep::Both, 1, 1), &mut site([gone, well, well]));
    assert!(trials[0].problem.as_deref().unwrap().contains("client: its process ended"));
}

#[test]
fn a_role_out_of_turn_or_at_no_place_is_refused() {
    let early: Answers = |asked| vec![Ok(RoleReply::Done(Box::new(honest(asked))))];
    let nowhere: Answers = |_| {
        let place = HopAddress::Unix { name: "n".into() };
        vec![Ok(RoleReply::Ready { listens: Some(Hop { place, ticket: Ticket([1; 16]) }) })]
    };
    for (server, word) in [(early, "an unexpected answer"), (nowhere, "an invalid listening address")] {
        let (_, trials) = run(&plan(RelaySweep::Both, 1, 1), &mut site([well, well, server]));
        assert!(trials[0].problem.as_deref().unwrap().contains(word), "{:?}", trials[0].problem);
    }
}

#[test]
fn a_stop_ends_the_run_and_reports_nothing_of_the_trial_that_it_cut() {
    let mut stopped = site([well; 3]);
    stopped.stop.ask(StopRequest::AfterCell);
    let (output, trials) = run(&plan(RelaySweep::Both, 1, 3), &mut stopped);
    assert_eq!((output.reason, trials.len()), (EndReason::Interrupted, 0));
    let mut cut = site([|asked| vec![Ok(ready(asked))], well, well]);
    let stop = cut.stop.clone();
    cut.silence_ns = Nanos(100_000_000_000);
    let asker = std::thread::spawn(move || stop.ask(StopRequest::Now));
    let (output, trials) = run(&plan(RelaySweep::Both, 1, 3), &mut cut);
    asker.join().unwrap();
    assert_eq!((output.reason, trials.len()), (EndReason::Interrupted, 0));
}

#[test]
fn a_trial_that_a_lost_host_ends_has_no_result_whoever_notices_the_loss_first() {
    let mut lost = site([|asked| vec![Ok(ready(asked))], well, well]);
    lost.silence_ns = Nanos(100_000_000_000);
    let (stop, loss) = (lost.stop.clone(), lost.peer_loss.clone());
    let watcher = std::thread::spawn(move || {
        loss.note("the server's host does not answer".to_owned());
        stop.ask(StopRequest::Now);
    });
    let (output, trials) = run(&plan(RelaySweep::Both, 1, 3), &mut lost);
    watcher.join().unwrap();
    // Lost before the trial had begun, or in it.
    assert!(trials.len() <= 1, "{trials:?}");
    for trial in &trials {
        assert_eq!(
            (trial.whole, trial.problem.as_deref()),
            (false, Some("the server's host does not answer"))
        );
    }
    assert_ne!(output.reason, EndReason::Interrupted);
    assert_eq!(output.failed.len(), trials.len());
}
