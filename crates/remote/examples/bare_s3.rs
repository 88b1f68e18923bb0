//! The least that puts and gets of objects can cost with the libraries of the engine `s3`: a loop over signed requests.
//!
//! `bare_s3 ENDPOINT put|get BYTES COUNT` puts so many objects of so many bytes into the bucket `bucket`, or gets those that
//! it has put before, one at a time on one connection, deletes them, and prints `{"ops_per_s":...}`. Keys are in the
//! environment. Phases, histograms, counts, deadlines and checks are what the loop leaves out.

use rusty_s3::{Bucket, Credentials, S3Action as _, UrlStyle};
use std::error::Error;
use std::io::{Read as _, Write as _};
use std::time::Duration;

use narrows_sys::clock::Monotonic;

const USAGE: &str = "usage: bare_s3 ENDPOINT put|get BYTES COUNT";
/// A URL is valid for so long.
const VALID: Duration = Duration::from_mins(15);

struct BareLoop {
    agent: ureq::Agent,
    bucket: Bucket,
    credentials: Credentials,
    block: Vec<u8>,
}

impl BareLoop {
    fn put(&mut self, key: &str) -> Result<(), Box<dyn Error>> {
        let url = self.bucket.put_object(Some(&self.credentials), key).sign(VALID);
        let mut answer = self.agent.put(url.as_str()).send(&self.block[..])?;
        answer.body_mut().read_to_vec()?;
        Ok(())
    }

    fn get(&mut self, key: &str) -> Result<(), Box<dyn Error>> {
        let url = self.bucket.get_object(Some(&self.credentials), key).sign(VALID);
        let mut answer = self.agent.get(url.as_str()).call()?;
        answer.body_mut().as_reader().read_exact(&mut self.block)?;
        // The end of the body is read too, so that the connection is kept.
        if answer.body_mut().as_reader().read(&mut [0])? == 0 {
            Ok(())
        } else {
            Err("an object is longer".into())
        }
    }

    fn delete(&mut self, key: &str) -> Result<(), Box<dyn Error>> {
        let url = self.bucket.delete_object(Some(&self.credentials), key).sign(VALID);
        self.agent.delete(url.as_str()).call()?;
        Ok(())
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [endpoint, op, bytes, count] = words.as_slice() else { return Err(USAGE.into()) };
    let (bytes, count): (usize, u32) = (bytes.parse()?, count.parse()?);
    #[allow(clippy::disallowed_methods, reason = "a program of its own, whose keys are in the environment")]
    let key = |name: &str| std::env::var(name);
    let credentials = Credentials::new(key("AWS_ACCESS_KEY_ID")?, key("AWS_SECRET_ACCESS_KEY")?);
    let bucket = Bucket::new(endpoint.parse()?, UrlStyle::Path, "bucket", "us-east-1")?;
    let agent = ureq::Agent::config_builder().proxy(None).max_redirects(0).build().new_agent();
    let mut bare = BareLoop { agent, bucket, credentials, block: vec![0x5a; bytes] };
    let keys: Vec<String> = (0..count).map(|index| format!("bare/{index}")).collect();
    if op == "get" {
        keys.iter().try_for_each(|key| bare.put(key))?;
    }
    let clock = Monotonic::new();
    let began_ns = clock.now_ns();
    for key in &keys {
        if op == "get" { bare.get(key)? } else { bare.put(key)? }
    }
    let seconds = (clock.now_ns() - began_ns) as f64 / 1e9;
    keys.iter().try_for_each(|key| bare.delete(key))?;
    writeln!(std::io::stdout(), "{{\"ops_per_s\":{:.3}}}", f64::from(count) / seconds)?;
    Ok(())
}
