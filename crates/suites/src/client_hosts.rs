//! The hosts that the clients of a suite run on, in turn, and the names of clients by them.
//!
//! Not here: connecting to hosts and starting clients there, which is the command's.

use crate::machine_name;
use narrows_model::Bytes;
use narrows_model::quantity::amount;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Hosts, in their order, each once; or those of the ranks of a job, in the order of the ranks. None where clients run on the
/// command's machine.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SuiteHosts(Vec<String>);

/// A client on one of several hosts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct HostClient {
    /// Which client it is, from 0.
    pub(crate) index: usize,
    /// Its name in tables: that of its host, with a number where several are there.
    pub(crate) name: String,
}

impl SuiteHosts {
    /// The hosts of these names.
    #[must_use]
    pub fn new(names: &[String]) -> Self {
        Self(names.to_vec())
    }

    /// Whether clients run on the command's machine.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How many there are.
    pub(crate) fn count(&self) -> u32 {
        u32::try_from(self.0.len()).unwrap_or(u32::MAX)
    }

    /// The first of them, on which a single client runs.
    pub(crate) fn first(&self) -> Option<&str> {
        self.0.first().map(String::as_str)
    }

    /// The first `count` of them.
    pub(crate) fn first_of(&self, count: u32) -> Self {
        Self(self.0.iter().take(count as usize).cloned().collect())
    }

    /// Whether they are not all one host.
    pub(crate) fn are_several(&self) -> bool {
        self.0.iter().any(|host| *host != self.0[0])
    }

    /// `clients` of them with their names, host by host; none without hosts.
    pub(crate) fn clients(&self, clients: usize) -> Vec<HostClient> {
        let names = self.table_names();
        let of_client: Vec<&String> = names.iter().cycle().take(clients).collect();
        let mut hosts: Vec<&String> = Vec::new();
        for name in &of_client {
            if !hosts.contains(name) {
                hosts.push(name);
            }
        }
        let is_one_each = hosts.len() == of_client.len();
        let of_host = |host: &String| {
            let own = of_client.iter().enumerate().filter(|(_, name)| **name == host);
            let client = |(place, (index, _)): (usize, (usize, &&String))| HostClient {
                index,
                name: if is_one_each { host.clone() } else { format!("{host}.{}", place + 1) },
            };
            own.enumerate().map(client).collect::<Vec<_>>()
        };
        hosts.into_iter().flat_map(of_host).collect()
    }

    /// The names of `clients` in the order of the clients.
    pub(crate) fn client_names(&self, clients: usize) -> Vec<String> {
        let mut all = self.clients(clients);
        all.sort_by_key(|client| client.index);
        all.into_iter().map(|client| client.name).collect()
    }

    /// That a file of `file` bytes may be read from the page cache of the host that wrote it, which has `memory` at least; `None`
    /// where it does not fit.
    pub(crate) fn cached_file(&self, file: Bytes, memory: Option<Bytes>) -> Option<String> {
        let Some(memory) = memory else {
            let read = format!("what is read of the {} per file shortly after it was written", amount(file));
            let unknown =
                format!("the memory of the hosts is not known: {read} may come from its host's page cache");
            return (!self.is_empty()).then_some(unknown);
        };
        let (of_which, owner) = if self.is_empty() {
            ("", "this machine's")
        } else {
            (" of the host with the least", "its host's")
        };
        (file < memory).then(|| {
            format!(
                "{} per file is less than the {} of memory{of_which}: data is read shortly after it was written, and may come \
                 from {owner} page cache",
                amount(file),
                amount(memory)
            )
        })
    }

    /// What the names of all hosts begin with.
    pub(crate) fn common_start(&self) -> String {
        let names = self.table_names();
        let Some(first) = names.first() else { return String::new() };
        let shared = |name: &String| first.chars().zip(name.chars()).take_while(|(a, b)| a == b).count();
        let count = names.iter().map(shared).min().unwrap_or(0);
        first.chars().take(count).collect()
    }

    /// Names that can be part of a table: without the user, and one for each host.
    fn table_names(&self) -> Vec<String> {
        let mut named: BTreeMap<&String, String> = BTreeMap::new();
        let mut counts: BTreeMap<String, u32> = BTreeMap::new();
        for given in &self.0 {
            if named.contains_key(given) {
                continue;
            }
            let name = machine_name::of_host(given.rsplit('@').next().unwrap_or(given));
            let count = counts.entry(name.clone()).or_default();
            *count += 1;
            named.insert(given, if *count == 1 { name } else { format!("{name}-{count}") });
        }
        self.0.iter().filter_map(|given| named.get(given).cloned()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hosts(names: &str) -> SuiteHosts {
        SuiteHosts::new(&names.split(' ').map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn clients_are_named_by_their_hosts_and_numbered_where_a_host_has_several() {
        assert_eq!(hosts("rcas6001 rcas6002").client_names(2), ["rcas6001", "rcas6002"]);
        assert_eq!(hosts("a b").client_names(3), ["a.1", "b.1", "a.2"]);
        let by_host: Vec<(usize, String)> =
            hosts("a b").clients(3).into_iter().map(|client| (client.index, client.name)).collect();
        assert_eq!(by_host, [(0, "a.1".to_owned()), (2, "a.2".to_owned()), (1, "b.1".to_owned())]);
        assert!(SuiteHosts::default().clients(2).is_empty());
    }

    #[test]
    fn ranks_of_one_host_are_numbered_there_in_whatever_order_they_are_placed() {
        assert_eq!(hosts("a a b b").client_names(4), ["a.1", "a.2", "b.1", "b.2"]);
        assert_eq!(hosts("a b a b").client_names(4), ["a.1", "b.1", "a.2", "b.2"]);
        assert_eq!(hosts("a b c").client_names(3), ["a", "b", "c"]);
        assert_eq!(hosts("a a b b").first_of(3).client_names(3), ["a.1", "a.2", "b.1"]);
        assert!(hosts("a a b").are_several() && !hosts("a a b").first_of(2).are_several());
        assert!(!SuiteHosts::default().are_several());
    }

    #[test]
    fn a_name_is_a_word_of_a_table_and_of_one_host() {
        assert_eq!(hosts("me@n1 10.0.0.2 you@n1").client_names(3), ["n1", "host-10.0.0.2", "n1-2"],);
    }

    #[test]
    fn the_start_that_all_names_share_is_the_pattern() {
        assert_eq!(hosts("rcas6001 rcas6002 rcas6010").common_start(), "rcas60");
        assert_eq!(
            (hosts("a b").common_start(), hosts("n1").common_start()),
            (String::new(), "n1".to_owned())
        );
    }
}
