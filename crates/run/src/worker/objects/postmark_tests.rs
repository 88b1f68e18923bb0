//! Draws against what the packaged PostMark (Debian's 1.53, which prints v1.51) reports for the same settings.

use super::*;
use narrows_model::workload::{MemberWeights, ObjectDraws, Order};
use narrows_model::{Bytes, Op};

/// One run: what was set, and what PostMark printed.
struct PrintedRun {
    seed: u64,
    size: (u64, u64),
    number: u64,
    transactions: u64,
    subdirectories: u32,
    /// Of the locations; none for one alone.
    weights: &'static [u32],
    /// Of reading and of creating.
    biases: (Option<u8>, Option<u8>),
    /// Created, read, appended, deleted alone and with transactions.
    counts: [u64; 5],
    /// Read and written, as printed.
    data: (&'static str, &'static str),
}

const USUAL: PrintedRun = PrintedRun {
    seed: 42,
    size: (500, 10_000),
    number: 500,
    transactions: 500,
    subdirectories: 0,
    weights: &[],
    biases: (Some(5), Some(5)),
    counts: [764, 243, 257, 528, 236],
    data: ("1.36 megabytes", "4.45 megabytes"),
};

const PRINTED: [PrintedRun; 16] = [
    USUAL,
    PrintedRun {
        seed: 1,
        counts: [761, 253, 247, 522, 239],
        data: ("1.43 megabytes", "4.34 megabytes"),
        ..USUAL
    },
    PrintedRun {
        seed: 7,
        number: 1000,
        transactions: 5000,
        counts: [3536, 2520, 2474, 1072, 2464],
        data: ("15.36 megabytes", "22.17 megabytes"),
        ..USUAL
    },
    PrintedRun {
        seed: 2_147_483_647,
        size: (100, 300),
        number: 50,
        transactions: 2000,
        counts: [1046, 1019, 898, 64, 982],
        data: ("231.99 kilobytes", "238.76 kilobytes"),
        ..USUAL
    },
    PrintedRun {
        subdirectories: 10,
        counts: [748, 232, 268, 496, 252],
        data: ("1.21 megabytes", "4.26 megabytes"),
        ..USUAL
    },
    PrintedRun {
        seed: 3,
        number: 300,
        transactions: 400,
        biases: (Some(9), Some(2)),
        counts: [377, 354, 46, 54, 323],
        data: ("1.80 megabytes", "1.95 megabytes"),
        ..USUAL
    },
    PrintedRun {
        seed: 5,
        transactions: 300,
        biases: (Some(5), None),
        counts: [500, 158, 142, 500, 0],
        data: ("807.80 kilobytes", "2.73 megabytes"),
        ..USUAL
    },
    PrintedRun {
        seed: 5,
        transactions: 300,
        biases: (None, Some(5)),
        counts: [664, 0, 0, 528, 136],
        data: ("0.00 kilobytes", "3.27 megabytes"),
        ..USUAL
    },
    PrintedRun {
        seed: 11,
        size: (3000, 3000),
        number: 40,
        transactions: 1000,
        counts: [536, 528, 0, 32, 504],
        data: ("1.51 megabytes", "1.53 megabytes"),
        ..USUAL
    },
    // A full table, which makes no more.
    PrintedRun {
        seed: 99,
        number: 20,
        transactions: 100,
        biases: (Some(5), Some(10)),
        counts: [40, 53, 47, 40, 0],
        data: ("341.81 kilobytes", "300.99 kilobytes"),
        ..USUAL
    },
    // As with ten subdirectories: which location and which subdirectory comes of a draw each.
    PrintedRun {
        weights: &[1, 1],
        counts: [748, 232, 268, 496, 252],
        data: ("1.21 megabytes", "4.26 megabytes"),
        ..USUAL
    },
    PrintedRun {
        seed: 1,
        weights: &[3, 2],
        counts: [733, 255, 245, 466, 267],
        data: ("1.52 megabytes", "4.20 megabytes"),
        ..USUAL
    },
    PrintedRun {
        seed: 7,
        number: 1000,
        transactions: 3000,
        subdirectories: 10,
        weights: &[1, 1],
        counts: [2524, 1515, 1484, 1048, 1476],
        data: ("9.11 megabytes", "15.20 megabytes"),
        ..USUAL
    },
    PrintedRun {
        seed: 5,
        subdirectories: 3,
        weights: &[3, 1, 7],
        counts: [743, 239, 261, 486, 257],
        data: ("1.32 megabytes", "4.31 megabytes"),
        ..USUAL
    },
    // One folder named twice, whose weights are one.
    PrintedRun {
        seed: 5,
        weights: &[2],
        counts: [742, 241, 259, 484, 258],
        data: ("1.25 megabytes", "4.18 megabytes"),
        ..USUAL
    },
    PrintedRun {
        seed: 9,
        size: (100, 100),
        weights: &[1, 1],
        counts: [745, 230, 0, 490, 255],
        data: ("22.46 kilobytes", "72.75 kilobytes"),
        ..USUAL
    },
];

impl PrintedRun {
    fn set(&self) -> ObjectSet {
        ObjectSet {
            count: self.number,
            min_bytes: Bytes(self.size.0),
            max_bytes: Bytes(self.size.1),
            folders: self.subdirectories,
            member_weights: MemberWeights::new(self.weights).unwrap(),
            seed: self.seed,
            draws: ObjectDraws::Postmark,
            ..ObjectSet::default()
        }
    }

    /// All requests of the three phases.
    fn drawn(&self) -> [Vec<ObjectRequest>; 3] {
        let law =
            Transactions { count: self.transactions, read_bias: self.biases.0, create_bias: self.biases.1 };
        let mut draws = PostmarkDraws::new(&self.set(), 0);
        let phases = [(Op::Put, None), (Op::Get, Some(law)), (Op::Delete, None)];
        phases.map(|(op, transactions)| {
            draws.begin(&step(op, ObjectSet { transactions, ..self.set() }));
            std::iter::from_fn(|| draws.next()).collect()
        })
    }
}

fn step(op: Op, set: ObjectSet) -> ObjectStep {
    ObjectStep { set, op, order: Order::Sequential, workers: 1, seed: 0, done: Vec::new() }
}

fn count(requests: &[ObjectRequest], op: Op) -> u64 {
    requests.iter().filter(|request| request.op == op).count() as u64
}

/// As PostMark prints an amount.
fn amount(bytes: u64) -> String {
    let kilobytes = bytes as f64 / 1024.0;
    if kilobytes > 1024.0 {
        format!("{:.2} megabytes", kilobytes / 1024.0)
    } else {
        format!("{kilobytes:.2} kilobytes")
    }
}

#[test]
fn counts_and_bytes_are_those_that_postmark_reports_for_the_seed() {
    for run in &PRINTED {
        let [made, work, deleted] = run.drawn();
        let all = [
            made.len() as u64 + count(&work, Op::Put),
            count(&work, Op::Get),
            count(&work, Op::Append),
            deleted.len() as u64,
            count(&work, Op::Delete),
        ];
        assert_eq!(all, run.counts, "seed {} with {:?}", run.seed, run.biases);
        let bytes = |ops: &[Op]| -> u64 {
            let of_them = made.iter().chain(&work).filter(|request| ops.contains(&request.op));
            of_them.map(|request| u64::from(request.length_bytes)).sum()
        };
        let data = (amount(bytes(&[Op::Get])), amount(bytes(&[Op::Put, Op::Append])));
        assert_eq!((data.0.as_str(), data.1.as_str()), run.data, "seed {}", run.seed);
    }
}

#[test]
fn transactions_end_when_no_object_is_left() {
    // PostMark prints two dots of ten, then that it is out of files: 20 of 100 transactions.
    let run = PrintedRun { number: 20, transactions: 100, biases: (Some(5), Some(0)), ..USUAL };
    let [_, work, deleted] = run.drawn();
    assert_eq!((count(&work, Op::Delete), deleted.len()), (20, 0));
}

#[test]
fn what_failed_is_not_there_and_the_slot_is_free_again() {
    let set = PrintedRun { number: 10, biases: (None, Some(10)), ..USUAL }.set();
    let mut draws = PostmarkDraws::new(&set, 0);
    draws.begin(&step(Op::Put, set));
    for _ in 0..10 {
        let made = draws.next().unwrap();
        draws.undo(made);
    }
    assert_eq!((draws.live_count, draws.next()), (0, None));
    draws.begin(&step(Op::Delete, set));
    assert_eq!(draws.next(), None);
}

#[test]
fn the_last_object_of_a_large_table_is_met() {
    let set = PrintedRun { number: 5000, ..USUAL }.set();
    let mut draws = PostmarkDraws::new(&set, 0);
    draws.begin(&step(Op::Put, set));
    let last = std::iter::from_fn(|| draws.next()).last().unwrap();
    for slot in 0..4999 {
        draws.delete(slot);
    }
    assert_eq!(draws.used_slot(), Some(4999));
    assert_eq!(draws.slots[4999].number, last.number);
}
