//! Servers of HTTP on loopback for tests: whatever a function answers, and a bucket in memory.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

/// A request: its method, its path with the query, its headers in lower case, its body.
#[derive(Debug)]
pub(crate) struct WebRequest {
    pub(crate) method: String,
    pub(crate) path: String,
    headers: BTreeMap<String, String>,
    body: Vec<u8>,
}

/// Serves every request with what `answer` makes of it, bytes as they are; the address. It ends with the test's process.
pub(crate) fn serve_web(answer: impl Fn(&WebRequest) -> Vec<u8> + Send + Sync + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let answer = Arc::new(answer);
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let answer = Arc::clone(&answer);
            std::thread::spawn(move || {
                let mut reader = BufReader::new(stream);
                while let Some(request) = read_request(&mut reader) {
                    // A client may close whenever it likes.
                    if reader.get_mut().write_all(&answer(&request)).is_err() {
                        return;
                    }
                }
            });
        }
    });
    address
}

fn read_request(reader: &mut BufReader<TcpStream>) -> Option<WebRequest> {
    let mut line = String::new();
    reader.read_line(&mut line).ok().filter(|bytes| *bytes > 0)?;
    let mut words = line.split_whitespace();
    let (method, path) = (words.next()?.to_owned(), words.next()?.to_owned());
    let mut headers = BTreeMap::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let Some((name, value)) = line.trim_end().split_once(':') else { break };
        headers.insert(name.to_ascii_lowercase(), value.trim().to_owned());
    }
    let length = headers.get("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some(WebRequest { method, path, headers, body })
}

/// An answer with a body of this length.
pub(crate) fn web_answer(status: &str, headers: &str, body: &[u8]) -> Vec<u8> {
    let mut bytes =
        format!("HTTP/1.1 {status}\r\ncontent-length: {}\r\n{headers}\r\n", body.len()).into_bytes();
    bytes.extend_from_slice(body);
    bytes
}

/// Objects by their keys.
pub(crate) type Bucket = Arc<Mutex<BTreeMap<String, Vec<u8>>>>;

/// A bucket in memory, which asks for no signature; it and its address.
pub(crate) fn serve_bucket() -> (Bucket, String) {
    let bucket = Bucket::default();
    let stored = Arc::clone(&bucket);
    let address = serve_web(move |request| of_bucket(&stored, request));
    (bucket, address)
}

fn of_bucket(bucket: &Bucket, request: &WebRequest) -> Vec<u8> {
    let (path, query) = request.path.split_once('?').unwrap_or((&request.path, ""));
    let key = path.trim_start_matches('/').split_once('/').map_or("", |(_, key)| key);
    let has = |name: &str| query.split('&').any(|part| part == name || part.starts_with(&format!("{name}=")));
    let mut objects = bucket.lock().unwrap();
    match request.method.as_str() {
        "PUT" => {
            objects.insert(key.to_owned(), request.body.clone());
            web_answer("200 OK", "etag: \"x\"\r\n", b"")
        }
        "DELETE" => {
            objects.remove(key);
            web_answer("204 No Content", "", b"")
        }
        "POST" if has("delete") => {
            let text = String::from_utf8_lossy(&request.body).into_owned();
            let keys = text.split("<Key>").skip(1).filter_map(|part| part.split_once("</Key>"));
            keys.for_each(|(key, _)| drop(objects.remove(key)));
            web_answer("200 OK", "", b"<DeleteResult></DeleteResult>")
        }
        "GET" if has("uploads") => {
            web_answer("200 OK", "", b"<ListMultipartUploadsResult></ListMultipartUploadsResult>")
        }
        "GET" if key.is_empty() => list(&objects, query),
        "HEAD" | "GET" => match objects.get(key) {
            None => web_answer("404 Not Found", "", b"<Error><Code>NoSuchKey</Code></Error>"),
            Some(object) if request.method == "HEAD" => {
                format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", object.len()).into_bytes()
            }
            Some(object) => part_of(object, request.headers.get("range")),
        },
        _ => web_answer("501 Not Implemented", "", b"<Error><Code>NotImplemented</Code></Error>"),
    }
}

fn part_of(object: &[u8], range: Option<&String>) -> Vec<u8> {
    let bounds = range.and_then(|range| range.strip_prefix("bytes=")?.split_once('-'));
    let Some((from, to)) = bounds else { return web_answer("200 OK", "", object) };
    let from: usize = from.parse().unwrap();
    let to = to.parse().unwrap_or(usize::MAX).min(object.len().saturating_sub(1));
    web_answer("206 Partial Content", "", &object[from..=to])
}

fn list(objects: &BTreeMap<String, Vec<u8>>, query: &str) -> Vec<u8> {
    let prefix = query.split('&').find_map(|part| part.strip_prefix("prefix=")).unwrap_or("");
    let prefix = prefix.replace("%2F", "/");
    let keys = objects.iter().filter(|(key, _)| key.starts_with(&prefix));
    let contents = keys
        .map(|(key, object)| {
            format!(
                "<Contents><Key>{key}</Key><Size>{}</Size><ETag>\"x\"</ETag>\
                 <LastModified>2026-01-01T00:00:00.000Z</LastModified><StorageClass>STANDARD</StorageClass></Contents>",
                object.len()
            )
        })
        .collect::<Vec<_>>()
        .concat();
    let text = format!(
        "<?xml version=\"1.0\"?><ListBucketResult xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"><Name>b</Name><Prefix>{prefix}</Prefix><KeyCount>0</KeyCount>\
         <MaxKeys>1000</MaxKeys><IsTruncated>false</IsTruncated>{contents}</ListBucketResult>"
    );
    web_answer("200 OK", "content-type: application/xml\r\n", text.as_bytes())
}
