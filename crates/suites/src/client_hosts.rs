//! The hosts that the clients of a suite run on, in turn, and the names of clients by them.
//!
//! Not here: connecting to hosts and starting clients there, which is the command's.

use crate::machine_name;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Hosts, in their order; none where clients run on the command's machine.
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

    /// `clients` of them with their names, host by host; none without hosts.
    pub(crate) fn clients(&self, clients: usize) -> Vec<HostClient> {
        let names = self.table_names();
        let is_one_each = clients <= names.len();
        let of_host = |(host, name): (usize, String)| {
            (host..clients).step_by(self.0.len().max(1)).enumerate().map(move |(place, index)| HostClient {
                index,
                name: if is_one_each { name.clone() } else { format!("{name}.{}", place + 1) },
            })
        };
        names.into_iter().enumerate().flat_map(of_host).collect()
    }

    /// The names of `clients` in the order of the clients.
    pub(crate) fn client_names(&self, clients: usize) -> Vec<String> {
        let mut all = self.clients(clients);
        all.sort_by_key(|client| client.index);
        all.into_iter().map(|client| client.name).collect()
    }

    /// What the names of all hosts begin with.
    pub(crate) fn common_start(&self) -> String {
        let names = self.table_names();
        let Some(first) = names.first() else { return String::new() };
        let shared = |name: &String| first.chars().zip(name.chars()).take_while(|(a, b)| a == b).count();
        let count = names.iter().map(shared).min().unwrap_or(0);
        first.chars().take(count).collect()
    }

    /// Names that can be part of a table: without the user, and each once.
    fn table_names(&self) -> Vec<String> {
        let mut seen: BTreeMap<String, u32> = BTreeMap::new();
        let name = |given: &String| {
            let host = given.rsplit('@').next().unwrap_or(given);
            let name = machine_name::of_host(host);
            let count = seen.entry(name.clone()).or_default();
            *count += 1;
            if *count == 1 { name } else { format!("{name}-{count}") }
        };
        self.0.iter().map(name).collect()
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
