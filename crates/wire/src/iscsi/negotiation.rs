//! What a session transfers how: our offers, and what both sides agree on.

use super::digest::Digests;
use super::text::put_pair;
use crate::error::{Error, ErrorKind, Refusal, Result};

/// Bytes that the standard lets every data length have at least.
const LENGTH_BYTES_MIN: u32 = 512;
/// Most bytes of a data length.
const LENGTH_BYTES_MAX: u32 = (1 << 24) - 1;
/// What a target receives in one PDU unless it says otherwise.
const SEND_BYTES_DEFAULT: u32 = 8192;
/// Most transfers of one command that a target may ask for at a time.
pub const TRANSFERS_MAX: u32 = 16;

/// What is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SessionOptions {
    /// Digests; a target that uses others is refused.
    pub digests: Digests,
    /// Whether all data beyond a command has to be asked for (`InitialR2T`).
    pub initial_r2t: bool,
    /// Whether data is sent with the command (`ImmediateData`).
    pub immediate_data: bool,
    /// Most bytes of a command that nobody has to ask for.
    pub first_burst_bytes: u32,
    /// Most bytes of one transfer.
    pub max_burst_bytes: u32,
    /// Most bytes of a PDU's data that this side receives.
    pub receive_bytes_max: u32,
}

/// What both sides agreed on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SessionParameters {
    /// Digests, from the end of the login on.
    pub digests: Digests,
    /// Whether all data beyond a command has to be asked for.
    pub initial_r2t: bool,
    /// Whether data may be sent with the command.
    pub immediate_data: bool,
    /// Most bytes of a command that nobody has to ask for.
    pub first_burst_bytes: u32,
    /// Most bytes of one transfer.
    pub max_burst_bytes: u32,
    /// Most bytes of a PDU's data that this side receives.
    pub receive_bytes_max: u32,
    /// Most bytes of a PDU's data that the target receives.
    pub send_bytes_max: u32,
    /// Transfers of one command that the target may ask for at a time.
    pub transfers_max: u32,
}

impl SessionParameters {
    /// What applies until the target has answered.
    #[must_use]
    pub fn offered(options: &SessionOptions) -> Self {
        Self {
            digests: Digests::default(),
            initial_r2t: options.initial_r2t,
            immediate_data: options.immediate_data,
            first_burst_bytes: options.first_burst_bytes.min(options.max_burst_bytes),
            max_burst_bytes: options.max_burst_bytes,
            receive_bytes_max: options.receive_bytes_max,
            send_bytes_max: SEND_BYTES_DEFAULT,
            transfers_max: TRANSFERS_MAX,
        }
    }

    /// Takes the target's `value` of `key`; whether the key is known here.
    ///
    /// # Errors
    /// A value that the offer does not allow.
    pub fn take(&mut self, options: &SessionOptions, key: &str, value: &str) -> Result<bool> {
        match key {
            "HeaderDigest" => self.digests.header = digest_of(key, value, options.digests.header)?,
            "DataDigest" => self.digests.data = digest_of(key, value, options.digests.data)?,
            "InitialR2T" => self.initial_r2t = options.initial_r2t || flag(key, value)?,
            "ImmediateData" => self.immediate_data = options.immediate_data && flag(key, value)?,
            "FirstBurstLength" => {
                self.first_burst_bytes = length(key, value)?.min(options.first_burst_bytes);
            }
            "MaxBurstLength" => self.max_burst_bytes = length(key, value)?.min(options.max_burst_bytes),
            "MaxRecvDataSegmentLength" => self.send_bytes_max = length(key, value)?,
            "MaxOutstandingR2T" => {
                self.transfers_max = number(key, value)?.clamp(1, TRANSFERS_MAX);
            }
            "ErrorRecoveryLevel" if number(key, value)? != 0 => return Err(refused(key, value)),
            "DataPDUInOrder" | "DataSequenceInOrder" if !flag(key, value)? => {
                return Err(refused(key, value));
            }
            "ErrorRecoveryLevel"
            | "DataPDUInOrder"
            | "DataSequenceInOrder"
            | "MaxConnections"
            | "DefaultTime2Wait"
            | "DefaultTime2Retain"
            | "AuthMethod"
            | "TargetAlias"
            | "TargetAddress"
            | "TargetPortalGroupTag" => {}
            _ => return Ok(false),
        }
        self.first_burst_bytes = self.first_burst_bytes.min(self.max_burst_bytes);
        Ok(true)
    }
}

/// Appends the keys of the offer.
pub fn put_offer(out: &mut Vec<u8>, options: &SessionOptions) {
    let digest = |is_on: bool| if is_on { "CRC32C" } else { "None" };
    let flag = |is_on: bool| if is_on { "Yes" } else { "No" };
    put_pair(out, "HeaderDigest", digest(options.digests.header));
    put_pair(out, "DataDigest", digest(options.digests.data));
    put_pair(out, "InitialR2T", flag(options.initial_r2t));
    put_pair(out, "ImmediateData", flag(options.immediate_data));
    let first_burst_bytes = options.first_burst_bytes.min(options.max_burst_bytes);
    put_pair(out, "FirstBurstLength", &first_burst_bytes.to_string());
    put_pair(out, "MaxBurstLength", &options.max_burst_bytes.to_string());
    put_pair(out, "MaxRecvDataSegmentLength", &options.receive_bytes_max.to_string());
    put_pair(out, "MaxOutstandingR2T", &TRANSFERS_MAX.to_string());
    put_pair(out, "MaxConnections", "1");
    put_pair(out, "DataPDUInOrder", "Yes");
    put_pair(out, "DataSequenceInOrder", "Yes");
    put_pair(out, "ErrorRecoveryLevel", "0");
    put_pair(out, "DefaultTime2Wait", "0");
    put_pair(out, "DefaultTime2Retain", "0");
}

fn refused(key: &str, value: &str) -> Error {
    let value: String = value.chars().take(40).collect();
    Error::new(ErrorKind::Refused(Refusal::Unsupported), format!("the target answered {key}={value}"))
}

/// Whether the digest is on, which has to be what was asked for: no other is used silently.
fn digest_of(key: &str, value: &str, asked: bool) -> Result<bool> {
    match value {
        "CRC32C" if asked => Ok(true),
        "None" if !asked => Ok(false),
        _ => Err(refused(key, value)),
    }
}

fn flag(key: &str, value: &str) -> Result<bool> {
    match value {
        "Yes" => Ok(true),
        "No" => Ok(false),
        _ => Err(refused(key, value)),
    }
}

fn number(key: &str, value: &str) -> Result<u32> {
    let parsed = match value.strip_prefix("0x").or_else(|| value.strip_prefix("0X")) {
        Some(digits) => u32::from_str_radix(digits, 16).ok(),
        None => value.parse().ok(),
    };
    parsed.ok_or_else(|| refused(key, value))
}

fn length(key: &str, value: &str) -> Result<u32> {
    let length = number(key, value)?;
    if (LENGTH_BYTES_MIN..=LENGTH_BYTES_MAX).contains(&length) {
        Ok(length)
    } else {
        Err(refused(key, value))
    }
}
