//! What may be typed after `narrows predict`.

use clap::Args;
use narrows_analysis::PAYLOAD_RATIO;
use narrows_model::BytesPerSec;
use narrows_model::extrapolation::StageChange;
use std::path::PathBuf;

/// Most clients or servers that may be asked for.
const COUNT_MAX: u32 = 100_000;

#[derive(Debug, Args)]
pub(crate) struct PredictArguments {
    /// Folder of a record in which the clients were varied: of `narrows scale`, or of a study with `clients` in its sweep
    #[arg(value_name = "RECORD")]
    pub(crate) record: PathBuf,
    /// Numbers of clients: a list, or FIRST..LAST in doublings
    #[arg(long, value_name = "N,..|A..B", default_value = "1..1024", value_parser = parse_counts)]
    pub(crate) clients: Counts,
    /// Numbers of servers like the measured one, over which the load is spread: a list, or FIRST..LAST in doublings
    #[arg(long, value_name = "N,..|A..B", default_value = "1", value_parser = parse_counts)]
    pub(crate) servers: Counts,
    /// A stage that is changed: disks=2 (twice as many devices), link=10Gbit, server-cpu=2x
    #[arg(long, value_name = "STAGE=CHANGE", value_parser = parse_change)]
    pub(crate) add: Vec<StageChange>,
    /// Print JSON instead of text
    #[arg(long)]
    pub(crate) json: bool,
}

/// Numbers of clients or servers, rising, each once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Counts(pub(crate) Vec<u32>);

fn parse_counts(text: &str) -> Result<Counts, String> {
    let error = || format!("`{text}` is no list of numbers from 1 to {COUNT_MAX}; write 1,10,100 or 1..1024");
    let count = |text: &str| {
        let count = text.trim().parse::<u32>().ok().filter(|count| (1..=COUNT_MAX).contains(count));
        count.ok_or_else(error)
    };
    let mut counts = match text.split_once("..") {
        None => text.split(',').map(count).collect::<Result<Vec<u32>, String>>()?,
        Some((first, last)) => {
            let (first, last) = (count(first)?, count(last)?);
            if first > last {
                return Err(error());
            }
            let doublings = std::iter::successors(Some(first), |count| count.checked_mul(2));
            doublings.take_while(|count| *count < last).chain([last]).collect()
        }
    };
    counts.sort_unstable();
    counts.dedup();
    Ok(Counts(counts))
}

fn parse_change(text: &str) -> Result<StageChange, String> {
    let error = || format!("`{text}` is no change of a stage; write disks=2, link=10Gbit or server-cpu=2x");
    let (stage, change) = text.split_once('=').ok_or_else(error)?;
    let times = || {
        let times = change.strip_suffix('x').unwrap_or(change).parse::<f64>().ok();
        times
            .filter(|times| times.is_finite() && *times > 0.0 && *times <= f64::from(COUNT_MAX))
            .ok_or_else(error)
    };
    match stage {
        "disks" => times().map(StageChange::Disks),
        "server-cpu" => times().map(StageChange::ServerCpu),
        "link" => {
            let second = if change.ends_with("/s") { change.to_owned() } else { format!("{change}/s") };
            let rate =
                narrows_model::quantity::parse_rate(&second).filter(|rate| rate.0 > 0.0).ok_or_else(error)?;
            Ok(StageChange::Link(BytesPerSec(rate.0 * PAYLOAD_RATIO)))
        }
        _ => Err(error()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_lists_or_doublings_up_to_the_last() {
        assert_eq!(parse_counts("1..10"), Ok(Counts(vec![1, 2, 4, 8, 10])));
        assert_eq!(parse_counts("8,1,8"), Ok(Counts(vec![1, 8])));
        assert_eq!(parse_counts("3..3"), Ok(Counts(vec![3])));
        assert!(
            ["", "0", "4..1", "1..x", "1,,2", "100001", "-1"].iter().all(|text| parse_counts(text).is_err())
        );
    }

    #[test]
    fn changes_are_of_stages_that_are_known_by_amounts_that_make_sense() {
        assert_eq!(parse_change("disks=2"), Ok(StageChange::Disks(2.0)));
        assert_eq!(parse_change("server-cpu=2x"), Ok(StageChange::ServerCpu(2.0)));
        let Ok(StageChange::Link(rate)) = parse_change("link=10Gbit") else { panic!() };
        assert!((rate.0 - 1.25e9 * 1448.0 / 1538.0).abs() < 1.0);
        let wrong = ["disks", "disks=0", "disks=-1", "link=2x", "client-cpu=2x", "server-cpu=inf", "link="];
        assert!(wrong.iter().all(|text| parse_change(text).is_err()));
    }
}
