//! A target for tests: one small unit in memory, with a hook by which it is as hostile or as unlucky as a test wants.
//!
//! It grants whatever is asked of it at the login, and knows no digests and no sessions: what a run does to a unit is
//! looked at, not the protocol. A real target is in the lab.

use narrows_wire::iscsi::header::{BasicHeader, HEADER_BYTES, PduKind};
use std::io::{Read, Result, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

/// Bytes of a block of the unit.
pub(super) const BLOCK: usize = 512;
/// What a Data-In has at most.
const PART_BYTES: usize = 64 << 10;
/// What is asked for at once of a write.
const BURST_BYTES: usize = 64 << 10;

/// What is done to the unit before a command is executed; the command is a CDB.
type Hook = Box<dyn FnMut(&mut Vec<u8>, &[u8; 16]) + Send>;

/// The unit, as a test looks at it.
#[derive(Clone)]
pub(super) struct FakeUnit {
    state: Arc<Mutex<UnitState>>,
    pub(super) port: u16,
}

struct UnitState {
    data: Vec<u8>,
    can_compare: bool,
    serial: [u8; 4],
    hook: Hook,
}

impl FakeUnit {
    /// Starts the target of a unit with `data`, which compares and writes in one command if `can_compare`. It ends with
    /// the test's process.
    pub(super) fn start(
        data: Vec<u8>,
        can_compare: bool,
        hook: impl FnMut(&mut Vec<u8>, &[u8; 16]) + Send + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let state =
            Arc::new(Mutex::new(UnitState { data, can_compare, serial: *b"beaf", hook: Box::new(hook) }));
        let unit = Self { state, port };
        let served = unit.clone();
        std::thread::spawn(move || {
            for connection in listener.incoming().flatten() {
                let served = served.clone();
                std::thread::spawn(move || served.serve(connection));
            }
        });
        unit
    }

    /// From now on it has another serial number, as a unit that was put in its place.
    pub(super) fn set_serial(&self, serial: [u8; 4]) {
        self.state.lock().unwrap().serial = serial;
    }

    /// The content of the unit.
    pub(super) fn data(&self) -> Vec<u8> {
        self.state.lock().unwrap().data.clone()
    }

    fn serve(&self, mut connection: TcpStream) -> Result<()> {
        loop {
            let (header, data) = read_pdu(&mut connection)?;
            match header.kind().unwrap() {
                PduKind::LoginRequest => {
                    let mut answer = reply(PduKind::LoginResponse, &header);
                    answer.0[1] = header.0[1];
                    write_pdu(&mut connection, answer, &[])?;
                }
                PduKind::LogoutRequest => {
                    return write_pdu(&mut connection, reply(PduKind::LogoutResponse, &header), &[]);
                }
                PduKind::Command => self.command(&mut connection, &header, data)?,
                other => panic!("a {} arrived", other.name()),
            }
        }
    }

    fn command(&self, connection: &mut TcpStream, header: &BasicHeader, data: Vec<u8>) -> Result<()> {
        let cdb: [u8; 16] = header.0[32..48].try_into().unwrap();
        let expected = u32_at(header, 20) as usize;
        let is_write = header.0[1] & 0x20 != 0;
        let data = if is_write { rest_of(connection, header, data, expected)? } else { data };
        let answer = {
            let mut state = self.state.lock().unwrap();
            let UnitState { data: content, hook, .. } = &mut *state;
            hook(content, &cdb);
            state.execute(&cdb, &data)
        };
        match answer {
            Err((key, code)) => {
                let mut response = reply(PduKind::Response, header);
                response.0[3] = 2;
                let mut sense = [0; 20];
                (sense[1], sense[2], sense[4], sense[14]) = (18, 0x70, key, code);
                write_pdu(connection, response, &sense)
            }
            Ok(bytes) => {
                let bytes = &bytes[..bytes.len().min(expected)];
                for (number, part) in bytes.chunks(PART_BYTES).enumerate() {
                    let mut data_in = reply(PduKind::DataIn, header);
                    data_in.0[1] = 0;
                    data_in.0[20..24].fill(0xff);
                    data_in.0[40..44]
                        .copy_from_slice(&u32::try_from(number * PART_BYTES).unwrap().to_be_bytes());
                    write_pdu(connection, data_in, part)?;
                }
                write_pdu(connection, reply(PduKind::Response, header), &[])
            }
        }
    }
}

impl UnitState {
    /// What a command returns; sense key and code where it fails.
    fn execute(&mut self, cdb: &[u8; 16], data: &[u8]) -> std::result::Result<Vec<u8>, (u8, u8)> {
        let blocks = (self.data.len() / BLOCK) as u64;
        let short = |at: usize| u32::from_be_bytes(cdb[at..at + 4].try_into().unwrap()) as usize * BLOCK;
        let count = usize::from(u16::from_be_bytes([cdb[7], cdb[8]])) * BLOCK;
        match cdb[0] {
            0x00 | 0x35 => Ok(Vec::new()),
            0x12 => Ok(inquiry(cdb, self.serial)),
            0x9e => {
                let mut capacity = vec![0; 32];
                capacity[..8].copy_from_slice(&(blocks - 1).to_be_bytes());
                capacity[8..12].copy_from_slice(&u32::try_from(BLOCK).unwrap().to_be_bytes());
                // Blocks can be unmapped, and are zeroes then.
                capacity[14] = 0xc0;
                Ok(capacity)
            }
            0x28 => Ok(self.data[short(2)..short(2) + count].to_vec()),
            0x2a => {
                self.data[short(2)..short(2) + count].copy_from_slice(data);
                Ok(Vec::new())
            }
            0x42 => {
                let first = u64::from_be_bytes(data[8..16].try_into().unwrap());
                let count = u32::from_be_bytes(data[16..20].try_into().unwrap()) as usize;
                let first = usize::try_from(first).unwrap() * BLOCK;
                self.data[first..first + count * BLOCK].fill(0);
                Ok(Vec::new())
            }
            0x89 if self.can_compare => {
                assert_eq!((&cdb[2..10], cdb[13], data.len()), (&[0; 8][..], 1, 2 * BLOCK));
                let (wanted, new) = data.split_at(BLOCK);
                if self.data[..BLOCK] != *wanted {
                    return Err((0xe, 0x1d));
                }
                self.data[..BLOCK].copy_from_slice(new);
                Ok(Vec::new())
            }
            _ => Err((5, 0x20)),
        }
    }
}

fn inquiry(cdb: &[u8; 16], serial: [u8; 4]) -> Vec<u8> {
    match (cdb[1] & 1, cdb[2]) {
        (1, 0) => vec![0, 0, 0, 2, 0, 0x80],
        (1, _) => [&[0, 0x80, 0, 4][..], &serial].concat(),
        (..) => [&[0, 0, 5, 2, 31, 0, 0, 0][..], b"TESTS   A DISK IN MEMORY1   "].concat(),
    }
}

/// All data of a write: what came with its command, and what is asked for then.
fn rest_of(
    connection: &mut TcpStream,
    header: &BasicHeader,
    mut data: Vec<u8>,
    expected: usize,
) -> Result<Vec<u8>> {
    while data.len() < expected {
        let wanted = (expected - data.len()).min(BURST_BYTES);
        let mut wish = reply(PduKind::ReadyToTransfer, header);
        wish.0[40..44].copy_from_slice(&u32::try_from(data.len()).unwrap().to_be_bytes());
        wish.0[44..48].copy_from_slice(&u32::try_from(wanted).unwrap().to_be_bytes());
        write_pdu(connection, wish, &[])?;
        let end = data.len() + wanted;
        while data.len() < end {
            let (part, bytes) = read_pdu(connection)?;
            assert_eq!(part.kind(), Some(PduKind::DataOut));
            data.extend_from_slice(&bytes);
        }
    }
    Ok(data)
}

/// A header that answers `header`, with a window of a few commands.
fn reply(kind: PduKind, header: &BasicHeader) -> BasicHeader {
    let mut answer = BasicHeader::new(kind);
    answer.0[1] = 0x80;
    answer.0[16..20].copy_from_slice(&header.0[16..20]);
    let number = u32_at(header, 24);
    answer.0[28..32].copy_from_slice(&number.wrapping_add(1).to_be_bytes());
    answer.0[32..36].copy_from_slice(&number.wrapping_add(8).to_be_bytes());
    answer
}

fn u32_at(header: &BasicHeader, at: usize) -> u32 {
    u32::from_be_bytes(header.0[at..at + 4].try_into().unwrap())
}

fn read_pdu(connection: &mut TcpStream) -> Result<(BasicHeader, Vec<u8>)> {
    let mut header = [0; HEADER_BYTES];
    connection.read_exact(&mut header)?;
    let header = BasicHeader(header);
    let mut data = vec![0; header.data_bytes().next_multiple_of(4)];
    connection.read_exact(&mut data)?;
    data.truncate(header.data_bytes());
    Ok((header, data))
}

fn write_pdu(connection: &mut TcpStream, mut header: BasicHeader, data: &[u8]) -> Result<()> {
    header.set_data_bytes(u32::try_from(data.len()).unwrap());
    let padding = [0; 3];
    connection.write_all(&[&header.0, data, &padding[..data.len().wrapping_neg() & 3]].concat())
}
