//! The procedures that are called, with their programs and numbers.

/// The port mapper, version 2.
pub const PORTMAP: RpcProgram = RpcProgram { number: 100_000, version: 2, name: "PORTMAP" };
/// MOUNT, version 3.
pub const MOUNT: RpcProgram = RpcProgram { number: 100_005, version: 3, name: "MOUNT" };
/// NFS, version 3.
pub const NFS: RpcProgram = RpcProgram { number: 100_003, version: 3, name: "NFS" };

/// A program of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RpcProgram {
    /// Its number.
    pub number: u32,
    /// The version that is spoken.
    pub version: u32,
    /// Its name, for people.
    pub name: &'static str,
}

macro_rules! procedures {
    ($($variant:ident = $program:ident, $number:literal, $name:literal, $doc:literal;)*) => {
        /// A procedure of a server.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[repr(usize)]
        pub enum Procedure {
            $(#[doc = $doc] $variant,)*
        }

        impl Procedure {
            /// Every procedure, in the order of reports.
            pub const ALL: &[Procedure] = &[$(Procedure::$variant),*];

            /// The program that it is one of.
            #[must_use]
            pub const fn program(self) -> RpcProgram {
                match self { $(Procedure::$variant => $program,)* }
            }

            /// Its number in its program.
            #[must_use]
            pub const fn number(self) -> u32 {
                match self { $(Procedure::$variant => $number,)* }
            }

            /// Its name as in the RFCs.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Procedure::$variant => $name,)* }
            }
        }
    };
}

procedures! {
    GetPort = PORTMAP, 3, "GETPORT", "The port of a program.";
    Mount = MOUNT, 1, "MNT", "The handle of an exported folder.";
    Unmount = MOUNT, 3, "UMNT", "The handle is not used any more.";
    Exports = MOUNT, 5, "EXPORT", "The folders that are exported.";
    Null = NFS, 0, "NULL", "Does nothing: a round trip.";
    GetAttributes = NFS, 1, "GETATTR", "Attributes of a file.";
    SetAttributes = NFS, 2, "SETATTR", "Changes attributes of a file.";
    Lookup = NFS, 3, "LOOKUP", "The handle of a name in a folder.";
    Access = NFS, 4, "ACCESS", "What the caller may do with a file.";
    Read = NFS, 6, "READ", "Bytes of a file.";
    Write = NFS, 7, "WRITE", "Writes bytes of a file.";
    Create = NFS, 8, "CREATE", "Creates a file.";
    MakeFolder = NFS, 9, "MKDIR", "Creates a folder.";
    Remove = NFS, 12, "REMOVE", "Removes a file.";
    RemoveFolder = NFS, 13, "RMDIR", "Removes an empty folder.";
    Rename = NFS, 14, "RENAME", "Renames a file.";
    ReadFolderPlus = NFS, 17, "READDIRPLUS", "Names of a folder, with attributes and handles.";
    FileSystemSpace = NFS, 18, "FSSTAT", "Space of the file system.";
    ServerInfo = NFS, 19, "FSINFO", "Sizes that the server supports.";
    Commit = NFS, 21, "COMMIT", "Makes unstable data durable.";
}

impl Procedure {
    /// Its place in [`Procedure::ALL`].
    #[must_use]
    pub const fn index(self) -> usize {
        self as usize
    }
}
