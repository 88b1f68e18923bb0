//! SCSI as far as a disk's initiator needs it: commands, what they return, and why they fail.

pub mod cdb;
pub mod identity;
pub mod sense;
pub mod sizes;
pub mod unit;
