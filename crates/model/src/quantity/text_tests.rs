//! Known renderings of numbers.

use super::*;

#[test]
fn storage_uses_powers_of_1024_and_networks_powers_of_1000() {
    assert_eq!(storage_rate(12_478_054.0), "11.9 MiB/s");
    assert_eq!(network_rate(11_900_000.0), "95.2 Mbit/s");
    assert_eq!(amount(Bytes(1 << 30)), "1.00 GiB");
}

#[test]
fn a_time_takes_the_unit_that_keeps_it_above_one() {
    assert_eq!(seconds(0.0042), "4.20 ms");
    assert_eq!(span(Nanos(850)), "850 ns");
    assert_eq!(seconds(0.999_7), "1.00 s");
}

#[test]
fn long_times_are_in_units_that_people_wait_in() {
    assert_eq!(rounded_duration(Nanos(11_800_000_000)), "11.8 s");
    assert_eq!(rounded_duration(Nanos(900_000_000_000)), "15 min");
    assert_eq!(rounded_duration(Nanos(345_600_000_000_000)), "96 h");
    assert_eq!(rounded_duration(Nanos(u64::MAX)), "213504 days");
}

#[test]
fn nothing_is_reported_as_zero_and_what_is_no_number_as_unknown() {
    assert_eq!(storage_rate(0.0), "0 B/s");
    assert_eq!(op_rate(f64::NAN), "unknown");
}

#[test]
fn small_shares_keep_one_digit() {
    assert_eq!(percent(0.023), "2.3 %");
    assert_eq!(percent(0.974), "97 %");
    assert_eq!(percent(0.000_2), "under 0.1 %");
    assert_eq!(percent(0.0), "0 %");
}

#[test]
fn cpus_have_two_digits() {
    assert_eq!(cpus(0.834), "0.83 CPUs");
}
