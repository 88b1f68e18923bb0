//! What is asked of Jovian-2, and all that can be wrong with it before anything is measured.

use super::label::Label;
use crate::client_hosts::SuiteHosts;
use narrows_model::quantity::amount;
use narrows_model::units::least_common_multiple;
use narrows_model::workload::Acknowledgement;
use narrows_model::{Bytes, EngineId, Nanos, Target};
use narrows_study::Problem;
use serde::{Deserialize, Serialize};

/// Published bytes a client.
pub(super) const PUBLISHED_BYTES: Bytes = Bytes(70 << 20);
/// Published stripe unit.
pub(super) const PUBLISHED_UNIT: Bytes = Bytes(64 << 10);
/// What a unit is a multiple of: the smallest block of any device.
const SECTOR_BYTES: u64 = 512;
/// Largest request on a connection.
const REQUEST_BYTES_MAX: u64 = 64 << 20;
/// Most bytes of one client.
const CLIENT_BYTES_MAX: u64 = 1 << 50;
/// Most disks: as many as a stripe may have members.
const DISKS_MAX: u32 = 64;
/// Largest dummy file.
const FLUSH_BYTES_MAX: u64 = 1 << 50;

/// What is done about caches between writing and reading.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CacheFlush {
    /// A dummy file of so many bytes is read on every node that served.
    Dummy(Bytes),
    /// The pages of the files that were written are dropped.
    Drop,
    /// Nothing.
    None,
}

fn one_disk() -> u32 {
    1
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_one_disk(disks: &u32) -> bool {
    *disks == 1
}

/// What is asked for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Request {
    /// The configurations, each once.
    pub labels: Vec<Label>,
    /// Folders of the local node, one a disk.
    pub disks: Vec<Target>,
    /// Host and port of the servers, or of the nodes that are both.
    pub endpoints: Vec<(String, u16)>,
    /// Disks of each node that serves: so many endpoints in a row are one node.
    #[serde(default = "one_disk", skip_serializing_if = "is_one_disk")]
    pub node_disks: u32,
    /// Hosts that clients run on, in turn; none for this machine.
    #[serde(default, skip_serializing_if = "SuiteHosts::is_empty")]
    pub hosts: SuiteHosts,
    /// Stripe unit.
    pub unit: Bytes,
    /// Bytes of each client; `None` for as many as published, rounded up to whole requests.
    pub bytes: Option<Bytes>,
    /// Requests that a client has in flight.
    pub depth: u32,
    /// Most of them at one server; `None` for as many.
    pub peer_depth: Option<u32>,
    /// When a write is acknowledged.
    pub acknowledgement: Acknowledgement,
    /// What is done before reads.
    pub flush: CacheFlush,
    /// Repetitions.
    pub trials: u32,
    /// The engine of the local node; `None` for the usual one.
    pub engine: Option<EngineId>,
    /// How long a cut of the path is measured; `None` for no cuts, and no verdict.
    pub cut_ns: Option<Nanos>,
    /// Memory of the largest node, where known.
    pub memory: Option<Bytes>,
}

impl Request {
    /// Disks between which a client's requests alternate.
    #[must_use]
    pub fn stripe_width(&self, label: Label) -> u64 {
        match label {
            Label::Local => self.disks.len().max(1) as u64,
            other => u64::from(self.endpoint_count(other)),
        }
    }

    /// Endpoints that a label needs: one for each disk of each node that serves.
    #[must_use]
    pub fn endpoint_count(&self, label: Label) -> u32 {
        label.endpoints().saturating_mul(self.node_disks)
    }

    /// Bytes of a request: a stripe unit for each disk.
    #[must_use]
    pub fn request_bytes(&self, label: Label) -> Bytes {
        Bytes(self.unit.0.saturating_mul(self.stripe_width(label)))
    }

    /// Bytes of each client: those asked for, or the published ones rounded up to whole requests of every label.
    #[must_use]
    pub fn client_bytes(&self) -> Bytes {
        match (self.bytes, self.common_bytes()) {
            (Some(bytes), _) => bytes,
            (None, Some(step)) => Bytes(PUBLISHED_BYTES.0.div_ceil(step).saturating_mul(step)),
            (None, None) => PUBLISHED_BYTES,
        }
    }

    /// Whether writes are acknowledged when they are on disk.
    pub(super) fn is_late(&self) -> bool {
        self.acknowledgement == Acknowledgement::Late
    }

    /// Bytes of the dummy file, where one is read.
    pub(super) fn dummy_bytes(&self) -> Option<Bytes> {
        match self.flush {
            CacheFlush::Dummy(bytes) => Some(bytes),
            CacheFlush::Drop | CacheFlush::None => None,
        }
    }

    /// Whether all servers are on one machine, and share its CPUs and disks.
    pub(super) fn is_one_machine(&self) -> bool {
        let mut hosts = self.endpoints.iter().map(|(host, _)| host);
        let first = hosts.next();
        first.is_some() && hosts.all(|host| Some(host) == first)
    }

    /// The load in a line.
    pub(super) fn load(&self) -> String {
        let flush = match self.flush {
            CacheFlush::Dummy(bytes) => format!("a dummy file of {} read", amount(bytes)),
            CacheFlush::Drop => "the files' pages dropped".to_owned(),
            CacheFlush::None => "nothing done about caches".to_owned(),
        };
        let disks = match self.node_disks {
            1 => String::new(),
            count => format!("{count} disks a server, "),
        };
        format!(
            "{} a client, {disks}stripe unit {}, writes acknowledged {}, {flush} before reads",
            amount(self.client_bytes()),
            amount(self.unit),
            if self.is_late() { "when they are on disk" } else { "when they arrive" },
        )
    }

    /// The least that is whole requests of every label; `None` where it is beyond all numbers.
    fn common_bytes(&self) -> Option<u64> {
        let mut sizes = self.labels.iter().map(|label| self.request_bytes(*label).0);
        sizes.try_fold(1_u64, least_common_multiple)
    }

    /// All that is wrong with it; nothing where it can be planned.
    #[must_use]
    pub fn problems(&self) -> Vec<Problem> {
        [self.unit_problem(), self.size_problem(), self.bytes_problem(), self.places_problem()]
            .into_iter()
            .chain([self.node_disks_problem()])
            .chain([self.disks_problem(), self.flush_problem()])
            .flatten()
            .collect()
    }

    fn unit_problem(&self) -> Option<Problem> {
        let unit = self.unit.0;
        let below = unit / SECTOR_BYTES * SECTOR_BYTES;
        let above = below.saturating_add(SECTOR_BYTES);
        (unit == 0 || !unit.is_multiple_of(SECTOR_BYTES)).then(|| {
            let near = nearest("--unit", below, above);
            let hint = format!("{near}; published is 64KiB");
            Problem::new("unit", format!("{unit} bytes"), format!("multiples of {SECTOR_BYTES}"), hint)
        })
    }

    fn size_problem(&self) -> Option<Problem> {
        let label = self.labels.iter().max_by_key(|label| self.stripe_width(**label))?;
        let size = self.request_bytes(*label);
        (size.0 > REQUEST_BYTES_MAX).then(|| {
            let found =
                format!("{} for each of {} disks, requests of {size}", self.unit, self.stripe_width(*label));
            let most = REQUEST_BYTES_MAX / self.stripe_width(*label) / SECTOR_BYTES * SECTOR_BYTES;
            let allowed = format!("requests up to {}", Bytes(REQUEST_BYTES_MAX));
            Problem::new("unit", found, allowed, format!("--unit {most} is the maximum for {label}"))
        })
    }

    fn bytes_problem(&self) -> Option<Problem> {
        let bytes = self.bytes?.0;
        if bytes == 0 || bytes > CLIENT_BYTES_MAX {
            let allowed = format!("1 request to {}", Bytes(CLIENT_BYTES_MAX));
            return Some(Problem::new("bytes", format!("{bytes} bytes"), allowed, "published is 70MiB"));
        }
        let step = self.common_bytes().filter(|step| *step > 0 && *step <= CLIENT_BYTES_MAX)?;
        let below = bytes / step * step;
        (below != bytes).then(|| {
            let above = below.saturating_add(step);
            let hint = nearest("--bytes", below, above);
            let allowed = format!("multiples of {step} bytes: whole requests of {}", self.named());
            Problem::new("bytes", format!("{bytes} bytes"), allowed, hint)
        })
    }

    fn named(&self) -> String {
        self.labels.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
    }

    fn places_problem(&self) -> Option<Problem> {
        let most = self.labels.iter().max_by_key(|label| label.endpoints())?;
        let given = self.endpoints.len();
        (self.endpoint_count(*most) as usize > given).then(|| {
            let disks = match self.node_disks {
                1 => String::new(),
                count => format!(" of {count} disks"),
            };
            let found =
                format!("{most}, which needs {} servers{disks}, and {given} addresses", most.endpoints());
            let hint = "start `narrows serve` on more nodes and name them, or use fewer";
            Problem::new("servers", found, format!("up to {given} servers"), hint)
        })
    }

    fn node_disks_problem(&self) -> Option<Problem> {
        let most = self.labels.iter().max_by_key(|label| label.endpoints())?;
        (self.endpoint_count(*most) > DISKS_MAX).then(|| {
            let found = format!("{} disks of each of {} servers", self.node_disks, most.endpoints());
            let hint = "use fewer servers, or fewer disks of each";
            Problem::new("node-disks", found, format!("up to {DISKS_MAX} disks"), hint)
        })
    }

    fn disks_problem(&self) -> Option<Problem> {
        let others = self.labels.iter().any(|label| *label != Label::Local);
        if self.disks.len() > 1 && others {
            let found = format!("{} folders, and other labels than local", self.disks.len());
            let hint = "run local alone over several disks; for servers on separate disks start `narrows serve` on \
                        each and name them";
            return Some(Problem::new("root", found, "several folders only for local", hint));
        }
        let missing = self.disks.is_empty() && self.labels.contains(&Label::Local);
        missing.then(|| Problem::new("root", "none", "a folder for local", "give --root DIR"))
    }

    fn flush_problem(&self) -> Option<Problem> {
        let CacheFlush::Dummy(bytes) = self.flush else { return None };
        (bytes.0 == 0 || bytes.0 > FLUSH_BYTES_MAX).then(|| {
            let allowed = format!("1 byte to {}", Bytes(FLUSH_BYTES_MAX));
            let hint = "give a size larger than the memory of a server, or --flush drop";
            Problem::new("flush-bytes", format!("{} bytes", bytes.0), allowed, hint)
        })
    }
}

/// The nearest values that fit an option, of which the lower one may be none.
fn nearest(option: &str, below: u64, above: u64) -> String {
    match below {
        0 => format!("the nearest is {option} {above}"),
        _ => format!("the nearest are {option} {below} and {option} {above}"),
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::jovian::label::labels;

    /// A request of these labels with endpoints enough for all but those of a hundred.
    pub(crate) fn request(words: &str) -> Request {
        let words: Vec<String> = words.split_whitespace().map(str::to_owned).collect();
        let labels = labels(&words).unwrap();
        let most = labels.iter().map(|label| label.endpoints()).max().unwrap_or(0);
        Request {
            labels,
            disks: vec!["/data".parse().unwrap()],
            endpoints: (1..=most).map(|node| (format!("node{node}"), 7300)).collect(),
            node_disks: 1,
            hosts: SuiteHosts::default(),
            unit: PUBLISHED_UNIT,
            bytes: None,
            depth: 8,
            peer_depth: None,
            acknowledgement: Acknowledgement::Early,
            flush: CacheFlush::Drop,
            trials: 5,
            engine: None,
            cut_ns: Some(Nanos::from_millis(1000)),
            memory: Some(Bytes(256 << 20)),
        }
    }

    fn messages(request: &Request) -> String {
        request.problems().iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn a_request_is_a_unit_for_each_disk() {
        let asked = request("local c1-s1 c1-s4 pp-3");
        let sizes: Vec<u64> = asked.labels.iter().map(|label| asked.request_bytes(*label).0 >> 10).collect();
        assert_eq!(sizes, [64, 64, 256, 192]);
        let disks = vec!["/a".parse().unwrap(), "/b".parse().unwrap()];
        assert_eq!(Request { disks, ..request("local") }.request_bytes(Label::Local), Bytes(128 << 10));
    }

    #[test]
    fn the_published_bytes_are_rounded_up_to_whole_requests_of_all_labels() {
        assert_eq!(request("local c1-s4").client_bytes(), Bytes(70 << 20));
        // 70 MiB are 1120 units; the next multiple of 12 units is 1128.
        assert_eq!(request("c1-s3 c1-s4").client_bytes(), Bytes(1128 << 16));
        assert_eq!(messages(&request("c1-s3 c1-s4")), "");
    }

    #[test]
    fn bytes_that_are_no_whole_requests_are_refused_with_the_nearest_that_are() {
        let asked = Request { bytes: Some(Bytes(70_000_000)), ..request("local c1-s4") };
        // 262144 x 267 = 69992448.
        assert!(
            messages(&asked).contains("the nearest are --bytes 69992448 and --bytes 70254592"),
            "{}",
            messages(&asked)
        );
        let asked = Request { bytes: Some(Bytes(1)), ..request("c1-s2") };
        assert!(messages(&asked).contains("the nearest is --bytes 131072"));
        let asked = Request { bytes: Some(Bytes(0)), ..request("c1-s2") };
        assert!(messages(&asked).contains("published is 70MiB"));
    }

    #[test]
    fn a_unit_is_a_multiple_of_512_and_requests_fit_a_connection() {
        let asked = Request { unit: Bytes(1000), ..request("local") };
        assert!(messages(&asked).contains("the nearest are --unit 512 and --unit 1024"));
        assert!(messages(&Request { unit: Bytes(0), ..request("local") }).contains("--unit 512"));
        let asked = Request { unit: Bytes(32 << 20), ..request("c1-s4") };
        assert!(
            messages(&asked).contains("--unit 16777216 is the maximum for c1-s4"),
            "{}",
            messages(&asked)
        );
    }

    #[test]
    fn more_servers_than_addresses_are_refused() {
        let asked = Request { endpoints: vec![("a".into(), 1)], ..request("c1-s1 c1-s4") };
        assert!(messages(&asked).contains("c1-s4, which needs 4 servers, and 1 addresses"));
        assert!(
            messages(&Request { endpoints: Vec::new(), ..request("pp-2") }).contains("pp-2, which needs 2")
        );
    }

    #[test]
    fn a_node_of_several_disks_has_so_many_addresses_and_a_request_is_a_unit_for_each() {
        let endpoints: Vec<(String, u16)> =
            (1..=2).flat_map(|node| [(format!("node{node}"), 7300), (format!("node{node}"), 7301)]).collect();
        let asked = Request { node_disks: 2, endpoints, ..request("c1-s1 pp-2") };
        let sizes: Vec<u64> = asked.labels.iter().map(|label| asked.request_bytes(*label).0 >> 10).collect();
        assert_eq!((messages(&asked).as_str(), sizes), ("", vec![128, 256]));
        assert!(
            asked.load().contains("70.0 MiB a client, 2 disks a server, stripe unit"),
            "{}",
            asked.load()
        );
        let few = Request { node_disks: 3, ..asked.clone() };
        assert!(messages(&few).contains("pp-2, which needs 2 servers of 3 disks, and 4 addresses"));
        assert!(messages(&Request { node_disks: 33, ..asked }).contains("33 disks of each of 2 servers"));
    }

    #[test]
    fn several_disks_are_for_local_alone_and_a_dummy_has_a_size() {
        let disks = vec!["/a".parse().unwrap(), "/b".parse().unwrap()];
        assert!(messages(&Request { disks: disks.clone(), ..request("local c1-s1") }).contains("2 folders"));
        assert_eq!(messages(&Request { disks, ..request("local") }), "");
        assert!(messages(&Request { disks: Vec::new(), ..request("local") }).contains("give --root DIR"));
        assert!(
            messages(&Request { flush: CacheFlush::Dummy(Bytes(0)), ..request("local") })
                .contains("flush-bytes")
        );
    }
}
