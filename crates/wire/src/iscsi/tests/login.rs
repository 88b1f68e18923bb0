//! Logins with a target that answers as a test asks, and with ones that do not end.

use super::*;

/// A target that answers logins: what it sends for a request with these keys.
struct TestTarget {
    credentials: Option<ChapCredentials>,
    count: u32,
    own_challenge: String,
    operational: &'static [(&'static str, &'static str)],
}

impl TestTarget {
    fn new() -> Self {
        let operational = &[
            ("HeaderDigest", "CRC32C"),
            ("MaxRecvDataSegmentLength", "16384"),
            ("FirstBurstLength", "4096"),
        ];
        Self { credentials: None, count: 0, own_challenge: hex(&[7; 16]), operational }
    }

    fn answer(&mut self, header: &BasicHeader, text: &[u8]) -> (BasicHeader, Vec<u8>) {
        let pairs = read_pairs(text).unwrap();
        let mut out = Vec::new();
        let mut answer = BasicHeader::new(PduKind::LoginResponse);
        self.count += 1;
        answer.0[1] = header.0[1];
        answer.put_u32(24, 100 + self.count);
        answer.put_u32(28, 1);
        answer.put_u32(32, 33);
        let stage = (header.0[1] >> 2) & 3;
        if stage == 1 {
            for (key, value) in self.operational {
                put_pair(&mut out, key, value);
            }
            return (answer, out);
        }
        let Some(credentials) = self.credentials.clone() else {
            put_pair(&mut out, "AuthMethod", "None");
            return (answer, out);
        };
        if value(&pairs, "AuthMethod").is_some() {
            put_pair(&mut out, "AuthMethod", "CHAP");
            answer.0[1] = 0;
        } else if value(&pairs, "CHAP_A").is_some() {
            put_pair(&mut out, "CHAP_A", "5");
            put_pair(&mut out, "CHAP_I", "9");
            put_pair(&mut out, "CHAP_C", &self.own_challenge);
            answer.0[1] = 0;
        } else {
            let proof = |secret: &ChapSecret, identifier: &str, challenge: &str| {
                let challenge =
                    crate::iscsi::chap::TargetChallenge::read(Some("5"), Some(identifier), Some(challenge));
                challenge.unwrap().answer(secret, &[]).unwrap()
            };
            let right = proof(&credentials.initiator, "9", &self.own_challenge);
            if value(&pairs, "CHAP_R") != Some(&right) {
                (answer.0[36], answer.0[37]) = (2, 1);
            }
            if let (Some(target), Some(challenge)) = (&credentials.target, value(&pairs, "CHAP_C")) {
                put_pair(&mut out, "CHAP_N", &target.name);
                put_pair(&mut out, "CHAP_R", &proof(target, value(&pairs, "CHAP_I").unwrap(), challenge));
            }
        }
        (answer, out)
    }
}

fn login(request: LoginRequest, target: &mut TestTarget) -> Result<LoginOutcome, Error> {
    let (mut conversation, mut step) = LoginConversation::start(request);
    loop {
        match step {
            LoginStep::Done(outcome) => return Ok(outcome),
            LoginStep::Send { header, text } => {
                assert_eq!((header.data_bytes(), header.0[0]), (text.len(), 0x43));
                let (header, data) = target.answer(&header, &text);
                step = conversation.next(&Pdu { header, data: &data, whole_bytes: 0 })?;
            }
        }
    }
}

pub(super) fn asked(credentials: Option<ChapCredentials>) -> LoginRequest {
    LoginRequest {
        initiator: "iqn.2026-01.x:i".to_owned(),
        target: "iqn.2026-01.x:t".to_owned(),
        session_id: [0x80, 1, 2, 3, 4, 5],
        credentials,
        entropy: ChapEntropy { identifier: 1, challenge: [2; 16] },
        issued: vec![[2; 16]],
        options: options(),
    }
}

pub(super) fn secrets(own: &str, target: Option<&str>) -> ChapCredentials {
    let secret = |name: &str, secret: &str| ChapSecret { name: name.to_owned(), secret: secret.into() };
    ChapCredentials { initiator: secret("me", own), target: target.map(|text| secret("it", text)) }
}

#[test]
fn a_login_without_proofs_agrees_on_the_lesser_of_both_sides() {
    let outcome = login(asked(None), &mut TestTarget::new()).unwrap();
    assert_eq!((outcome.next_command, outcome.max_command, outcome.next_status), (1, 33, 103));
    let parameters = outcome.parameters;
    assert!(parameters.digests.header && !parameters.digests.data && parameters.immediate_data);
    assert_eq!((parameters.first_burst_bytes, parameters.send_bytes_max), (4096, 16384));
    assert_eq!(parameters.max_burst_bytes, 262_144);
}

#[test]
fn proofs_of_one_side_and_of_both_are_checked() {
    let target = |own, its| TestTarget { credentials: Some(secrets(own, its)), ..TestTarget::new() };
    assert!(login(asked(Some(secrets("right", None))), &mut target("right", None)).is_ok());
    let both = Some(secrets("right", Some("theirs")));
    assert!(login(asked(both.clone()), &mut target("right", Some("theirs"))).is_ok());
    for (mut target, credentials, part) in [
        (target("right", None), Some(secrets("wrong", None)), "name or secret are wrong"),
        (target("right", None), None, "asks for a proof"),
        (TestTarget::new(), Some(secrets("right", None)), "does not take a proof"),
        (target("right", Some("other")), both.clone(), "its answer is wrong"),
        (target("right", None), both, "no answer to the challenge"),
        (
            TestTarget { own_challenge: hex(&[2; 16]), ..target("right", None) },
            Some(secrets("right", None)),
            "back to it",
        ),
    ] {
        let error = login(asked(credentials), &mut target).unwrap_err();
        assert!(error.to_string().contains(part), "{error}");
        assert_eq!(error.kind(), ErrorKind::Token, "{error}");
    }
}

#[test]
fn a_target_that_changes_what_was_asked_for_is_refused() {
    const CHANGED: [[(&str, &str); 1]; 7] = [
        [("HeaderDigest", "None")],
        [("DataDigest", "CRC32C")],
        [("ErrorRecoveryLevel", "2")],
        [("DataPDUInOrder", "No")],
        [("MaxRecvDataSegmentLength", "1")],
        [("FirstBurstLength", "many")],
        [("InitialR2T", "Perhaps")],
    ];
    for operational in &CHANGED {
        let [(key, value)] = operational;
        let error = login(asked(None), &mut TestTarget { operational, ..TestTarget::new() }).unwrap_err();
        assert!(error.to_string().contains(&format!("{key}={value}")), "{error}");
        assert_eq!(error.kind(), ErrorKind::Refused(Refusal::Unsupported));
    }
}

#[test]
fn a_login_without_an_end_is_given_up() {
    let (mut conversation, _) = LoginConversation::start(asked(None));
    let mut header = BasicHeader::new(PduKind::LoginResponse);
    header.0[1] = 0x40;
    let error =
        (0..100).find_map(|_| conversation.next(&Pdu { header, data: &[b'x'; 8192], whole_bytes: 0 }).err());
    assert!(error.unwrap().to_string().contains("65536 bytes"));
    let (mut conversation, _) = LoginConversation::start(asked(None));
    let error = (0..100).find_map(|_| conversation.next(&Pdu { header, data: &[], whole_bytes: 0 }).err());
    assert!(error.unwrap().to_string().contains("64 responses"));
}

#[test]
fn refusals_of_a_login_are_distinguished() {
    for (class, detail, part) in [
        (2, 3, "no target of this name"),
        (2, 2, "may not use"),
        (3, 0, "failed"),
        (1, 1, "moved to 10.0.0.2"),
    ] {
        let (mut conversation, _) = LoginConversation::start(asked(None));
        let mut header = BasicHeader::new(PduKind::LoginResponse);
        (header.0[36], header.0[37]) = (class, detail);
        let data = b"TargetAddress=10.0.0.2:3260,1\0";
        let error = conversation.next(&Pdu { header, data, whole_bytes: 0 }).unwrap_err();
        assert!(error.to_string().contains(part), "{error}");
    }
}
