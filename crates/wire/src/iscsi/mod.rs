//! iSCSI and the SCSI commands of a disk as functions on bytes (design 0022).
//!
//! Requests are built in memory of the caller; what a target sends is read where it arrived. Nothing that a target sends
//! panics or makes anything be allocated that did not arrive. Deliberately absent: sockets, error recovery levels above
//! 0, several connections of one session, markers, and every command that the engine `iscsi` does not send.
//!
//! # Source
//! RFC 7143 (iSCSI), RFC 3385 and RFC 3720 appendix B.4 (CRC32C), RFC 1994 (CHAP), SPC-4 and SBC-3 (commands, sense data).

pub mod chap;
pub mod digest;
pub mod header;
pub mod login;
pub mod negotiation;
pub mod pdu;
pub mod request;
pub mod response;
pub mod scsi;
pub mod text;

#[cfg(test)]
mod tests;
