//! Places in a bucket of a server that is hostile, or of which others use the bucket too: nothing but what is ours is
//! removed, within bounds of time and memory.

use super::*;
use narrows_engines::conformance::worker;
use narrows_engines::own_folders::{MARKER, PREFIX};
use std::fmt::Write as _;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Mutex;

const TIMEOUT_NS: u64 = 300_000_000;
/// Errors and ends come before this: several times all waits, for a machine that is busy.
const WITHIN_NS: u64 = 30_000_000_000;

/// A server that answers every request with 200 and what `answer` returns for its first line, or with the status that this
/// begins with.
struct FakeBucket {
    port: u16,
    requests: Arc<Mutex<Vec<String>>>,
}

impl FakeBucket {
    fn start(answer: impl Fn(&str, usize) -> String + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let requests: Arc<Mutex<Vec<String>>> = Arc::default();
        let (seen, answer) = (Arc::clone(&requests), Arc::new(answer));
        // It ends with the test's process: nothing waits for it.
        std::thread::spawn(move || {
            for connection in listener.incoming().flatten() {
                let (seen, answer) = (Arc::clone(&seen), Arc::clone(&answer));
                std::thread::spawn(move || serve(connection, &seen, answer.as_ref()));
            }
        });
        Self { port, requests }
    }

    /// Makes a place in `p` of the bucket, whose removal is this function's end, and returns what was said of it; the run
    /// of every marker has ended.
    fn place(&self) -> Vec<String> {
        self.try_place().unwrap()
    }

    fn try_place(&self) -> Result<Vec<String>, EngineError> {
        let credentials =
            S3Credentials { key_id: "K".to_owned(), secret: "hidden".to_owned(), session_token: None };
        let environment = S3Environment { credentials: Some(credentials), ..S3Environment::default() };
        let factory = S3Factory::new(environment, || 1_800_000_000, worker().clock);
        let target = format!("s3://bucket/p?endpoint=http://127.0.0.1:{}", self.port);
        let request = PlaceRequest {
            nonce: 7,
            owner: "this run",
            is_gone: &|_| true,
            clock: worker().clock,
            timeout_ns: TIMEOUT_NS,
        };
        let place = factory.own_place(&target.parse().unwrap(), &request)?.unwrap();
        Ok(place.notes().to_vec())
    }

    /// The first lines of the requests that change something.
    fn changes(&self) -> Vec<String> {
        let requests = self.requests.lock().unwrap();
        let reads = |line: &&String| !line.starts_with("GET ") && !line.starts_with("HEAD ");
        requests.iter().filter(reads).cloned().collect()
    }
}

fn serve(
    mut connection: TcpStream,
    seen: &Mutex<Vec<String>>,
    answer: &(impl Fn(&str, usize) -> String + ?Sized),
) -> std::io::Result<()> {
    loop {
        let mut head = Vec::new();
        let mut byte = [0; 1];
        while !head.ends_with(b"\r\n\r\n") {
            connection.read_exact(&mut byte)?;
            head.push(byte[0]);
        }
        let head = String::from_utf8(head).unwrap();
        let length =
            head.lines().find_map(|line| line.to_lowercase().strip_prefix("content-length: ")?.parse().ok());
        let mut body = vec![0; length.unwrap_or(0)];
        connection.read_exact(&mut body)?;
        let line = head.lines().next().unwrap().to_owned();
        let number = {
            let mut seen = seen.lock().unwrap();
            seen.push(format!("{line} {}", String::from_utf8_lossy(&body)));
            seen.len()
        };
        let text = answer(&line, number);
        let status = text.get(..3).filter(|start| start.parse::<u16>().is_ok()).unwrap_or("200");
        write!(connection, "HTTP/1.1 {status} X\r\nContent-Length: {}\r\n\r\n{text}", text.len())?;
    }
}

/// A part of a list with these folders or keys, and where it goes on.
fn list(folders: &[String], keys: &[String], next: Option<&str>) -> String {
    let mut text =
        "<ListBucketResult xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"><Name>bucket</Name>".to_owned();
    for key in keys {
        let object = "<ETag>\"e\"</ETag><LastModified>2027-01-15T07:00:00.000Z</LastModified><Size>1</Size>";
        write!(text, "<Contents><Key>{key}</Key>{object}</Contents>").unwrap();
    }
    for folder in folders {
        write!(text, "<CommonPrefixes><Prefix>{folder}</Prefix></CommonPrefixes>").unwrap();
    }
    if let Some(next) = next {
        write!(text, "<NextContinuationToken>{next}</NextContinuationToken>").unwrap();
    }
    let truncated = next.is_some();
    text + &format!("<MaxKeys>1000</MaxKeys><IsTruncated>{truncated}</IsTruncated></ListBucketResult>")
}

fn is_list(line: &str) -> bool {
    line.contains("list-type=2")
}

/// Whether the request is for a list of folders: of places that were left.
fn is_search(line: &str) -> bool {
    is_list(line) && line.contains("delimiter")
}

#[test]
fn nothing_is_removed_that_a_server_lists_beside_places_of_ours() {
    let bucket = FakeBucket::start(|line, _| {
        if is_search(line) {
            let folders = ["1/victim/", "2//", "3"].map(|name| format!("p/{PREFIX}{name}"));
            list(&folders, &[], None)
        } else if is_list(line) {
            list(&[], &[], None)
        } else {
            "ended".to_owned()
        }
    });
    let notes = bucket.place();
    assert_eq!(notes, Vec::<String>::new());
    for change in bucket.changes() {
        assert!(change.contains(&format!("/p/{PREFIX}0000000000000007/")), "{change}");
    }
}

#[test]
fn keys_outside_of_a_place_that_a_server_lists_for_it_are_not_deleted() {
    let bucket = FakeBucket::start(|line, _| {
        if is_search(line) {
            list(&[], &[], None)
        } else if is_list(line) {
            list(&[], &["p/precious".to_owned()], None)
        } else {
            String::new()
        }
    });
    bucket.place();
    assert!(bucket.changes().iter().all(|change| !change.contains("precious")), "{:?}", bucket.changes());
}

#[test]
fn places_without_an_end_are_given_up_in_time_and_a_few_are_named() {
    let bucket = FakeBucket::start(|line, number| {
        if is_search(line) {
            let folders: Vec<_> = (0..200).map(|index| format!("p/{PREFIX}{number}-{index}/")).collect();
            list(&folders, &[], Some(&format!("t{number}")))
        } else if is_list(line) {
            list(&[], &[], None)
        } else {
            "ended".to_owned()
        }
    });
    let clock = worker().clock;
    let began = clock.now();
    let notes = bucket.place();
    assert!(clock.now().since(began) < WITHIN_NS);
    assert!(notes.len() <= 17, "{notes:?}");
    assert!(notes.last().unwrap().contains("places more of runs that were killed"), "{notes:?}");
}

#[test]
fn objects_that_are_listed_again_after_their_deletion_end_it() {
    let bucket = FakeBucket::start(|line, _| {
        if is_search(line) {
            list(&[], &[], None)
        } else if is_list(line) {
            list(&[], &[format!("p/{PREFIX}0000000000000007/data-0")], Some("more"))
        } else if line.contains("delete") {
            "<DeleteResult></DeleteResult>".to_owned()
        } else {
            String::new()
        }
    });
    let clock = worker().clock;
    let began = clock.now();
    bucket.place();
    assert!(clock.now().since(began) < WITHIN_NS);
    assert!(bucket.changes().len() <= 4, "its marker, and few deletions: {:?}", bucket.changes());
}

#[test]
fn an_answer_of_elements_in_each_other_ends_nothing_but_its_request() {
    let bucket = FakeBucket::start(|line, _| {
        if is_search(line) {
            format!("<ListBucketResult>{}", "<a>".repeat(1_000_000))
        } else if is_list(line) {
            list(&[], &[], None)
        } else {
            String::new()
        }
    });
    let notes = bucket.place();
    assert!(notes[0].contains("what killed runs left there is not known"), "{notes:?}");
}

#[test]
fn where_many_cannot_be_deleted_at_once_each_is_by_itself() {
    let prefix = format!("p/{PREFIX}0000000000000007/");
    let keys = [format!("{prefix}a"), format!("{prefix}b")];
    let left = Mutex::new(keys.to_vec());
    let bucket = FakeBucket::start(move |line, _| {
        let mut left = left.lock().unwrap();
        if line.starts_with("POST ") {
            return "500 <Error><Code>InternalError</Code></Error>".to_owned();
        }
        if line.starts_with("DELETE ") {
            left.retain(|key| !line.contains(&key[key.len() - 18..]));
        }
        if line.contains("list-type=2") && !line.contains("delimiter") {
            list(&[], &left, None)
        } else {
            list(&[], &[], None)
        }
    });
    bucket.place();
    let changes = bucket.changes();
    for key in &keys {
        assert!(
            changes.iter().any(|line| line.starts_with(&format!("DELETE /bucket/{key}?"))),
            "{changes:?}"
        );
    }
}

#[test]
fn a_key_that_leads_elsewhere_as_a_path_is_not_deleted_by_itself() {
    let prefix = format!("p/{PREFIX}0000000000000007/");
    let keys = [format!("{prefix}../../precious"), format!("{prefix}a")];
    let bucket = FakeBucket::start(move |line, _| {
        if line.starts_with("POST ") {
            return "500 <Error><Code>InternalError</Code></Error>".to_owned();
        }
        let is_own = line.contains("list-type=2") && !line.contains("delimiter");
        list(&[], if is_own { &keys } else { &[] }, None)
    });
    bucket.place();
    let changes = bucket.changes();
    let led_elsewhere = |line: &&String| line.starts_with("DELETE ") && line.contains("precious");
    assert_eq!(changes.iter().find(led_elsewhere), None);
}

/// The changes that a server is asked for which fails in deletions `times` times and does them then.
fn changes_of_a_bucket_that_fails(times: usize, status: &'static str) -> Vec<String> {
    let failures = std::sync::atomic::AtomicUsize::new(0);
    let bucket = FakeBucket::start(move |line, _| {
        let count = || failures.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        if line.starts_with("DELETE ") && count() < times {
            return status.to_owned();
        }
        list(&[], &[], None)
    });
    bucket.place();
    bucket.changes()
}

#[test]
fn a_deletion_that_the_server_fails_in_is_sent_again() {
    for failure in
        ["500 <Error><Code>InternalError</Code></Error>", "503 <Error><Code>SlowDown</Code></Error>"]
    {
        let changes = changes_of_a_bucket_that_fails(2, failure);
        assert_eq!(changes.len(), 4, "its marker, made, and deleted three times: {changes:?}");
        assert!(changes[1..].iter().all(|line| line.starts_with("DELETE ")), "{changes:?}");
    }
}

#[test]
fn a_deletion_that_is_refused_is_not_sent_again_and_one_that_fails_always_only_some_times() {
    let refused = changes_of_a_bucket_that_fails(usize::MAX, "403 <Error><Code>AccessDenied</Code></Error>");
    assert_eq!(refused.len(), 2, "{refused:?}");
    let failed = changes_of_a_bucket_that_fails(usize::MAX, "500 <Error><Code>InternalError</Code></Error>");
    assert_eq!(failed.len(), 5, "{failed:?}");
}

#[test]
fn what_is_gone_is_deleted_though_the_server_failed_in_it() {
    let bucket = FakeBucket::start(|line, _| {
        if line.starts_with("DELETE ") {
            return "500 <Error><Code>InternalError</Code></Error>".to_owned();
        }
        if line.starts_with("HEAD ") { "404".to_owned() } else { list(&[], &[], None) }
    });
    bucket.place();
    let changes = bucket.changes();
    assert_eq!(changes.len(), 2, "its marker, made, and deleted once: {changes:?}");
}

const FAILED: &str = "500 <Error><Code>InternalError</Code></Error>";

/// A bucket that fails in the second version of the list, has these keys, and gives up to `at_once` of them in the first.
fn bucket_of_first_lists(keys: Vec<String>, at_once: usize, deletes: bool) -> FakeBucket {
    let left = Mutex::new(keys);
    FakeBucket::start(move |line, _| {
        let mut left = left.lock().unwrap();
        let count = left.len().min(at_once);
        if line.starts_with("POST ") {
            if deletes {
                left.drain(..count);
            }
            return "<DeleteResult></DeleteResult>".to_owned();
        }
        if is_search(line) || line.contains("uploads") {
            return list(&[], &[], None);
        }
        if is_list(line) {
            return FAILED.to_owned();
        }
        if line.starts_with("GET ") {
            return list(&[], &left[..count], (left.len() > count).then_some("not taken"));
        }
        String::new()
    })
}

fn own_key(name: &str) -> String {
    format!("p/{PREFIX}0000000000000007/{name}")
}

#[test]
fn where_the_second_version_of_the_list_fails_the_first_serves() {
    let keys = ["data-0", "data-1", "a&amp;b"].map(own_key).to_vec();
    let bucket = bucket_of_first_lists(keys, 2, true);
    bucket.place();
    let changes = bucket.changes();
    assert_eq!(changes.len(), 4, "its marker, made and deleted, and two deletions of the rest: {changes:?}");
    assert!(
        changes[1].contains(&own_key("data-0")) && changes[1].contains(&own_key("data-1")),
        "{changes:?}"
    );
    // Escaped once, as it was listed.
    assert!(changes[2].contains(&own_key("a&amp;b")), "{changes:?}");
}

#[test]
fn by_the_first_version_of_the_list_nothing_outside_is_deleted_and_the_same_again_ends_it() {
    let outside = bucket_of_first_lists(vec!["p/precious".to_owned()], 1000, true);
    outside.place();
    assert!(outside.changes().iter().all(|change| !change.contains("precious")), "{:?}", outside.changes());
    let stays = bucket_of_first_lists((0..3).map(|number| own_key(&format!("{number}"))).collect(), 2, false);
    stays.place();
    assert_eq!(stays.changes().len(), 3, "its marker, and two deletions: {:?}", stays.changes());
}

#[test]
fn a_part_of_a_list_with_the_marker_alone_is_followed_by_the_next() {
    let left = Mutex::new(vec![own_key("data-0")]);
    let bucket = FakeBucket::start(move |line, _| {
        let mut left = left.lock().unwrap();
        if line.starts_with("POST ") {
            left.clear();
            return "<DeleteResult></DeleteResult>".to_owned();
        }
        if is_search(line) || !is_list(line) {
            return list(&[], &[], None);
        }
        if line.contains("continuation-token") {
            list(&[], &left, None)
        } else {
            list(&[], &[own_key(MARKER)], Some("more"))
        }
    });
    bucket.place();
    let changes = bucket.changes();
    assert_eq!(changes.len(), 3, "its marker, made and deleted, and one deletion between: {changes:?}");
    assert!(changes[1].contains("data-0"), "{changes:?}");
}

#[test]
fn uploads_whose_end_is_asked_for_again_may_be_gone() {
    let failures = std::sync::atomic::AtomicUsize::new(0);
    let bucket = FakeBucket::start(move |line, _| {
        if line.starts_with("DELETE ") && line.contains("uploadId") {
            let count = failures.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            let answer = if count == 0 { FAILED } else { "404 <Error><Code>NoSuchUpload</Code></Error>" };
            return answer.to_owned();
        }
        let is_first = failures.load(std::sync::atomic::Ordering::Relaxed) == 0;
        if line.contains("uploads") && is_first {
            let key = own_key("data-0");
            return format!(
                "<ListMultipartUploadsResult><Upload><Key>{key}</Key><UploadId>u</UploadId></Upload></L>"
            );
        }
        list(&[], &[], None)
    });
    bucket.place();
    let changes = bucket.changes();
    assert_eq!(changes.len(), 4, "its marker, the upload twice, and the marker: {changes:?}");
}

#[test]
fn a_busy_server_is_asked_again_after_a_wait() {
    let left = Mutex::new((vec![own_key("data-0")], 0));
    let bucket = FakeBucket::start(move |line, _| {
        let (keys, refused) = &mut *left.lock().unwrap();
        if line.starts_with("POST ") {
            *refused += 1;
            if *refused < 3 {
                return "503 <Error><Code>SlowDown</Code></Error>".to_owned();
            }
            keys.clear();
            return "<DeleteResult></DeleteResult>".to_owned();
        }
        if is_list(line) && !is_search(line) { list(&[], keys, None) } else { list(&[], &[], None) }
    });
    let clock = worker().clock;
    let began = clock.now();
    bucket.place();
    assert!(clock.now().since(began) >= 500_000_000, "0.1 and 0.4 s are waited for");
    assert_eq!(bucket.changes().len(), 5, "{:?}", bucket.changes());
}

#[test]
fn a_marker_that_may_have_been_stored_though_the_server_failed_is_removed() {
    let bucket =
        FakeBucket::start(
            |line, _| {
                if line.starts_with("PUT ") { FAILED.to_owned() } else { list(&[], &[], None) }
            },
        );
    bucket.try_place().unwrap_err();
    let changes = bucket.changes();
    assert!(
        changes.last().unwrap().starts_with(&format!("DELETE /bucket/{}", own_key(MARKER))),
        "{changes:?}"
    );
}
