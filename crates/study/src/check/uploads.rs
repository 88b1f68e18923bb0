//! The writing points of a path that takes whole objects and no blocks: each of its requests puts an object of the block's
//! size, below a prefix of our own.
//!
//! Such a load has one request in flight for each worker, and each object is put once.

use super::cuts::PointPlanner;
use super::grid::GridPoint;
use crate::cut;
use narrows_model::workload::{ObjectSet, Order, Prefill};
use narrows_model::{Bytes, Cell, Cut, Nanos, Op, Stop, Workload};

/// Most objects of a cell: more than a server with a connection for each request takes in a cell's time, and few enough
/// that they are removed in some requests.
const OBJECTS_MAX: u64 = 20_000;

impl PointPlanner<'_> {
    /// Whether the requests of `point` are uploads.
    pub(super) fn is_upload(&self, point: GridPoint) -> bool {
        point.op == Op::Write && self.route.takes_uploads(self.request)
    }

    /// Puts of objects of the block's size, as many at a time as the point has requests in flight.
    pub(super) fn upload(&self, point: GridPoint) -> Cell {
        let set = ObjectSet {
            count: self.object_count(point),
            min_bytes: point.block,
            max_bytes: point.block,
            seed: self.request.seed,
            ..ObjectSet::default()
        };
        let workload = Workload {
            op: Op::Put,
            order: Order::Sequential,
            file_bytes: point.block,
            objects: Some(set),
            prefill: Prefill::Nothing,
            queue_depth: 1,
            workers: point.depth,
            ..self.on_path(point)
        };
        // An object that was put in a warm-up would be missing in the window.
        let stop = Stop { warm_up_ns: Nanos(0), ..self.timed() };
        self.cell(Cut::Path, self.request.target.clone(), workload, stop)
    }

    /// Objects of each cell: no more bytes than the test file has.
    fn object_count(&self, point: GridPoint) -> u64 {
        let by_bytes = self.file_bytes.0 / point.block.0.max(1);
        by_bytes.clamp(u64::from(point.depth), OBJECTS_MAX)
    }

    /// What uploads are compared with: the generator alone, and the protocol's round trips.
    pub(super) fn upload_cuts(&self, path: &Cell) -> Vec<Cell> {
        let load = Workload { objects: None, ..cut::round_trip(&path.workload) };
        let round_trip = self.cell(Cut::RoundTrip, path.target.clone(), load, self.timed());
        let generator = self.generator(path);
        // Each object is visited once: a warm-up would leave none.
        let stop = Stop { warm_up_ns: Nanos(0), ..generator.stop };
        vec![Cell { stop, ..generator }, round_trip]
    }
}

/// Most bytes that the objects of a cell have together; `None` of a load that is not of objects.
pub(super) fn object_bytes_max(cell: &Cell) -> Option<Bytes> {
    let set =
        cell.workload.objects.filter(|set| cell.workload.op == Op::Put && set.transactions.is_none())?;
    let clients = u64::from(cell.workload.clients.max(1));
    Some(Bytes(set.count.saturating_mul(set.max_bytes.0).saturating_mul(clients)))
}
