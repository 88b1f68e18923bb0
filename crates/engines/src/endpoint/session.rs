//! Sessions of endpoints as one text: passed to a worker's process, so that each of its connections joins the store of
//! the endpoint that it connects to.
//!
//! One endpoint's session is its id alone; those of several are `HOST:PORT=ID`, separated by commas.

use super::ControlClient;
use super::peer::address;
use crate::error::{EngineError, ErrorKind};

/// The sessions of `clients`; `None` without any.
#[must_use]
pub fn sessions(clients: &[ControlClient]) -> Option<String> {
    match clients {
        [] => None,
        [only] => Some(only.session().to_owned()),
        several => {
            let pairs =
                several.iter().map(|client| format!("{}={}", client.facts().address, client.session()));
            Some(pairs.collect::<Vec<_>>().join(","))
        }
    }
}

/// The session at `host` and `port` among `sessions`.
///
/// # Errors
/// When there are several and none of that endpoint's: its objects would be in a store that nobody else sees.
pub(super) fn session_at(sessions: &str, host: &str, port: u16) -> Result<String, EngineError> {
    if !sessions.contains('=') {
        return Ok(sessions.to_owned());
    }
    let wanted = address(host, port);
    let mut pairs = sessions.split(',').filter_map(|pair| pair.rsplit_once('='));
    let found = pairs.find(|(address, _)| *address == wanted).map(|(_, id)| id.to_owned());
    found.ok_or_else(|| {
        EngineError::new(ErrorKind::Unsupported, "open", wanted)
            .detail("the run has sessions at other endpoints and none at this one")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_session_is_meant_for_whatever_endpoint() {
        assert_eq!(session_at("0123abcd", "anywhere", 7300).unwrap(), "0123abcd");
    }

    #[test]
    fn of_several_sessions_each_endpoint_gets_its_own_and_an_unknown_one_none() {
        let text = "a:7300=first,[::1]:7301=second";
        assert_eq!(session_at(text, "a", 7300).unwrap(), "first");
        assert_eq!(session_at(text, "::1", 7301).unwrap(), "second");
        assert!(session_at(text, "a", 7301).unwrap_err().to_string().contains("a:7301"));
    }
}
