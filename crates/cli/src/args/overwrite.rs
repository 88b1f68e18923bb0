//! Consent to overwrite disks that have no folders.

use clap::Args;

/// Which disks may be overwritten.
#[derive(Debug, Clone, Default, PartialEq, Args)]
pub(crate) struct OverwriteArguments {
    /// Serial number of a LUN (iscsi://) whose content may be overwritten; without it a LUN that holds anything is only
    /// read
    #[arg(long, value_name = "SERIAL")]
    pub(crate) overwrite_lun: Vec<String>,
    /// Serial number of a block device (blk:), or exact size of one without a serial number, whose content may be overwritten; without it a device is only
    /// read, and one that is in use or has a file system, a partition table or the like on it is never written
    #[arg(long, value_name = "SERIAL-or-SIZE")]
    pub(crate) overwrite_device: Vec<String>,
}
