//! A login: who we are, proofs by CHAP, and what is agreed on, as steps without I/O.
//!
//! One step is one request and its response, each of which may be continued in further PDUs. Steps and bytes are bounded.

use super::chap::{CHALLENGE_BYTES, ChapCredentials, ChapEntropy, MD5_ALGORITHM, TargetChallenge, hex};
use super::header::{BasicHeader, FINAL, IMMEDIATE, PduKind};
use super::negotiation::{SessionOptions, SessionParameters, put_offer};
use super::pdu::Pdu;
use super::text::{TEXT_BYTES_MAX, put_pair, read_pairs, value};
use crate::error::{Error, ErrorKind, Refusal, Result};

/// Responses of one login, continued ones included.
const RESPONSES_MAX: u32 = 64;
/// Most bytes of the data of a login PDU.
pub const LOGIN_DATA_BYTES_MAX: usize = 8192;
/// In the second byte: more text of this step follows.
const CONTINUED: u8 = 0x40;
/// The stages of a login.
const SECURITY: u8 = 0;
const OPERATIONAL: u8 = 1;
const FULL_FEATURE: u8 = 3;

/// Who logs in where, and how.
#[derive(Debug, Clone)]
pub struct LoginRequest {
    /// The name of this initiator.
    pub initiator: String,
    /// The name of the target.
    pub target: String,
    /// What distinguishes this session from others of the initiator.
    pub session_id: [u8; 6],
    /// The proofs; `None` where there are none.
    pub credentials: Option<ChapCredentials>,
    /// Random bytes, for a challenge to the target.
    pub entropy: ChapEntropy,
    /// Challenges that this program has sent to targets.
    pub issued: Vec<[u8; CHALLENGE_BYTES]>,
    /// What is asked for.
    pub options: SessionOptions,
}

/// What to do after a response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LoginStep {
    /// Send this.
    Send {
        /// The header; its command and status numbers are set.
        header: BasicHeader,
        /// The text behind it, without padding.
        text: Vec<u8>,
    },
    /// The session has begun.
    Done(LoginOutcome),
}

/// A session that has begun.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LoginOutcome {
    /// What both sides agreed on.
    pub parameters: SessionParameters,
    /// The number of the next command.
    pub next_command: u32,
    /// The last command that may be sent.
    pub max_command: u32,
    /// The status that is expected next.
    pub next_status: u32,
}

/// A login under way.
#[derive(Debug)]
pub struct LoginConversation {
    request: LoginRequest,
    stage: u8,
    challenge: Option<TargetChallenge>,
    is_proven: bool,
    text: Vec<u8>,
    parameters: SessionParameters,
    response_count: u32,
    next_status: u32,
}

impl LoginConversation {
    /// The first step of a login.
    #[must_use]
    pub fn start(request: LoginRequest) -> (Self, LoginStep) {
        let parameters = SessionParameters::offered(&request.options);
        let mut text = Vec::new();
        put_pair(&mut text, "InitiatorName", &request.initiator);
        put_pair(&mut text, "SessionType", "Normal");
        put_pair(&mut text, "TargetName", &request.target);
        put_pair(&mut text, "AuthMethod", if request.credentials.is_some() { "CHAP" } else { "None" });
        let is_transit = request.credentials.is_none();
        let conversation = Self {
            request,
            stage: SECURITY,
            challenge: None,
            is_proven: false,
            text: Vec::new(),
            parameters,
            response_count: 0,
            next_status: 0,
        };
        let step = conversation.send(is_transit, text);
        (conversation, step)
    }

    fn send(&self, is_transit: bool, text: Vec<u8>) -> LoginStep {
        let mut header = BasicHeader::new(PduKind::LoginRequest);
        header.0[0] |= IMMEDIATE;
        header.0[1] = self.stage << 2;
        if is_transit {
            let next = if self.stage == SECURITY { OPERATIONAL } else { FULL_FEATURE };
            header.0[1] |= FINAL | next;
        }
        header.set_data_bytes(u32::try_from(text.len()).unwrap_or(0));
        header.put(8, &self.request.session_id);
        header.put_u32(28, self.next_status);
        LoginStep::Send { header, text }
    }

    /// What follows on the response `pdu`.
    ///
    /// # Errors
    /// The target refuses, does not prove itself, or breaks the protocol.
    pub fn next(&mut self, pdu: &Pdu<'_>) -> Result<LoginStep> {
        let header = &pdu.header;
        if header.kind() != Some(PduKind::LoginResponse) {
            return Err(Error::protocol("the answer to a login is no login response"));
        }
        self.response_count += 1;
        if self.response_count > RESPONSES_MAX {
            return Err(Error::protocol(format!("a login has no end after {RESPONSES_MAX} responses")));
        }
        check_status(header, pdu.data)?;
        self.next_status = header.u32_at(24).wrapping_add(1);
        if self.text.len() + pdu.data.len() > TEXT_BYTES_MAX {
            return Err(Error::protocol(format!("a step of a login has more than {TEXT_BYTES_MAX} bytes")));
        }
        self.text.extend_from_slice(pdu.data);
        if header.0[1] & CONTINUED != 0 {
            return Ok(self.send(false, Vec::new()));
        }
        let text = std::mem::take(&mut self.text);
        let pairs = read_pairs(&text)?;
        let is_transit = header.0[1] & FINAL != 0;
        match (self.stage, is_transit, header.0[1] & 3) {
            (SECURITY, true, OPERATIONAL | FULL_FEATURE) => self.after_security(&pairs, header),
            (SECURITY, false, _) => self.proof(&pairs),
            (_, true, FULL_FEATURE) => {
                self.take_all(&pairs)?;
                Ok(self.done(header))
            }
            (_, false, _) => {
                let unknown = self.take_all(&pairs)?;
                let mut text = Vec::new();
                for key in unknown {
                    put_pair(&mut text, key, "NotUnderstood");
                }
                Ok(self.send(true, text))
            }
            _ => Err(Error::protocol("the target goes on to a stage of the login that does not follow")),
        }
    }

    /// The stage of proofs is over.
    fn after_security(&mut self, pairs: &[(&str, &str)], header: &BasicHeader) -> Result<LoginStep> {
        if let Some(credentials) = &self.request.credentials {
            let challenge = self.challenge.as_ref().filter(|_| self.is_proven);
            let Some(challenge) = challenge else {
                return Err(Error::new(
                    ErrorKind::Token,
                    "the target asks for no proof by CHAP, and a name and secret are given",
                ));
            };
            challenge.check_target(
                credentials,
                self.request.entropy,
                value(pairs, "CHAP_N"),
                value(pairs, "CHAP_R"),
            )?;
        }
        if header.0[1] & 3 == FULL_FEATURE {
            return Err(Error::protocol("the target ends the login before anything is agreed on"));
        }
        self.stage = OPERATIONAL;
        let mut text = Vec::new();
        put_offer(&mut text, &self.request.options);
        Ok(self.send(true, text))
    }

    /// The next step of a proof.
    fn proof(&mut self, pairs: &[(&str, &str)]) -> Result<LoginStep> {
        let method = value(pairs, "AuthMethod");
        let Some(credentials) = &self.request.credentials else {
            return match method {
                Some("None") => Ok(self.send(true, Vec::new())),
                _ => Err(Error::new(
                    ErrorKind::Token,
                    "the target asks for a proof by CHAP, and no name and secret are given",
                )),
            };
        };
        let mut text = Vec::new();
        if method == Some("CHAP") {
            put_pair(&mut text, "CHAP_A", MD5_ALGORITHM);
            return Ok(self.send(false, text));
        }
        if method.is_some() || self.is_proven {
            return Err(Error::new(ErrorKind::Token, "the target does not take a proof by CHAP"));
        }
        let [algorithm, identifier, challenge] = ["CHAP_A", "CHAP_I", "CHAP_C"].map(|key| value(pairs, key));
        let challenge = TargetChallenge::read(algorithm, identifier, challenge)?;
        put_pair(&mut text, "CHAP_N", &credentials.initiator.name);
        put_pair(&mut text, "CHAP_R", &challenge.answer(&credentials.initiator, &self.request.issued)?);
        if credentials.target.is_some() {
            put_pair(&mut text, "CHAP_I", &self.request.entropy.identifier.to_string());
            put_pair(&mut text, "CHAP_C", &hex(&self.request.entropy.challenge));
        }
        self.challenge = Some(challenge);
        self.is_proven = true;
        Ok(self.send(true, text))
    }

    /// Takes the target's keys; those that are not known here.
    fn take_all<'a>(&mut self, pairs: &[(&'a str, &str)]) -> Result<Vec<&'a str>> {
        let mut unknown = Vec::new();
        for (key, value) in pairs {
            if !self.parameters.take(&self.request.options, key, value)? {
                unknown.push(*key);
            }
        }
        Ok(unknown)
    }

    fn done(&self, header: &BasicHeader) -> LoginStep {
        LoginStep::Done(LoginOutcome {
            parameters: self.parameters,
            next_command: header.u32_at(28),
            max_command: header.u32_at(32),
            next_status: self.next_status,
        })
    }
}

/// Fails for a response that refuses the login.
fn check_status(header: &BasicHeader, data: &[u8]) -> Result<()> {
    let (class, detail) = (header.0[36], header.0[37]);
    let (kind, words) = match (class, detail) {
        (0, _) => return Ok(()),
        (1, _) => {
            let pairs = read_pairs(data).unwrap_or_default();
            let place = value(&pairs, "TargetAddress").unwrap_or("an address that it does not state");
            return Err(Error::new(
                ErrorKind::Refused(Refusal::NotFound),
                format!("the target has moved to {place}"),
            ));
        }
        (2, 1) => (ErrorKind::Token, "the proof was refused: name or secret are wrong, or one is missing"),
        (2, 2) => (ErrorKind::Refused(Refusal::Permission), "this initiator may not use the target"),
        (2, 3) => (ErrorKind::Refused(Refusal::NotFound), "there is no target of this name"),
        (2, 4) => (ErrorKind::Refused(Refusal::NotFound), "the target was removed"),
        (2, 5) => (ErrorKind::Version, "the target does not support this version of iSCSI"),
        (2, 6) => (ErrorKind::Refused(Refusal::Busy), "there are too many connections"),
        (2, _) => (ErrorKind::Refused(Refusal::Protocol), "the target says that the login is wrong"),
        (3, 1) => (ErrorKind::Refused(Refusal::Busy), "the target is not available at present"),
        (3, 2) => (ErrorKind::Refused(Refusal::Busy), "the target is out of resources"),
        _ => (ErrorKind::Refused(Refusal::Io), "the target failed"),
    };
    Err(Error::new(kind, format!("{words} (login status {class:02X}{detail:02X}h)")))
}
