//! Calls and replies of ONC RPC: headers, `AUTH_SYS` credentials, refusals.

use super::procedure::Procedure;
use super::record::{MARK_BYTES, mark};
use super::xdr::{XdrError, XdrReader, padding, put_opaque, put_u32};

const CALL: u32 = 0;
const REPLY: u32 = 1;
const RPC_VERSION: u32 = 2;
const AUTH_NONE: u32 = 0;
const AUTH_SYS: u32 = 1;
/// Longest credential or verifier (RFC 5531).
const AUTH_BYTES_MAX: usize = 400;
/// Longest name of a machine that is sent: any part of it serves.
const MACHINE_BYTES_MAX: usize = 64;
/// Most groups of a caller (RFC 5531).
const GROUPS_MAX: usize = 16;

/// Who calls, as `AUTH_SYS` states it: the server believes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuthSys {
    /// Name of the machine.
    pub machine: String,
    /// Number of the user.
    pub user_id: u32,
    /// Number of the group.
    pub group_id: u32,
    /// Numbers of further groups, of which 16 are sent.
    pub groups: Vec<u32>,
}

impl AuthSys {
    fn encode(&self) -> Vec<u8> {
        let mut body = Vec::new();
        put_u32(&mut body, 0);
        let machine = self.machine.as_bytes();
        put_opaque(&mut body, &machine[..machine.len().min(MACHINE_BYTES_MAX)]);
        put_u32(&mut body, self.user_id);
        put_u32(&mut body, self.group_id);
        let groups = &self.groups[..self.groups.len().min(GROUPS_MAX)];
        put_u32(&mut body, u32::try_from(groups.len()).unwrap_or(0));
        for group in groups {
            put_u32(&mut body, *group);
        }
        body
    }
}

/// The beginning of all calls of one procedure by one caller: only the xid and the arguments differ.
#[derive(Debug, Clone)]
pub struct CallTemplate {
    bytes: Vec<u8>,
}

impl CallTemplate {
    /// The beginning of calls of `procedure` by `caller`; without one, calls state no caller.
    #[must_use]
    pub fn new(procedure: Procedure, caller: Option<&AuthSys>) -> Self {
        let program = procedure.program();
        let mut bytes = vec![0; MARK_BYTES];
        for value in [0, CALL, RPC_VERSION, program.number, program.version, procedure.number()] {
            put_u32(&mut bytes, value);
        }
        match caller {
            Some(caller) => {
                put_u32(&mut bytes, AUTH_SYS);
                put_opaque(&mut bytes, &caller.encode());
            }
            None => {
                for value in [AUTH_NONE, 0] {
                    put_u32(&mut bytes, value);
                }
            }
        }
        for value in [AUTH_NONE, 0] {
            put_u32(&mut bytes, value);
        }
        Self { bytes }
    }

    /// Puts the beginning of the call `xid` into `out`, whose content is dropped.
    pub fn begin(&self, xid: u32, out: &mut Vec<u8>) {
        out.clear();
        out.extend_from_slice(&self.bytes);
        out[MARK_BYTES..2 * MARK_BYTES].copy_from_slice(&xid.to_be_bytes());
    }
}

/// Completes the call in `out`, behind which `payload_bytes` and their padding are sent.
pub fn end_call(out: &mut [u8], payload_bytes: usize) {
    let length = out.len() - MARK_BYTES + payload_bytes + padding(payload_bytes);
    out[..MARK_BYTES].copy_from_slice(&mark(length));
}

/// What a reply says before its results.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReplyOutcome {
    /// The results follow.
    Accepted,
    /// The server did not execute the call.
    Refused(RpcRefusal),
}

/// Why a server did not execute a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RpcRefusal {
    /// It does not have the program.
    NoProgram,
    /// It has other versions of the program.
    Version {
        /// The lowest.
        low: u32,
        /// The highest.
        high: u32,
    },
    /// It does not have the procedure.
    NoProcedure,
    /// It did not understand the arguments.
    Arguments,
    /// It failed.
    SystemError,
    /// It speaks another version of RPC.
    RpcVersion,
    /// It does not accept the caller's credentials, for the reason of this number.
    Credentials(u32),
}

impl std::fmt::Display for RpcRefusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::NoProgram => f.write_str("the server does not have this program (PROG_UNAVAIL)"),
            Self::Version { low, high } => {
                write!(f, "the server has versions {low} to {high} of this program (PROG_MISMATCH)")
            }
            Self::NoProcedure => f.write_str("the server does not have this procedure (PROC_UNAVAIL)"),
            Self::Arguments => f.write_str("the server did not understand the call (GARBAGE_ARGS)"),
            Self::SystemError => f.write_str("the server failed (SYSTEM_ERR)"),
            Self::RpcVersion => f.write_str("the server speaks another version of RPC (RPC_MISMATCH)"),
            Self::Credentials(reason) => {
                let name = match reason {
                    1 => "AUTH_BADCRED",
                    2 => "AUTH_REJECTEDCRED",
                    5 => "AUTH_TOOWEAK",
                    _ => "AUTH_ERROR",
                };
                write!(f, "the server refuses the caller ({name}, {reason})")
            }
        }
    }
}

/// Reads the beginning of a reply: its xid, and whether results follow.
///
/// # Errors
/// `Short` when it has not arrived wholly; `Malformed` for what is no reply.
pub fn read_reply(reader: &mut XdrReader<'_>) -> Result<(u32, ReplyOutcome), XdrError> {
    let xid = reader.u32()?;
    if reader.u32()? != REPLY {
        return Err(XdrError::Malformed("it is no reply of RPC"));
    }
    let outcome = match reader.u32()? {
        0 => {
            reader.u32()?;
            reader.opaque(AUTH_BYTES_MAX)?;
            read_accepted(reader)?
        }
        1 => ReplyOutcome::Refused(match reader.u32()? {
            0 => RpcRefusal::RpcVersion,
            1 => RpcRefusal::Credentials(reader.u32()?),
            _ => return Err(XdrError::Malformed("a refusal has no known reason")),
        }),
        _ => return Err(XdrError::Malformed("a reply neither accepts nor refuses")),
    };
    Ok((xid, outcome))
}

fn read_accepted(reader: &mut XdrReader<'_>) -> Result<ReplyOutcome, XdrError> {
    let refusal = match reader.u32()? {
        0 => return Ok(ReplyOutcome::Accepted),
        1 => RpcRefusal::NoProgram,
        2 => RpcRefusal::Version { low: reader.u32()?, high: reader.u32()? },
        3 => RpcRefusal::NoProcedure,
        4 => RpcRefusal::Arguments,
        5 => RpcRefusal::SystemError,
        _ => return Err(XdrError::Malformed("an accepted call has no known outcome")),
    };
    Ok(ReplyOutcome::Refused(refusal))
}
