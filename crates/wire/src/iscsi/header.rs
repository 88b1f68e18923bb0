//! The basic header segment, with which every PDU begins, and the kinds of PDUs.
//!
//! Hot path: fields are read and written where they are.

/// Bytes of a basic header segment.
pub const HEADER_BYTES: usize = 48;
/// In place of a tag: none.
pub const NO_TAG: u32 = u32::MAX;
/// In the first byte: the request is immediate, so that it has no place of its own in the order of commands.
pub(super) const IMMEDIATE: u8 = 0x40;
/// In the second byte: the last PDU of a sequence.
pub(super) const FINAL: u8 = 0x80;

macro_rules! pdu_kinds {
    ($($variant:ident = $code:literal, $name:literal, $doc:literal;)*) => {
        /// A kind of PDU.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[repr(u8)]
        pub enum PduKind {
            $(#[doc = $doc] $variant = $code,)*
        }

        impl PduKind {
            /// Every kind.
            pub const ALL: &[PduKind] = &[$(PduKind::$variant),*];

            /// The kind of this code; `None` for a code that is not assigned.
            #[must_use]
            pub fn from_code(code: u8) -> Option<Self> {
                match code {
                    $($code => Some(Self::$variant),)*
                    _ => None,
                }
            }

            /// Its name, as RFC 7143 has it.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }
        }
    };
}

pdu_kinds! {
    NopOut = 0x00, "NOP-Out", "A ping of the initiator, or its answer to one of the target.";
    Command = 0x01, "SCSI Command", "A SCSI command.";
    TaskRequest = 0x02, "Task Management Request", "A request about tasks.";
    LoginRequest = 0x03, "Login Request", "A step of a login.";
    TextRequest = 0x04, "Text Request", "Keys after the login.";
    DataOut = 0x05, "Data-Out", "Data of a write.";
    LogoutRequest = 0x06, "Logout Request", "The wish to end a session.";
    NopIn = 0x20, "NOP-In", "A ping of the target, or its answer to one of the initiator.";
    Response = 0x21, "SCSI Response", "The status of a command.";
    TaskResponse = 0x22, "Task Management Response", "The answer to a request about tasks.";
    LoginResponse = 0x23, "Login Response", "The answer to a step of a login.";
    TextResponse = 0x24, "Text Response", "The answer to keys.";
    DataIn = 0x25, "Data-In", "Data of a read, its status included where it is the last.";
    LogoutResponse = 0x26, "Logout Response", "The answer to a logout.";
    ReadyToTransfer = 0x31, "R2T", "The wish for data of a write.";
    Async = 0x32, "Async Message", "An event at the target.";
    Reject = 0x3f, "Reject", "A PDU of the initiator that the target refuses.";
}

/// Whether the serial number `one` is before `other`: numbers are compared on a circle.
#[must_use]
pub const fn is_before(one: u32, other: u32) -> bool {
    one.wrapping_sub(other) > u32::MAX / 2
}

/// A basic header segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BasicHeader(pub [u8; HEADER_BYTES]);

impl BasicHeader {
    /// A header of this kind, with all else 0.
    #[must_use]
    pub fn new(kind: PduKind) -> Self {
        let mut bytes = [0; HEADER_BYTES];
        bytes[0] = kind as u8;
        Self(bytes)
    }

    /// The kind; `None` for a code that is not assigned.
    #[must_use]
    pub fn kind(&self) -> Option<PduKind> {
        PduKind::from_code(self.0[0] & 0x3f)
    }

    /// Bytes of the additional header segments that follow.
    #[must_use]
    pub fn additional_bytes(&self) -> usize {
        usize::from(self.0[4]) * 4
    }

    /// Bytes of the data segment, without padding.
    #[must_use]
    pub fn data_bytes(&self) -> usize {
        usize::from(self.0[5]) << 16 | usize::from(self.0[6]) << 8 | usize::from(self.0[7])
    }

    /// States the bytes of the data segment, which are below 16 MiB.
    pub fn set_data_bytes(&mut self, count: u32) {
        let [_, high, middle, low] = count.to_be_bytes();
        self.0[5..8].copy_from_slice(&[high, middle, low]);
    }

    /// The tag that the initiator gave the task.
    #[must_use]
    pub fn task_tag(&self) -> u32 {
        self.u32_at(16)
    }

    /// The tag that the target gave a transfer, in the kinds that have one.
    #[must_use]
    pub fn transfer_tag(&self) -> u32 {
        self.u32_at(20)
    }

    /// The unit, as eight bytes.
    #[must_use]
    pub fn unit(&self) -> [u8; 8] {
        let mut unit = [0; 8];
        unit.copy_from_slice(&self.0[8..16]);
        unit
    }

    pub(super) fn u16_at(&self, at: usize) -> u16 {
        u16::from_be_bytes([self.0[at], self.0[at + 1]])
    }

    pub(super) fn u32_at(&self, at: usize) -> u32 {
        u32::from_be_bytes([self.0[at], self.0[at + 1], self.0[at + 2], self.0[at + 3]])
    }

    pub(super) fn put(&mut self, at: usize, bytes: &[u8]) {
        self.0[at..at + bytes.len()].copy_from_slice(bytes);
    }

    pub(super) fn put_u32(&mut self, at: usize, value: u32) {
        self.put(at, &value.to_be_bytes());
    }
}
