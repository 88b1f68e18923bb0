//! Results of NFS and MOUNT calls: numbers, names, and the system's number that means the same.

macro_rules! statuses {
    ($($number:literal = $name:literal, $errno:literal;)*) => {
        const STATUSES: &[(u32, &str, i32)] = &[$(($number, $name, $errno)),*];
    };
}

statuses! {
    0 = "NFS3_OK", 0;
    1 = "NFS3ERR_PERM", 1;
    2 = "NFS3ERR_NOENT", 2;
    5 = "NFS3ERR_IO", 5;
    6 = "NFS3ERR_NXIO", 6;
    13 = "NFS3ERR_ACCES", 13;
    17 = "NFS3ERR_EXIST", 17;
    18 = "NFS3ERR_XDEV", 18;
    19 = "NFS3ERR_NODEV", 19;
    20 = "NFS3ERR_NOTDIR", 20;
    21 = "NFS3ERR_ISDIR", 21;
    22 = "NFS3ERR_INVAL", 22;
    27 = "NFS3ERR_FBIG", 27;
    28 = "NFS3ERR_NOSPC", 28;
    30 = "NFS3ERR_ROFS", 30;
    31 = "NFS3ERR_MLINK", 31;
    63 = "NFS3ERR_NAMETOOLONG", 36;
    66 = "NFS3ERR_NOTEMPTY", 39;
    69 = "NFS3ERR_DQUOT", 122;
    70 = "NFS3ERR_STALE", 116;
    71 = "NFS3ERR_REMOTE", 66;
    10001 = "NFS3ERR_BADHANDLE", 116;
    10002 = "NFS3ERR_NOT_SYNC", 5;
    10003 = "NFS3ERR_BAD_COOKIE", 22;
    10004 = "NFS3ERR_NOTSUPP", 95;
    10005 = "NFS3ERR_TOOSMALL", 22;
    10006 = "NFS3ERR_SERVERFAULT", 121;
    10007 = "NFS3ERR_BADTYPE", 22;
    10008 = "NFS3ERR_JUKEBOX", 11;
}

/// What a call ended with. MOUNT uses the same numbers, without those above 10000.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Status(pub u32);

impl Status {
    /// The call did what was asked.
    pub const OK: Self = Self(0);
    /// There is no such name.
    pub const NOT_FOUND: Self = Self(2);
    /// The caller may not do that.
    pub const ACCESS: Self = Self(13);
    /// The name is taken.
    pub const EXISTS: Self = Self(17);
    /// The handle is of a file that is gone.
    pub const STALE: Self = Self(70);

    /// Whether the call did what was asked.
    #[must_use]
    pub fn is_ok(self) -> bool {
        self == Self::OK
    }

    /// The name of RFC 1813; the number where there is none.
    #[must_use]
    pub fn name(self) -> String {
        match STATUSES.iter().find(|(number, ..)| *number == self.0) {
            Some((_, name, _)) => (*name).to_owned(),
            None => format!("NFS status {}", self.0),
        }
    }

    /// The error number of Linux that means the same; `EIO` for an unknown status.
    #[must_use]
    pub fn errno(self) -> i32 {
        const EIO: i32 = 5;
        STATUSES.iter().find(|(number, ..)| *number == self.0).map_or(EIO, |(_, _, errno)| *errno)
    }
}
