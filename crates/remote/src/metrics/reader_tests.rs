//! Readings of servers that report as `node_exporter` does, and of those that break the protocol or never end.

use super::*;
use crate::metrics::MetricsErrorKind;
use narrows_engines::MonotonicClock;
use narrows_testkit::closed_port::ClosedPort;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::atomic::{AtomicUsize, Ordering};

const GOOD: &str =
    "node_cpu_seconds_total{cpu=\"0\",mode=\"idle\"} 5\nnode_cpu_seconds_total{cpu=\"0\",mode=\"user\"} 7\n";

/// The URL of a server that gives each of `answers` to one connection, then ends.
fn served(answers: Vec<Vec<u8>>) -> MetricsUrl {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for answer in answers {
            let (mut stream, _) = listener.accept().unwrap();
            let mut head = [0; 4096];
            let _request = stream.read(&mut head);
            // A client that has seen enough closes.
            let _sent = stream.write_all(&answer);
        }
    });
    format!("http://{address}/metrics").parse().unwrap()
}

fn answer(status: &str, headers: &str, body: &str) -> Vec<u8> {
    format!("HTTP/1.1 {status}\r\ncontent-length: {}\r\n{headers}\r\n{body}", body.len()).into_bytes()
}

fn plain(body: &str) -> Vec<u8> {
    answer("200 OK", "content-type: text/plain; version=0.0.4; charset=utf-8\r\n", body)
}

fn connected(answers: Vec<Vec<u8>>) -> Result<MetricsReader, MetricsError> {
    MetricsReader::connect(served(answers), Arc::new(MonotonicClock::new()))
}

fn refusal(bytes: Vec<u8>) -> MetricsError {
    connected(vec![bytes]).unwrap_err()
}

#[test]
fn each_question_has_its_answer_in_order() {
    let mut reader = connected(vec![plain(GOOD), plain(GOOD), plain(&GOOD.replace(" 7", " 8"))]).unwrap();
    reader.ask();
    reader.ask();
    let answers: Vec<_> = reader.answers(&StopFlag::default()).into_iter().map(Result::unwrap).collect();
    let used: Vec<_> =
        answers.iter().map(|answer| answer.sample.host_cpu.unwrap().user_ns.0 / 1_000_000_000).collect();
    assert_eq!(used, [7, 8]);
    assert_eq!(answers[0].sample.origin, CounterOrigin::NodeExporter);
    assert!(answers[0].sample.at_ns <= answers[1].sample.at_ns && answers[0].took_ns.0 > 0);
    assert!(reader.answers(&StopFlag::default()).is_empty());
}

#[test]
fn an_exporter_that_went_away_is_an_answer_too() {
    let mut reader = connected(vec![plain(GOOD)]).unwrap();
    reader.ask();
    let answers = reader.answers(&StopFlag::default());
    assert_eq!(answers[0].as_ref().unwrap_err().kind(), MetricsErrorKind::Unreachable);
}

#[test]
fn nothing_there_is_unreachable() {
    let closed = ClosedPort::bind().unwrap();
    let url: MetricsUrl = format!("http://{}/metrics", closed.address()).parse().unwrap();
    let error = MetricsReader::connect(url, Arc::new(MonotonicClock::new())).unwrap_err();
    assert_eq!(error.kind(), MetricsErrorKind::Unreachable);
}

#[test]
fn what_is_no_exporters_answer_is_refused_with_what_it_is() {
    let text = "content-type: text/plain\r\n";
    for (bytes, words) in [
        (answer("404 Not Found", text, "no"), "status 404"),
        (answer("302 Found", "location: http://127.0.0.1:1/\r\n", ""), "redirections are not followed"),
        (answer("200 OK", "content-type: text/html\r\n", GOOD), "text/html instead of text/plain"),
        (answer("200 OK", "", GOOD), "no type instead of text/plain"),
        (plain("node_load1 0.1\n"), "no node_cpu_seconds_total"),
        (plain("node_cpu_seconds_total{cpu=\"0\",mode=\"idle\"} 5"), "cut"),
        (plain("node_cpu_seconds_total{cpu=\"0\",mode=\"idle\"} -5\n"), "no counter's value"),
    ] {
        let error = refusal(bytes);
        assert_eq!(error.kind(), MetricsErrorKind::NotMetrics, "{error}");
        assert!(error.to_string().contains(words), "{words}: {error}");
    }
}

#[test]
fn an_answer_that_is_too_long_or_no_text_is_refused() {
    let long = "# padding of a line that is no sample\n".repeat((9 << 20) / 38);
    assert!(refusal(plain(&long)).to_string().contains("longer than 8 MiB"));
    let mut bytes = answer("200 OK", "content-type: text/plain\r\n", "xxxx");
    let end = bytes.len();
    bytes[end - 2] = 0xff;
    assert!(refusal(bytes).to_string().contains("no text"));
}

#[test]
fn an_answer_that_is_shorter_than_it_says_is_refused() {
    let mut bytes = plain(GOOD);
    bytes.truncate(bytes.len() - 20);
    let error = refusal(bytes);
    assert_eq!(error.kind(), MetricsErrorKind::Unreachable, "{error}");
}

#[test]
fn an_answer_without_an_end_ends_with_the_deadline() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url: MetricsUrl = format!("http://{}/metrics", listener.local_addr().unwrap()).parse().unwrap();
    let server = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let head = "HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ntransfer-encoding: chunked\r\n\r\n";
        let mut sent = stream.write_all(head.as_bytes());
        while sent.is_ok() {
            sent = stream.write_all(b"2\r\n#\n\r\n");
            // As slow as the peer takes it would be too long; as fast, it ends by its length.
            std::thread::park_timeout(Duration::from_millis(20));
        }
    });
    let clock = MonotonicClock::new();
    let began_ns = clock.now().0;
    let error = MetricsReader::connect(url, Arc::new(clock)).unwrap_err();
    assert_eq!(error.kind(), MetricsErrorKind::Unreachable, "{error}");
    let took_ns = clock.now().0 - began_ns;
    assert!(took_ns < 3 * saturating_nanos(DEADLINE), "{took_ns} ns");
    server.join().unwrap();
}

#[test]
fn a_stop_ends_the_wait() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url: MetricsUrl = format!("http://{}/metrics", listener.local_addr().unwrap()).parse().unwrap();
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut head = [0; 4096];
        let _request = stream.read(&mut head);
        stream.write_all(&plain(GOOD)).unwrap();
        drop(stream);
        // The second is accepted and never answered.
        let _silent = listener.accept();
        std::thread::park();
    });
    let mut reader = MetricsReader::connect(url, Arc::new(MonotonicClock::new())).unwrap();
    reader.ask();
    let stop = StopFlag::default();
    stop.ask_sooner();
    stop.ask_sooner();
    assert!(reader.answers(&stop).is_empty());
}

#[test]
fn two_readings_in_a_row_that_end_by_the_deadline_are_the_last() {
    let mut late = LateRow::default();
    for (by_deadline, is_last) in [(true, false), (false, false), (true, false), (true, true), (false, true)]
    {
        late.add(by_deadline);
        assert_eq!(late.is_last(), is_last, "{late:?}");
    }
}

#[test]
fn a_server_that_falls_silent_is_not_asked_for_the_rest_of_the_run() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url: MetricsUrl = format!("http://{}/metrics", listener.local_addr().unwrap()).parse().unwrap();
    let asked = Arc::new(AtomicUsize::new(0));
    let seen = Arc::clone(&asked);
    std::thread::spawn(move || {
        let mut silent = Vec::new();
        for stream in listener.incoming().flatten() {
            let mut stream = stream;
            if seen.fetch_add(1, Ordering::Relaxed) == 0 {
                let mut head = [0; 4096];
                let _request = stream.read(&mut head);
                stream.write_all(&plain(GOOD)).unwrap();
            } else {
                silent.push(stream);
            }
        }
    });
    let clock = MonotonicClock::new();
    let mut reader = MetricsReader::connect(url, Arc::new(clock)).unwrap();
    let kinds_of = |reader: &mut MetricsReader| -> Vec<MetricsErrorKind> {
        reader.ask();
        reader.ask();
        reader.answers(&StopFlag::default()).into_iter().map(|answer| answer.unwrap_err().kind()).collect()
    };
    assert_eq!(kinds_of(&mut reader), [MetricsErrorKind::Unreachable; 2]);
    let began_ns = clock.now().0;
    assert_eq!(kinds_of(&mut reader), [MetricsErrorKind::GivenUp; 2]);
    assert!(clock.now().0 - began_ns < saturating_nanos(DEADLINE) / 2, "nothing is waited for");
    assert_eq!(asked.load(Ordering::Relaxed), 3);
    assert!(reader.answers(&StopFlag::default()).is_empty());
    assert!(
        MetricsError::given_up(2).to_string().contains("2 readings in a row had no whole answer within 2 s")
    );
}
