//! Answers of a hostile server: valid ones that are changed, given to the client without sockets. None is a panic, and none
//! decides how much memory is used. Silence and answers without an end are in `tests`.

use super::client::CallBody;
use super::*;
use narrows_engines::conformance::worker;
use narrows_sys::counting_alloc::{CountingAlloc, allocated_bytes_during};
use narrows_testkit::hostile::{HostileBytes, HostileCampaign};
use ureq::unversioned::transport::{
    Buffers, ConnectionDetails, Connector, LazyBuffers, NextTimeout, Transport,
};

#[global_allocator]
static ALLOCATOR: CountingAlloc = CountingAlloc;

/// Bytes of the buffers of one connection: more than the head of an answer may have.
const INPUT_BYTES: usize = 70 << 10;
const OUTPUT_BYTES: usize = 16 << 10;
/// Memory of a request and its connection, whatever comes.
const CALL_BYTES: u64 = 256 << 10;
/// Memory for each byte that arrives: a listing has a key of a byte for some tens of bytes of elements.
const BYTES_A_BYTE: u64 = 64;
/// Below this prefix all keys are.
const OWN: &str = "p/";
/// Bytes that are asked for by a GET.
const GET_BYTES: u64 = 64;

/// A request whose answer is read.
#[derive(Debug, Clone, Copy)]
enum AskedCall {
    List,
    ListFirst,
    ListUploads,
    CreateUpload,
    CompleteUpload,
    DeleteMany,
    Head,
    GetRange,
    SmallText,
    UploadPart,
    Put,
}

/// Makes connections on which the answer that is set arrives, and then the end.
#[derive(Debug, Clone, Default)]
struct MemoryConnector(Arc<Mutex<Vec<u8>>>);

impl Connector for MemoryConnector {
    type Out = MemoryTransport;

    fn connect(
        &self,
        _details: &ConnectionDetails<'_>,
        _chained: Option<()>,
    ) -> Result<Option<Self::Out>, ureq::Error> {
        let answer = self.0.lock().unwrap().clone();
        // As much at once as its last byte says, so that answers arrive in pieces of all lengths.
        let portion = 1 + answer.last().map_or(0, |byte| usize::from(*byte)) * 5;
        let buffers = LazyBuffers::new(INPUT_BYTES, OUTPUT_BYTES);
        Ok(Some(MemoryTransport { answer, taken: 0, portion, buffers }))
    }
}

#[derive(Debug)]
struct MemoryTransport {
    answer: Vec<u8>,
    taken: usize,
    portion: usize,
    buffers: LazyBuffers,
}

impl Transport for MemoryTransport {
    fn buffers(&mut self) -> &mut dyn Buffers {
        &mut self.buffers
    }

    fn transmit_output(&mut self, _amount: usize, _timeout: NextTimeout) -> Result<(), ureq::Error> {
        Ok(())
    }

    fn await_input(&mut self, _timeout: NextTimeout) -> Result<bool, ureq::Error> {
        let rest = &self.answer[self.taken..];
        let room = self.buffers.input_append_buf();
        let amount = rest.len().min(room.len()).min(self.portion);
        room[..amount].copy_from_slice(&rest[..amount]);
        self.taken += amount;
        self.buffers.input_appended(amount);
        Ok(amount > 0)
    }

    fn is_open(&mut self) -> bool {
        false
    }
}

fn client(connector: &MemoryConnector) -> S3Client {
    let credentials =
        S3Credentials { key_id: "K".to_owned(), secret: "hidden".to_owned(), session_token: None };
    let environment = S3Environment { credentials: Some(credentials), ..S3Environment::default() };
    let factory = S3Factory::new(environment, || 1_800_000_000, worker().clock);
    let target = "s3://bucket/p?endpoint=http://127.0.0.1:1".parse().unwrap();
    let bounds =
        RequestBounds { clock: worker().clock, stop: StopFlag::default(), timeout_ns: 60_000_000_000 };
    let site = factory.site(&address_of(&target).unwrap(), bounds).unwrap();
    S3Client::over(site, |_| connector.clone())
}

/// Sends a request whose answer is set; what came of it. Nothing that was not asked for is in that.
fn ask(client: &mut S3Client, call: AskedCall) -> Result<(), failure::S3Failure> {
    let key = "p/x";
    match call {
        AskedCall::List => client.list(OWN, true, Some("token")).map(|found| {
            assert!(found.keys.iter().chain(&found.folders).all(|key| key.starts_with(OWN)));
        }),
        AskedCall::ListFirst => client.list_first(OWN).map(|found| {
            assert!(found.keys.iter().all(|key| key.starts_with(OWN)));
        }),
        AskedCall::ListUploads => client.list_uploads(OWN).map(|found| {
            assert!(found.iter().all(|(key, id)| key.starts_with(OWN) && !id.is_empty()));
        }),
        AskedCall::CreateUpload => client.create_upload(key).map(drop),
        AskedCall::CompleteUpload => client.complete_upload(key, "id", &["tag".to_owned()]),
        AskedCall::DeleteMany => client.delete_many(&[key.to_owned()]),
        AskedCall::Head => client.head(key).map(drop),
        AskedCall::GetRange => client.get(key, Some(0), &mut [0; 16], GET_BYTES).map(|came| {
            assert!(came <= GET_BYTES, "{came}");
        }),
        AskedCall::SmallText => client.small_text(key, GET_BYTES).map(|text| {
            assert!(text.len() as u64 <= GET_BYTES, "{text}");
        }),
        AskedCall::UploadPart => client.upload_part(key, "id", 1, CallBody::Bytes(b"x")).map(drop),
        AskedCall::Put => client.put(key, CallBody::Bytes(b"x")),
    }
}

/// An answer with this status, these headers and this body, with its length.
fn answer(status: &str, headers: &str, body: &str) -> Vec<u8> {
    format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\n{headers}\r\n{body}", body.len()).into_bytes()
}

/// The same with its body in two chunks.
fn chunked(status: &str, body: &str) -> Vec<u8> {
    let (first, second) = body.split_at(body.len() / 2);
    let head = format!("HTTP/1.1 {status}\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n");
    format!("{head}{:x}\r\n{first}\r\n{:x};more=1\r\n{second}\r\n0\r\n\r\n", first.len(), second.len())
        .into_bytes()
}

const LIST: &str = "<?xml version=\"1.0\" encoding=\"UTF-8\"?><ListBucketResult \
    xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"><Name>bucket</Name><Prefix>p/</Prefix><KeyCount>2</KeyCount>\
    <MaxKeys>1000</MaxKeys><IsTruncated>true</IsTruncated><NextContinuationToken>t1</NextContinuationToken><Contents>\
    <Key>p/1</Key><ETag>&quot;e&quot;</ETag><LastModified>2027-01-15T07:00:00.000Z</LastModified><Size>1</Size>\
    <StorageClass>STANDARD</StorageClass></Contents><Contents><Key>p/2</Key><ETag>\"e\"</ETag>\
    <LastModified>2027-01-15T07:00:00.000Z</LastModified><Size>4096</Size></Contents><CommonPrefixes><Prefix>p/d/\
    </Prefix></CommonPrefixes></ListBucketResult>";
const UPLOADS: &str = "<ListMultipartUploadsResult><Bucket>bucket</Bucket><Upload><Key>p/1</Key><UploadId>u1</UploadId>\
    </Upload><Upload><Key>p/2&amp;</Key><UploadId>u2</UploadId></Upload></ListMultipartUploadsResult>";
const CREATED: &str = "<?xml version=\"1.0\"?><InitiateMultipartUploadResult \
    xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"><Bucket>bucket</Bucket><Key>p/x</Key>\
    <UploadId>VXBsb2Fk</UploadId></InitiateMultipartUploadResult>";
const COMPLETED: &str = "<CompleteMultipartUploadResult><Location>http://h/p/x</Location><Key>p/x</Key><ETag>\"e-1\"</ETag>\
    </CompleteMultipartUploadResult>";
const DELETED: &str = "<DeleteResult xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"><Deleted><Key>p/x</Key></Deleted>\
    </DeleteResult>";
const REFUSED: &str = "<?xml version=\"1.0\"?><Error><Code>AccessDenied</Code><Message>It is &lt;not&gt; \
    yours</Message><RequestId>4442587FB7D0A2F9</RequestId></Error>";

/// Requests, each with a valid answer to it, and whether that is a success.
fn valid_answers() -> Vec<(AskedCall, Vec<u8>, bool)> {
    use AskedCall::{
        CompleteUpload, CreateUpload, DeleteMany, GetRange, Head, List, ListFirst, ListUploads, Put,
        SmallText, UploadPart,
    };
    let (ok, part) = ("200 OK", "206 Partial Content");
    let tag = "ETag: \"0123456789abcdef\"\r\nDate: Fri, 15 Jan 2027 07:00:00 GMT\r\n";
    vec![
        (List, answer(ok, tag, LIST), true),
        (List, chunked(ok, LIST), true),
        (ListFirst, answer(ok, "", LIST), true),
        (List, answer(ok, "", &LIST.replace("s3.amazonaws.com/doc/", "doc.s3.amazonaws.com/")), true),
        (
            CreateUpload,
            answer(ok, "", &CREATED.replace(" xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"", "")),
            true,
        ),
        (ListUploads, answer(ok, "Server: x\r\n", UPLOADS), true),
        (CreateUpload, answer(ok, "", CREATED), true),
        (CompleteUpload, chunked(ok, COMPLETED), true),
        (CompleteUpload, answer(ok, "", REFUSED), false),
        (DeleteMany, answer(ok, "", DELETED), true),
        (DeleteMany, answer(ok, "", &DELETED.replace("Deleted>", "Error>")), false),
        (Head, b"HTTP/1.1 200 OK\r\nContent-Length: 131072\r\nAccept-Ranges: bytes\r\n\r\n".to_vec(), true),
        (Head, b"HTTP/1.1 404 Not Found\r\nContent-Length: 300\r\n\r\n".to_vec(), false),
        (GetRange, answer(part, "Content-Range: bytes 0-63/131072\r\n", &"x".repeat(64)), true),
        (GetRange, chunked(part, &"y".repeat(64)), true),
        (GetRange, answer("416 Range Not Satisfiable", "Content-Range: bytes */10\r\n", REFUSED), false),
        (SmallText, answer(ok, tag, "narrows 4711 1800000000\n"), true),
        (UploadPart, answer(ok, tag, ""), true),
        (Put, answer(ok, tag, ""), true),
        (Put, answer("403 Forbidden", "Date: Fri, 15 Jan 2027 06:00:00 GMT\r\n", REFUSED), false),
        (
            Put,
            answer("503 Slow Down", "Retry-After: 1\r\n", &REFUSED.replace("AccessDenied", "SlowDown")),
            false,
        ),
        (List, answer("301 Moved", "Location: http://other/\r\n", REFUSED), false),
        (Put, [&b"HTTP/1.1 100 Continue\r\n\r\n"[..], &answer(ok, tag, "")].concat(), true),
    ]
}

fn run(campaign: HostileCampaign) {
    let answers = valid_answers();
    let connector = MemoryConnector::default();
    let mut client = client(&connector);
    let valid = answers.iter().map(|(_, bytes, _)| bytes.clone()).collect();
    HostileBytes::run(valid, campaign, |base, bytes| {
        bytes.clone_into(&mut connector.0.lock().unwrap());
        let (used_bytes, outcome) = allocated_bytes_during(|| ask(&mut client, answers[base].0));
        drop(outcome);
        let most_bytes = CALL_BYTES + BYTES_A_BYTE * bytes.len() as u64;
        assert!(used_bytes <= most_bytes, "{used_bytes} bytes of memory for {} that arrived", bytes.len());
    });
}

#[test]
fn every_valid_answer_is_read_as_what_it_is() {
    let connector = MemoryConnector::default();
    let mut client = client(&connector);
    for (call, bytes, is_success) in valid_answers() {
        let shown = String::from_utf8_lossy(&bytes).into_owned();
        *connector.0.lock().unwrap() = bytes;
        let outcome = ask(&mut client, call);
        assert_eq!(outcome.is_ok(), is_success, "{call:?}: {outcome:?}\n{shown}");
    }
}

#[test]
fn changed_answers_are_never_a_panic_and_use_no_memory_that_they_claim() {
    run(HostileCampaign::short(10_000));
}

#[test]
#[ignore = "campaign: ten million changed answers; `cargo xtask lab hostile` runs it as a release"]
fn ten_million_changed_answers_are_never_a_panic() {
    run(HostileCampaign::from_environment());
}
