//! Counters of a server on which nothing of ours runs, read around the trials without making the load wait for them.
//!
//! A trial asks at the borders of its window and takes the answers when its load is over. Answers that do not show how time
//! passed at the server are not used: the trial then has its figures without them.

use crate::stop::StopFlag;
use narrows_model::trial::CounterPair;
use narrows_model::units::ratio;
use narrows_model::{CounterSample, Nanos};

/// A reading, and how well its moment is known.
#[derive(Debug, Clone, PartialEq)]
pub struct ServerReading {
    /// The counters.
    pub sample: CounterSample,
    /// From the question to the answer: the counters were read in between.
    pub took_ns: Nanos,
}

/// Reads the counters of a server through something that runs there anyway.
pub trait ServerMetrics: Send {
    /// Where they are, for people and for the record.
    fn url(&self) -> String;

    /// Asks for a reading now; returns at once.
    fn ask(&mut self);

    /// The answers to all questions since the last call, in their order, or why there is none. Waits for those that are under
    /// way, each for a limited time, and no longer once `stop` asks to stop now.
    fn answers(&mut self, stop: &StopFlag) -> Vec<Result<ServerReading, String>>;
}

/// An answer takes at most this share of the window: what it counts after the load's end makes a server look idle.
const LATE_MOST_RATIO: f64 = 0.1;
/// So far from the time that passed between two readings the sum of a machine's CPU time may be: it is counted in ticks, and
/// a reading takes some milliseconds. An exporter that repeats what it read earlier is further away.
const CPU_TIME_TOLERANCE: f64 = 0.25;

/// The readings at both borders of a window, as a pair.
///
/// # Errors
/// Why they cannot be used, for people.
pub(crate) fn pair(answers: Vec<Result<ServerReading, String>>) -> Result<CounterPair, String> {
    let mut readings = answers.into_iter().collect::<Result<Vec<_>, _>>()?.into_iter();
    let (Some(first), Some(last)) = (readings.next(), readings.next()) else {
        return Err("they were not read at both borders of the window".to_owned());
    };
    in_time(&first, &last)?;
    advanced(&first.sample, &last.sample)?;
    Ok(CounterPair { before: first.sample, after: last.sample })
}

/// Fails where the last answer took so long that it may be of the time after the load.
fn in_time(first: &ServerReading, last: &ServerReading) -> Result<(), String> {
    let elapsed_s = last.sample.at_ns.saturating_sub(first.sample.at_ns).as_secs_f64();
    let took_s = last.took_ns.as_secs_f64();
    if took_s > elapsed_s * LATE_MOST_RATIO {
        return Err(format!(
            "the answer at the end of the window took {took_s:.3} s, too long for a window of {elapsed_s:.2} s; longer cells \
             (--cell-seconds) allow it"
        ));
    }
    Ok(())
}

/// Fails unless the CPU time between two readings is that of the time that passed.
fn advanced(before: &CounterSample, after: &CounterSample) -> Result<(), String> {
    let (Some(first), Some(last)) = (before.host_cpu, after.host_cpu) else {
        return Err("a reading has no CPU time".to_owned());
    };
    if first.online_cpus != last.online_cpus {
        return Err(format!("the server had {} CPUs first and {} then", first.online_cpus, last.online_cpus));
    }
    if last.total_ns() < first.total_ns() {
        return Err("its CPU time went back: the server was started anew, or its clock was set".to_owned());
    }
    let elapsed_s = after.at_ns.saturating_sub(before.at_ns).as_secs_f64();
    let counted_s = last.total_ns().saturating_sub(first.total_ns()).as_secs_f64();
    let expected_s = elapsed_s * f64::from(last.online_cpus);
    let distance = ratio(counted_s, expected_s).map_or(1.0, |share| (share - 1.0).abs());
    if distance > CPU_TIME_TOLERANCE {
        return Err(format!(
            "its CPU time advanced by {counted_s:.2} s in {elapsed_s:.2} s of {} CPUs: the figures are not of this time, as \
             of an exporter whose answers are stored on the way",
            last.online_cpus
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_model::counters::{CounterOrigin, HostCpu, Role};

    fn reading(at_s: f64, busy_s: f64, idle_s: f64) -> ServerReading {
        let host_cpu = HostCpu {
            online_cpus: 2,
            user_ns: Nanos::from_secs_f64(busy_s),
            idle_ns: Nanos::from_secs_f64(idle_s),
            ..HostCpu::default()
        };
        let sample = CounterSample {
            origin: CounterOrigin::NodeExporter,
            host_cpu: Some(host_cpu),
            ..CounterSample::unread(Role::Server, Nanos::from_secs_f64(at_s))
        };
        ServerReading { sample, took_ns: Nanos(1_000_000) }
    }

    #[test]
    fn readings_whose_cpu_time_is_that_of_the_clock_are_a_pair() {
        let made = pair(vec![Ok(reading(1.0, 10.0, 100.0)), Ok(reading(2.0, 11.5, 100.5))]).unwrap();
        assert_eq!(made.after.host_cpu.unwrap().user_ns, Nanos::from_secs_f64(11.5));
    }

    #[test]
    fn readings_that_stand_still_or_jump_are_refused_with_the_figures() {
        let stored = pair(vec![Ok(reading(1.0, 10.0, 100.0)), Ok(reading(2.0, 10.0, 100.0))]).unwrap_err();
        assert!(stored.contains("advanced by 0.00 s in 1.00 s of 2 CPUs"), "{stored}");
        assert!(pair(vec![Ok(reading(1.0, 10.0, 100.0)), Ok(reading(2.0, 30.0, 100.0))]).is_err());
        let back = pair(vec![Ok(reading(1.0, 10.0, 100.0)), Ok(reading(2.0, 1.0, 1.0))]).unwrap_err();
        assert!(back.contains("went back"), "{back}");
    }

    #[test]
    fn one_reading_alone_and_a_failed_one_say_why() {
        assert!(pair(vec![Ok(reading(1.0, 1.0, 1.0))]).unwrap_err().contains("both borders"));
        let failed = pair(vec![Ok(reading(1.0, 1.0, 1.0)), Err("no answer".to_owned())]).unwrap_err();
        assert_eq!(failed, "no answer");
    }

    #[test]
    fn a_machine_that_lost_a_cpu_is_not_compared_with_itself() {
        let mut after = reading(2.0, 11.0, 101.0);
        after.sample.host_cpu.as_mut().unwrap().online_cpus = 1;
        let problem = pair(vec![Ok(reading(1.0, 10.0, 100.0)), Ok(after)]).unwrap_err();
        assert!(problem.contains("2 CPUs first and 1 then"), "{problem}");
    }

    #[test]
    fn an_answer_that_took_a_part_of_the_window_is_not_used() {
        let mut last = reading(2.0, 11.5, 100.5);
        last.took_ns = Nanos::from_secs_f64(0.2);
        let problem = pair(vec![Ok(reading(1.0, 10.0, 100.0)), Ok(last)]).unwrap_err();
        assert!(problem.contains("took 0.200 s, too long for a window of 1.00 s"), "{problem}");
    }
}
