//! How many requests are handed over and waited for together.

use super::*;
use std::sync::Mutex;

/// Notes the requests of each hand-over and the fewest completions of each wait.
#[derive(Clone, Default)]
struct Noted {
    queued: Arc<Mutex<Vec<usize>>>,
    waited: Arc<Mutex<Vec<u32>>>,
}

impl Twist for Noted {
    fn queued(&mut self, requests: &[IoRequest]) {
        self.queued.lock().unwrap().push(requests.len());
    }

    fn reaping(&mut self, min: u32, until: Tick) -> (u32, Tick) {
        self.waited.lock().unwrap().push(min);
        (min, until)
    }
}

fn run_noted(depth: u32, batch: u32) -> (WorkerOutput, Vec<usize>, Vec<u32>) {
    let folder = tempfile::tempdir().unwrap();
    let mut batched = assignment(&device(1, Vec::new()), &folder, depth);
    batched.cell.workload.batch = batch;
    let noted = Noted::default();
    let (output, _) =
        run_as(&batched, &StopFlag::default(), |engine| Box::new(Twisted(engine, noted.clone())));
    let (queued, waited) = (noted.queued.lock().unwrap().clone(), noted.waited.lock().unwrap().clone());
    (output, queued, waited)
}

#[test]
fn a_batch_is_waited_for_and_refilled_together() {
    let (output, queued, waited) = run_noted(8, 4);
    assert_eq!(queued[0], 8, "at first all places are free");
    assert!(queued[1..].iter().all(|count| *count == 4), "{queued:?}");
    assert!(waited[..300].iter().all(|min| *min == 4), "{waited:?}");
    assert!(output.op_count.abs_diff(1000) <= 4, "{}", output.op_count);
}

#[test]
fn what_is_left_at_the_end_is_drained_one_by_one() {
    let (_, _, waited) = run_noted(8, 4);
    assert_eq!(waited.last(), Some(&1));
}

#[test]
fn a_batch_beyond_the_depth_is_the_depth() {
    let (_, queued, waited) = run_noted(2, 64);
    assert!(queued[1..].iter().all(|count| *count == 2) && waited[0] == 2);
}
