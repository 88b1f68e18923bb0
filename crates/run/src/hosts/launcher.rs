//! The words that start a program on a host.

use std::process::Command;

/// How clients are started on one host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostLauncher {
    /// The name of the host, for the remote shell and for people.
    pub name: String,
    /// The remote shell: a program and the words before the host's name. Without any it is `ssh`.
    pub shell: Vec<String>,
    /// The program there. A remote shell may interpret it: it has no character that a shell takes for another.
    pub program: String,
}

impl HostLauncher {
    /// The command that runs the program there with `arguments`, without its pipes.
    pub(crate) fn command(&self, arguments: &[String]) -> Command {
        let (shell, words) =
            self.shell.split_first().map_or(("ssh", &[][..]), |(first, rest)| (first.as_str(), rest));
        let mut command = Command::new(shell);
        command.args(words).arg(&self.name).arg(&self.program).args(arguments);
        command
    }

    /// The remote shell with the host, for people.
    pub(crate) fn shown(&self) -> String {
        self.shell.iter().chain([&self.name]).map(String::as_str).collect::<Vec<_>>().join(" ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_host_is_behind_the_words_of_the_shell_and_before_the_program() {
        let launcher = HostLauncher {
            name: "b".to_owned(),
            shell: vec!["ssh".to_owned(), "-p".to_owned(), "2222".to_owned()],
            program: "/opt/narrows".to_owned(),
        };
        let command = launcher.command(&["__client".to_owned()]);
        assert_eq!(command.get_program(), "ssh");
        let words: Vec<_> = command.get_args().collect();
        assert_eq!(words, ["-p", "2222", "b", "/opt/narrows", "__client"]);
        assert_eq!(launcher.shown(), "ssh -p 2222 b");
    }
}
