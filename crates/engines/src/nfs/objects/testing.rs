//! A small `NFSv3` server in memory, with what tests need a server to do at a given call: to lose the connection before or
//! after it has executed it, to restart, to fail, to be silent.
//!
//! It shares nothing with the engine but XDR, so that its counts and its files are another's view. Each connection has a
//! thread, which ends with the test's process.

use narrows_wire::nfs::xdr::{XdrReader, put_opaque, put_u32, put_u64};
use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

const MOUNT: u32 = 100_005;
const NFS: u32 = 100_003;
pub(super) const GETATTR: u32 = 1;
pub(super) const LOOKUP: u32 = 3;
pub(super) const WRITE: u32 = 7;
pub(super) const CREATE: u32 = 8;
pub(super) const REMOVE: u32 = 12;
pub(super) const RENAME: u32 = 14;
pub(super) const LIST: u32 = 17;
pub(super) const COMMIT: u32 = 21;
const ROOT: u64 = 1;
const NOT_FOUND: u32 = 2;
const EXISTS: u32 = 17;
const NOT_EMPTY: u32 = 66;
const STALE: u32 = 70;

/// What happens at a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ServerFault {
    /// The connection ends before the call is executed.
    LoseCall,
    /// The connection ends after it was executed, without an answer.
    LoseAnswer,
    /// The server restarts before it is executed: all connections end, and what is not durable is lost.
    Restart,
    /// The call fails with this status.
    Fail(u32),
    /// No answer ever comes.
    Silence,
}

/// What becomes of a connection after a call.
#[derive(Debug, Clone, Copy)]
enum ServerStep {
    Answer,
    Ignore,
    Close,
}

/// How a server answers.
#[derive(Debug, Clone, Copy)]
pub(super) struct ServerHabits {
    /// Answers contain attributes and handles where they may leave them out.
    pub(super) says_everything: bool,
    /// Names in one part of a listing.
    pub(super) listed_together: usize,
    /// Listings go on at a position, which moves when names before it are deleted.
    pub(super) position_moves: bool,
    /// Bytes of a READ or WRITE.
    pub(super) transfer_bytes: u32,
}

impl Default for ServerHabits {
    fn default() -> Self {
        Self { says_everything: true, listed_together: 7, position_moves: false, transfer_bytes: 1 << 16 }
    }
}

#[derive(Debug, Clone)]
enum Node {
    Folder(Vec<(String, u64)>),
    File { data: Vec<u8>, durable: Vec<u8> },
}

#[derive(Debug, Default)]
struct ServerState {
    habits: ServerHabits,
    nodes: BTreeMap<u64, Node>,
    last_id: u64,
    starts: u64,
    counts: BTreeMap<u32, u64>,
    /// What happens at which execution of a procedure, counted from now.
    faults: Vec<(u32, u64, ServerFault)>,
}

/// A running server.
#[derive(Debug, Clone)]
pub(super) struct ServedMemory {
    port: u16,
    state: Arc<Mutex<ServerState>>,
}

impl ServedMemory {
    pub(super) fn start(habits: ServerHabits) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let nodes = BTreeMap::from([(ROOT, Node::Folder(Vec::new()))]);
        let state = ServerState { habits, nodes, last_id: ROOT, ..ServerState::default() };
        let server = Self { port, state: Arc::new(Mutex::new(state)) };
        let serving = server.clone();
        std::thread::spawn(move || {
            for connection in listener.incoming().flatten() {
                let server = serving.clone();
                std::thread::spawn(move || drop(server.serve(connection)));
            }
        });
        server
    }

    /// Its export, as a target.
    pub(super) fn target(&self) -> String {
        format!("nfs://127.0.0.1:{}/data?mountport={}", self.port, self.port)
    }

    /// Has `fault` happen at the execution of `procedure` after `skipped` others.
    pub(super) fn plan_fault(&self, procedure: u32, skipped: u64, fault: ServerFault) {
        self.state.lock().unwrap().faults.push((procedure, skipped, fault));
    }

    /// NFS procedures executed, by their numbers.
    pub(super) fn counts(&self) -> BTreeMap<u32, u64> {
        self.state.lock().unwrap().counts.clone()
    }

    /// Files by their paths with their content, as a crash would leave them if `durable`; folders end with a slash.
    pub(super) fn files(&self, durable: bool) -> BTreeMap<String, Vec<u8>> {
        let state = self.state.lock().unwrap();
        let mut found = BTreeMap::new();
        state.collect(ROOT, "", durable, &mut found);
        found
    }

    /// Makes a file or a folder, as somebody else would.
    pub(super) fn make(&self, path: &str, node_is_folder: bool) {
        let mut state = self.state.lock().unwrap();
        let mut folder = ROOT;
        let parts: Vec<&str> = path.split('/').collect();
        let (name, parents) = parts.split_last().unwrap();
        for parent in parents {
            folder = state.find(folder, parent).unwrap();
        }
        let node = if node_is_folder { Node::Folder(Vec::new()) } else { Node::new_file() };
        state.add(folder, name, node);
    }

    fn serve(&self, mut connection: TcpStream) -> io::Result<()> {
        let starts = self.state.lock().unwrap().starts;
        loop {
            let mut mark = [0; 4];
            connection.read_exact(&mut mark)?;
            let mut call = vec![0; (u32::from_be_bytes(mark) & 0x7fff_ffff) as usize];
            connection.read_exact(&mut call)?;
            let mut reply = vec![0; 4];
            reply.extend_from_slice(&call[..4]);
            for value in [1, 0, 0, 0, 0] {
                put_u32(&mut reply, value);
            }
            let next = self.state.lock().unwrap().execute(&call, starts, &mut reply);
            match next {
                ServerStep::Answer => {}
                ServerStep::Ignore => continue,
                ServerStep::Close => return Ok(()),
            }
            let length = 0x8000_0000 | u32::try_from(reply.len() - 4).unwrap();
            reply[..4].copy_from_slice(&length.to_be_bytes());
            connection.write_all(&reply)?;
        }
    }
}

impl Node {
    fn new_file() -> Self {
        Self::File { data: Vec::new(), durable: Vec::new() }
    }
}

impl ServerState {
    /// Executes a call and appends its results.
    fn execute(&mut self, call: &[u8], starts: u64, out: &mut Vec<u8>) -> ServerStep {
        if starts != self.starts {
            return ServerStep::Close;
        }
        let mut reader = XdrReader::new(call);
        let head: Vec<u32> = (0..6).map(|_| reader.u32().unwrap()).collect();
        for _ in 0..2 {
            reader.u32().unwrap();
            reader.opaque(400).unwrap();
        }
        let (program, procedure) = (head[3], head[5]);
        if program == MOUNT {
            mounted(procedure, out);
            return ServerStep::Answer;
        }
        assert_eq!(program, NFS);
        let fault = self.due(procedure);
        match fault {
            Some(ServerFault::LoseCall) => return ServerStep::Close,
            Some(ServerFault::Restart) => {
                self.restart();
                return ServerStep::Close;
            }
            Some(ServerFault::Silence) => return ServerStep::Ignore,
            _ => {}
        }
        *self.counts.entry(procedure).or_default() += 1;
        let done = match fault {
            Some(ServerFault::Fail(status)) => Err(status),
            _ => self.results(procedure, &mut reader),
        };
        put_results(procedure, &done, out);
        if fault == Some(ServerFault::LoseAnswer) { ServerStep::Close } else { ServerStep::Answer }
    }

    /// The fault of this execution of `procedure`.
    fn due(&mut self, procedure: u32) -> Option<ServerFault> {
        let mut due = None;
        self.faults.retain_mut(|(at, skipped, fault)| {
            if *at != procedure {
                return true;
            }
            if *skipped == 0 && due.is_none() {
                due = Some(*fault);
                return false;
            }
            *skipped = skipped.saturating_sub(1);
            true
        });
        due
    }

    fn restart(&mut self) {
        self.starts += 1;
        for node in self.nodes.values_mut() {
            if let Node::File { data, durable } = node {
                data.clone_from(durable);
            }
        }
    }

    fn find(&self, folder: u64, name: &str) -> Option<u64> {
        let Some(Node::Folder(entries)) = self.nodes.get(&folder) else { return None };
        entries.iter().find(|(known, _)| known == name).map(|(_, id)| *id)
    }

    fn add(&mut self, folder: u64, name: &str, node: Node) -> u64 {
        self.last_id += 1;
        self.nodes.insert(self.last_id, node);
        let Some(Node::Folder(entries)) = self.nodes.get_mut(&folder) else { panic!("no folder") };
        entries.push((name.to_owned(), self.last_id));
        self.last_id
    }

    fn collect(&self, folder: u64, path: &str, durable_only: bool, found: &mut BTreeMap<String, Vec<u8>>) {
        let Some(Node::Folder(entries)) = self.nodes.get(&folder) else { return };
        for (name, id) in entries {
            let path = format!("{path}{name}");
            match &self.nodes[id] {
                Node::Folder(_) => {
                    self.collect(*id, &format!("{path}/"), durable_only, found);
                    found.insert(format!("{path}/"), Vec::new());
                }
                Node::File { data, durable } => {
                    found.insert(path, if durable_only { durable.clone() } else { data.clone() });
                }
            }
        }
    }

    /// The results of a call behind its status, or the status that is no OK.
    fn results(&mut self, procedure: u32, reader: &mut XdrReader<'_>) -> Result<Vec<u8>, u32> {
        let mut out = Vec::new();
        // The arguments of all of them begin with a handle.
        let id = u64::from_be_bytes(reader.opaque(64).unwrap().try_into().unwrap());
        if !self.nodes.contains_key(&id) {
            return Err(STALE);
        }
        match procedure {
            GETATTR => self.put_attributes(&mut out, id),
            LOOKUP => {
                let found = self.find(id, &name(reader)).ok_or(NOT_FOUND)?;
                put_handle(&mut out, found);
                self.put_some_attributes(&mut out, found);
                put_u32(&mut out, 0);
            }
            6 => self.put_read(&mut out, id, reader),
            WRITE => self.write(&mut out, id, reader),
            CREATE | 9 => self.create(&mut out, id, procedure, reader)?,
            REMOVE | 13 => self.remove(&mut out, id, procedure, reader)?,
            RENAME => self.rename(&mut out, id, reader)?,
            LIST => self.put_list(&mut out, id, reader),
            19 => {
                put_u32(&mut out, 0);
                for _ in 0..6 {
                    put_u32(&mut out, self.habits.transfer_bytes);
                }
            }
            COMMIT => {
                if let Some(Node::File { data, durable }) = self.nodes.get_mut(&id) {
                    durable.clone_from(data);
                }
                put_u64(&mut out, 0);
                put_u64(&mut out, self.starts);
            }
            other => panic!("procedure {other}"),
        }
        Ok(out)
    }

    fn put_attributes(&self, out: &mut Vec<u8>, id: u64) {
        let (kind, mode, length) = match &self.nodes[&id] {
            Node::Folder(_) => (2, 0o700, 0),
            Node::File { data, .. } => (1, 0o600, data.len() as u64),
        };
        let user_id = rustix::process::geteuid().as_raw();
        for value in [kind, mode, 1, user_id, 0] {
            put_u32(out, value);
        }
        for value in [length, length, 0, 1, id, 0, 0, 0] {
            put_u64(out, value);
        }
    }

    fn put_some_attributes(&self, out: &mut Vec<u8>, id: u64) {
        put_u32(out, u32::from(self.habits.says_everything));
        if self.habits.says_everything {
            self.put_attributes(out, id);
        }
    }

    fn put_read(&self, out: &mut Vec<u8>, id: u64, reader: &mut XdrReader<'_>) {
        let (offset, count) = (reader.u64().unwrap(), reader.u32().unwrap());
        let Node::File { data, .. } = &self.nodes[&id] else { panic!("no file") };
        let rest = &data[data.len().min(usize::try_from(offset).unwrap())..];
        let part = &rest[..rest.len().min(count.min(self.habits.transfer_bytes) as usize)];
        put_u32(out, 0);
        put_u32(out, u32::try_from(part.len()).unwrap());
        put_u32(out, u32::from(part.len() == rest.len()));
        put_opaque(out, part);
    }

    fn write(&mut self, out: &mut Vec<u8>, id: u64, reader: &mut XdrReader<'_>) {
        let offset = usize::try_from(reader.u64().unwrap()).unwrap();
        let (count, stability) = (reader.u32().unwrap(), reader.u32().unwrap());
        let written = reader.opaque(1 << 20).unwrap();
        assert!(written.len() == count as usize && count <= self.habits.transfer_bytes);
        let Some(Node::File { data, durable }) = self.nodes.get_mut(&id) else { panic!("no file") };
        data.resize(data.len().max(offset + written.len()), 0);
        data[offset..offset + written.len()].copy_from_slice(written);
        if stability == 2 {
            durable.clone_from(data);
        }
        put_u64(out, 0);
        put_u32(out, count);
        put_u32(out, stability);
        put_u64(out, self.starts);
    }

    fn create(
        &mut self,
        out: &mut Vec<u8>,
        folder: u64,
        procedure: u32,
        reader: &mut XdrReader<'_>,
    ) -> Result<(), u32> {
        let name = name(reader);
        let is_guarded = procedure == 9 || reader.u32().unwrap() == 1;
        let id = match self.find(folder, &name) {
            Some(_) if is_guarded => return Err(EXISTS),
            Some(known) => known,
            None => {
                let node = if procedure == 9 { Node::Folder(Vec::new()) } else { Node::new_file() };
                self.add(folder, &name, node)
            }
        };
        put_u32(out, u32::from(self.habits.says_everything));
        if self.habits.says_everything {
            put_handle(out, id);
        }
        self.put_some_attributes(out, id);
        put_u64(out, 0);
        Ok(())
    }

    fn remove(
        &mut self,
        out: &mut Vec<u8>,
        folder: u64,
        procedure: u32,
        reader: &mut XdrReader<'_>,
    ) -> Result<(), u32> {
        const IS_FOLDER: u32 = 21;
        let name = name(reader);
        let id = self.find(folder, &name).ok_or(NOT_FOUND)?;
        match &self.nodes[&id] {
            Node::Folder(entries) if procedure == 13 && !entries.is_empty() => return Err(NOT_EMPTY),
            Node::Folder(_) if procedure == REMOVE => return Err(IS_FOLDER),
            _ => {}
        }
        self.nodes.remove(&id);
        let Some(Node::Folder(entries)) = self.nodes.get_mut(&folder) else { panic!("no folder") };
        entries.retain(|(known, _)| *known != name);
        put_u64(out, 0);
        Ok(())
    }

    fn rename(&mut self, out: &mut Vec<u8>, folder: u64, reader: &mut XdrReader<'_>) -> Result<(), u32> {
        let from = name(reader);
        let to_folder = u64::from_be_bytes(reader.opaque(64).unwrap().try_into().unwrap());
        let to = name(reader);
        assert_eq!(folder, to_folder, "within a folder");
        let Some(Node::Folder(entries)) = self.nodes.get_mut(&folder) else { panic!("no folder") };
        let at = entries.iter().position(|(known, _)| *known == from).ok_or(NOT_FOUND)?;
        assert!(entries.iter().all(|(known, _)| *known != to), "the new name is free");
        entries[at].0 = to;
        put_u64(out, 0);
        put_u64(out, 0);
        Ok(())
    }

    fn put_list(&self, out: &mut Vec<u8>, folder: u64, reader: &mut XdrReader<'_>) {
        let cookie = reader.u64().unwrap();
        let Node::Folder(entries) = &self.nodes[&folder] else { panic!("no folder") };
        let dots = [(".".to_owned(), folder), ("..".to_owned(), ROOT)];
        let cookie_of = |index: usize, id: u64| match index {
            0 | 1 => index as u64 + 1,
            _ if self.habits.position_moves => index as u64 + 1,
            _ => id + 100,
        };
        let all = dots.iter().chain(entries).enumerate();
        let mut rest = all.filter(|(index, (_, id))| cookie_of(*index, *id) > cookie);
        put_u32(out, 0);
        put_u64(out, 0);
        for (index, (name, id)) in rest.by_ref().take(self.habits.listed_together) {
            put_u32(out, 1);
            put_u64(out, *id);
            put_opaque(out, name.as_bytes());
            put_u64(out, cookie_of(index, *id));
            self.put_some_attributes(out, *id);
            put_u32(out, u32::from(self.habits.says_everything));
            if self.habits.says_everything {
                put_handle(out, *id);
            }
        }
        put_u32(out, 0);
        put_u32(out, u32::from(rest.next().is_none()));
    }
}

fn name(reader: &mut XdrReader<'_>) -> String {
    String::from_utf8(reader.opaque(255).unwrap().to_vec()).unwrap()
}

fn put_handle(out: &mut Vec<u8>, id: u64) {
    put_opaque(out, &id.to_be_bytes());
}

/// The results of a MOUNT call.
fn mounted(procedure: u32, out: &mut Vec<u8>) {
    match procedure {
        1 => {
            put_u32(out, 0);
            put_handle(out, ROOT);
            put_u32(out, 0);
        }
        5 => {
            put_u32(out, 1);
            put_opaque(out, b"/data");
            put_u64(out, 0);
        }
        _ => {}
    }
}

/// A status and what follows it: results, or what a failure has in their place.
fn put_results(procedure: u32, done: &Result<Vec<u8>, u32>, out: &mut Vec<u8>) {
    match done {
        Ok(results) => {
            put_u32(out, 0);
            out.extend_from_slice(results);
        }
        Err(status) => {
            put_u32(out, *status);
            let flags = match procedure {
                GETATTR => 0,
                // Attributes of the folder, or of the file.
                LOOKUP | 6 | LIST => 1,
                // What each folder was before, and what it is after.
                RENAME => 4,
                _ => 2,
            };
            (0..flags).for_each(|_| put_u32(out, 0));
        }
    }
}
