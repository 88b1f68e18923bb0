//! What may be typed of the hosts that clients run on.

use clap::Args;

/// The hosts of a command's clients.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct HostArguments {
    /// Run the clients on these hosts, in turn, started by a remote shell; TARGET has to be the same path or address on
    /// each of them
    #[arg(long, value_name = "HOST,..", value_delimiter = ',')]
    pub(crate) hosts: Option<Vec<String>>,
    /// Remote shell for --hosts, with its options; the host and the program follow it
    #[arg(
        long,
        value_name = "COMMAND",
        requires = "hosts",
        default_value = "ssh -o BatchMode=yes -o ConnectTimeout=10"
    )]
    pub(crate) remote_shell: String,
    /// This program on the hosts; the default is the path of this one
    #[arg(long, value_name = "PATH", requires = "hosts")]
    pub(crate) remote_program: Option<String>,
}
