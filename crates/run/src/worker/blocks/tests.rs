//! Each order against its law: what it visits, how often, and in which sequence.

use super::*;
use narrows_model::workload::BlockShare;
use narrows_model::{Bytes, Cell, CellId, Cut, Nanos, Stop, Workload};
use std::collections::BTreeSet;

const BLOCK: u64 = 4096;

fn assignment(order: Order, block_count: u64, workers: u32) -> Assignment {
    let workload = Workload { order, workers, block_bytes: Bytes(BLOCK), ..Workload::default() };
    let stop = Stop { warm_up_ns: Nanos(0), measure_ns: Nanos(0), bytes_max: None, ops_max: None };
    let cell = Cell {
        id: CellId("cell".to_owned()),
        read_only: true,
        ..Cell::new(Cut::Path, "null:".parse().unwrap(), workload, stop)
    };
    Assignment { object_bytes: Bytes(block_count * BLOCK), ..Assignment::plain(cell, 0) }
}

fn visits(assignment: &Assignment, worker: u32, count: usize) -> Vec<u64> {
    let mut blocks = Blocks::new(assignment, worker);
    (0..count)
        .map(|_| {
            let offset_bytes = blocks.next_offset_bytes(BLOCK);
            assert_eq!(offset_bytes % BLOCK, 0);
            offset_bytes / BLOCK
        })
        .collect()
}

/// The assignment of one of `clients` of a file that narrows makes and that they share block by block.
fn interleaved(order: Order, own_blocks: u64, (client, clients): (u32, u32), workers: u32) -> Assignment {
    let mut shared = assignment(order, own_blocks, workers);
    shared.cell.read_only = false;
    (shared.cell.workload.clients, shared.client_index) = (clients, client);
    shared.cell.workload.client_files.interleaved = true;
    shared
}

#[test]
fn clients_that_share_a_file_block_by_block_visit_each_of_its_blocks_once_together() {
    for order in [Order::Sequential, Order::Backward, Order::Random] {
        for (clients, workers, shift) in [(1, 1, 0), (3, 1, 0), (3, 1, 1), (4, 2, 3)] {
            let mut all = Vec::new();
            for (client, worker) in
                (0..clients).flat_map(|client| (0..workers).map(move |worker| (client, worker)))
            {
                let mut shared = interleaved(order, 6, (client, clients), workers);
                shared.cell.workload.client_files.shift = shift;
                all.extend(visits(&shared, worker, 6 / workers as usize));
            }
            all.sort_unstable();
            assert!(all.into_iter().eq(0..6 * u64::from(clients)), "{order:?} {clients} {workers} {shift}");
        }
    }
}

#[test]
fn block_k_of_client_i_of_n_is_block_kn_plus_i_of_the_file_also_in_blocks_that_are_no_power_of_two() {
    let mut shared = interleaved(Order::Sequential, 4, (1, 3), 1);
    assert_eq!(visits(&shared, 0, 5), [1, 4, 7, 10, 1]);
    assert_eq!(first_offset_bytes(&shared, 0), BLOCK);
    shared.cell.workload.client_files.shift = 1;
    assert_eq!(visits(&shared, 0, 4), [2, 5, 8, 11]);
    shared.cell.workload.block_bytes = Bytes(47_008);
    shared.object_bytes = Bytes(4 * 47_008);
    let mut blocks = Blocks::new(&shared, 0);
    let offsets: Vec<u64> = (0..4).map(|_| blocks.next_offset_bytes(47_008)).collect();
    assert_eq!(offsets, [2, 5, 8, 11].map(|block| block * 47_008));
}

#[test]
fn clients_that_share_a_file_visit_its_blocks_once_together() {
    for order in [Order::Sequential, Order::Backward, Order::Random] {
        let mut all = Vec::new();
        for (client, worker) in [(0, 0), (0, 1), (1, 0), (1, 1), (2, 0), (2, 1)] {
            let mut shared = assignment(order, 12, 2);
            (shared.cell.workload.clients, shared.client_index) = (3, client);
            shared.seed = u64::from(client);
            all.extend(visits(&shared, worker, 2));
        }
        all.sort_unstable();
        assert!(all.into_iter().eq(0..12), "{order:?}");
    }
    let mut own = assignment(Order::Sequential, 12, 2);
    (own.cell.workload.clients, own.client_index, own.cell.read_only) = (3, 1, false);
    assert_eq!(visits(&own, 0, 1), [0], "an object of its own is visited from its start");
}

#[test]
fn clients_of_two_files_share_each_with_those_of_the_same_file() {
    let mut all = assignment(Order::Sequential, 12, 1);
    all.cell.more_targets = vec!["null:copy".parse().unwrap()];
    all.cell.workload.clients = 5;
    let first = (0..5).map(|client| {
        all.client_index = client;
        (client % 2, visits(&all, 0, 1)[0])
    });
    assert_eq!(first.collect::<Vec<_>>(), [(0, 0), (1, 0), (0, 4), (1, 6), (0, 8)]);
}

#[test]
fn the_parts_of_all_workers_are_the_object_once() {
    for (total, workers) in [(64, 3), (5, 5), (7, 2), (1, 1), (100, 7)] {
        let parts = (0..workers).map(|index| WorkerPartition::for_worker(total, index, workers));
        let all: Vec<u64> =
            parts.flat_map(|part| part.first_block..part.first_block + part.block_count).collect();
        assert!(all.into_iter().eq(0..total), "{total} of {workers}");
    }
    let shared: Vec<u64> = (0..5).map(|index| WorkerPartition::for_worker(2, index, 5).first_block).collect();
    assert_eq!(shared, [0, 1, 0, 1, 0]);
}

/// Sum of (seen - expected)^2 / expected; with `degrees` of freedom its mean is `degrees`, its variance twice that.
fn chi_square(seen: &[u64], expected: &[f64]) -> f64 {
    seen.iter().zip(expected).map(|(seen, expected)| (*seen as f64 - expected).powi(2) / expected).sum()
}

/// Whether a chi-square value is one that chance gives: within five standard deviations of its mean, on both sides.
fn is_chance(value: f64, degrees: f64) -> bool {
    (value - degrees).abs() < 5.0 * (2.0 * degrees).sqrt()
}

fn tally(values: impl IntoIterator<Item = u64>, bins: usize) -> Vec<u64> {
    let mut counts = vec![0; bins];
    for value in values {
        counts[usize::try_from(value).unwrap()] += 1;
    }
    counts
}

#[test]
fn sequential_workers_share_the_object_and_start_again_at_the_end_of_their_part() {
    let shared = assignment(Order::Sequential, 256, 4);
    assert_eq!(visits(&shared, 0, 3), [0, 1, 2]);
    assert_eq!(visits(&shared, 1, 1), [64]);
    assert_eq!(visits(&shared, 3, 65)[63..], [255, 192]);
}

#[test]
fn backward_goes_from_the_end_of_a_part_to_its_start_and_again() {
    let shared = assignment(Order::Backward, 8, 2);
    assert_eq!(visits(&shared, 0, 6), [3, 2, 1, 0, 3, 2]);
    assert_eq!(visits(&shared, 1, 5), [7, 6, 5, 4, 7]);
}

#[test]
fn stride_visits_blocks_a_distance_apart_and_in_the_end_all_of_them() {
    let stride = Order::Stride { stride_bytes: 3 * BLOCK, ends_early: false };
    assert_eq!(visits(&assignment(stride, 8, 1), 0, 9), [0, 3, 6, 1, 4, 7, 2, 5, 0]);
    for (block_count, stride_blocks) in [(1, 1), (7, 2), (64, 8), (10, 16), (100, 7)] {
        let stride = Order::Stride { stride_bytes: stride_blocks * BLOCK, ends_early: false };
        let seen = visits(&assignment(stride, block_count, 1), 0, usize::try_from(block_count).unwrap());
        let all: BTreeSet<u64> = seen.into_iter().collect();
        assert_eq!(all.len() as u64, block_count, "{block_count} blocks, {stride_blocks} apart");
    }
}

#[test]
fn turns_that_end_early_visit_the_blocks_that_iozone_visits() {
    // By hand from its conditions: behind block r a turn is over where r + 1 + 3 is at least 8 - 1.
    let stride = |distance: u64| Order::Stride { stride_bytes: distance * BLOCK, ends_early: true };
    assert_eq!(visits(&assignment(stride(3), 8, 1), 0, 8), [0, 3, 1, 4, 2, 5, 3, 4]);
    // No more blocks than the stride: the first one again and again.
    assert_eq!(visits(&assignment(stride(17), 16, 1), 0, 16), [0; 16]);
    assert_eq!(visits(&assignment(stride(17), 20, 1), 0, 6), [0, 17, 1, 2, 3, 4]);
}

#[test]
fn random_visits_every_block_of_the_workers_part_once_a_pass() {
    for block_count in [1, 2, 3, 5, 64, 100, 1000, 4097] {
        for worker in 0..2_u32 {
            let random = assignment(Order::Random, 2 * block_count, 2);
            let count = usize::try_from(block_count).unwrap();
            let first_block = u64::from(worker) * block_count;
            let seen = visits(&random, worker, 3 * count);
            for pass in seen.chunks(count) {
                let all: BTreeSet<u64> = pass.iter().copied().collect();
                assert!(all.into_iter().eq(first_block..first_block + block_count), "{block_count} blocks");
            }
        }
    }
}

#[test]
fn random_has_a_new_order_each_pass_and_the_same_one_for_the_same_seed() {
    let random = assignment(Order::Random, 1000, 1);
    let seen = visits(&random, 0, 2000);
    assert_ne!(seen[..1000], seen[1000..]);
    assert_eq!(seen, visits(&random, 0, 2000));
    assert_ne!(
        visits(&assignment(Order::Random, 2000, 2), 0, 9),
        visits(&assignment(Order::Random, 2000, 2), 1, 9)
    );
}

#[test]
fn random_looks_random_to_a_device() {
    for block_count in [1000, 4096, 30_000] {
        let passes = 160_000 / block_count;
        let seen = visits(
            &assignment(Order::Random, block_count, 1),
            0,
            usize::try_from(passes * block_count).unwrap(),
        );
        // The distance from one block to the next, around the object, is uniform.
        let distances =
            seen.windows(2).map(|pair| (pair[1] + block_count - pair[0]) % block_count * 20 / block_count);
        let counts = tally(distances, 20);
        let total = (seen.len() - 1) as f64;
        assert!(is_chance(chi_square(&counts, &[total / 20.0; 20]), 19.0), "{block_count}: {counts:?}");
        // So is the position of the first tenth of each pass.
        let tenth = usize::try_from(block_count / 10).unwrap();
        let heads = seen
            .chunks(usize::try_from(block_count).unwrap())
            .flat_map(|pass| &pass[..tenth])
            .map(|block| block * 20 / block_count);
        let counts = tally(heads, 20);
        let drawn = counts.iter().sum::<u64>() as f64;
        // Drawn without replacement, so narrower than chi-square: only the upper side is tested.
        assert!(chi_square(&counts, &[drawn / 20.0; 20]) < 50.0, "{block_count}: {counts:?}");
    }
}

#[test]
fn random_with_replacement_is_uniform_over_the_whole_object_for_every_worker() {
    for worker in 0..2 {
        let seen = visits(&assignment(Order::RandomWithReplacement, 256, 2), worker, 256_000);
        let counts = tally(seen, 256);
        assert!(is_chance(chi_square(&counts, &[1000.0; 256]), 255.0));
    }
}

#[test]
fn zipf_ranks_are_as_frequent_as_the_law_says() {
    for theta in [0.01, 0.5, 0.99, 1.0, 1.2, 3.0, 10.0] {
        let (block_count, draws) = (1000_u64, 400_000_u32);
        let law = Zipf::new(block_count, theta);
        let mut random = stream(&assignment(Order::Sequential, 1, 1), 0, RandomPurpose::Blocks);
        let seen = tally((0..draws).map(|_| law.rank(&mut random) - 1), 1000);
        let weights: Vec<f64> = (1..=block_count).map(|rank| (rank as f64).powf(-theta)).collect();
        let all: f64 = weights.iter().sum();
        let expected: Vec<f64> = weights.iter().map(|weight| weight / all * f64::from(draws)).collect();
        // Ranks that are expected fewer than ten times are tested together.
        let cut = expected.iter().position(|expected| *expected < 10.0).unwrap_or(1000);
        let mut seen_bins = seen[..cut].to_vec();
        let mut expected_bins = expected[..cut].to_vec();
        if cut < 1000 {
            seen_bins.push(seen[cut..].iter().sum());
            expected_bins.push(expected[cut..].iter().sum());
        }
        let value = chi_square(&seen_bins, &expected_bins);
        assert!(
            is_chance(value, (seen_bins.len() - 1) as f64),
            "theta {theta}: {value} of {}",
            seen_bins.len() - 1
        );
    }
}

#[test]
fn zipf_has_the_same_hot_blocks_for_all_workers_scattered_over_the_object() {
    let zipf = |worker, seed| {
        let mut assignment = assignment(Order::Zipf { theta: 1.0 }, 10_000, 2);
        assignment.seed = seed;
        let counts = tally(visits(&assignment, worker, 50_000), 10_000);
        let mut blocks: Vec<usize> = (0..10_000).collect();
        blocks.sort_by_key(|block| std::cmp::Reverse(counts[*block]));
        blocks.truncate(3);
        blocks
    };
    let hot = zipf(0, 1);
    assert_eq!(hot, zipf(1, 1));
    assert_eq!(hot, zipf(0, 2));
    let far = hot.windows(2).all(|pair| pair[0].abs_diff(pair[1]) > 100);
    assert!(far, "{hot:?}");
}

#[test]
fn zipf_of_one_block_is_that_block() {
    assert_eq!(visits(&assignment(Order::Zipf { theta: 1.0 }, 1, 1), 0, 3), [0, 0, 0]);
}

#[test]
fn blocks_of_a_mix_are_at_multiples_of_their_size_and_within_the_object() {
    let orders = [
        Order::Sequential,
        Order::Backward,
        Order::Random,
        Order::RandomWithReplacement,
        Order::Zipf { theta: 1.0 },
        Order::Stride { stride_bytes: 128 << 10, ends_early: false },
    ];
    for order in orders {
        let mut mixed = assignment(order, 1024 + 5, 3);
        let share = |kib: u64| BlockShare { block_bytes: Bytes(kib << 10), weight: 1.0 };
        mixed.cell.workload.block_mix = vec![share(4), share(64), share(16)];
        mixed.cell.workload.block_bytes = Bytes(64 << 10);
        for worker in 0..3 {
            let mut blocks = Blocks::new(&mixed, worker);
            for turn in 0..5000 {
                let length_bytes = [4 << 10, 64 << 10, 16 << 10, 4 << 10][turn % 4];
                let offset_bytes = blocks.next_offset_bytes(length_bytes);
                assert_eq!(offset_bytes % length_bytes, 0, "{order}");
                assert!(offset_bytes + length_bytes <= mixed.object_bytes.0, "{order}");
            }
        }
    }
}

#[test]
fn a_sequential_mix_leaves_no_gap_but_for_alignment() {
    let mut mixed = assignment(Order::Sequential, 64, 1);
    let share = |blocks: u64| BlockShare { block_bytes: Bytes(blocks * BLOCK), weight: 1.0 };
    mixed.cell.workload.block_mix = vec![share(1), share(2)];
    let mut blocks = Blocks::new(&mixed, 0);
    let seen: Vec<u64> =
        [1, 1, 2, 1, 2, 1].iter().map(|length| blocks.next_offset_bytes(length * BLOCK) / BLOCK).collect();
    assert_eq!(seen, [0, 1, 2, 4, 6, 8]);
}

#[test]
fn one_block_is_visited_again_and_again_by_each_worker_its_own() {
    let stays = assignment(Order::OneBlock, 10, 2);
    assert_eq!((visits(&stays, 0, 4), visits(&stays, 1, 3)), (vec![0; 4], vec![5; 3]));
}
