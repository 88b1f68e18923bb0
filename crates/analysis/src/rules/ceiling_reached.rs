//! A rate against what a segment sustains, as declared or as measured.

use super::{Rule, SegmentVerdict};
use crate::case::Cases;
use crate::method::given;
use narrows_model::Segment;

/// The rule.
pub(super) static RULE: Rule = Rule {
    code: "ceiling-reached",
    slug: "ceiling",
    segment: Segment::Unknown,
    title: "a rate compared with a segment's ceiling",
    definition: "The rate of all clients is compared with count x value of a [[ceiling]] of a segment, except the \
                 bandwidth of the network (network-bandwidth-full) or the device (device-bandwidth-full). Near it, \
                 the segment is full; far below, it is cleared; above it, see the rules on caches. Where the rate is \
                 only known within two bounds, the lower bound decides whether the segment is full and the upper \
                 bound whether it is cleared.",
    formula: "full: rate >= 0.9 x count x value; cleared: rate < 0.7 x; left open between; of a declared network x 1448 / 1538, \
              its payload",
    source: "Asymptotic bounds, Denning and Buzen, ACM Computing Surveys 10 (1978); byte triangulation",
    example: "a server that completes 3 900 op/s where its protocol was measured at 4 100 op/s: 95 %",
    how_to_measure: None,
    how_to_write: Some("write the capacity of the segment as a [[ceiling]]"),
    run,
};

fn run(cases: &Cases<'_>) -> Vec<SegmentVerdict> {
    let Some(table) = cases.table() else { return Vec::new() };
    let has_rule = |segment| matches!(segment, Segment::NetworkBandwidth | Segment::DeviceBandwidth);
    given::reached(table, |segment| !has_rule(segment))
}

#[cfg(test)]
mod tests {
    use crate::testing::observed::{cleared, first, read, scope_of, slugs};
    use narrows_model::Segment;
    use narrows_model::observation::Scope;

    fn wire(rest: &str) -> narrows_model::Observations {
        read(&format!(
            "[[ceiling]]\nsegment = \"network.bandwidth\"\nbytes_per_s = 12.5e6\nbasis = \"declared\"\n[[observation]]\nid = \"a\"\nop = \"read\"\n{rest}"
        ))
    }

    #[test]
    fn a_full_wire_limits_and_says_that_it_is_shared() {
        let all = wire("bytes_per_s = 11.9e6\n");
        assert_eq!((first(&all), scope_of(&all).as_deref()), (Segment::NetworkBandwidth, Some("shared")));
    }

    #[test]
    fn a_wire_with_room_is_cleared() {
        assert!(cleared(&wire("bytes_per_s = 4.9e6\n"), Segment::NetworkBandwidth));
    }

    #[test]
    fn between_seven_and_nine_tenths_a_ceiling_neither_clears_nor_blames() {
        let of = |rate: &str| {
            let all = read(&format!(
                "[[ceiling]]\nsegment = \"device.bandwidth\"\nbytes_per_s = 100e6\n[[observation]]\nid = \"a\"\nop = \"read\"\nbytes_per_s = {rate}\n"
            ));
            (first(&all) == Segment::DeviceBandwidth, cleared(&all, Segment::DeviceBandwidth))
        };
        assert_eq!(
            [of("69e6"), of("71e6"), of("89e6"), of("91e6")],
            [(false, true), (false, false), (false, false), (true, false)]
        );
    }

    #[test]
    fn a_line_is_full_of_payload_before_its_rate() {
        assert_eq!(first(&wire("bytes_per_s = 10.8e6\n")), Segment::NetworkBandwidth);
        let measured = wire("bytes_per_s = 10.8e6\n");
        let mut measured = measured;
        measured.ceilings[0].basis = narrows_model::observation::CeilingBasis::Measured;
        assert_eq!(first(&measured), Segment::Unknown);
    }

    #[test]
    fn operations_times_the_block_are_a_rate_of_bytes() {
        assert_eq!(first(&wire("ops_per_s = 2900\nblock_bytes = 4096\n")), Segment::NetworkBandwidth);
        assert!(cleared(&wire("ops_per_s = 290\nblock_bytes = 4096\n"), Segment::NetworkBandwidth));
    }

    #[test]
    fn a_lower_bound_clears_nothing() {
        assert!(!cleared(
            &wire("bytes_per_s = 4.9e6\nquality = \"lower-bound\"\n"),
            Segment::NetworkBandwidth
        ));
    }

    #[test]
    fn reads_above_the_wire_are_the_caches() {
        let all = wire("bytes_per_s = 455e6\n");
        assert_eq!(first(&all), Segment::ClientCache);
        assert!(slugs(&all).contains(&"cache_served".to_owned()));
    }

    #[test]
    fn a_count_that_is_written_is_kept_whatever_the_number_of_clients() {
        let of = |count: &str, rate: &str| {
            read(&format!(
                "[[ceiling]]\nsegment = \"network.bandwidth\"\nbytes_per_s = 12.5e6\nscope = \"client\"\n{count}\n\
                 [[observation]]\nid = \"a\"\nop = \"read\"\nclients = 47\nconnections = 2\nbytes_per_s = {rate}\n"
            ))
        };
        assert_eq!(first(&of("count = 4", "49.5e6")), Segment::NetworkBandwidth);
        assert_eq!(first(&of("count = 1", "12.4e6")), Segment::NetworkBandwidth);
        assert!(cleared(&of("", "49.5e6"), Segment::NetworkBandwidth), "a link each");
        assert_eq!(first(&of("", "580e6")), Segment::NetworkBandwidth);
        let mut all = of("count = 4", "49.5e6");
        all.ceilings[0].scope = Scope::Connection;
        assert_eq!(first(&all), Segment::NetworkBandwidth);
    }

    #[test]
    fn a_load_that_crossed_no_network_says_nothing_of_it_and_is_served_on_its_own_machine() {
        let of = |path: &str| {
            read(&format!(
                "[[ceiling]]\nsegment = \"network.bandwidth\"\nbytes_per_s = 12.5e6\n[[ceiling]]\nsegment = \"device.bandwidth\"\nbytes_per_s = 1e6\n\
                 [[observation]]\nid = \"a\"\nop = \"read\"\nbytes_per_s = 2e6\nfactor = {{ path = \"{path}\" }}\n"
            ))
        };
        assert!(
            cleared(&of("nfs"), Segment::NetworkBandwidth)
                && !cleared(&of("local"), Segment::NetworkBandwidth)
        );
        assert_eq!([first(&of("nfs")), first(&of("local"))], [Segment::ServerCache, Segment::ClientCache]);
    }

    #[test]
    fn a_server_that_the_file_show_is_remote() {
        let of = |scope: &str, memory: &str| {
            read(&format!(
                "[[ceiling]]\nsegment = \"device.bandwidth\"\nbytes_per_s = 5e6\nscope = \"{scope}\"\n\
                 [[observation]]\nid = \"w\"\nop = \"write\"\nclients = 1\nbytes_per_s = 9e6\n{memory}\n"
            ))
        };
        assert_eq!(first(&of("server", "")), Segment::ServerCache);
        assert_eq!(first(&of("device", "memory_bytes = { server = 268435456 }")), Segment::ServerCache);
        assert_eq!(first(&of("device", "memory_bytes = { client = 268435456 }")), Segment::ClientCache);
    }

    #[test]
    fn ceilings_of_a_scope_count_as_often_as_there_are_of_it() {
        let disks = "[[ceiling]]\nsegment = \"device.bandwidth\"\nbytes_per_s = 50e6\nscope = \"device\"\ncount = 12\n";
        let of = |rate: &str| {
            read(&format!(
                "{disks}[[observation]]\nid = \"a\"\nop = \"read\"\nclients = 4\nbytes_per_s = {rate}\n"
            ))
        };
        assert!(cleared(&of("340e6"), Segment::DeviceBandwidth));
        assert_eq!(first(&of("590e6")), Segment::DeviceBandwidth);
        let above = crate::diagnose_observations(&of("1200e6"));
        assert_eq!(above.limiting[0].segment, Segment::ServerCache);
        assert!(above.limiting[0].confidence <= 0.7, "a measured ceiling is a lower bound");
    }
}
