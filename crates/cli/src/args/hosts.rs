//! What may be typed of the hosts that clients run on.

use clap::Args;

/// The hosts of a command's clients.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct HostArguments {
    /// Run the clients on these hosts, in turn, started by a remote shell; the target has to be the same path or address
    /// on each of them
    #[arg(long, value_name = "HOST,..", value_delimiter = ',')]
    pub(crate) hosts: Option<Vec<String>>,
    /// Remote shell for --hosts, with its options; the host and the program follow it; the default is `ssh -o
    /// BatchMode=yes -o ConnectTimeout=10`
    #[arg(long, value_name = "COMMAND")]
    pub(crate) remote_shell: Option<String>,
    /// This program on the hosts; the default is the path of this one
    #[arg(long, value_name = "PATH")]
    pub(crate) remote_program: Option<String>,
}
